// One body per storage type, compiled for each instruction set by Highway and chosen at run time. Weights are decoded
// in registers and multiplied in fp32. For block types the scale leaves the inner loop: sum(d q x + m x) = d sum(q x) +
// m sum(x).
#include "core/ops/matvec.h"

#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/matvec.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace longview::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;

HWY_INLINE size_t LanesF() { return hn::Lanes(DF()); }

HWY_INLINE VI LoadU8(const uint8_t* at) {
  const hn::Rebind<uint8_t, DF> d8;
  return hn::PromoteTo(DI(), hn::LoadU(d8, at));
}

HWY_INLINE VI LoadI8(const uint8_t* at) {
  const hn::Rebind<int8_t, DF> d8;
  return hn::PromoteTo(DI(), hn::LoadU(d8, reinterpret_cast<const int8_t*>(at)));
}

HWY_INLINE VF LoadBF16(const uint8_t* at) {
  const hn::Rebind<uint16_t, DF> d16;
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::PromoteTo(du, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(at)));
  return hn::BitCast(DF(), hn::ShiftLeft<16>(bits));
}

HWY_INLINE VF LoadF16(const uint8_t* at) {
  const hn::Rebind<hwy::float16_t, DF> d16;
  return hn::PromoteTo(DF(), hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(at)));
}

// The four half-precision numbers at `at`; 8 bytes are read.
HWY_INLINE auto LoadF16x4(const uint8_t* at) {
  const hn::CappedTag<float, 4> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(at)));
}

// A group of numbers is scale * q + offset.
struct Affine {
  float scale;
  float offset;
};

// Calls use(i, q) for 16 bytes of nibbles: numbers `low`.. from the low halves, `low` + distance.. from the high ones.
template <class Use>
HWY_INLINE void ForNibbles(const uint8_t* bytes, size_t count, size_t distance, const Use& use) {
  const VI mask = hn::Set(DI(), 15);
  for (size_t i = 0; i < count; i += LanesF()) {
    const VI both = LoadU8(bytes + i);
    use(i, hn::ConvertTo(DF(), hn::And(both, mask)));
    use(i + distance, hn::ConvertTo(DF(), hn::ShiftRight<4>(both)));
  }
}

struct Q4_0 {
  static constexpr size_t kGroup = 32;
  static constexpr bool kOffset = true;
  template <class Use>
  static HWY_INLINE Affine Group(const uint8_t* row, size_t group, const Use& use) {
    const uint8_t* block = row + group * 18;
    ForNibbles(block + 2, 16, 16, use);
    const float d = hn::GetLane(LoadF16x4(block));
    return {d, -8.0f * d};
  }
};

struct Q4_1 {
  static constexpr size_t kGroup = 32;
  static constexpr bool kOffset = true;
  template <class Use>
  static HWY_INLINE Affine Group(const uint8_t* row, size_t group, const Use& use) {
    const uint8_t* block = row + group * 20;
    ForNibbles(block + 4, 16, 16, use);
    const auto scales = LoadF16x4(block);
    return {hn::GetLane(scales), hn::ExtractLane(scales, 1)};
  }
};

struct Q8_0 {
  static constexpr size_t kGroup = 32;
  static constexpr bool kOffset = false;
  template <class Use>
  static HWY_INLINE Affine Group(const uint8_t* row, size_t group, const Use& use) {
    const uint8_t* block = row + group * 34;
    for (size_t i = 0; i < 32; i += LanesF()) use(i, hn::ConvertTo(DF(), LoadI8(block + 2 + i)));
    return {hn::GetLane(LoadF16x4(block)), 0.0f};
  }
};

struct Q4_K {
  static constexpr size_t kGroup = 32;
  static constexpr bool kOffset = true;
  template <class Use>
  static HWY_INLINE Affine Group(const uint8_t* row, size_t group, const Use& use) {
    const uint8_t* block = row + group / 8 * 144;
    const size_t g = group % 8;
    const uint8_t* bytes = block + 16 + g / 2 * 32;
    const VI mask = hn::Set(DI(), 15);
    for (size_t i = 0; i < 32; i += LanesF()) {
      const VI both = LoadU8(bytes + i);
      use(i, hn::ConvertTo(DF(), g % 2 == 0 ? hn::And(both, mask) : hn::ShiftRight<4>(both)));
    }
    const uint8_t* s = block + 4;
    int scale = s[g] & 63;
    int minimum = s[g + 4] & 63;
    if (g >= 4) {
      scale = (s[g + 4] & 15) | ((s[g - 4] >> 6) << 4);
      minimum = (s[g + 4] >> 4) | ((s[g] >> 6) << 4);
    }
    const auto d = LoadF16x4(block);
    return {hn::GetLane(d) * static_cast<float>(scale), -hn::ExtractLane(d, 1) * static_cast<float>(minimum)};
  }
};

