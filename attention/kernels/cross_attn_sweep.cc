// The sweep over a part of the cache, written once with Highway and compiled for each instruction set.
//
// A tile of 32 tokens is widened to float, latent and time key side by side; scores are dot products of rows, summed
// for 3 queries and 4 tokens at a time; then the tile's latents are added to the outputs, 3 queries and 4 vectors at a
// time. Every query is served from the tile while it lies in the first-level cache: the cache itself is read once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/cross_attn_sweep.cc"
// What is not listed in CrossAttnKernel is not built; sizeless vectors cannot be kept in the blocks used here.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// clang-format off: the order matters
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "attention/kernels/cross_attn_sweep-inl.h"
#include "attention/kernels/cross_attn_sweep.h"

HWY_BEFORE_NAMESPACE();
namespace longview::internal {
namespace HWY_NAMESPACE {

// Widens `n` stored numbers to float; whole vectors, then one by one, so that nothing beyond n is read.
template <class T>
HWY_INLINE void WidenRow(const T* HWY_RESTRICT from, size_t n, float* HWY_RESTRICT to) {
  const F d;
  const hn::Rebind<T, F> ds;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const VF v0 = hn::PromoteTo(d, hn::LoadU(ds, from + i));
    const VF v1 = hn::PromoteTo(d, hn::LoadU(ds, from + i + lanes));
    const VF v2 = hn::PromoteTo(d, hn::LoadU(ds, from + i + 2 * lanes));
    const VF v3 = hn::PromoteTo(d, hn::LoadU(ds, from + i + 3 * lanes));
    hn::StoreU(v0, d, to + i);
    hn::StoreU(v1, d, to + i + lanes);
    hn::StoreU(v2, d, to + i + 2 * lanes);
    hn::StoreU(v3, d, to + i + 3 * lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(ds, from + i)), d, to + i);
  const hn::CappedTag<float, 1> d1;
  const hn::Rebind<T, decltype(d1)> ds1;
  for (; i < n; ++i) hn::StoreU(hn::PromoteTo(d1, hn::LoadU(ds1, from + i)), d1, to + i);
}

HWY_INLINE void WidenRow(const float* HWY_RESTRICT from, size_t n, float* HWY_RESTRICT to) {
  std::memcpy(to, from, n * sizeof(float));
}

HWY_INLINE void WidenInt8Row(const int8_t* HWY_RESTRICT from, float scale, size_t n, float* HWY_RESTRICT to) {
  const F d;
  const hn::RebindToSigned<F> di;
  const hn::Rebind<int8_t, F> d8;
  const size_t lanes = hn::Lanes(d);
  const VF s = hn::Set(d, scale);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, from + i))), s), d, to + i);
  }
  for (; i < n; ++i) to[i] = scale * static_cast<float>(from[i]);
}

// `n` numbers from index `at` on, of any store.
HWY_INLINE void WidenStored(CacheStore store, const void* HWY_RESTRICT from, size_t at, float scale, size_t n,
                            float* HWY_RESTRICT to) {
  switch (store) {
    case CacheStore::kF32:
      WidenRow(static_cast<const float*>(from) + at, n, to);
      break;
    case CacheStore::kF16:
      WidenRow(static_cast<const hwy::float16_t*>(from) + at, n, to);
      break;
    case CacheStore::kBF16:
      WidenRow(static_cast<const hwy::bfloat16_t*>(from) + at, n, to);
      break;
    case CacheStore::kI8:
      WidenInt8Row(static_cast<const int8_t*>(from) + at, scale, n, to);
      return;
  }
  if (scale == 1.0f) return;
  for (size_t i = 0; i < n; ++i) to[i] *= scale;
}

// Token `token` of `run` into one row of the tile.
HWY_INLINE void WidenToken(const SweepTask& task, const CrossAttnRun& run, size_t token, float* HWY_RESTRICT to) {
  const CrossAttnParams& params = *task.params;
  const size_t n = HWY_MIN(static_cast<size_t>(run.d_c), params.d_c);
  const size_t at = token * run.latent_stride;
  const auto scale = [token](const float* scales) { return scales == nullptr ? 1.0f : scales[token]; };
  WidenStored(params.store, run.latents, at, scale(run.scales), n, to);
  const CacheStore key_store = TimeKeyStore(params.store);
  WidenStored(key_store, run.keys, token * params.d_r, 1.0f, params.d_r, to + task.c_width);
  // A frame that keeps fewer numbers than the call uses: the rest counts as zero, whatever the tile held before.
  if (n < params.d_c) std::memset(to + n, 0, (params.d_c - n) * sizeof(float));
  if (task.value_at == 0) return;
  WidenStored(params.store, run.values, at, scale(run.value_scales), n, to + task.value_at);
  if (n < params.d_c) std::memset(to + task.value_at + n, 0, (params.d_c - n) * sizeof(float));
}

