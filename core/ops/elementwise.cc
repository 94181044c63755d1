// Norms, activations and sums, compiled for each instruction set by Highway and chosen at run time. Vector loops end
// with one padded vector, so nothing past a row's width is read or written.
#include "core/ops/elementwise.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/tensor/dtype.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/elementwise.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace longview::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using VF = hn::Vec<DF>;

HWY_INLINE size_t LanesF() { return hn::Lanes(DF()); }

// The first `count` numbers at x, then `fill`.
HWY_INLINE VF LoadPart(const float* x, size_t count, float fill) {
  HWY_ALIGN float part[16];
  hn::Store(hn::Set(DF(), fill), DF(), part);
  std::memcpy(part, x, count * sizeof(float));
  return hn::Load(DF(), part);
}

HWY_INLINE void StorePart(VF v, float* y, size_t count) {
  HWY_ALIGN float part[16];
  hn::Store(v, DF(), part);
  std::memcpy(y, part, count * sizeof(float));
}

// y[i] = f(i-th vector's index, its numbers); f(at, load) loads further operands through load(pointer).
template <class F>
HWY_INLINE void Map(size_t count, float* y, const F& f) {
  size_t i = 0;
  for (; i + LanesF() <= count; i += LanesF()) {
    hn::StoreU(f([i](const float* p) HWY_ATTR { return hn::LoadU(DF(), p + i); }), DF(), y + i);
  }
  if (i < count) {
    const size_t rest = count - i;
    StorePart(f([i, rest](const float* p) HWY_ATTR { return LoadPart(p + i, rest, 0.0f); }), y + i, rest);
  }
}

// The sum of f over the numbers of x; numbers that pad the last vector are `fill`, where f must be 0.
template <class F>
HWY_INLINE float SumOf(const float* x, size_t count, float fill, const F& f) {
  VF sum0 = hn::Zero(DF());
  VF sum1 = hn::Zero(DF());
  size_t i = 0;
  for (; i + 2 * LanesF() <= count; i += 2 * LanesF()) {
    sum0 = hn::Add(sum0, f(hn::LoadU(DF(), x + i)));
    sum1 = hn::Add(sum1, f(hn::LoadU(DF(), x + i + LanesF())));
  }
  for (; i + LanesF() <= count; i += LanesF()) sum0 = hn::Add(sum0, f(hn::LoadU(DF(), x + i)));
  if (i < count) sum1 = hn::Add(sum1, f(LoadPart(x + i, count - i, fill)));
  return hn::GetLane(hn::SumOfLanes(DF(), hn::Add(sum0, sum1)));
}

// exp, keeping NaN (Highway's gives 0 for it).
HWY_INLINE VF ExpOf(VF v) { return hn::IfThenElse(hn::IsNaN(v), v, hn::Exp(DF(), v)); }

void LayerNormRow(const float* x, const float* weight, const float* bias, float eps, size_t width, float* y) {
  const float count = static_cast<float>(width);
  const float mean = SumOf(x, width, 0.0f, [](VF v) HWY_ATTR { return v; }) / count;
  const VF mean_v = hn::Set(DF(), mean);
  const float squares = SumOf(x, width, mean, [mean_v](VF v) HWY_ATTR {
    const VF d = hn::Sub(v, mean_v);
    return hn::Mul(d, d);
  });
  const VF scale = hn::Set(DF(), 1.0f / std::sqrt(squares / count + eps));
  Map(width, y, [=](const auto& load) HWY_ATTR {
    const VF normal = hn::Mul(hn::Sub(load(x), mean_v), scale);
    return bias == nullptr ? hn::Mul(normal, load(weight)) : hn::MulAdd(normal, load(weight), load(bias));
  });
}

void RmsNormRow(const float* x, const float* weight, float eps, size_t width, float* y) {
  const float squares = SumOf(x, width, 0.0f, [](VF v) HWY_ATTR { return hn::Mul(v, v); });
  const VF scale = hn::Set(DF(), 1.0f / std::sqrt(squares / static_cast<float>(width) + eps));
  Map(width, y, [=](const auto& load) HWY_ATTR {
    const VF normal = hn::Mul(load(x), scale);
    return weight == nullptr ? normal : hn::Mul(normal, load(weight));
  });
}

