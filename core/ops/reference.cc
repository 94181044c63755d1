// Plain loops in double precision.
#include "core/ops/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "core/base/check.h"

namespace longview::reference {
namespace {

double DotDouble(const float* x, const float* y, size_t count) {
  double sum = 0.0;
  for (size_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * y[i];
  return sum;
}

// Softmax of scores in place; all -inf becomes zeros.
void Softmax(std::vector<double>& scores) {
  double top = -std::numeric_limits<double>::infinity();
  for (double s : scores) top = std::max(top, s);
  double sum = 0.0;
  for (double& s : scores) {
    s = std::isinf(top) && top < 0 && !std::isnan(s) ? 0.0 : std::exp(s - top);
    sum += s;
  }
  if (sum == 0.0) return;
  for (double& s : scores) s /= sum;
}

}  // namespace

void Gemm(bool transpose_b, size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
          float beta, float* c, size_t ldc) {
  std::vector<double> row(n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) row[j] = beta == 0.0f ? 0.0 : static_cast<double>(beta) * c[i * ldc + j];
    if (transpose_b) {
      for (size_t j = 0; j < n; ++j) row[j] += DotDouble(a + i * lda, b + j * ldb, k);
    } else {
      for (size_t p = 0; p < k; ++p) {
        const double factor = a[i * lda + p];
        for (size_t j = 0; j < n; ++j) row[j] += factor * b[p * ldb + j];
      }
    }
    for (size_t j = 0; j < n; ++j) c[i * ldc + j] = static_cast<float>(row[j]);
  }
}

void Linear(DType dtype, const uint8_t* weights, size_t row_bytes, size_t in, size_t first, size_t last,
            const float* bias, const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride) {
  std::vector<float> row(in);
  for (size_t o = first; o < last; ++o) {
    LV_CHECK(ConvertToFloat(dtype, weights + o * row_bytes, row).ok());
    for (size_t r = 0; r < rows; ++r) {
      const double sum = DotDouble(x + r * x_stride, row.data(), in);
      y[r * y_stride + o] = static_cast<float>(sum + (bias == nullptr ? 0.0 : bias[o]));
    }
  }
}

void LayerNorm(const float* x, size_t x_stride, const float* weight, const float* bias, float eps, size_t rows,
               size_t width, float* y, size_t y_stride) {
  for (size_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
    double mean = 0.0;
    for (size_t i = 0; i < width; ++i) mean += x[i];
    mean /= static_cast<double>(width);
    double variance = 0.0;
    for (size_t i = 0; i < width; ++i) variance += (x[i] - mean) * (x[i] - mean);
    const double scale = 1.0 / std::sqrt(variance / static_cast<double>(width) + eps);
    for (size_t i = 0; i < width; ++i) {
      y[i] = static_cast<float>((x[i] - mean) * scale * weight[i] + (bias == nullptr ? 0.0 : bias[i]));
    }
  }
}

void RmsNorm(const float* x, size_t x_stride, const float* weight, float eps, size_t rows, size_t width, float* y,
             size_t y_stride) {
  for (size_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
    const double scale = 1.0 / std::sqrt(DotDouble(x, x, width) / static_cast<double>(width) + eps);
    for (size_t i = 0; i < width; ++i) {
      y[i] = static_cast<float>(x[i] * scale * (weight == nullptr ? 1.0 : weight[i]));
    }
  }
}

void SoftmaxRows(const float* x, size_t x_stride, float scale, size_t rows, size_t width, float* y, size_t y_stride) {
  std::vector<double> scores(width);
  for (size_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
    for (size_t i = 0; i < width; ++i) scores[i] = static_cast<double>(x[i]) * scale;
    Softmax(scores);
    for (size_t i = 0; i < width; ++i) y[i] = static_cast<float>(scores[i]);
  }
}

void Gelu(const float* x, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = static_cast<float>(0.5 * x[i] * std::erfc(-static_cast<double>(x[i]) / std::numbers::sqrt2));
  }
}

void SiluMul(const float* gate, const float* up, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = static_cast<float>(gate[i] / (1.0 + std::exp(-static_cast<double>(gate[i]))) * up[i]);
  }
}

void Axpy(float a, const float* x, size_t count, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = static_cast<float>(static_cast<double>(a) * x[i] + y[i]);
}

void AddScaledRows(const float* x, size_t x_stride, const float* weight, size_t rows, size_t width, float* y,
                   size_t y_stride) {
  for (size_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
    for (size_t i = 0; i < width; ++i) y[i] = static_cast<float>(static_cast<double>(weight[i]) * x[i] + y[i]);
  }
}

float Dot(const float* x, const float* y, size_t count) { return static_cast<float>(DotDouble(x, y, count)); }

void Sdpa(const SdpaParams& p) {
  std::vector<double> scores;
  std::vector<double> sum(p.head_dim);
  for (size_t head = 0; head < p.heads; ++head) {
    const size_t kv_head = head / (p.heads / p.kv_heads);
    for (size_t row = 0; row < p.q_rows; ++row) {
      const float* q = p.q + row * p.q_stride + head * p.q_head_stride;
      scores.resize(p.causal ? p.kv_rows - p.q_rows + row + 1 : p.kv_rows);
      for (size_t j = 0; j < scores.size(); ++j) {
        scores[j] = p.scale * DotDouble(q, p.k + j * p.k_stride + kv_head * p.k_head_stride, p.head_dim);
      }
      Softmax(scores);
      std::fill(sum.begin(), sum.end(), 0.0);
      for (size_t j = 0; j < scores.size(); ++j) {
        const float* v = p.v + j * p.v_stride + kv_head * p.v_head_stride;
        for (size_t d = 0; d < p.head_dim; ++d) sum[d] += scores[j] * v[d];
      }
      float* out = p.out + row * p.out_stride + head * p.out_head_stride;
      for (size_t d = 0; d < p.head_dim; ++d) out[d] = static_cast<float>(sum[d]);
    }
  }
}

}  // namespace longview::reference
