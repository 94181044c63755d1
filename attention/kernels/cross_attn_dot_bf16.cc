// The sweep with bf16 dot products (AVX512_BF16's vdpbf16ps: two products a lane, summed in fp32), for bf16 caches.
//
// Rows are read where they lie in the cache; only those of frames that keep fewer numbers are copied, with zeros behind
// them. Scores contract pairs of neighbouring numbers of a row, outputs pairs of tokens, whose latents are interleaved
// in registers for nine queries at a time. Queries and probabilities are rounded to bf16.
//
// The same code is compiled for AVX2 with the dot product spelled out, so that tests can hold it against the reference
// on machines without the instruction.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/cross_attn_dot_bf16.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_NEON)
// clang-format off: the order matters
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "attention/kernels/cross_attn_sweep-inl.h"
#include "attention/kernels/cross_attn_sweep.h"
#include "core/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
#undef LV_NATIVE_DOT_BF16
#if HWY_TARGET == HWY_AVX3 && HWY_COMPILER_GCC_ACTUAL
// On top of Highway's own target, until HWY_AFTER_NAMESPACE.
#pragma GCC target("avx512bf16")
#define LV_NATIVE_DOT_BF16 1
#else
#define LV_NATIVE_DOT_BF16 0
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace longview::internal {
namespace HWY_NAMESPACE {

using U16 = hn::Repartition<uint16_t, F>;
using VU16 = hn::Vec<U16>;

// sum[i] += a[2 i] b[2 i] + a[2 i + 1] b[2 i + 1], a and b bf16.
HWY_INLINE VF DotPairs(VF sum, VU16 a, VU16 b) {
#if LV_NATIVE_DOT_BF16
  return VF{_mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(a.raw), reinterpret_cast<__m512bh>(b.raw))};
#else
  const F d;
  const hn::Repartition<uint32_t, F> du;
  const auto a32 = hn::BitCast(du, a), b32 = hn::BitCast(du, b);
  const auto high = hn::Set(du, 0xFFFF0000u);
  sum = hn::MulAdd(hn::BitCast(d, hn::ShiftLeft<16>(a32)), hn::BitCast(d, hn::ShiftLeft<16>(b32)), sum);
  return hn::MulAdd(hn::BitCast(d, hn::And(a32, high)), hn::BitCast(d, hn::And(b32, high)), sum);
#endif
}

// A vector of numbers >= 0 as bf16, to nearest even.
HWY_INLINE void StoreBf16(VF v, uint16_t* HWY_RESTRICT to) {
  const hn::Rebind<uint16_t, F> du16;
#if LV_NATIVE_DOT_BF16
  const hn::Vec<decltype(du16)> rounded{reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(v.raw))};
  hn::StoreU(rounded, du16, to);
#else
  const hn::Repartition<uint32_t, F> du;
  const hn::RebindToSigned<F> di;
  const hn::Rebind<int16_t, F> d16;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd));
  hn::StoreU(hn::BitCast(du16, hn::DemoteTo(d16, hn::BitCast(di, rounded))), du16, to);
#endif
}

using U32 = hn::Repartition<uint32_t, F>;
using VU32 = hn::Vec<U32>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);

constexpr size_t kStepPairs = kLanes / 2;

// Takes kStepPairs pairs of each of kLanes rows and gives them a row a lane: v[j] has their pairs j.
HWY_INLINE void LoadPairs(const uint16_t* const* rows, size_t at, VU32 (&v)[kStepPairs]) {
  const U32 d;
  const hn::Half<U16> dh;
  const hn::Repartition<uint64_t, F> d64;
  // Vector i has a row in each half, such that the last exchange leaves them in order.
  VU32 x[kStepPairs];
  HWY_UNROLL(8)
  for (size_t i = 0; i < kStepPairs; ++i) {
    const size_t row = i % 4 + i / 4 * 8;
    x[i] = hn::BitCast(d, hn::Combine(U16(), hn::LoadU(dh, rows[row + 4] + at), hn::LoadU(dh, rows[row] + at)));
  }
  VU32 y[kStepPairs];
  HWY_UNROLL(4)
  for (size_t i = 0; i < kStepPairs; i += 4) {
    const auto a = hn::BitCast(d64, hn::InterleaveLower(d, x[i], x[i + 1]));
    const auto b = hn::BitCast(d64, hn::InterleaveUpper(d, x[i], x[i + 1]));
    const auto c = hn::BitCast(d64, hn::InterleaveLower(d, x[i + 2], x[i + 3]));
    const auto e = hn::BitCast(d64, hn::InterleaveUpper(d, x[i + 2], x[i + 3]));
    y[i] = hn::BitCast(d, hn::InterleaveLower(d64, a, c));
    y[i + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, a, c));
    y[i + 2] = hn::BitCast(d, hn::InterleaveLower(d64, b, e));
    y[i + 3] = hn::BitCast(d, hn::InterleaveUpper(d64, b, e));
  }