struct Q6_K {
  static constexpr size_t kGroup = 16;
  static constexpr bool kOffset = false;
  template <class Use>
  static HWY_INLINE Affine Group(const uint8_t* row, size_t group, const Use& use) {
    const uint8_t* block = row + group / 16 * 210;
    const size_t half = group % 16 / 8;
    const size_t part = group % 8 / 2;
    const size_t begin = group % 2 * 16;
    const uint8_t* low = block + half * 64 + part % 2 * 32 + begin;
    const uint8_t* high = block + 128 + half * 32 + begin;
    const VI mask = hn::Set(DI(), 15);
    for (size_t i = 0; i < 16; i += LanesF()) {
      const VI both = LoadU8(low + i);
      const VI nibble = part < 2 ? hn::And(both, mask) : hn::ShiftRight<4>(both);
      const VI pair = hn::And(hn::ShiftRightSame(LoadU8(high + i), static_cast<int>(2 * part)), hn::Set(DI(), 3));
      const VI q = hn::Sub(hn::Or(nibble, hn::ShiftLeft<4>(pair)), hn::Set(DI(), 32));
      use(i, hn::ConvertTo(DF(), q));
    }
    const float d = hn::ExtractLane(LoadF16x4(block + 202), 3);
    return {d * static_cast<float>(static_cast<int8_t>(block[192 + group % 16])), 0.0f};
  }
};

struct F32 {
  static constexpr size_t kBytes = 4;
  static HWY_INLINE VF Load(const uint8_t* at) { return hn::LoadU(DF(), reinterpret_cast<const float*>(at)); }
};
struct F16 {
  static constexpr size_t kBytes = 2;
  static HWY_INLINE VF Load(const uint8_t* at) { return LoadF16(at); }
};
struct BF16 {
  static constexpr size_t kBytes = 2;
  static HWY_INLINE VF Load(const uint8_t* at) { return LoadBF16(at); }
};

HWY_INLINE float SumLanes(VF v) { return hn::GetLane(hn::SumOfLanes(DF(), v)); }

// The rows of x, the last one again where there are fewer than R: the kernel's arithmetic does not depend on their
// number.
template <size_t R>
struct XRows {
  explicit XRows(const MatVecParams& p) {
    for (size_t r = 0; r < R; ++r) {
      const size_t row = r < p.rows ? r : p.rows - 1;
      x[r] = p.x + row * p.x_stride;
      sums[r] = p.sums == nullptr ? nullptr : p.sums + row * (p.in / 32);
    }
  }
  const float* x[R];
  const float* sums[R];
};

template <size_t R>
HWY_INLINE void StoreRow(const MatVecParams& p, size_t o, const float* sum) {
  const float bias = p.bias == nullptr ? 0.0f : p.bias[o];
  for (size_t r = 0; r < R && r < p.rows; ++r) p.y[r * p.y_stride + o] = sum[r] + bias;
}

template <class Format, size_t R>
void MatVecBlocks(const MatVecParams& p) {
  const DF df;
  const XRows<R> rows(p);
  const size_t groups = p.in / Format::kGroup;
  for (size_t o = p.first; o < p.last; ++o) {
    const uint8_t* weights = p.weights + o * p.row_bytes;
    VF acc[R];
    float offsets[R];
    for (size_t r = 0; r < R; ++r) {
      acc[r] = hn::Zero(df);
      offsets[r] = 0.0f;
    }
    for (size_t g = 0; g < groups; ++g) {
      VF part[R];
      for (size_t r = 0; r < R; ++r) part[r] = hn::Zero(df);
      const Affine affine = Format::Group(weights, g, [&](size_t i, VF q) HWY_ATTR {
        for (size_t r = 0; r < R; ++r) {
          part[r] = hn::MulAdd(q, hn::LoadU(df, rows.x[r] + g * Format::kGroup + i), part[r]);
        }
      });
      const VF scale = hn::Set(df, affine.scale);
      for (size_t r = 0; r < R; ++r) {
        acc[r] = hn::MulAdd(scale, part[r], acc[r]);
        if constexpr (Format::kOffset) offsets[r] += affine.offset * rows.sums[r][g];
      }
    }
    float sum[R];
    for (size_t r = 0; r < R; ++r) sum[r] = SumLanes(acc[r]) + offsets[r];
    StoreRow<R>(p, o, sum);
  }
}

