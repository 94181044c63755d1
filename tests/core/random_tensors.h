// Seeded numbers for the tests of core: floats, weights in every storage type, and rows with poisoned padding.
#ifndef LONGVIEW_TESTS_CORE_RANDOM_TENSORS_H_
#define LONGVIEW_TESTS_CORE_RANDOM_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"

namespace longview {

inline constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

inline std::vector<float> RandomFloats(size_t count, uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> out(count);
  for (float& value : out) value = normal(random);
  return out;
}

// `rows` rows of `width` numbers, `stride` apart, NaN between them (and none after the last row).
inline std::vector<float> PoisonedRows(size_t rows, size_t width, size_t stride, uint32_t seed) {
  const std::vector<float> numbers = RandomFloats(rows * width, seed);
  std::vector<float> out(rows == 0 ? 0 : (rows - 1) * stride + width, kPoison);
  for (size_t r = 0; r < rows; ++r) {
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(r * width), width,
                out.begin() + static_cast<std::ptrdiff_t>(r * stride));
  }
  return out;
}

// Stored bytes of a matrix [out, in], exactly as long as they must be.
inline std::vector<uint8_t> RandomWeights(DType dtype, size_t out, size_t in, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> any_byte(0, 255);
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::vector<uint8_t> bytes(out * in / DTypeBlockSize(dtype) * DTypeBlockBytes(dtype));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(any_byte(random));
  const auto put_half = [&](size_t at, float value) {
    const uint16_t half = FloatToF16(value);
    std::memcpy(bytes.data() + at, &half, 2);
  };
  for (size_t at = 0; at < bytes.size(); at += DTypeBlockBytes(dtype)) {
    const float value = normal(random);
    const uint16_t bf16 = FloatToBF16(value);
    if (dtype == DType::kF32) std::memcpy(bytes.data() + at, &value, 4);
    if (dtype == DType::kBF16) std::memcpy(bytes.data() + at, &bf16, 2);
    if (dtype == DType::kF16) put_half(at, value);
    if (dtype == DType::kQ4_0 || dtype == DType::kQ4_1 || dtype == DType::kQ4_K) put_half(at, 0.1f * value);
    if (dtype == DType::kQ4_1 || dtype == DType::kQ4_K) put_half(at + 2, 0.1f * normal(random));
    if (dtype == DType::kQ8_0) put_half(at, 0.01f * value);
    if (dtype == DType::kQ6_K) put_half(at + 208, 0.001f * value);
  }
  return bytes;
}

inline TensorView MatrixView(DType dtype, size_t out, size_t in, const void* data) {
  TensorView view;
  view.dtype = dtype;
  view.shape = {out, in};
  view.data = data;
  return view;
}

}  // namespace longview

#endif  // LONGVIEW_TESTS_CORE_RANDOM_TENSORS_H_