void SoftmaxRow(const float* x, float scale, size_t width, float* y) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const VF scale_v = hn::Set(DF(), scale);
  VF top_v = hn::Set(DF(), kLowest);
  size_t i = 0;
  for (; i + LanesF() <= width; i += LanesF()) top_v = hn::Max(top_v, hn::Mul(hn::LoadU(DF(), x + i), scale_v));
  float top = hn::GetLane(hn::MaxOfLanes(DF(), top_v));
  for (; i < width; ++i) top = std::fmax(top, x[i] * scale);
  if (top == kLowest) {
    std::memset(y, 0, width * sizeof(float));
    return;
  }
  const VF max_v = hn::Set(DF(), top);
  Map(width, y, [=](const auto& load) HWY_ATTR { return ExpOf(hn::Sub(hn::Mul(load(x), scale_v), max_v)); });
  const float sum = SumOf(y, width, 0.0f, [](VF v) HWY_ATTR { return v; });
  const VF inverse = hn::Set(DF(), 1.0f / sum);
  Map(width, y, [=](const auto& load) HWY_ATTR { return hn::Mul(load(y), inverse); });
}

// x Phi(x), Phi(-|x|) = P(t) exp(-x^2/2) / 2 with t = 1 / (1 + p |x| / sqrt 2): Abramowitz and Stegun 7.1.26,
// within 1.5e-7.
void GeluImpl(const float* x, size_t count, float* y) {
  const DF d;
  Map(count, y, [=](const auto& load) HWY_ATTR {
    const VF v = load(x);
    const VF one = hn::Set(d, 1.0f);
    const VF t = hn::Div(one, hn::MulAdd(hn::Abs(v), hn::Set(d, 0.3275911f * 0.70710678f), one));
    VF p = hn::Set(d, 1.061405429f);
    p = hn::MulAdd(p, t, hn::Set(d, -1.453152027f));
    p = hn::MulAdd(p, t, hn::Set(d, 1.421413741f));
    p = hn::MulAdd(p, t, hn::Set(d, -0.284496736f));
    p = hn::MulAdd(p, t, hn::Set(d, 0.254829592f));
    p = hn::Mul(p, t);
    const VF lower = hn::Mul(hn::Mul(p, hn::Set(d, 0.5f)), ExpOf(hn::Mul(hn::Mul(v, v), hn::Set(d, -0.5f))));
    const VF tail = hn::Mul(v, lower);
    const VF result = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), tail, hn::Sub(v, tail));
    return hn::IfThenElse(hn::Eq(hn::Abs(v), hn::Inf(d)), hn::Max(v, hn::Zero(d)), result);  // not infinity times zero
  });
}

void SiluMulImpl(const float* gate, const float* up, size_t count, float* y) {
  const DF d;
  Map(count, y, [=](const auto& load) HWY_ATTR {
    const VF g = load(gate);
    const VF lowest = hn::Set(d, -88.0f);  // exp(88) is near the largest float; Highway's exp wraps round above it
    const VF silu = hn::Div(g, hn::Add(hn::Set(d, 1.0f), ExpOf(hn::Neg(hn::Max(g, lowest)))));
    return hn::Mul(hn::IfThenElse(hn::Lt(g, lowest), hn::Zero(d), silu), load(up));
  });
}

void AxpyImpl(float a, const float* x, size_t count, float* y) {
  const VF factor = hn::Set(DF(), a);
  Map(count, y, [=](const auto& load) HWY_ATTR { return hn::MulAdd(factor, load(x), load(y)); });
}

void AddScaledRow(const float* x, const float* weight, size_t width, float* y) {
  Map(width, y, [=](const auto& load) HWY_ATTR { return hn::MulAdd(load(weight), load(x), load(y)); });
}

