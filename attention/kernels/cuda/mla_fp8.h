// FP8 E4M3 (Micikevicius et al. 2022, arXiv 2209.05433) on the host: how a mirror narrows latents.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_FP8_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_FP8_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace longview {

// The largest number.
inline constexpr float kE4M3Max = 448.0f;

// Nearest even; beyond the largest number the largest. `value` is finite.
inline uint8_t FloatToE4M3(float value) {
  const float size = std::min(std::abs(value), kE4M3Max);
  uint32_t code = 0;
  if (size < 0x1p-6f) {
    code = static_cast<uint32_t>(std::nearbyint(size * 0x1p9f));  // subnormal, or the first that is not
  } else {
    const auto bits = std::bit_cast<uint32_t>(size);
    code = ((bits + 0x7FFFF + (bits >> 20 & 1)) >> 20) - ((127 - 7) << 3);
  }
  return static_cast<uint8_t>(code | (std::signbit(value) ? 0x80 : 0));
}

// Exact. `code` is no NaN.
inline float E4M3ToFloat(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80) << 24, rest = static_cast<uint32_t>(code & 0x7F) << 20;
  return std::bit_cast<float>(sign | rest) * 0x1p120f;  // the exponent's other bias
}

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_FP8_H_
