// The sweep in fp16 arithmetic (AVX512_FP16: 32 products an instruction, twice as many as in fp32), for bf16 caches.
//
// Rows of the tile are turned into fp16, exactly but for numbers below 2^-14. Scores are summed for 8 queries at a
// time, four neighbouring numbers of each side by side in a vector, so that a token's numbers are broadcast from memory
// and only two rounds of merging are left; the queries that are no whole eight go row by row. Sums in fp16 end with the
// tile. A part whose numbers could leave fp16's range is not answered (SweepKernel::fallback).
//
// The same code is compiled for AVX2 with fp16 vectors spelled out, so that tests can hold it against the reference on
// machines without the instructions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/cross_attn_fp16_avx512.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_NEON)
// clang-format off: the order matters
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "attention/kernels/cross_attn_sweep-inl.h"
#include "attention/kernels/cross_attn_sweep.h"
#include "core/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
#undef LV_NATIVE_FP16
#if HWY_TARGET == HWY_AVX3 && HWY_COMPILER_GCC_ACTUAL
// On top of Highway's own target, until HWY_AFTER_NAMESPACE.
#pragma GCC target("avx512fp16")
#define LV_NATIVE_FP16 1
#else
#define LV_NATIVE_FP16 0
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace longview::internal {
namespace HWY_NAMESPACE {

// 32 numbers in fp16.
#if LV_NATIVE_FP16
using Halves = __m512h;

HWY_INLINE Halves ZeroHalves() { return _mm512_setzero_ph(); }
HWY_INLINE Halves LoadHalves(const uint16_t* from) { return _mm512_load_ph(from); }
HWY_INLINE Halves MulAddHalves(Halves a, Halves b, Halves c) { return _mm512_fmadd_ph(a, b, c); }

// Four numbers, eight times over.
HWY_INLINE Halves BroadcastFour(const uint16_t* from) {
  int64_t four;
  std::memcpy(&four, from, sizeof(four));
  return _mm512_castsi512_ph(_mm512_set1_epi64(four));
}

// A pair of equal numbers, sixteen times over.
HWY_INLINE Halves BroadcastPair(const uint32_t* from) {
  return _mm512_castsi512_ph(_mm512_set1_epi32(static_cast<int>(*from)));
}

// a0 a1 a2 a3 and b0 b1 b2 b3 become a0+a1 b0+b1 a2+a3 b2+b3, in each four numbers.
HWY_INLINE Halves MergePairs(Halves a, Halves b) {
  const __m512i x = _mm512_castph_si512(a), y = _mm512_castph_si512(b);
  const __m512i straight = _mm512_mask_blend_epi16(0xAAAAAAAAu, x, y);
  const __m512i crossed = _mm512_rol_epi32(_mm512_mask_blend_epi16(0x55555555u, x, y), 16);
  return _mm512_add_ph(_mm512_castsi512_ph(straight), _mm512_castsi512_ph(crossed));
}

// a0 a1 a2 a3 and b0 b1 b2 b3 become a0+a2 a1+a3 b0+b2 b1+b3.
HWY_INLINE Halves MergeHalves(Halves a, Halves b) {
  const __m512i x = _mm512_castph_si512(a), y = _mm512_castph_si512(b);
  const __m512i straight = _mm512_mask_blend_epi32(0xAAAA, x, y);
  const __m512i crossed = _mm512_rol_epi64(_mm512_mask_blend_epi32(0x5555, x, y), 32);
  return _mm512_add_ph(_mm512_castsi512_ph(straight), _mm512_castsi512_ph(crossed));
}

HWY_INLINE __m512 LowerFloats(Halves v) { return _mm512_cvtxph_ps(_mm512_castph512_ph256(v)); }
HWY_INLINE __m512 UpperFloats(Halves v) {
  return _mm512_cvtxph_ps(_mm256_castsi256_ph(_mm512_extracti64x4_epi64(_mm512_castph_si512(v), 1)));
}

// to[i stride .. + 3] = the i-th four numbers.
HWY_INLINE void StoreFours(Halves v, float* to, size_t stride) {
  const __m512 lower = LowerFloats(v), upper = UpperFloats(v);
  _mm_store_ps(to, _mm512_castps512_ps128(lower));
  _mm_store_ps(to + stride, _mm512_extractf32x4_ps(lower, 1));
  _mm_store_ps(to + 2 * stride, _mm512_extractf32x4_ps(lower, 2));
  _mm_store_ps(to + 3 * stride, _mm512_extractf32x4_ps(lower, 3));
  _mm_store_ps(to + 4 * stride, _mm512_castps512_ps128(upper));
  _mm_store_ps(to + 5 * stride, _mm512_extractf32x4_ps(upper, 1));
  _mm_store_ps(to + 6 * stride, _mm512_extractf32x4_ps(upper, 2));
  _mm_store_ps(to + 7 * stride, _mm512_extractf32x4_ps(upper, 3));
}

// to[0..3] = the sum of the eight fours.
HWY_INLINE void StoreSumOfFours(Halves v, float* to) {
  const __m512 sum = _mm512_add_ps(LowerFloats(v), UpperFloats(v));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
  _mm_store_ps(to, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
}

HWY_INLINE void AddToFloats(Halves v, float* to) {
  _mm512_store_ps(to, _mm512_add_ps(_mm512_load_ps(to), LowerFloats(v)));
  _mm512_store_ps(to + 16, _mm512_add_ps(_mm512_load_ps(to + 16), UpperFloats(v)));
}
#else
struct Halves {
  float lane[32];
};

HWY_INLINE float RoundToHalf(float v) { return F16ToFloat(FloatToF16(v)); }
HWY_INLINE Halves ZeroHalves() { return {}; }
template <class F32>
HWY_INLINE Halves MakeHalves(const F32& lane) {
  Halves v;
  for (size_t i = 0; i < 32; ++i) v.lane[i] = lane(i);
  return v;
}
HWY_INLINE Halves LoadHalves(const uint16_t* from) {
  return MakeHalves([from](size_t i) { return F16ToFloat(from[i]); });
}
HWY_INLINE Halves MulAddHalves(const Halves& a, const Halves& b, const Halves& c) {
  return MakeHalves([&](size_t i) { return RoundToHalf(std::fma(a.lane[i], b.lane[i], c.lane[i])); });
}
HWY_INLINE Halves BroadcastFour(const uint16_t* from) {
  return MakeHalves([from](size_t i) { return F16ToFloat(from[i % 4]); });
}
HWY_INLINE Halves BroadcastPair(const uint32_t* from) {
  return MakeHalves([from](size_t) { return F16ToFloat(static_cast<uint16_t>(*from & 0xFFFF)); });
}
HWY_INLINE Halves MergePairs(const Halves& a, const Halves& b) {
  return MakeHalves([&](size_t i) {
    const Halves& from = i % 2 == 0 ? a : b;
    return RoundToHalf(from.lane[i] + from.lane[i ^ 1]);
  });
}
HWY_INLINE Halves MergeHalves(const Halves& a, const Halves& b) {
  return MakeHalves([&](size_t i) {
    const Halves& from = i % 4 < 2 ? a : b;
    return RoundToHalf(from.lane[i] + from.lane[i ^ 2]);
  });
}
HWY_INLINE void StoreFours(const Halves& v, float* to, size_t stride) {
  for (size_t i = 0; i < 32; ++i) to[i / 4 * stride + i % 4] = v.lane[i];
}
HWY_INLINE void StoreSumOfFours(const Halves& v, float* to) {
  for (size_t i = 0; i < 4; ++i) {
    to[i] = 0.0f;
    for (size_t four = 0; four < 32; four += 4) to[i] += v.lane[four + i];
  }
}
HWY_INLINE void AddToFloats(const Halves& v, float* to) {
  for (size_t i = 0; i < 32; ++i) to[i] += v.lane[i];
}
#endif

constexpr size_t kEight = 8;  // queries whose scores are summed together

// Scores of four tokens: a and b hold them in pairs, sums of fours.
HWY_INLINE Halves MergeFour(const Halves* sums) {
  return MergeHalves(MergePairs(sums[0], sums[1]), MergePairs(sums[2], sums[3]));
}

// p[8, kSweepTile] at eight tokens = q . k[8, stride]; q [width / 4, 8, 4].
HWY_INLINE void ScoreEight(const uint16_t* HWY_RESTRICT q, const uint16_t* HWY_RESTRICT k, size_t width, size_t stride,
                           float* HWY_RESTRICT p) {
  Halves sums[kBlockTokens];
  for (Halves& sum : sums) sum = ZeroHalves();
  for (size_t i = 0; i < width; i += 4) {
    const Halves queries = LoadHalves(q + i * kEight);
    HWY_UNROLL(8)
    for (size_t t = 0; t < kBlockTokens; ++t) {
      sums[t] = MulAddHalves(BroadcastFour(k + t * stride + i), queries, sums[t]);
    }
  }
  StoreFours(MergeFour(sums), p, kSweepTile);
  StoreFours(MergeFour(sums + 4), p + 4, kSweepTile);
}

// p[8 tokens] = q[width] . k[8, stride] of one query.
HWY_INLINE void ScoreOne(const uint16_t* HWY_RESTRICT q, const uint16_t* HWY_RESTRICT k, size_t width, size_t stride,
                         float* HWY_RESTRICT p) {
  Halves sums[kBlockTokens];
  for (Halves& sum : sums) sum = ZeroHalves();
  for (size_t i = 0; i < width; i += 32) {
    const Halves query = LoadHalves(q + i);
    HWY_UNROLL(8)
    for (size_t t = 0; t < kBlockTokens; ++t) {
      sums[t] = MulAddHalves(LoadHalves(k + t * stride + i), query, sums[t]);
    }
  }
  StoreSumOfFours(MergeFour(sums), p);
  StoreSumOfFours(MergeFour(sums + 4), p + 4);
}

// `kVectors` vectors of outputs of three queries += p[3, n] . c[n, stride].
template <size_t kVectors>
HWY_INLINE void AccumulateHalves(const uint32_t* HWY_RESTRICT p, const uint16_t* HWY_RESTRICT c, size_t n,
                                 size_t stride, size_t c_width, float* HWY_RESTRICT out) {
  Halves sums[3][kVectors];
  for (auto& row : sums) {
    for (Halves& sum : row) sum = ZeroHalves();
  }
  for (size_t t = 0; t < n; ++t, c += stride) {
    const Halves p0 = BroadcastPair(p + t);
    const Halves p1 = BroadcastPair(p + kSweepTile + t);
    const Halves p2 = BroadcastPair(p + 2 * kSweepTile + t);
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
      const Halves values = LoadHalves(c + 32 * v);
      sums[0][v] = MulAddHalves(p0, values, sums[0][v]);
      sums[1][v] = MulAddHalves(p1, values, sums[1][v]);
      sums[2][v] = MulAddHalves(p2, values, sums[2][v]);
    }
  }
  for (size_t q = 0; q < 3; ++q) {
    for (size_t v = 0; v < kVectors; ++v) AddToFloats(sums[q][v], out + q * c_width + 32 * v);
  }
}

// p[n] in [0, 1] in fp16, each twice.
HWY_INLINE void DoubleRow(const float* HWY_RESTRICT p, size_t n, uint32_t* HWY_RESTRICT to) {
  const F d;
  const hn::Rebind<hwy::float16_t, F> d16;
  const hn::Rebind<uint16_t, F> du16;
  const hn::Repartition<uint32_t, F> du;
  for (size_t t = 0; t < n; t += hn::Lanes(d)) {
    const auto halves = hn::PromoteTo(du, hn::BitCast(du16, hn::DemoteTo(d16, hn::Load(d, p + t))));
    hn::Store(hn::Or(halves, hn::ShiftLeft<16>(halves)), du, to + t);
  }
}

// Rows of fp16.
struct HalfTile {
  static constexpr size_t kTokens = kSweepTile;

  using U16 = hn::Repartition<uint16_t, F>;
  using VU16 = hn::Vec<U16>;

  const SweepTask& task;
  const size_t width;    // of what a query is multiplied with
  uint16_t* const rows;  // [kSweepTile, row_width]
  VU16 peak;             // largest magnitudes, as bits of bf16

  explicit HalfTile(const SweepTask& t)
      : task(t), width(t.c_width + t.r_width), rows(reinterpret_cast<uint16_t*>(t.tile)), peak(hn::Zero(U16())) {}

  static size_t Steps(const SweepTask& task, size_t n) { return StepsOfGroups(task, n, kEight); }

  // Not forced inline: SweepRuns is compiled without the fp16 instructions.
  void Put(const CrossAttnRun& run, size_t token, size_t count, size_t row) {
    const size_t d_c = task.params->d_c, d_r = task.params->d_r, stride = run.latent_stride;
    const size_t n = HWY_MIN(static_cast<size_t>(run.d_c), d_c);
    uint16_t* to = rows + row * task.row_width;
    PutRows(static_cast<const uint16_t*>(run.latents) + token * stride, stride, count, n, d_c, to);
    PutRows(static_cast<const uint16_t*>(run.keys) + token * d_r, d_r, count, d_r, d_r, to + task.c_width);
    if (task.value_at == 0) return;
    PutRows(static_cast<const uint16_t*>(run.values) + token * stride, stride, count, n, d_c, to + task.value_at);
  }

  // `count` rows of `n` numbers in bf16 as fp16, with zeros up to `full`.
  HWY_INLINE void PutRows(const uint16_t* HWY_RESTRICT from, size_t stride, size_t count, size_t n, size_t full,
                          uint16_t* HWY_RESTRICT to) {
    const U16 d;
    const size_t lanes = hn::Lanes(d), row_width = task.row_width;
    VU16 top = peak;
    for (size_t row = 0; row < count; ++row, from += stride, to += row_width) {
      size_t i = 0;
      for (; i + lanes <= n; i += lanes) hn::Store(ToHalf(hn::LoadU(d, from + i), top), d, to + i);
      for (; i < full; i += lanes) {
        HWY_ALIGN uint16_t rest[HWY_MAX_BYTES / sizeof(uint16_t)] = {};
        if (i < n) std::memcpy(rest, from + i, (n - i) * sizeof(uint16_t));
        hn::Store(ToHalf(hn::Load(d, rest), top), d, to + i);
      }
    }
    peak = top;
  }

  // The exponent's bias changes from 127 to 15; what is too small becomes (nearly) zero, what is too large the largest.
  static HWY_INLINE VU16 ToHalf(VU16 bits, VU16& top) {
    const U16 d;
    const VU16 magnitude = hn::And(bits, hn::Set(d, 0x7FFF));
    top = hn::Max(top, magnitude);
    const VU16 moved = hn::SaturatedSub(magnitude, hn::Set(d, (127 - 15) << 7));
    const VU16 sign = hn::AndNot(hn::Set(d, 0x7FFF), bits);
    return hn::Or(sign, hn::ShiftLeft<3>(hn::Min(moved, hn::Set(d, (30 << 7) | 0x7F))));
  }

  void Attend(size_t n, NextRows& next) {
    const size_t lanes = hn::Lanes(F()), stride = task.row_width;
    const size_t filled = RoundUp(n, kBlockTokens);
    std::memset(rows + n * stride, 0, (filled - n) * stride * sizeof(uint16_t));
    const auto* q16 = static_cast<const uint16_t*>(task.packed);
    size_t q = 0;
    for (; q + kEight <= task.queries; q += kEight) {
      for (size_t t = 0; t < filled; t += kBlockTokens) {
        next.Step();
        ScoreEight(q16 + q * width, rows + t * stride, width, stride, task.p + q * kSweepTile + t);
      }
    }
    for (; q < task.queries; ++q) {
      for (size_t t = 0; t < filled; t += kBlockTokens) {
        next.Step();
        ScoreOne(q16 + q * width, rows + t * stride, width, stride, task.p + q * kSweepTile + t);
      }
    }
    HWY_ALIGN uint32_t p16[kSweepQueryGroup * kSweepTile];
    const uint16_t* values = rows + task.value_at;
    for (q = 0; q < task.queries; q += kSweepQueryGroup) {
      float* p = task.p + q * kSweepTile;
      float* out = task.out + q * task.c_width;
      float largest[kSweepQueryGroup];
      OnlineSoftmax(task, n, q, largest);
      for (size_t i = 0; i < kSweepQueryGroup; ++i) {
        DoubleRow(p + i * kSweepTile, RoundUp(n, lanes), p16 + i * kSweepTile);
      }
      size_t c = 0;
      for (; c + 128 <= task.c_width; c += 128) AccumulateHalves<4>(p16, values + c, n, stride, task.c_width, out + c);
      for (; c < task.c_width; c += 32) AccumulateHalves<1>(p16, values + c, n, stride, task.c_width, out + c);
    }
  }

  // Whether no sum can have left fp16's range, nor the numbers been so small that zeros for the smallest show.
  bool InRange() const {
    constexpr float kMost = 60000.0f, kLeast = 0.0625f;
    const U16 d;
    uint16_t lanes[HWY_MAX_BYTES / sizeof(uint16_t)];
    hn::StoreU(peak, d, lanes);
    const float largest = BF16ToFloat(*std::max_element(lanes, lanes + hn::Lanes(d)));
    float sum = 0.0f;
    for (size_t q = 0; q < task.queries; ++q) {
      float one = 0.0f;
      for (size_t i = 0; i < width; ++i) one += std::abs(task.q[q * width + i]);
      sum = std::max(sum, one);
    }
    return largest >= kLeast && largest * static_cast<float>(kSweepTile) <= kMost && sum <= kMost &&
           largest * sum <= kMost;
  }
};

bool HalfSweep(const SweepTask& task) {
  HalfTile tile(task);
  SweepRuns(task, tile);
  return tile.InRange();
}

// Whole eights of queries as [width / 4, 8, 4], the others as rows.
void PackHalves(const float* q, size_t queries, size_t c_width, size_t r_width, void* to) {
  const size_t width = c_width + r_width;
  auto* out = static_cast<uint16_t*>(to);
  for (size_t i = 0; i < queries; ++i) {
    for (size_t j = 0; j < width; ++j) out[GroupedAt(i, j, queries, width, kEight, 4)] = FloatToF16(q[i * width + j]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longview::internal {

SweepKernel Avx512Fp16SweepKernel() {
#if (HWY_TARGETS & HWY_AVX3) && HWY_COMPILER_GCC_ACTUAL
  return {&N_AVX3::HalfSweep, Avx512SweepKernel().mass, &N_AVX3::PackHalves, Avx512SweepKernel().sweep};
#else
  return {};
#endif
}

SweepKernel EmulatedFp16SweepKernel() {
#if HWY_TARGETS & HWY_AVX2
  return {&N_AVX2::HalfSweep, Avx2SweepKernel().mass, &N_AVX2::PackHalves, Avx2SweepKernel().sweep};
#else
  return {};
#endif
}

}  // namespace longview::internal
#endif  // HWY_ONCE