#if LV_NATIVE_DOT_BF16
  HWY_UNROLL(4)
  for (size_t i = 0; i < 4; ++i) {
    v[i].raw = _mm512_shuffle_i32x4(y[i].raw, y[i + 4].raw, 0x88);
    v[i + 4].raw = _mm512_shuffle_i32x4(y[i].raw, y[i + 4].raw, 0xDD);
  }
#else
  std::copy_n(y, kStepPairs, v);
#endif
}

// A query's probabilities are taken relative to the highest score it has met, or one that is at most this much lower
// (in powers of two): rarely is anything rescaled.
constexpr float kHeadroom = 8.0f;

// Queries whose outputs are summed together: with two vectors each, and two of latents, they fit 32 registers.
constexpr size_t kOutputGroup = 9;

// Rows of bf16. Outputs lie interleaved as the pairs do until Finish puts them in order.
struct Bf16Tile {
  static constexpr size_t kTokens = kSweepLargestTile;

  const SweepTask& task;
  const size_t width;          // of what a query is multiplied with
  uint16_t* const copies;      // [kTokens, row_width]: latents and values that had to be padded
  const uint16_t* const zero;  // [row_width]
  // Where the tile's rows lie.
  const uint16_t* latents[kTokens];
  const uint16_t* keys[kTokens];
  const uint16_t* values[kTokens];

  explicit Bf16Tile(const SweepTask& t)
      : task(t),
        width(t.c_width + t.r_width),
        copies(reinterpret_cast<uint16_t*>(t.tile)),
        zero(copies + kTokens * t.row_width) {}

  static size_t Steps(const SweepTask& task, size_t n) {
    const size_t groups = task.queries / kOutputGroup + task.queries % kOutputGroup / kSweepQueryGroup;
    return RoundUp(n, kLanes) / kLanes * groups * ((task.c_width + task.r_width) / (2 * kStepPairs) - 1);
  }

  // Not forced inline: SweepRuns is compiled without the bf16 instructions.
  void Put(const CrossAttnRun& run, size_t token, size_t count, size_t row) {
    const CrossAttnParams& params = *task.params;
    const auto* latent = static_cast<const uint16_t*>(run.latents) + token * run.latent_stride;
    const auto* key = static_cast<const uint16_t*>(run.keys) + token * params.d_r;
    const auto* value =
        task.value_at > 0 ? static_cast<const uint16_t*>(run.values) + token * run.latent_stride : latent;
    for (const size_t end = row + count; row < end; ++row) {
      latents[row] = latent;
      keys[row] = key;
      values[row] = value;
      latent += run.latent_stride;
      key += params.d_r;
      value += run.latent_stride;
      if (run.d_c < params.d_c) Pad(run.d_c, row);
    }
  }

  // The row's first n numbers, and zeros up to c_width, are read from a copy.
  void Pad(size_t n, size_t row) {
    uint16_t* to = copies + row * task.row_width;
    const bool apart = task.value_at > 0;
    latents[row] = PadVector(latents[row], n, to);
    values[row] = apart ? PadVector(values[row], n, to + task.value_at) : latents[row];
  }

  const uint16_t* PadVector(const uint16_t* from, size_t n, uint16_t* to) const {
    std::memcpy(to, from, n * sizeof(uint16_t));
    std::memset(to + n, 0, (task.c_width - n) * sizeof(uint16_t));
    return to;
  }

