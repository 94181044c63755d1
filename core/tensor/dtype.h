// The storage types of tensors, and the conversions between them and float.
#ifndef LONGVIEW_CORE_TENSOR_DTYPE_H_
#define LONGVIEW_CORE_TENSOR_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/status.h"

namespace longview {

// kQ* are GGUF's block types: 32 numbers a block (Q4_0, Q4_1, Q8_0) or 256 (Q4_K, Q6_K).
enum class DType : uint8_t { kF32, kF16, kBF16, kI8, kI32, kI64, kU8, kQ4_0, kQ4_1, kQ8_0, kQ4_K, kQ6_K };

// "f32", "bf16", "q4_1", ...
std::string_view DTypeName(DType dtype);

// Numbers in one block: 1 for plain types.
size_t DTypeBlockSize(DType dtype);

// Bytes of one block.
size_t DTypeBlockBytes(DType dtype);

// Bytes of `count` numbers stored contiguously; kDamaged where count is not a multiple of the block or the product
// overflows.
Result<size_t> DTypeBytes(DType dtype, uint64_t count);

// Rounds to nearest even; NaN stays NaN.
uint16_t FloatToBF16(float value);
float BF16ToFloat(uint16_t bits);
uint16_t FloatToF16(float value);
float F16ToFloat(uint16_t bits);

// Converts out.size() numbers stored as `dtype` at `data` (DTypeBytes of them readable) to float.
// kUnsupported for integer types other than kI8 and kU8. The block formats are those of the GGUF specification.
Status ConvertToFloat(DType dtype, const void* data, std::span<float> out);

}  // namespace longview

#endif  // LONGVIEW_CORE_TENSOR_DTYPE_H_
