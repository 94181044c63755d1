// Norms, activations, softmax and rotary embeddings against their double-precision twins.
#include "core/ops/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "core/ops/reference.h"
#include "core/ops/rope.h"
#include "tests/core/random_tensors.h"
#include "tests/support/tensor_compare.h"

namespace longview {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr size_t kWidths[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 384, 577};

// x and y with their strides, 3 rows of `width`.
using RowOp = std::function<void(const float* x, size_t xs, size_t rows, size_t width, float* y, size_t ys)>;

// Runs both on rows with poison between them; the poison in y must survive.
void CheckRows(const RowOp& op, const RowOp& twin, const Tolerance& tolerance) {
  for (const size_t width : kWidths) {
    SCOPED_TRACE(width);
    const std::vector<float> x = PoisonedRows(3, width, width + 3, static_cast<uint32_t>(width));
    std::vector<float> y = PoisonedRows(3, width, width + 2, static_cast<uint32_t>(width) + 1);
    std::vector<float> expected = y;
    op(x.data(), width + 3, 3, width, y.data(), width + 2);
    twin(x.data(), width + 3, 3, width, expected.data(), width + 2);
    ASSERT_TRUE(TensorsNear(y, expected, tolerance));
    op(x.data(), width + 3, 0, width, y.data(), width + 2);  // no rows: nothing happens
    ASSERT_TRUE(TensorsNear(y, expected, tolerance));
  }
}

TEST(ElementwiseTest, LayerNorm) {
  const std::vector<float> weight = RandomFloats(600, 1);
  const std::vector<float> some = RandomFloats(600, 2);
  for (const float* bias : {some.data(), static_cast<const float*>(nullptr)}) {
    CheckRows([&](const float* x, size_t xs, size_t rows, size_t width, float* y,
                  size_t ys) { LayerNorm(x, xs, weight.data(), bias, 1e-5f, rows, width, y, ys); },
              [&](const float* x, size_t xs, size_t rows, size_t width, float* y, size_t ys) {
                reference::LayerNorm(x, xs, weight.data(), bias, 1e-5f, rows, width, y, ys);
              },
              {5e-6, 5e-6, 0.9999999});
  }
}

TEST(ElementwiseTest, RmsNorm) {
  const std::vector<float> some = RandomFloats(600, 1);
  for (const float* weight : {some.data(), static_cast<const float*>(nullptr)}) {
    CheckRows([&](const float* x, size_t xs, size_t rows, size_t width, float* y,
                  size_t ys) { RmsNorm(x, xs, weight, 1e-5f, rows, width, y, ys); },
              [&](const float* x, size_t xs, size_t rows, size_t width, float* y, size_t ys) {
                reference::RmsNorm(x, xs, weight, 1e-5f, rows, width, y, ys);
              },
              {1e-6, 2e-6, 0.9999999});
  }
}

TEST(ElementwiseTest, NormsInPlace) {
  std::vector<float> x = RandomFloats(37, 3);
  std::vector<float> y(37);
  RmsNorm(x.data(), 37, nullptr, 1e-5f, 1, 37, y.data(), 37);
  RmsNorm(x.data(), 37, nullptr, 1e-5f, 1, 37, x.data(), 37);
  EXPECT_EQ(x, y);
}

TEST(ElementwiseTest, SoftmaxRows) {
  CheckRows([](const float* x, size_t xs, size_t rows, size_t width, float* y,
               size_t ys) { SoftmaxRows(x, xs, 3.0f, rows, width, y, ys); },
            [](const float* x, size_t xs, size_t rows, size_t width, float* y, size_t ys) {
              reference::SoftmaxRows(x, xs, 3.0f, rows, width, y, ys);
            },
            {1e-7, 4e-6, 0.9999999});
}

TEST(ElementwiseTest, SoftmaxOfExtremes) {
  for (const size_t width : {3, 11, 16}) {
    std::vector<float> x(width, -kInf);
    std::vector<float> y(width, kPoison);
    SoftmaxRows(x.data(), width, 1.0f, 1, width, y.data(), width);
    EXPECT_EQ(y, std::vector<float>(width, 0.0f));  // nothing may be attended to
    x[1] = -1000.0f;
    SoftmaxRows(x.data(), width, 1.0f, 1, width, y.data(), width);
    EXPECT_EQ(y[1], 1.0f);
    x[0] = 1e30f;
    SoftmaxRows(x.data(), width, 1.0f, 1, width, y.data(), width);
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], 0.0f);
    x[width - 1] = kPoison;
    SoftmaxRows(x.data(), width, 1.0f, 1, width, y.data(), width);
    EXPECT_TRUE(std::isnan(y[0]));  // a NaN is not hidden
  }
}

TEST(ElementwiseTest, GeluIsTheExactOne) {
  std::vector<float> x;
  for (int i = -1200; i <= 1200; ++i) x.push_back(static_cast<float>(i) * 0.01f);
  std::vector<float> y(x.size()), expected(x.size());
  Gelu(x.data(), x.size(), y.data());
  reference::Gelu(x.data(), x.size(), expected.data());
  EXPECT_TRUE(TensorsNear(y, expected, {1e-6, 0.0, 0.9999999}));
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(expected[i], x[i] * 0.5 * (1.0 + std::erf(x[i] / std::sqrt(2.0))), 1e-6);
  const std::vector<float> odd = {kPoison, kInf, -kInf, 1e20f, -1e20f, 0.0f};
  std::vector<float> out(odd.size());
  Gelu(odd.data(), odd.size(), out.data());
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], kInf);
  EXPECT_EQ(out[3], 1e20f);
  EXPECT_EQ(out[4], 0.0f);
  EXPECT_EQ(out[5], 0.0f);
}