  // p[kQueries, kTokens] at as many tokens as a vector has lanes = q[kQueries, width] . the tile's rows from `row` on.
  // The next step's pairs are turned while the dot products of this one go on.
  template <size_t kQueries>
  HWY_INLINE void Score(const uint16_t* HWY_RESTRICT q, size_t row, float* HWY_RESTRICT p, NextRows& next) const {
    const U16 d;
    const U32 d32;
    VF sums[kQueries];
    std::fill_n(sums, kQueries, hn::Zero(F()));
    const auto multiply = [&](const VU32(&pairs)[kStepPairs]) HWY_ATTR {
      HWY_UNROLL(8)
      for (size_t j = 0; j < kStepPairs; ++j) {
        HWY_UNROLL(kOutputGroup)
        for (size_t of = 0; of < kQueries; ++of) {
          uint32_t pair;
          std::memcpy(&pair, q + (j * kQueries + of) * 2, sizeof(pair));
          sums[of] = DotPairs(sums[of], hn::BitCast(d, pairs[j]), hn::BitCast(d, hn::Set(d32, pair)));
        }
      }
      q += 2 * kStepPairs * kQueries;
    };
    VU32 pairs[kStepPairs];
    LoadPairs(latents + row, 0, pairs);
    for (size_t at = 2 * kStepPairs; at < width; at += 2 * kStepPairs) {
      VU32 coming[kStepPairs];
      if (at < task.c_width) {
        LoadPairs(latents + row, at, coming);
      } else {
        LoadPairs(keys + row, at - task.c_width, coming);
      }
      next.Step();
      multiply(pairs);
      std::copy_n(coming, kStepPairs, pairs);
    }
    multiply(pairs);
    HWY_UNROLL(kOutputGroup)
    for (size_t i = 0; i < kQueries; ++i) hn::Store(sums[i], F(), p + i * kTokens);
  }

  // Two vectors of outputs of kQueries queries += p[kQueries, kTokens] . the tile's values from column `c` on.
  template <size_t kQueries>
  HWY_INLINE void Accumulate(const uint16_t* HWY_RESTRICT p, size_t pairs, size_t c, float* HWY_RESTRICT out) const {
    const F d;
    const U16 d16;
    const hn::Repartition<uint32_t, F> du;
    const size_t lanes = hn::Lanes(d);
    VF low[kQueries], high[kQueries];
    HWY_UNROLL(kOutputGroup)
    for (size_t q = 0; q < kQueries; ++q) {
      low[q] = hn::Load(d, out + q * task.c_width);
      high[q] = hn::Load(d, out + q * task.c_width + lanes);
    }
    for (size_t t = 0; t < pairs; ++t, p += 2) {
      const VU16 even = hn::LoadU(d16, values[2 * t] + c), odd = hn::LoadU(d16, values[2 * t + 1] + c);
      const VU16 lower = hn::InterleaveLower(d16, even, odd), upper = hn::InterleaveUpper(d16, even, odd);
      HWY_UNROLL(kOutputGroup)
      for (size_t q = 0; q < kQueries; ++q) {
        uint32_t pair;
        std::memcpy(&pair, p + q * kTokens, sizeof(pair));
        const VU16 weights = hn::BitCast(d16, hn::Set(du, pair));
        low[q] = DotPairs(low[q], lower, weights);
        high[q] = DotPairs(high[q], upper, weights);
      }
    }
    HWY_UNROLL(kOutputGroup)
    for (size_t q = 0; q < kQueries; ++q) {
      hn::Store(low[q], d, out + q * task.c_width);
      hn::Store(high[q], d, out + q * task.c_width + lanes);
    }
  }

  // Softmax and outputs of kQueries queries from `q` on over the tile's first n rows, which were filled up to whole
  // vectors.
  template <size_t kQueries>
  void Weigh(size_t q, size_t n) {
    const F d;
    const size_t padded = RoundUp(n, kLanes);
    float* HWY_RESTRICT p = task.p + q * kTokens;
    VF tops[kQueries];
    auto above = hn::MaskFromVec(hn::Zero(d));
    for (size_t i = 0; i < kQueries; ++i) {
      float* scores = p + i * kTokens;
      std::fill(scores + n, scores + padded, -std::numeric_limits<float>::infinity());
      tops[i] = hn::Load(d, scores);
      for (size_t t = kLanes; t < padded; t += kLanes) tops[i] = hn::Max(tops[i], hn::Load(d, scores + t));
      above = hn::Or(above, hn::Gt(tops[i], hn::Set(d, task.max[q + i] + kHeadroom)));
    }
    if (!hn::AllFalse(d, above)) {
      for (size_t i = 0; i < kQueries; ++i) Raise(q + i, hn::GetLane(hn::MaxOfLanes(d, tops[i])));
    }
    HWY_ALIGN uint16_t p16[kQueries * kTokens];
    for (size_t i = 0; i < kQueries; ++i) {
      float* row = p + i * kTokens;
      float* sums = task.lane_sums + (q + i) * kSweepPad;
      const VF max = hn::Set(d, task.max[q + i]);
      VF sum = hn::Load(d, sums);
      for (size_t t = 0; t < padded; t += kLanes) {
        const VF e = Exp2(hn::Sub(hn::Load(d, row + t), max));
        if (task.run_sum != nullptr) hn::Store(e, d, row + t);
        sum = hn::Add(sum, e);
        StoreBf16(e, p16 + i * kTokens + t);
      }
      hn::Store(sum, d, sums);
    }
    for (size_t c = 0; c < task.c_width; c += 2 * kLanes) {
      Accumulate<kQueries>(p16, RoundUp(n, 2) / 2, c, task.out + q * task.c_width + c);
    }
  }

