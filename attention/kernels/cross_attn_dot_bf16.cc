// The sweep with bf16 dot products (AVX512_BF16's vdpbf16ps: two products a lane, summed in fp32), for bf16 caches.
//
// Rows are read where they lie (cross_attn_rows-inl.h). Scores contract pairs of neighbouring numbers of a row, outputs
// pairs of tokens. Queries and probabilities are rounded to bf16.
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

#include "attention/kernels/cross_attn_rows-inl.h"
#include "attention/kernels/cross_attn_sweep-inl.h"
#include "attention/kernels/cross_attn_sweep.h"
#include "core/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
#undef LV_NATIVE_DOT_BF16
#define LV_NATIVE_DOT_BF16 (HWY_TARGET == HWY_AVX3 && HWY_COMPILER_GCC_ACTUAL)
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace longview::internal {
namespace HWY_NAMESPACE {

using U16 = hn::Repartition<uint16_t, F>;
using VU16 = hn::Vec<U16>;

// sum[i] += a[2 i] b[2 i] + a[2 i + 1] b[2 i + 1], a and b pairs of bf16.
HWY_INLINE VF DotPairs(VF sum, VU32 a, VU32 b) {
#if LV_NATIVE_DOT_BF16
  // An instruction that the target's flags do not name.
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
#else
  const F d;
  const auto high = hn::Set(U32(), 0xFFFF0000u);
  sum = hn::MulAdd(hn::BitCast(d, hn::ShiftLeft<16>(a)), hn::BitCast(d, hn::ShiftLeft<16>(b)), sum);
  return hn::MulAdd(hn::BitCast(d, hn::And(a, high)), hn::BitCast(d, hn::And(b, high)), sum);
#endif
}

// A vector of numbers >= 0 as bf16, to nearest even.
HWY_INLINE void StoreBf16(VF v, uint16_t* HWY_RESTRICT to) {
  const hn::Rebind<uint16_t, F> du16;
#if LV_NATIVE_DOT_BF16
  hn::Vec<decltype(du16)> rounded;
  asm("vcvtneps2bf16 %1, %0" : "=v"(rounded.raw) : "v"(v.raw));
  hn::StoreU(rounded, du16, to);
#else
  const U32 du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd));
  const auto narrow = hn::DemoteTo(hn::Rebind<int16_t, F>(), hn::BitCast(hn::RebindToSigned<F>(), rounded));
  hn::StoreU(hn::BitCast(du16, narrow), du16, to);
#endif
}

// Rows of bf16. Outputs lie interleaved as the pairs do until FinishOutputs puts them in order.
struct Bf16Tile {
  static constexpr size_t kTokens = kSweepLargestTile;

  const SweepTask& task;
  const size_t width;  // of what a query is multiplied with
  TileRows<uint16_t> rows;

  explicit Bf16Tile(const SweepTask& t) : task(t), width(t.c_width + t.r_width), rows(t, t.tile) {}

  // Blocks of scores: see Score.
  static size_t Steps(const SweepTask& task, size_t n) {
    return RoundUp(n, kLanes) / kLanes * QueryGroups(task.queries) * ((task.c_width + task.r_width) / (2 * kStep));
  }

  void Put(const CrossAttnRun& run, size_t token, size_t count, size_t row) { rows.Put(run, token, count, row); }

  // p[kQueries, kTokens] at kLanes tokens = q[kQueries, width] . the tile's rows from `row` on.
  template <size_t kQueries>
  HWY_INLINE void Score(const uint8_t* q, size_t row, float* HWY_RESTRICT p, NextRows& next) const {
    VF sums[kQueries];
    std::fill_n(sums, kQueries, hn::Zero(F()));
    const auto dot = [](VF sum, VU32 a, VU32 b) HWY_ATTR { return DotPairs(sum, a, b); };
    const size_t c_bytes = task.c_width * sizeof(uint16_t), r_bytes = task.r_width * sizeof(uint16_t);
    Contract(rows.latents + row, c_bytes, q, next, sums, dot);
    Contract(rows.keys + row, r_bytes, q + kQueries * c_bytes, next, sums, dot);
    HWY_UNROLL(kQueryGroup)
    for (size_t i = 0; i < kQueries; ++i) hn::Store(sums[i], F(), p + i * kTokens);
  }

