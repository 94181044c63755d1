// Attention: a few query rows go key by key (the decoder's next token); many go through matrix products in blocks of
// query rows, so that the scores stay small however long the keys are.
#include "core/ops/sdpa.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/sdpa.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace longview::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using VF = hn::Vec<DF>;

// scores[j] = q . k_j
void ScoreRow(const float* q, const float* k, size_t k_stride, size_t keys, size_t dim, float* scores) {
  const DF df;
  const size_t lanes = hn::Lanes(df);
  for (size_t j = 0; j < keys; ++j) {
    const float* key = k + j * k_stride;
    VF sum0 = hn::Zero(df);
    VF sum1 = hn::Zero(df);
    size_t d = 0;
    for (; d + 2 * lanes <= dim; d += 2 * lanes) {
      sum0 = hn::MulAdd(hn::LoadU(df, q + d), hn::LoadU(df, key + d), sum0);
      sum1 = hn::MulAdd(hn::LoadU(df, q + d + lanes), hn::LoadU(df, key + d + lanes), sum1);
    }
    float sum = hn::GetLane(hn::SumOfLanes(df, hn::Add(sum0, sum1)));
    for (; d < dim; ++d) sum += q[d] * key[d];
    scores[j] = sum;
  }
}

// out = sum_j weights[j] v_j
void MixRow(const float* weights, const float* v, size_t v_stride, size_t keys, size_t dim, float* out) {
  const DF df;
  const size_t lanes = hn::Lanes(df);
  std::memset(out, 0, dim * sizeof(float));
  size_t d = 0;
  for (; d + 4 * lanes <= dim; d += 4 * lanes) {
    VF a = hn::Zero(df), b = hn::Zero(df), c = hn::Zero(df), e = hn::Zero(df);
    for (size_t j = 0; j < keys; ++j) {
      const float* value = v + j * v_stride + d;
      const VF w = hn::Set(df, weights[j]);
      a = hn::MulAdd(w, hn::LoadU(df, value), a);
      b = hn::MulAdd(w, hn::LoadU(df, value + lanes), b);
      c = hn::MulAdd(w, hn::LoadU(df, value + 2 * lanes), c);
      e = hn::MulAdd(w, hn::LoadU(df, value + 3 * lanes), e);
    }
    hn::StoreU(a, df, out + d);
    hn::StoreU(b, df, out + d + lanes);
    hn::StoreU(c, df, out + d + 2 * lanes);
    hn::StoreU(e, df, out + d + 3 * lanes);
  }
  for (size_t j = 0; j < keys && d < dim; ++j) {
    for (size_t i = d; i < dim; ++i) out[i] += weights[j] * v[j * v_stride + i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <vector>

#include "core/base/check.h"
#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"
#include "core/ops/reference.h"
#include "core/simd/level.h"

namespace longview {
namespace internal {
HWY_EXPORT(ScoreRow);
HWY_EXPORT(MixRow);
}  // namespace internal

namespace {

constexpr size_t kFewRows = 4;
constexpr size_t kBlockRows = 64;
constexpr size_t kNarrowBlockRows = 512;              // keys and values are rounded anew for each block
constexpr size_t kMinParallelWork = size_t{1} << 16;  // multiplications

// How many keys query row `row` sees.
size_t VisibleKeys(const SdpaParams& p, size_t row) { return p.causal ? p.kv_rows - p.q_rows + row + 1 : p.kv_rows; }

// Where head `head` of row `row` begins.
struct HeadPointers {
  HeadPointers(const SdpaParams& p, size_t head, size_t row) {
    const size_t kv_head = head / (p.heads / p.kv_heads);
    q = p.q + row * p.q_stride + head * p.q_head_stride;
    k = p.k + kv_head * p.k_head_stride;
    v = p.v + kv_head * p.v_head_stride;
    out = p.out + row * p.out_stride + head * p.out_head_stride;
  }
  const float* q;
  const float* k;
  const float* v;
  float* out;
};

void AttendRow(const SdpaParams& p, size_t head, size_t row, std::vector<float>& scores) {
  const HeadPointers at(p, head, row);
  const size_t keys = VisibleKeys(p, row);
  scores.resize(keys);
  HWY_DYNAMIC_DISPATCH(internal::ScoreRow)(at.q, at.k, p.k_stride, keys, p.head_dim, scores.data());
  SoftmaxRows(scores.data(), keys, p.scale, 1, keys, scores.data(), keys);
  HWY_DYNAMIC_DISPATCH(internal::MixRow)(scores.data(), at.v, p.v_stride, keys, p.head_dim, at.out);
}

// What AttendBlock works with, kept from block to block.
struct Scratch {
  std::vector<float> scores;
  std::vector<uint16_t> q, k, v, weights;
};

// rows of `dim` numbers in bf16, without gaps.
const uint16_t* Round(const float* x, size_t stride, size_t rows, size_t dim, std::vector<uint16_t>* to) {
  to->resize(rows * dim);
  for (size_t r = 0; r < rows; ++r) RoundToBf16(x + r * stride, dim, to->data() + r * dim);
  return to->data();
}

void SoftmaxBlock(const SdpaParams& p, size_t first, size_t rows, size_t keys, float* scores) {
  for (size_t r = 0; r < rows; ++r) {
    float* row = scores + r * keys;
    const size_t visible = VisibleKeys(p, first + r);
    SoftmaxRows(row, keys, p.scale, 1, visible, row, keys);
    std::fill(row + visible, row + keys, 0.0f);
  }
}

// False where oneDNN refused.
bool AttendNarrowBlock(const SdpaParams& p, size_t head, size_t first, size_t last, Scratch& s) {
  const HeadPointers at(p, head, first);
  const size_t rows = last - first, keys = VisibleKeys(p, last - 1), dim = p.head_dim;
  const uint16_t* q = Round(at.q, p.q_stride, rows, dim, &s.q);
  const uint16_t* k = Round(at.k, p.k_stride, keys, dim, &s.k);
  const uint16_t* v = Round(at.v, p.v_stride, keys, dim, &s.v);
  s.scores.resize(rows * keys);
  if (!GemmBf16NT(rows, keys, dim, q, dim, k, dim, s.scores.data(), keys)) return false;
  SoftmaxBlock(p, first, rows, keys, s.scores.data());
  const uint16_t* weights = Round(s.scores.data(), keys, rows, keys, &s.weights);
  return GemmBf16NN(rows, dim, keys, weights, keys, v, dim, at.out, p.out_stride);
}

void AttendBlock(const SdpaParams& p, size_t head, size_t first, size_t last, std::vector<float>& scores) {
  const HeadPointers at(p, head, first);
  const size_t rows = last - first;
  const size_t keys = VisibleKeys(p, last - 1);  // of the row that sees most
  scores.resize(rows * keys);
  GemmNT(rows, keys, p.head_dim, at.q, p.q_stride, at.k, p.k_stride, 0.0f, scores.data(), keys);
  SoftmaxBlock(p, first, rows, keys, scores.data());
  GemmNN(rows, p.head_dim, keys, scores.data(), keys, at.v, p.v_stride, 0.0f, at.out, p.out_stride);
}

}  // namespace

void Sdpa(const SdpaParams& p, ThreadPool* pool) {
  if (p.q_rows == 0 || p.heads == 0 || p.head_dim == 0) return;
  LV_CHECK(p.kv_heads > 0 && p.heads % p.kv_heads == 0);
  LV_CHECK(!p.causal || p.kv_rows >= p.q_rows);
  if (p.kv_rows == 0 || ActiveSimdLevel() == SimdLevel::kNone) return reference::Sdpa(p);
  const bool few = p.q_rows <= kFewRows;
  const bool narrow = p.narrow && !few && HasBf16Gemm();
  const size_t block = few ? 1 : narrow ? kNarrowBlockRows : kBlockRows;
  const size_t blocks = (p.q_rows + block - 1) / block;
  const auto run = [&](size_t begin, size_t end, int) {
    Scratch scratch;
    for (size_t item = begin; item < end; ++item) {
      const size_t head = item / blocks;
      const size_t first = item % blocks * block;
      const size_t last = std::min(p.q_rows, first + block);
      if (few) {
        AttendRow(p, head, first, scratch.scores);
      } else if (!narrow || !AttendNarrowBlock(p, head, first, last, scratch)) {
        AttendBlock(p, head, first, last, scratch.scores);
      }
    }
  };
  const size_t items = p.heads * blocks;
  if (pool == nullptr || items * block * p.kv_rows * p.head_dim < kMinParallelWork) {
    run(0, items, 0);
  } else {
    pool->ParallelFor(items, run);
  }
}

}  // namespace longview

#endif  // HWY_ONCE
