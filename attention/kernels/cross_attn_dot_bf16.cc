// The sweep with bf16 dot products (AVX512_BF16's vdpbf16ps: two products a lane, summed in fp32), for bf16 caches.
//
// Rows of the tile stay bf16. Scores contract pairs of neighbouring numbers of a row; outputs contract pairs of tokens,
// for which the tile's latents are kept a second time with two tokens interleaved. Queries and probabilities are
// rounded to bf16.
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

// p[n] in [0, 1] as bf16, to nearest even.
HWY_INLINE void RoundRow(const float* HWY_RESTRICT p, size_t n, uint16_t* HWY_RESTRICT to) {
  const F d;
  const hn::Repartition<uint32_t, F> du;
  const hn::RebindToSigned<F> di;
  const hn::Rebind<int16_t, F> d16;
  const hn::Rebind<uint16_t, F> du16;
  for (size_t t = 0; t < n; t += hn::Lanes(d)) {
    const auto bits = hn::BitCast(du, hn::Load(d, p + t));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd));
    hn::StoreU(hn::BitCast(du16, hn::DemoteTo(d16, hn::BitCast(di, rounded))), du16, to + t);
  }
}

// p[3, kSweepTile] at four tokens = q[3, width] . k[4, width]; q dense, k with rows of `stride`.
HWY_INLINE void DotScore3x4(const uint16_t* HWY_RESTRICT q, const uint16_t* HWY_RESTRICT k, size_t width, size_t stride,
                            float* HWY_RESTRICT p) {
  const U16 d;
  VF s00 = hn::Zero(F()), s01 = s00, s02 = s00, s03 = s00;
  VF s10 = s00, s11 = s00, s12 = s00, s13 = s00;
  VF s20 = s00, s21 = s00, s22 = s00, s23 = s00;
  for (size_t i = 0; i < width; i += hn::Lanes(d)) {
    const VU16 q0 = hn::Load(d, q + i), q1 = hn::Load(d, q + width + i), q2 = hn::Load(d, q + 2 * width + i);
    VU16 t = hn::Load(d, k + i);
    s00 = DotPairs(s00, t, q0);
    s10 = DotPairs(s10, t, q1);
    s20 = DotPairs(s20, t, q2);
    t = hn::Load(d, k + stride + i);
    s01 = DotPairs(s01, t, q0);
    s11 = DotPairs(s11, t, q1);
    s21 = DotPairs(s21, t, q2);
    t = hn::Load(d, k + 2 * stride + i);
    s02 = DotPairs(s02, t, q0);
    s12 = DotPairs(s12, t, q1);
    s22 = DotPairs(s22, t, q2);
    t = hn::Load(d, k + 3 * stride + i);
    s03 = DotPairs(s03, t, q0);
    s13 = DotPairs(s13, t, q1);
    s23 = DotPairs(s23, t, q2);
  }
  StoreSums(s00, s01, s02, s03, p);
  StoreSums(s10, s11, s12, s13, p + kSweepTile);
  StoreSums(s20, s21, s22, s23, p + 2 * kSweepTile);
}

// Two vectors of outputs of three queries += pairs of tokens; `c` walks over `pairs` rows of 2 * c_width numbers.
HWY_INLINE void DotAccumulate3x2(const uint16_t* HWY_RESTRICT p, const uint16_t* HWY_RESTRICT c, size_t pairs,
                                 size_t c_width, float* HWY_RESTRICT out) {
  const F d;
  const U16 d16;
  const hn::Repartition<uint32_t, F> du;
  const size_t lanes = hn::Lanes(d);
  float* out1 = out + c_width;
  float* out2 = out1 + c_width;
  VF o00 = hn::Load(d, out), o01 = hn::Load(d, out + lanes);
  VF o10 = hn::Load(d, out1), o11 = hn::Load(d, out1 + lanes);
  VF o20 = hn::Load(d, out2), o21 = hn::Load(d, out2 + lanes);
  for (size_t t = 0; t < pairs; ++t, c += 2 * c_width) {
    uint32_t pair[3];
    for (size_t i = 0; i < 3; ++i) std::memcpy(&pair[i], p + i * kSweepTile + 2 * t, sizeof(uint32_t));
    const VU16 p0 = hn::BitCast(d16, hn::Set(du, pair[0]));
    const VU16 p1 = hn::BitCast(d16, hn::Set(du, pair[1]));
    const VU16 p2 = hn::BitCast(d16, hn::Set(du, pair[2]));
    VU16 v = hn::Load(d16, c);
    o00 = DotPairs(o00, v, p0);
    o10 = DotPairs(o10, v, p1);
    o20 = DotPairs(o20, v, p2);
    v = hn::Load(d16, c + 2 * lanes);
    o01 = DotPairs(o01, v, p0);
    o11 = DotPairs(o11, v, p1);
    o21 = DotPairs(o21, v, p2);
  }
  hn::Store(o00, d, out);
  hn::Store(o01, d, out + lanes);
  hn::Store(o10, d, out1);
  hn::Store(o11, d, out1 + lanes);
  hn::Store(o20, d, out2);
  hn::Store(o21, d, out2 + lanes);
}