float DotImpl(const float* x, const float* y, size_t count) {
  VF sum0 = hn::Zero(DF());
  VF sum1 = hn::Zero(DF());
  size_t i = 0;
  for (; i + 2 * LanesF() <= count; i += 2 * LanesF()) {
    sum0 = hn::MulAdd(hn::LoadU(DF(), x + i), hn::LoadU(DF(), y + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(DF(), x + i + LanesF()), hn::LoadU(DF(), y + i + LanesF()), sum1);
  }
  for (; i + LanesF() <= count; i += LanesF()) {
    sum0 = hn::MulAdd(hn::LoadU(DF(), x + i), hn::LoadU(DF(), y + i), sum0);
  }
  if (i < count) sum1 = hn::MulAdd(LoadPart(x + i, count - i, 0.0f), LoadPart(y + i, count - i, 0.0f), sum1);
  return hn::GetLane(hn::SumOfLanes(DF(), hn::Add(sum0, sum1)));
}

void RoundToBf16Impl(const float* x, size_t count, uint16_t* y) {
  const DF df;
  const hn::RebindToSigned<DF> di;
  const hn::RebindToUnsigned<DF> du;
  const hn::Rebind<uint16_t, DF> d16;
  size_t i = 0;
  for (; i + LanesF() <= count; i += LanesF()) {
    const VF value = hn::LoadU(df, x + i);
    const auto bits = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF))));
    const auto nan = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40));
    const auto chosen = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), nan, rounded);
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, chosen)), d16, y + i);
  }
  for (; i < count; ++i) y[i] = FloatToBF16(x[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/ops/reference.h"
#include "core/simd/level.h"

namespace longview {
namespace internal {
HWY_EXPORT(LayerNormRow);
HWY_EXPORT(RmsNormRow);
HWY_EXPORT(SoftmaxRow);
HWY_EXPORT(GeluImpl);
HWY_EXPORT(SiluMulImpl);
HWY_EXPORT(AxpyImpl);
HWY_EXPORT(AddScaledRow);
HWY_EXPORT(DotImpl);
HWY_EXPORT(RoundToBf16Impl);
}  // namespace internal

namespace {
bool UseReference() { return ActiveSimdLevel() == SimdLevel::kNone; }
}  // namespace

void LayerNorm(const float* x, size_t x_stride, const float* weight, const float* bias, float eps, size_t rows,
               size_t width, float* y, size_t y_stride) {
  if (UseReference()) return reference::LayerNorm(x, x_stride, weight, bias, eps, rows, width, y, y_stride);
  const auto row = HWY_DYNAMIC_DISPATCH(internal::LayerNormRow);
  for (size_t r = 0; r < rows; ++r) row(x + r * x_stride, weight, bias, eps, width, y + r * y_stride);
}

void RmsNorm(const float* x, size_t x_stride, const float* weight, float eps, size_t rows, size_t width, float* y,
             size_t y_stride) {
  if (UseReference()) return reference::RmsNorm(x, x_stride, weight, eps, rows, width, y, y_stride);
  const auto row = HWY_DYNAMIC_DISPATCH(internal::RmsNormRow);
  for (size_t r = 0; r < rows; ++r) row(x + r * x_stride, weight, eps, width, y + r * y_stride);
}

void SoftmaxRows(const float* x, size_t x_stride, float scale, size_t rows, size_t width, float* y, size_t y_stride) {
  if (UseReference()) return reference::SoftmaxRows(x, x_stride, scale, rows, width, y, y_stride);
  if (width == 0) return;
  const auto row = HWY_DYNAMIC_DISPATCH(internal::SoftmaxRow);
  for (size_t r = 0; r < rows; ++r) row(x + r * x_stride, scale, width, y + r * y_stride);
}

void Gelu(const float* x, size_t count, float* y) {
  if (UseReference()) return reference::Gelu(x, count, y);
  HWY_DYNAMIC_DISPATCH(internal::GeluImpl)(x, count, y);
}

void SiluMul(const float* gate, const float* up, size_t count, float* y) {
  if (UseReference()) return reference::SiluMul(gate, up, count, y);
  HWY_DYNAMIC_DISPATCH(internal::SiluMulImpl)(gate, up, count, y);
}

void Axpy(float a, const float* x, size_t count, float* y) {
  if (UseReference()) return reference::Axpy(a, x, count, y);
  HWY_DYNAMIC_DISPATCH(internal::AxpyImpl)(a, x, count, y);
}

void RoundToBf16(const float* x, size_t count, uint16_t* y) {
  HWY_DYNAMIC_DISPATCH(internal::RoundToBf16Impl)(x, count, y);
}

void Add(const float* x, size_t count, float* y) { Axpy(1.0f, x, count, y); }

void AddScaledRows(const float* x, size_t x_stride, const float* weight, size_t rows, size_t width, float* y,
                   size_t y_stride) {
  if (UseReference()) return reference::AddScaledRows(x, x_stride, weight, rows, width, y, y_stride);
  const auto row = HWY_DYNAMIC_DISPATCH(internal::AddScaledRow);
  for (size_t r = 0; r < rows; ++r) row(x + r * x_stride, weight, width, y + r * y_stride);
}

float Dot(const float* x, const float* y, size_t count) {
  if (UseReference()) return reference::Dot(x, y, count);
  return HWY_DYNAMIC_DISPATCH(internal::DotImpl)(x, y, count);
}

}  // namespace longview

#endif  // HWY_ONCE
