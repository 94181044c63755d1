// The steps of a transformer in plain loops over doubles: what networks on a device are held to.
#ifndef LONGVIEW_TESTS_SUPPORT_PLAIN_NETWORK_H_
#define LONGVIEW_TESTS_SUPPORT_PLAIN_NETWORK_H_

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace longview::test {

using Doubles = std::vector<double>;

// Numbers at random, the same at each run.
struct Random {
  std::mt19937 bits{1};
  std::vector<float> Numbers(size_t count, float spread, float mean = 0.0f) {
    std::normal_distribution<float> normal(mean, spread);
    std::vector<float> numbers(count);
    for (float& v : numbers) v = normal(bits);
    return numbers;
  }
  // Of a matrix [out, in] that keeps the size of what it multiplies.
  std::vector<float> Weight(size_t out, size_t in) {
    return Numbers(out * in, 1.0f / std::sqrt(static_cast<float>(in)));
  }
};

// x [rows, in] . weight [out, in]^T + bias [out] or none.
inline Doubles Multiply(const Doubles& x, const std::vector<float>& weight, const std::vector<float>& bias, size_t in) {
  const size_t rows = x.size() / in, out = weight.size() / in;
  Doubles y(rows * out);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t o = 0; o < out; ++o) {
      double sum = bias.empty() ? 0.0 : bias[o];
      for (size_t i = 0; i < in; ++i) sum += x[r * in + i] * weight[o * in + i];
      y[r * out + o] = sum;
    }
  }
  return y;
}

// LayerNorm of rows as wide as `weight`.
inline Doubles Normed(const Doubles& x, const std::vector<float>& weight, const std::vector<float>& bias,
                      double epsilon) {
  const size_t width = weight.size();
  Doubles y(x.size());
  for (size_t at = 0; at < x.size(); at += width) {
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < width; ++i) mean += x[at + i] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) variance += (x[at + i] - mean) * (x[at + i] - mean) / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i)
      y[at + i] = (x[at + i] - mean) / std::sqrt(variance + epsilon) * weight[i] + bias[i];
  }
  return y;
}

// RMSNorm, the same.
inline Doubles RmsNormed(const Doubles& x, const std::vector<float>& weight, double epsilon) {
  const size_t width = weight.size();
  Doubles y(x.size());
  for (size_t at = 0; at < x.size(); at += width) {
    double squares = 0.0;
    for (size_t i = 0; i < width; ++i) squares += x[at + i] * x[at + i] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) y[at + i] = x[at + i] / std::sqrt(squares + epsilon) * weight[i];
  }
  return y;
}

// Attention of rows to all rows: qkv [rows, 3 width], queries, keys and values side by side -> [rows, width].
inline Doubles Attended(const Doubles& qkv, size_t width, size_t heads) {
  const size_t d = width / heads, rows = qkv.size() / (3 * width);
  Doubles out(rows * width, 0.0), p(rows);
  for (size_t head = 0; head < heads; ++head) {
    for (size_t row = 0; row < rows; ++row) {
      double sum = 0.0;
      for (size_t key = 0; key < rows; ++key) {
        double score = 0.0;
        for (size_t i = 0; i < d; ++i) {
          score += qkv[row * 3 * width + head * d + i] * qkv[key * 3 * width + width + head * d + i];
        }
        p[key] = std::exp(score / std::sqrt(static_cast<double>(d)));
        sum += p[key];
      }
      for (size_t key = 0; key < rows; ++key) {
        for (size_t i = 0; i < d; ++i) {
          out[row * width + head * d + i] += p[key] / sum * qkv[key * 3 * width + 2 * width + head * d + i];
        }
      }
    }
  }
  return out;
}

inline void AddTo(const Doubles& x, Doubles* sum) {
  for (size_t i = 0; i < x.size(); ++i) (*sum)[i] += x[i];
}

inline Doubles Gelued(Doubles x) {
  for (double& v : x) v = 0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0)));
  return x;
}

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_SUPPORT_PLAIN_NETWORK_H_
