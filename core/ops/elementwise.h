// Norms, activations and sums over rows of floats. Every call runs on the caller's thread; callers split rows.
#ifndef LONGVIEW_CORE_OPS_ELEMENTWISE_H_
#define LONGVIEW_CORE_OPS_ELEMENTWISE_H_

#include <cstddef>
#include <cstdint>

namespace longview {

// All rows are dense floats, `width` of them, `x_stride` and `y_stride` floats apart (>= width). y may be x. Sums are
// taken in fp32. Nothing between width and the stride is read or written. rows and width may be 0.

// y = (x - mean) / sqrt(variance + eps) * weight + bias; variance with divisor width, as torch.nn.LayerNorm. weight and
// bias have width numbers; bias may be null.
void LayerNorm(const float* x, size_t x_stride, const float* weight, const float* bias, float eps, size_t rows,
               size_t width, float* y, size_t y_stride);

// y = x / sqrt(mean(x^2) + eps) * weight (weight may be null: all ones).
void RmsNorm(const float* x, size_t x_stride, const float* weight, float eps, size_t rows, size_t width, float* y,
             size_t y_stride);

// y = softmax(scale * x), each row by itself; a row of -inf alone becomes zeros.
void SoftmaxRows(const float* x, size_t x_stride, float scale, size_t rows, size_t width, float* y, size_t y_stride);

// y = x * Phi(x), Phi the normal distribution's (the exact GELU, within 1e-6 absolute). y may be x.
void Gelu(const float* x, size_t count, float* y);

// y = gate / (1 + exp(-gate)) * up (SwiGLU). y may be gate or up.
void SiluMul(const float* gate, const float* up, size_t count, float* y);

// y = x in bf16, to nearest even.
void RoundToBf16(const float* x, size_t count, uint16_t* y);

// y += x.
void Add(const float* x, size_t count, float* y);

// y += weight * x, weight of `width` numbers: a residual with LayerScale.
void AddScaledRows(const float* x, size_t x_stride, const float* weight, size_t rows, size_t width, float* y,
                   size_t y_stride);

// y += a * x.
void Axpy(float a, const float* x, size_t count, float* y);

// sum of x * y.
float Dot(const float* x, const float* y, size_t count);

}  // namespace longview

#endif  // LONGVIEW_CORE_OPS_ELEMENTWISE_H_
