// Products of a stored matrix with a few rows, and the decoding of whole rows: the vector code behind Linear. Private
// to core/ops; nothing is checked here.
#ifndef LONGVIEW_CORE_OPS_MATVEC_H_
#define LONGVIEW_CORE_OPS_MATVEC_H_

#include <cstddef>
#include <cstdint>

#include "core/tensor/dtype.h"

namespace longview::internal {

inline constexpr size_t kMatVecMaxRows = 4;

// y[r, o] = sum_i w[o, i] x[r, i] + bias[o], o in [first, last), r in [0, rows), rows in 1..4.
struct MatVecParams {
  DType dtype = DType::kF32;         // f32, f16, bf16 or a block type
  const uint8_t* weights = nullptr;  // row o begins at weights + o * row_bytes
  size_t row_bytes = 0;
  size_t in = 0;  // whole blocks
  size_t first = 0;
  size_t last = 0;
  const float* bias = nullptr;  // [out]; may be null
  const float* x = nullptr;     // [rows, in]
  size_t x_stride = 0;          // floats
  const float* sums = nullptr;  // [rows, in / 32] from GroupSums; read for q4_0, q4_1 and q4_k only
  float* y = nullptr;           // [rows, out]
  size_t y_stride = 0;          // floats
  size_t rows = 0;
};

// True for the types whose blocks have an offset: they need GroupSums.
constexpr bool NeedsGroupSums(DType dtype) {
  return dtype == DType::kQ4_0 || dtype == DType::kQ4_1 || dtype == DType::kQ4_K;
}

// sums[r, g] = the sum of the 32 numbers of group g of row r.
void GroupSums(const float* x, size_t x_stride, size_t rows, size_t in, float* sums);

void MatVec(const MatVecParams& params);

// Rows first .. last - 1 as floats, dense, into out.
void DecodeRows(DType dtype, const uint8_t* weights, size_t row_bytes, size_t in, size_t first, size_t last,
                float* out);

// What stands for zero in QuantiseRow's bytes.
inline constexpr uint8_t kInt8Offset = 128;

// out[i] = kInt8Offset + x[i] / scale rounded, the largest magnitude becoming 127; gives the scale. What is not finite
// among the numbers gives some bytes.
float QuantiseRow(const float* x, size_t count, uint8_t* out);

// y[i] = sums[i] * row_scale * scales[i] + bias[i]; bias may be null.
void ScaleSums(const int32_t* sums, float row_scale, const float* scales, const float* bias, size_t count, float* y);

}  // namespace longview::internal

#endif  // LONGVIEW_CORE_OPS_MATVEC_H_