// p[3, kSweepTile] at four tokens = q[3, width] . k[4, width]; q dense, k with rows of `stride`.
HWY_INLINE void Score3x4(const float* HWY_RESTRICT q, const float* HWY_RESTRICT k, size_t width, size_t stride,
                         float* HWY_RESTRICT p) {
  const F d;
  const size_t lanes = hn::Lanes(d);
  VF s00 = hn::Zero(d), s01 = s00, s02 = s00, s03 = s00;
  VF s10 = s00, s11 = s00, s12 = s00, s13 = s00;
  VF s20 = s00, s21 = s00, s22 = s00, s23 = s00;
  for (size_t i = 0; i < width; i += lanes) {
    const VF q0 = hn::Load(d, q + i), q1 = hn::Load(d, q + width + i), q2 = hn::Load(d, q + 2 * width + i);
    VF t = hn::Load(d, k + i);
    s00 = hn::MulAdd(t, q0, s00);
    s10 = hn::MulAdd(t, q1, s10);
    s20 = hn::MulAdd(t, q2, s20);
    t = hn::Load(d, k + stride + i);
    s01 = hn::MulAdd(t, q0, s01);
    s11 = hn::MulAdd(t, q1, s11);
    s21 = hn::MulAdd(t, q2, s21);
    t = hn::Load(d, k + 2 * stride + i);
    s02 = hn::MulAdd(t, q0, s02);
    s12 = hn::MulAdd(t, q1, s12);
    s22 = hn::MulAdd(t, q2, s22);
    t = hn::Load(d, k + 3 * stride + i);
    s03 = hn::MulAdd(t, q0, s03);
    s13 = hn::MulAdd(t, q1, s13);
    s23 = hn::MulAdd(t, q2, s23);
  }
  StoreSums(s00, s01, s02, s03, p);
  StoreSums(s10, s11, s12, s13, p + kSweepTile);
  StoreSums(s20, s21, s22, s23, p + 2 * kSweepTile);
}

// out[3, c_width] += p[3, n] . c[n, stride] for four vectors of columns.
HWY_INLINE void Accumulate3x4(const float* HWY_RESTRICT p, const float* HWY_RESTRICT c, size_t n, size_t stride,
                              size_t c_width, float* HWY_RESTRICT out) {
  const F d;
  const size_t lanes = hn::Lanes(d);
  float* out1 = out + c_width;
  float* out2 = out1 + c_width;
  VF o00 = hn::Load(d, out), o01 = hn::Load(d, out + lanes);
  VF o02 = hn::Load(d, out + 2 * lanes), o03 = hn::Load(d, out + 3 * lanes);
  VF o10 = hn::Load(d, out1), o11 = hn::Load(d, out1 + lanes);
  VF o12 = hn::Load(d, out1 + 2 * lanes), o13 = hn::Load(d, out1 + 3 * lanes);
  VF o20 = hn::Load(d, out2), o21 = hn::Load(d, out2 + lanes);
  VF o22 = hn::Load(d, out2 + 2 * lanes), o23 = hn::Load(d, out2 + 3 * lanes);
  for (size_t t = 0; t < n; ++t, c += stride) {
    const VF p0 = hn::Set(d, p[t]), p1 = hn::Set(d, p[kSweepTile + t]), p2 = hn::Set(d, p[2 * kSweepTile + t]);
    VF v = hn::Load(d, c);
    o00 = hn::MulAdd(p0, v, o00);
    o10 = hn::MulAdd(p1, v, o10);
    o20 = hn::MulAdd(p2, v, o20);
    v = hn::Load(d, c + lanes);
    o01 = hn::MulAdd(p0, v, o01);
    o11 = hn::MulAdd(p1, v, o11);
    o21 = hn::MulAdd(p2, v, o21);
    v = hn::Load(d, c + 2 * lanes);
    o02 = hn::MulAdd(p0, v, o02);
    o12 = hn::MulAdd(p1, v, o12);
    o22 = hn::MulAdd(p2, v, o22);
    v = hn::Load(d, c + 3 * lanes);
    o03 = hn::MulAdd(p0, v, o03);
    o13 = hn::MulAdd(p1, v, o13);
    o23 = hn::MulAdd(p2, v, o23);
  }
  hn::Store(o00, d, out);
  hn::Store(o01, d, out + lanes);
  hn::Store(o02, d, out + 2 * lanes);
  hn::Store(o03, d, out + 3 * lanes);
  hn::Store(o10, d, out1);
  hn::Store(o11, d, out1 + lanes);
  hn::Store(o12, d, out1 + 2 * lanes);
  hn::Store(o13, d, out1 + 3 * lanes);
  hn::Store(o20, d, out2);
  hn::Store(o21, d, out2 + lanes);
  hn::Store(o22, d, out2 + 2 * lanes);
  hn::Store(o23, d, out2 + 3 * lanes);
}