// Rows of bf16. Outputs lie interleaved as the pairs do until Finish puts them in order.
struct Bf16Tile {
  const SweepTask& task;
  const size_t width;     // of what a query is multiplied with
  uint16_t* const rows;   // [kSweepTile, row_width]
  uint16_t* const pairs;  // [kSweepTile / 2, 2 * c_width]

  explicit Bf16Tile(const SweepTask& t)
      : task(t),
        width(t.c_width + t.r_width),
        rows(reinterpret_cast<uint16_t*>(t.tile)),
        pairs(rows + kSweepTile * t.row_width) {}

  static size_t Steps(const SweepTask& task, size_t n) { return StepsOf3x4(task, n); }

  // Not forced inline: SweepRuns is compiled without the bf16 instructions.
  void Put(const CrossAttnRun& run, size_t token, size_t count, size_t row) {
    const CrossAttnParams& params = *task.params;
    const size_t n = HWY_MIN(static_cast<size_t>(run.d_c), params.d_c);
    uint16_t* to = rows + row * task.row_width;
    for (const size_t end = token + count; token < end; ++token, to += task.row_width) {
      PutVector(run.latents, token * run.latent_stride, n, to);
      if (task.value_at > 0) PutVector(run.values, token * run.latent_stride, n, to + task.value_at);
      std::memcpy(to + task.c_width, static_cast<const uint16_t*>(run.keys) + token * params.d_r,
                  params.d_r * sizeof(uint16_t));
    }
  }

  void PutVector(const void* from, size_t at, size_t n, uint16_t* to) {
    std::memcpy(to, static_cast<const uint16_t*>(from) + at, n * sizeof(uint16_t));
    std::memset(to + n, 0, (task.params->d_c - n) * sizeof(uint16_t));
  }

  void Interleave(size_t count) {
    const U16 d;
    const size_t lanes = hn::Lanes(d);
    for (size_t t = 0; t < count; ++t) {
      const uint16_t* even = rows + 2 * t * task.row_width + task.value_at;
      uint16_t* to = pairs + t * 2 * task.c_width;
      for (size_t i = 0; i < task.c_width; i += lanes) {
        const VU16 a = hn::Load(d, even + i), b = hn::Load(d, even + task.row_width + i);
        hn::Store(hn::InterleaveLower(d, a, b), d, to + 2 * i);
        hn::Store(hn::InterleaveUpper(d, a, b), d, to + 2 * i + lanes);
      }
    }
  }

  void Attend(size_t n, NextRows& next) {
    const size_t lanes = hn::Lanes(F());
    const size_t filled = RoundUp(n, 4);
    std::memset(rows + n * task.row_width, 0, (filled - n) * task.row_width * sizeof(uint16_t));
    Interleave(filled / 2);
    HWY_ALIGN uint16_t p16[kSweepQueryGroup * kSweepTile];
    for (size_t q = 0; q < task.queries; q += kSweepQueryGroup) {
      float* p = task.p + q * kSweepTile;
      float* out = task.out + q * task.c_width;
      for (size_t t = 0; t < filled; t += 4) {
        next.Step();
        DotScore3x4(static_cast<const uint16_t*>(task.packed) + q * width, rows + t * task.row_width, width,
                    task.row_width, p + t);
      }
      float largest[kSweepQueryGroup];
      OnlineSoftmax(task, n, q, largest);
      for (size_t i = 0; i < kSweepQueryGroup; ++i) {
        RoundRow(p + i * kSweepTile, RoundUp(n, lanes), p16 + i * kSweepTile);
        for (size_t t = n; t < filled; ++t) p16[i * kSweepTile + t] = 0;
      }
      for (size_t c = 0; c < task.c_width; c += 2 * lanes) {
        DotAccumulate3x2(p16, pairs + 2 * c, filled / 2, task.c_width, out + c);
      }
    }
  }

  // Interleaving works within 128 bits: of each 2 * lanes outputs the first vector holds numbers 0..3, 8..11, ..., the
  // second 4..7, 12..15, ...
  void Finish() {
    const size_t lanes = hn::Lanes(F());
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
  SweepRuns(task, tile);
  tile.Finish();
  return true;
}

void PackBf16(const float* q, size_t queries, size_t c_width, size_t r_width, void* to) {
  std::transform(q, q + queries * (c_width + r_width), static_cast<uint16_t*>(to), FloatToBF16);
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