  // Two vectors of outputs of kQueries queries += p[kQueries, kTokens] . the tile's values from column `c` on.
  template <size_t kQueries>
  HWY_INLINE void Accumulate(const uint16_t* HWY_RESTRICT p, size_t pairs, size_t c, float* HWY_RESTRICT out) const {
    const F d;
    const U16 d16;
    const U32 d32;
    VF low[kQueries], high[kQueries];
    HWY_UNROLL(kQueryGroup)
    for (size_t q = 0; q < kQueries; ++q) {
      low[q] = hn::Load(d, out + q * task.c_width);
      high[q] = hn::Load(d, out + q * task.c_width + kLanes);
    }
    for (size_t t = 0; t < pairs; ++t, p += 2) {
      const VU16 even = hn::LoadU(d16, rows.values[2 * t] + c), odd = hn::LoadU(d16, rows.values[2 * t + 1] + c);
      const VU32 lower = hn::BitCast(d32, hn::InterleaveLower(d16, even, odd));
      const VU32 upper = hn::BitCast(d32, hn::InterleaveUpper(d16, even, odd));
      HWY_UNROLL(kQueryGroup)
      for (size_t q = 0; q < kQueries; ++q) {
        uint32_t pair;
        std::memcpy(&pair, p + q * kTokens, sizeof(pair));
        const VU32 weights = hn::Set(d32, pair);
        low[q] = DotPairs(low[q], lower, weights);
        high[q] = DotPairs(high[q], upper, weights);
      }
    }
    HWY_UNROLL(kQueryGroup)
    for (size_t q = 0; q < kQueries; ++q) {
      hn::Store(low[q], d, out + q * task.c_width);
      hn::Store(high[q], d, out + q * task.c_width + kLanes);
    }
  }

  // Softmax and outputs of kQueries queries from `q` on over the tile's first n rows.
  template <size_t kQueries>
  HWY_INLINE void Weigh(size_t q, size_t n) {
    const F d;
    VF tops[kQueries];
    RaiseReferences(task, q, n, tops);
    HWY_ALIGN uint16_t p16[kQueries * kTokens];
    for (size_t i = 0; i < kQueries; ++i) {
      float* p = task.p + (q + i) * kTokens;
      float* sums = task.lane_sums + (q + i) * kSweepPad;
      const VF max = hn::Set(d, task.max[q + i]);
      VF sum = hn::Load(d, sums);
      for (size_t t = 0; t < n; t += kLanes) {
        const VF e = Exp2(hn::Sub(hn::Load(d, p + t), max));
        if (task.run_sum != nullptr) hn::Store(e, d, p + t);
        sum = hn::Add(sum, e);
        StoreBf16(e, p16 + i * kTokens + t);
      }
      hn::Store(sum, d, sums);
    }
    for (size_t c = 0; c < task.c_width; c += 2 * kLanes) {
      Accumulate<kQueries>(p16, RoundUp(n, 2) / 2, c, task.out + q * task.c_width + c);
    }
  }

  void Attend(size_t n, NextRows& next) {
    const size_t filled = RoundUp(n, kLanes);
    rows.Fill(n, filled);
    const auto* packed = static_cast<const uint8_t*>(task.packed);
    for (size_t t = 0; t < filled; t += kLanes) {
      ForQueryGroups(task.queries, [&](auto group, size_t q) HWY_ATTR {
        Score<group()>(packed + q * width * sizeof(uint16_t), t, task.p + q * kTokens + t, next);
      });
    }
    ForQueryGroups(task.queries, [&](auto group, size_t q) HWY_ATTR { Weigh<group()>(q, n); });
  }
};

bool DotSweep(const SweepTask& task) {
  Bf16Tile tile(task);
  SweepRuns(task, tile);
  FinishOutputs<2>(task);
  return true;
}

// Groups of queries as [width / 2, group, 2].
void PackBf16(const float* q, size_t queries, size_t c_width, size_t r_width, void* to) {
  const size_t width = c_width + r_width;
  auto* packed = static_cast<uint16_t*>(to);
  for (size_t i = 0; i < queries; ++i) {
    for (size_t j = 0; j < width; ++j) packed[InGroup(i, j, queries, width, 2)] = FloatToBF16(q[i * width + j]);
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
