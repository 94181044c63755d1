// Storage types: sizes, roundings and the GGUF block formats (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
// and the block structs of ggml-common.h), written plainly: this is the reference that the fast kernels are held to.
#include "core/tensor/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "core/base/check.h"

namespace longview {
namespace {

struct DTypeInfo {
  std::string_view name;
  size_t block_size;
  size_t block_bytes;
};

const DTypeInfo& Info(DType dtype) {
  static constexpr DTypeInfo kInfo[] = {
      {"f32", 1, 4}, {"f16", 1, 2},    {"bf16", 1, 2},   {"i8", 1, 1},     {"i32", 1, 4},      {"i64", 1, 8},
      {"u8", 1, 1},  {"q4_0", 32, 18}, {"q4_1", 32, 20}, {"q8_0", 32, 34}, {"q4_k", 256, 144}, {"q6_k", 256, 210},
  };
  return kInfo[static_cast<size_t>(dtype)];
}

template <typename T>
T Read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

float ReadF16(const uint8_t* at) { return F16ToFloat(Read<uint16_t>(at)); }

// {f16 d; u8 q[16]}: number i < 16 is the low half of q[i], number i + 16 the high half.
void DecodeQ4_0(const uint8_t* block, float* out) {
  const float d = ReadF16(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((block[2 + i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((block[2 + i] >> 4) - 8);
  }
}

// {f16 d; f16 m; u8 q[16]}.
void DecodeQ4_1(const uint8_t* block, float* out) {
  const float d = ReadF16(block);
  const float m = ReadF16(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(block[4 + i] & 15) + m;
    out[i + 16] = d * static_cast<float>(block[4 + i] >> 4) + m;
  }
}

// {f16 d; i8 q[32]}.
void DecodeQ8_0(const uint8_t* block, float* out) {
  const float d = ReadF16(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// {f16 d; f16 dmin; u8 scales[12]; u8 q[128]}: eight groups of 32, each with a 6-bit scale and a 6-bit minimum.
void DecodeQ4_K(const uint8_t* block, float* out) {
  const float d = ReadF16(block);
  const float dmin = ReadF16(block + 2);
  const uint8_t* s = block + 4;
  const uint8_t* q = block + 16;
  for (int group = 0; group < 8; ++group) {
    int scale = s[group] & 63;
    int minimum = s[group + 4] & 63;
    if (group >= 4) {
      scale = (s[group + 4] & 15) | ((s[group - 4] >> 6) << 4);
      minimum = (s[group + 4] >> 4) | ((s[group] >> 6) << 4);
    }
    const float a = d * static_cast<float>(scale);
    const float b = dmin * static_cast<float>(minimum);
    const uint8_t* part = q + (group / 2) * 32;
    for (int i = 0; i < 32; ++i) {
      const int nibble = group % 2 == 0 ? part[i] & 15 : part[i] >> 4;
      out[group * 32 + i] = a * static_cast<float>(nibble) - b;
    }
  }
}

// {u8 ql[128]; u8 qh[64]; i8 scales[16]; f16 d}: sixteen groups of 16, six bits a number.
void DecodeQ6_K(const uint8_t* block, float* out) {
  const float d = ReadF16(block + 208);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* ql = block + half * 64;
    const uint8_t* qh = block + 128 + half * 32;
    const uint8_t* scales = block + 192 + half * 8;
    for (int part = 0; part < 4; ++part) {
      for (int i = 0; i < 32; ++i) {
        const uint8_t low = ql[(part % 2) * 32 + i];
        const int nibble = part < 2 ? low & 15 : low >> 4;
        const int q = (nibble | (((qh[i] >> (2 * part)) & 3) << 4)) - 32;
        const auto scale = static_cast<int8_t>(scales[part * 2 + i / 16]);
        out[half * 128 + part * 32 + i] = d * static_cast<float>(scale) * static_cast<float>(q);
      }
    }
  }
}

using DecodeBlock = void (*)(const uint8_t* block, float* out);

void DecodeBlocks(DType dtype, DecodeBlock decode, const uint8_t* in, std::span<float> out) {
  const size_t size = DTypeBlockSize(dtype);
  const size_t bytes = DTypeBlockBytes(dtype);
  for (size_t b = 0; b < out.size() / size; ++b) decode(in + b * bytes, out.data() + b * size);
}

}  // namespace

std::string_view DTypeName(DType dtype) { return Info(dtype).name; }
size_t DTypeBlockSize(DType dtype) { return Info(dtype).block_size; }
size_t DTypeBlockBytes(DType dtype) { return Info(dtype).block_bytes; }

Result<size_t> DTypeBytes(DType dtype, uint64_t count) {
  const DTypeInfo& info = Info(dtype);
  if (count % info.block_size != 0) {
    return Damaged(std::to_string(count) + " numbers are not whole blocks of " + std::string(info.name) + " (" +
                   std::to_string(info.block_size) + " each)");
  }
  const auto bytes = MulSize(static_cast<size_t>(count / info.block_size), info.block_bytes);
  if (!bytes) return Damaged(std::to_string(count) + " numbers are more than any memory holds");
  return *bytes;
}

uint16_t FloatToBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);  // the kept bits might all be zero: stay a NaN
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float BF16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t FloatToF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);  // 65536 and above, and infinity
  if (magnitude < 0x38800000) {  // below 2^-14: a multiple of 2^-24; the float unit does the rounding
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000));
  }
  const uint32_t rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));  // 65520 and above carries into infinity
}

float F16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t mantissa = bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (mantissa << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

Status ConvertToFloat(DType dtype, const void* data, std::span<float> out) {
  if (out.size() % DTypeBlockSize(dtype) != 0) {
    return Damaged(std::to_string(out.size()) + " numbers are not whole blocks of " + std::string(DTypeName(dtype)));
  }
  if (out.empty()) return Status::Ok();
  const auto* in = static_cast<const uint8_t*>(data);
  switch (dtype) {
    case DType::kF32:
      std::memcpy(out.data(), in, out.size() * sizeof(float));
      break;
    case DType::kF16:
      for (size_t i = 0; i < out.size(); ++i) out[i] = ReadF16(in + 2 * i);
      break;
    case DType::kBF16:
      for (size_t i = 0; i < out.size(); ++i) out[i] = BF16ToFloat(Read<uint16_t>(in + 2 * i));
      break;
    case DType::kI8:
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(static_cast<int8_t>(in[i]));
      break;
    case DType::kU8:
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(in[i]);
      break;
    case DType::kQ4_0:
      DecodeBlocks(dtype, DecodeQ4_0, in, out);
      break;
    case DType::kQ4_1:
      DecodeBlocks(dtype, DecodeQ4_1, in, out);
      break;
    case DType::kQ8_0:
      DecodeBlocks(dtype, DecodeQ8_0, in, out);
      break;
    case DType::kQ4_K:
      DecodeBlocks(dtype, DecodeQ4_K, in, out);
      break;
    case DType::kQ6_K:
      DecodeBlocks(dtype, DecodeQ6_K, in, out);
      break;
    case DType::kI32:
    case DType::kI64:
      return Unsupported("a tensor of type " + std::string(DTypeName(dtype)) + " is not a tensor of weights");
  }
  return Status::Ok();
}

}  // namespace longview
