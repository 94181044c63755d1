// The obvious twin of every op, with sums in double: what the fast ones are tested against, and what runs with
// LONGVIEW_SIMD=none. Arguments are those of the fast op.
#ifndef LONGVIEW_CORE_OPS_REFERENCE_H_
#define LONGVIEW_CORE_OPS_REFERENCE_H_

#include <cstddef>
#include <cstdint>

#include "core/ops/sdpa.h"
#include "core/tensor/dtype.h"

namespace longview::reference {

// core/ops/gemm.h: b is [n, k] where transpose_b, else [k, n].
void Gemm(bool transpose_b, size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
          float beta, float* c, size_t ldc);

// core/ops/linear.h: outputs first .. last - 1 of y = x W^T + b, where row o of W begins at weights + o * row_bytes.
// bias may be null.
void Linear(DType dtype, const uint8_t* weights, size_t row_bytes, size_t in, size_t first, size_t last,
            const float* bias, const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride);

// core/ops/elementwise.h.
void LayerNorm(const float* x, size_t x_stride, const float* weight, const float* bias, float eps, size_t rows,
               size_t width, float* y, size_t y_stride);
void RmsNorm(const float* x, size_t x_stride, const float* weight, float eps, size_t rows, size_t width, float* y,
             size_t y_stride);
void SoftmaxRows(const float* x, size_t x_stride, float scale, size_t rows, size_t width, float* y, size_t y_stride);
void Gelu(const float* x, size_t count, float* y);
void SiluMul(const float* gate, const float* up, size_t count, float* y);
void Axpy(float a, const float* x, size_t count, float* y);
void AddScaledRows(const float* x, size_t x_stride, const float* weight, size_t rows, size_t width, float* y,
                   size_t y_stride);
float Dot(const float* x, const float* y, size_t count);

// core/ops/sdpa.h, on one thread.
void Sdpa(const SdpaParams& params);

}  // namespace longview::reference

#endif  // LONGVIEW_CORE_OPS_REFERENCE_H_