// The same for one vector of columns: what is left of narrow latents.
HWY_INLINE void Accumulate3x1(const float* HWY_RESTRICT p, const float* HWY_RESTRICT c, size_t n, size_t stride,
                              size_t c_width, float* HWY_RESTRICT out) {
  const F d;
  VF o0 = hn::Load(d, out), o1 = hn::Load(d, out + c_width), o2 = hn::Load(d, out + 2 * c_width);
  for (size_t t = 0; t < n; ++t, c += stride) {
    const VF v = hn::Load(d, c);
    o0 = hn::MulAdd(hn::Set(d, p[t]), v, o0);
    o1 = hn::MulAdd(hn::Set(d, p[kSweepTile + t]), v, o1);
    o2 = hn::MulAdd(hn::Set(d, p[2 * kSweepTile + t]), v, o2);
  }
  hn::Store(o0, d, out);
  hn::Store(o1, d, out + c_width);
  hn::Store(o2, d, out + 2 * c_width);
}

// One tile of n tokens: scores, softmax, outputs.
void AttendTile(const SweepTask& task, size_t n, NextRows& next) {
  const size_t width = task.c_width + task.r_width;
  const size_t stride = task.row_width;
  const size_t rows = RoundUp(n, 4);
  if (rows > n) std::memset(task.tile + n * stride, 0, (rows - n) * stride * sizeof(float));
  const float* values = task.tile + task.value_at;
  const size_t lanes = hn::Lanes(F());
  for (size_t q = 0; q < task.queries; q += kSweepQueryGroup) {
    float* p = task.p + q * kSweepTile;
    float* out = task.out + q * task.c_width;
    for (size_t t = 0; t < rows; t += 4) {
      next.Step();
      Score3x4(task.q + q * width, task.tile + t * stride, width, stride, p + t);
    }
    float largest[kSweepQueryGroup];
    OnlineSoftmax(task, n, q, largest);
    size_t c = 0;
    for (; c + 4 * lanes <= task.c_width; c += 4 * lanes) {
      Accumulate3x4(p, values + c, n, stride, task.c_width, out + c);
    }
    for (; c < task.c_width; c += lanes) Accumulate3x1(p, values + c, n, stride, task.c_width, out + c);
  }
}

// Rows of floats.
struct FloatTile {
  static constexpr size_t kTokens = kSweepTile;

  const SweepTask& task;

  static HWY_INLINE size_t Steps(const SweepTask& task, size_t n) { return StepsOf3x4(task, n); }
  HWY_INLINE void Put(const CrossAttnRun& run, size_t token, size_t count, size_t row) {
    for (size_t i = 0; i < count; ++i) WidenToken(task, run, token + i, task.tile + (row + i) * task.row_width);
  }
  HWY_INLINE void Attend(size_t n, NextRows& next) { AttendTile(task, n, next); }
};

bool Sweep(const SweepTask& task) {
  FloatTile tile{task};
  SweepRuns(task, tile);
  return true;
}

void Mass(const MassTask& task, size_t first, size_t last) {
  const F d;
  const size_t lanes = hn::Lanes(d);
  for (size_t run = first; run < last; ++run) {
    const float* run_max = task.run_max + run * task.mass_stride;
    const float* run_sum = task.run_sum + run * task.mass_stride;
    VF sum = hn::Zero(d);
    for (size_t q = 0; q < task.mass_stride; q += lanes) {
      const VF share = Exp2(hn::Sub(hn::Load(d, run_max + q), hn::Load(d, task.max + q)));
      sum = hn::MulAdd(hn::Mul(hn::Load(d, run_sum + q), share), hn::Load(d, task.weight + q), sum);
    }
    task.mass[run] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longview::internal {

SweepKernel PortableSweepKernel() {
  return {&HWY_STATIC_DISPATCH(Sweep), &HWY_STATIC_DISPATCH(Mass), nullptr, nullptr};
}

SweepKernel BaselineSweepKernel() {
#if HWY_TARGETS & HWY_SSE4
  return {&N_SSE4::Sweep, &N_SSE4::Mass, nullptr, nullptr};
#else
  return PortableSweepKernel();
#endif
}

SweepKernel Avx2SweepKernel() {
#if HWY_TARGETS & HWY_AVX2
  return {&N_AVX2::Sweep, &N_AVX2::Mass, nullptr, nullptr};
#else
  return {};
#endif
}

SweepKernel Avx512SweepKernel() {
#if HWY_TARGETS & HWY_AVX3
  return {&N_AVX3::Sweep, &N_AVX3::Mass, nullptr, nullptr};
#else
  return {};
#endif
}

}  // namespace longview::internal
#endif  // HWY_ONCE