template <class Format, size_t R>
void MatVecPlain(const MatVecParams& p) {
  const DF df;
  const size_t lanes = LanesF();
  const XRows<R> rows(p);
  for (size_t o = p.first; o < p.last; ++o) {
    const uint8_t* weights = p.weights + o * p.row_bytes;
    VF acc[R][4];
    for (auto& row : acc) {
      for (VF& a : row) a = hn::Zero(df);
    }
    size_t i = 0;
    for (; i + 4 * lanes <= p.in; i += 4 * lanes) {
      for (size_t u = 0; u < 4; ++u) {
        const size_t at = i + u * lanes;
        const VF w = Format::Load(weights + at * Format::kBytes);
        for (size_t r = 0; r < R; ++r) acc[r][u] = hn::MulAdd(w, hn::LoadU(df, rows.x[r] + at), acc[r][u]);
      }
    }
    for (; i + lanes <= p.in; i += lanes) {
      const VF w = Format::Load(weights + i * Format::kBytes);
      for (size_t r = 0; r < R; ++r) acc[r][0] = hn::MulAdd(w, hn::LoadU(df, rows.x[r] + i), acc[r][0]);
    }
    if (i < p.in) {  // the last few numbers, padded with zeros: neither array is read past its end
      HWY_ALIGN uint8_t w_tail[16 * 4] = {};
      std::memcpy(w_tail, weights + i * Format::kBytes, (p.in - i) * Format::kBytes);
      const VF w = Format::Load(w_tail);
      for (size_t r = 0; r < R; ++r) {
        HWY_ALIGN float x_tail[16] = {};
        std::memcpy(x_tail, rows.x[r] + i, (p.in - i) * sizeof(float));
        acc[r][0] = hn::MulAdd(w, hn::LoadU(df, x_tail), acc[r][0]);
      }
    }
    float sum[R];
    for (size_t r = 0; r < R; ++r) {
      sum[r] = SumLanes(hn::Add(hn::Add(acc[r][0], acc[r][1]), hn::Add(acc[r][2], acc[r][3])));
    }
    StoreRow<R>(p, o, sum);
  }
}

template <size_t R>
void MatVecOf(const MatVecParams& p) {
  switch (p.dtype) {
    case DType::kF32:
      return MatVecPlain<F32, R>(p);
    case DType::kF16:
      return MatVecPlain<F16, R>(p);
    case DType::kBF16:
      return MatVecPlain<BF16, R>(p);
    case DType::kQ4_0:
      return MatVecBlocks<Q4_0, R>(p);
    case DType::kQ4_1:
      return MatVecBlocks<Q4_1, R>(p);
    case DType::kQ8_0:
      return MatVecBlocks<Q8_0, R>(p);
    case DType::kQ4_K:
      return MatVecBlocks<Q4_K, R>(p);
    case DType::kQ6_K:
      return MatVecBlocks<Q6_K, R>(p);
    case DType::kI8:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
      return;  // Linear::Make lets none of these in
  }
}

void MatVecImpl(const MatVecParams& p) {
  if (p.rows == 1) {
    MatVecOf<1>(p);
  } else {
    MatVecOf<kMatVecMaxRows>(p);
  }
}

template <class Format>
void DecodeBlockRow(const uint8_t* row, size_t in, float* out) {
  const DF df;
  for (size_t g = 0; g < in / Format::kGroup; ++g) {
    float* to = out + g * Format::kGroup;
    VF whole[Format::kGroup / hn::MaxLanes(DF())];
    const Affine affine = Format::Group(row, g, [&](size_t i, VF q) HWY_ATTR { whole[i / LanesF()] = q; });
    const VF scale = hn::Set(df, affine.scale);
    const VF offset = hn::Set(df, affine.offset);
    for (size_t i = 0; i < Format::kGroup; i += LanesF()) {
      hn::StoreU(hn::MulAdd(whole[i / LanesF()], scale, offset), df, to + i);
    }
  }
}

template <class Format>
void DecodePlainRow(const uint8_t* row, size_t in, float* out) {
  const DF df;
  size_t i = 0;
  for (; i + LanesF() <= in; i += LanesF()) hn::StoreU(Format::Load(row + i * Format::kBytes), df, out + i);
  if (i < in) {
    HWY_ALIGN uint8_t tail[16 * 4] = {};
    HWY_ALIGN float decoded[16];
    std::memcpy(tail, row + i * Format::kBytes, (in - i) * Format::kBytes);
    hn::StoreU(Format::Load(tail), df, decoded);
    std::memcpy(out + i, decoded, (in - i) * sizeof(float));
  }
}