  // Query q's outputs and sums are brought to a reference of `top`, if that is higher.
  void Raise(size_t q, float top) {
    const F d;
    const float before = task.max[q];
    if (!(top > before)) return;
    task.max[q] = top;
    const VF shrink = hn::Set(d, Exp2One(before - top));
    const auto scale = [&](float* from, size_t count) HWY_ATTR {
      for (size_t i = 0; i < count; i += kLanes) hn::Store(hn::Mul(hn::Load(d, from + i), shrink), d, from + i);
    };
    scale(task.out + q * task.c_width, task.c_width);
    scale(task.lane_sums + q * kSweepPad, kSweepPad);
  }

  void Attend(size_t n, NextRows& next) {
    const size_t filled = RoundUp(n, kLanes);
    for (size_t row = n; row < filled; ++row) latents[row] = keys[row] = values[row] = zero;
    const auto* packed = static_cast<const uint16_t*>(task.packed);
    for (size_t t = 0; t < filled; t += kLanes) {
      size_t q = 0;
      for (; q + kOutputGroup <= task.queries; q += kOutputGroup) {
        Score<kOutputGroup>(packed + q * width, t, task.p + q * kTokens + t, next);
      }
      for (; q < task.queries; q += kSweepQueryGroup) {
        Score<kSweepQueryGroup>(packed + q * width, t, task.p + q * kTokens + t, next);
      }
    }
    size_t q = 0;
    for (; q + kOutputGroup <= task.queries; q += kOutputGroup) Weigh<kOutputGroup>(q, n);
    for (; q < task.queries; q += kSweepQueryGroup) Weigh<kSweepQueryGroup>(q, n);
  }

  // Interleaving works within 128 bits: of each 2 * lanes outputs the first vector holds numbers 0..3, 8..11, ..., the
  // second 4..7, 12..15, ...
  void Finish() {
    const size_t lanes = hn::Lanes(F());
    for (size_t q = 0; q < task.queries; ++q) task.sum[q] = SumOf(task.lane_sums + q * kSweepPad, kSweepPad);
    float ordered[2 * HWY_MAX_BYTES / sizeof(float)];
    for (size_t at = 0; at < task.queries * task.c_width; at += 2 * lanes) {
      float* group = task.out + at;
      for (size_t i = 0; i < lanes; i += 4) {
        std::memcpy(ordered + 2 * i, group + i, 4 * sizeof(float));
        std::memcpy(ordered + 2 * i + 4, group + lanes + i, 4 * sizeof(float));
      }
      std::memcpy(group, ordered, 2 * lanes * sizeof(float));
    }
  }
};

bool DotSweep(const SweepTask& task) {
  Bf16Tile tile(task);
  std::memset(task.lane_sums, 0, task.queries * kSweepPad * sizeof(float));
  SweepRuns(task, tile);
  tile.Finish();
  return true;
}

// Groups of queries as [width / 2, group, 2].
void PackBf16(const float* q, size_t queries, size_t c_width, size_t r_width, void* to) {
  const size_t width = c_width + r_width;
  auto* group_at = static_cast<uint16_t*>(to);
  for (size_t first = 0, group; first < queries; first += group, group_at += group * width) {
    group = queries - first >= kOutputGroup ? kOutputGroup : kSweepQueryGroup;
    for (size_t i = 0; i < group; ++i, q += width) {
      for (size_t j = 0; j < width; ++j) group_at[(j / 2 * group + i) * 2 + j % 2] = FloatToBF16(q[j]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longview::internal {

SweepKernel Avx512Bf16SweepKernel() {
#if (HWY_TARGETS & HWY_AVX3) && HWY_COMPILER_GCC_ACTUAL
  return {&N_AVX3::DotSweep, Avx512SweepKernel().mass, &N_AVX3::PackBf16, nullptr};
#else
  return {};
#endif
}

SweepKernel EmulatedBf16SweepKernel() {
#if HWY_TARGETS & HWY_AVX2
  return {&N_AVX2::DotSweep, Avx2SweepKernel().mass, &N_AVX2::PackBf16, nullptr};
#else
  return {};
#endif
}

}  // namespace longview::internal
#endif  // HWY_ONCE