TEST(ElementwiseTest, FlatOps) {
  for (const size_t n : kWidths) {
    SCOPED_TRACE(n);
    const std::vector<float> a = RandomFloats(n, 1, 3.0f);
    const std::vector<float> b = RandomFloats(n, 2);
    std::vector<float> y(n + 1, kPoison), expected(n + 1, kPoison);  // one more, which must stay
    SiluMul(a.data(), b.data(), n, y.data());
    reference::SiluMul(a.data(), b.data(), n, expected.data());
    ASSERT_TRUE(TensorsNear(y, expected, {1e-6, 2e-6, 0.9999999}));
    Gelu(a.data(), n, y.data());
    reference::Gelu(a.data(), n, expected.data());
    ASSERT_TRUE(TensorsNear(y, expected, {1e-6, 0.0, 0.9999999}));
    Axpy(0.7f, b.data(), n, y.data());
    reference::Axpy(0.7f, b.data(), n, expected.data());
    ASSERT_TRUE(TensorsNear(y, expected, {2e-6, 1e-6, 0.9999999}));
    Add(a.data(), n, y.data());
    reference::Axpy(1.0f, a.data(), n, expected.data());
    ASSERT_TRUE(TensorsNear(y, expected, {2e-6, 1e-6, 0.9999999}));
    ASSERT_NEAR(Dot(a.data(), b.data(), n), reference::Dot(a.data(), b.data(), n), 1e-5 * std::sqrt(n + 1.0));
  }
}

TEST(ElementwiseTest, SiluOfLargeNumbers) {
  const std::vector<float> gate = {-200.0f, 200.0f, -1e30f, 1e30f};
  const std::vector<float> up(4, 2.0f);
  std::vector<float> y(4);
  SiluMul(gate.data(), up.data(), 4, y.data());
  EXPECT_NEAR(y[0], 0.0, 1e-30);
  EXPECT_EQ(y[1], 400.0f);
  EXPECT_NEAR(y[2], 0.0, 1e-30);
  EXPECT_EQ(y[3], 2e30f);
}

TEST(ElementwiseTest, AddScaledRows) {
  const std::vector<float> weight = RandomFloats(600, 1);
  CheckRows([&](const float* x, size_t xs, size_t rows, size_t width, float* y,
                size_t ys) { AddScaledRows(x, xs, weight.data(), rows, width, y, ys); },
            [&](const float* x, size_t xs, size_t rows, size_t width, float* y, size_t ys) {
              reference::AddScaledRows(x, xs, weight.data(), rows, width, y, ys);
            },
            {1e-6, 1e-6, 0.9999999});
}

TEST(RopeTest, RotatesPairsOfTheTwoHalves) {
  const RopeTable table(64, 100000.0, 10);
  const std::vector<float> before = RandomFloats(3 * 70, 4);
  std::vector<float> x = before;
  table.Rotate(7, 3, x.data(), 70);
  for (size_t h = 0; h < 3; ++h) {
    for (size_t j = 0; j < 32; ++j) {
      const double angle = 7.0 * std::pow(100000.0, -static_cast<double>(j) / 32.0);
      const double a = before[h * 70 + j];
      const double b = before[h * 70 + j + 32];
      EXPECT_NEAR(x[h * 70 + j], a * std::cos(angle) - b * std::sin(angle), 1e-6);
      EXPECT_NEAR(x[h * 70 + j + 32], a * std::sin(angle) + b * std::cos(angle), 1e-6);
    }
    for (size_t j = 64; j < 70; ++j) EXPECT_EQ(x[h * 70 + j], before[h * 70 + j]);
  }
}

TEST(RopeTest, TimeWavelengthsReachFromTwoSecondsToFortyHours) {
  const std::vector<double> frequencies = RopeTimeFrequencies(32, 2.0, 144000.0);
  ASSERT_EQ(frequencies.size(), 16u);
  EXPECT_NEAR(frequencies.front(), std::numbers::pi, 1e-12);
  EXPECT_NEAR(frequencies.back(), 2.0 * std::numbers::pi / 144000.0, 1e-15);
  EXPECT_NEAR(2.0 * std::numbers::pi / frequencies[5], 2.0 * std::pow(72000.0, 5.0 / 15.0), 1e-9);
  EXPECT_NEAR(RopeTimeFrequencies(2, 2.0, 144000.0).at(0), std::numbers::pi, 1e-12);
  // Ten hours in, the fastest wave still tells tenths of a second: angles are in double.
  std::vector<float> cos(16), sin(16);
  RopeAngles(frequencies, 36000.1, cos.data(), sin.data());
  EXPECT_NEAR(cos[0], std::cos(0.1 * std::numbers::pi), 1e-6);
  EXPECT_NEAR(sin[0], std::sin(0.1 * std::numbers::pi), 1e-6);
}

}  // namespace
}  // namespace longview