void DecodeRowImpl(DType dtype, const uint8_t* row, size_t in, float* out) {
  switch (dtype) {
    case DType::kF32:
      return DecodePlainRow<F32>(row, in, out);
    case DType::kF16:
      return DecodePlainRow<F16>(row, in, out);
    case DType::kBF16:
      return DecodePlainRow<BF16>(row, in, out);
    case DType::kQ4_0:
      return DecodeBlockRow<Q4_0>(row, in, out);
    case DType::kQ4_1:
      return DecodeBlockRow<Q4_1>(row, in, out);
    case DType::kQ8_0:
      return DecodeBlockRow<Q8_0>(row, in, out);
    case DType::kQ4_K:
      return DecodeBlockRow<Q4_K>(row, in, out);
    case DType::kQ6_K:
      return DecodeBlockRow<Q6_K>(row, in, out);
    case DType::kI8:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
      return;  // Linear::Make lets none of these in
  }
}

void GroupSumsImpl(const float* x, size_t x_stride, size_t rows, size_t in, float* sums) {
  const DF df;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t g = 0; g < in / 32; ++g) {
      VF sum = hn::Zero(df);
      for (size_t i = 0; i < 32; i += LanesF()) sum = hn::Add(sum, hn::LoadU(df, x + r * x_stride + g * 32 + i));
      sums[r * (in / 32) + g] = SumLanes(sum);
    }
  }
}

float QuantiseRowImpl(const float* x, size_t count, uint8_t* out) {
  const DF df;
  const hn::Rebind<uint8_t, DF> d8;
  VF top_v = hn::Zero(df);
  size_t i = 0;
  for (; i + LanesF() <= count; i += LanesF()) top_v = hn::Max(top_v, hn::Abs(hn::LoadU(df, x + i)));
  float top = hn::GetLane(hn::MaxOfLanes(df, top_v));
  for (; i < count; ++i) top = std::fmax(top, std::fabs(x[i]));
  const float inverse = top > 1e-30f ? 127.0f / top : 0.0f;
  const VF inverse_v = hn::Set(df, inverse), zero = hn::Set(df, static_cast<float>(kInt8Offset));
  i = 0;
  for (; i + LanesF() <= count; i += LanesF()) {
    const VI whole = hn::NearestInt(hn::MulAdd(hn::LoadU(df, x + i), inverse_v, zero));
    hn::StoreU(hn::DemoteTo(d8, whole), d8, out + i);
  }
  for (; i < count; ++i) {
    const float whole = std::nearbyint(x[i] * inverse + static_cast<float>(kInt8Offset));
    out[i] = whole >= 0.0f && whole <= 255.0f ? static_cast<uint8_t>(whole) : uint8_t{0};
  }
  return top / 127.0f;
}

void ScaleSumsImpl(const int32_t* sums, float row_scale, const float* scales, const float* bias, size_t count,
                   float* y) {
  const DF df;
  const VF row = hn::Set(df, row_scale);
  size_t i = 0;
  for (; i + LanesF() <= count; i += LanesF()) {
    const VF scale = hn::Mul(row, hn::LoadU(df, scales + i));
    const VF added = bias == nullptr ? hn::Zero(df) : hn::LoadU(df, bias + i);
    hn::StoreU(hn::MulAdd(hn::ConvertTo(df, hn::LoadU(DI(), sums + i)), scale, added), df, y + i);
  }
  for (; i < count; ++i) {
    y[i] = static_cast<float>(sums[i]) * (row_scale * scales[i]) + (bias == nullptr ? 0.0f : bias[i]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/simd/level.h"

namespace longview::internal {

HWY_EXPORT(MatVecImpl);
HWY_EXPORT(DecodeRowImpl);
HWY_EXPORT(GroupSumsImpl);
HWY_EXPORT(QuantiseRowImpl);
HWY_EXPORT(ScaleSumsImpl);

float QuantiseRow(const float* x, size_t count, uint8_t* out) {
  return HWY_DYNAMIC_DISPATCH(QuantiseRowImpl)(x, count, out);
}

void ScaleSums(const int32_t* sums, float row_scale, const float* scales, const float* bias, size_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(ScaleSumsImpl)(sums, row_scale, scales, bias, count, y);
}

void GroupSums(const float* x, size_t x_stride, size_t rows, size_t in, float* sums) {
  HWY_DYNAMIC_DISPATCH(GroupSumsImpl)(x, x_stride, rows, in, sums);
}

void MatVec(const MatVecParams& params) { HWY_DYNAMIC_DISPATCH(MatVecImpl)(params); }

void DecodeRows(DType dtype, const uint8_t* weights, size_t row_bytes, size_t in, size_t first, size_t last,
                float* out) {
  const auto decode = HWY_DYNAMIC_DISPATCH(DecodeRowImpl);
  for (size_t o = first; o < last; ++o) decode(dtype, weights + o * row_bytes, in, out + (o - first) * in);
}

}  // namespace longview::internal

#endif  // HWY_ONCE
