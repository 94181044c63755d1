// Linear against its double-precision twin: every storage type, sizes around vector width, few and many rows, with and
// without threads.
#include "core/ops/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"
#include "core/ops/matvec.h"
#include "core/ops/reference.h"
#include "core/simd/level.h"
#include "tests/core/random_tensors.h"
#include "tests/support/tensor_compare.h"

namespace longview {
namespace {

constexpr DType kAllTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                               DType::kQ4_1, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K};

Linear MakeOrDie(const TensorView& view, std::vector<float> bias, WeightStore store, bool copy = true) {
  Result<Linear> linear = Linear::Make(view, std::move(bias), store, copy);
  EXPECT_TRUE(linear.ok()) << linear.status().message();
  return std::move(linear).value();
}

std::vector<float> Decoded(DType dtype, size_t count, const std::vector<uint8_t>& bytes) {
  std::vector<float> floats(count);
  EXPECT_TRUE(ConvertToFloat(dtype, bytes.data(), floats).ok());
  return floats;
}

// One layer and one input, with what the layer should say about it.
struct Case {
  DType dtype;
  size_t in;
  size_t out;
  size_t rows;
};

void CheckAgainstReference(const Case& c, ThreadPool* pool) {
  SCOPED_TRACE(std::string(DTypeName(c.dtype)) + " in " + std::to_string(c.in) + " out " + std::to_string(c.out) +
               " rows " + std::to_string(c.rows));
  const size_t x_stride = c.in + 3;
  const size_t y_stride = c.out + 5;
  const std::vector<uint8_t> bytes = RandomWeights(c.dtype, c.out, c.in, 7);
  const std::vector<float> bias = RandomFloats(c.out, 8);
  const std::vector<float> x = PoisonedRows(c.rows, c.in, x_stride, 9);
  const Linear linear = MakeOrDie(MatrixView(c.dtype, c.out, c.in, bytes.data()), bias, WeightStore::kAsStored);
  std::vector<float> y(c.rows * y_stride, kPoison);
  linear.Forward(x.data(), x_stride, c.rows, y.data(), y_stride, pool);

  const std::vector<float> w = Decoded(c.dtype, c.out * c.in, bytes);
  const bool rounded = c.dtype == DType::kBF16 && c.rows > internal::kMatVecMaxRows && HasBf16Gemm();
  for (size_t r = 0; r < c.rows; ++r) {
    for (size_t o = 0; o < y_stride; ++o) {
      const float actual = y[r * y_stride + o];
      if (o >= c.out) {
        ASSERT_TRUE(std::isnan(actual)) << "written past the width, row " << r << " column " << o;
        continue;
      }
      double sum = bias[o];
      double size = std::abs(bias[o]);
      for (size_t i = 0; i < c.in; ++i) {
        const double product = static_cast<double>(w[o * c.in + i]) * x[r * x_stride + i];
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(actual, sum, (rounded ? 4e-3 : 1e-6) * size) << "row " << r << " column " << o;
    }
  }
}

TEST(LinearTest, AgreesWithReferenceAtAllSizesAndTypes) {
  for (const DType dtype : kAllTypes) {
    const size_t block = DTypeBlockSize(dtype);
    const std::vector<size_t> ins = block == 1    ? std::vector<size_t>{1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 131}
                                    : block == 32 ? std::vector<size_t>{32, 64, 96, 576}
                                                  : std::vector<size_t>{256, 512, 768};
    for (const size_t in : ins) {
      for (const size_t out : {1, 2, 13, 49}) {
        for (const size_t rows : {0, 1, 2, 3, 4, 5, 17}) CheckAgainstReference({dtype, in, out, rows}, nullptr);
      }
    }
  }
}

TEST(LinearTest, ThreadsDoNotChangeTheResult) {
  ThreadPool one(1);
  ThreadPool three(3);
  for (const DType dtype : kAllTypes) {
    for (const size_t rows : {1, 6}) {
      const size_t in = 512;
      const size_t out = 331;
      const std::vector<uint8_t> bytes = RandomWeights(dtype, out, in, 1);
      const std::vector<float> x = RandomFloats(rows * in, 2);
      const Linear linear = MakeOrDie(MatrixView(dtype, out, in, bytes.data()), {}, WeightStore::kAsStored);
      std::vector<float> alone(rows * out), with_one(rows * out), with_three(rows * out);
      linear.Forward(x.data(), in, rows, alone.data(), out, nullptr);
      linear.Forward(x.data(), in, rows, with_one.data(), out, &one);
      linear.Forward(x.data(), in, rows, with_three.data(), out, &three);
      EXPECT_EQ(alone, with_one);
      // oneDNN may cut a product's columns differently; sums are taken in the same order or differ in the last bits.
      EXPECT_TRUE(TensorsNear(with_three, alone, {rows == 1 ? 0.0 : 2e-5, rows == 1 ? 0.0 : 1e-6, 0.9999999}));
    }
  }
}

TEST(LinearTest, ARowDoesNotDependOnItsNeighbours) {
  const size_t in = 576;
  const size_t out = 200;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ4_1, DType::kQ8_0}) {
    const std::vector<uint8_t> bytes = RandomWeights(dtype, out, in, 1);
    const std::vector<float> x = RandomFloats(70 * in, 2);
    const Linear linear = MakeOrDie(MatrixView(dtype, out, in, bytes.data()), {}, WeightStore::kAsStored);
    const auto forward = [&](size_t rows) {
      std::vector<float> y(rows * out);
      linear.Forward(x.data(), in, rows, y.data(), out, nullptr);
      y.resize(out);  // the first row
      return y;
    };
    EXPECT_EQ(forward(1), forward(2));
    EXPECT_EQ(forward(1), forward(4));
    // oneDNN may order its sums by the number of rows on some CPUs: the last bits only.
    EXPECT_TRUE(TensorsNear(forward(5), forward(17), {1e-4, 1e-6, 0.9999999})) << DTypeName(dtype);
    EXPECT_TRUE(TensorsNear(forward(5), forward(70), {1e-4, 1e-6, 0.9999999})) << DTypeName(dtype);
  }
}

TEST(LinearTest, WholeNumbersAreExact) {
  const size_t in = 77;
  const size_t out = 19;
  std::vector<float> w(out * in);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(static_cast<int>(i * 31 % 15) - 7);
  for (const WeightStore store : {WeightStore::kAsStored, WeightStore::kBF16, WeightStore::kF32}) {
    const Linear linear = MakeOrDie(MatrixView(DType::kF32, out, in, w.data()), {}, store);
    EXPECT_EQ(linear.bytes(), out * in * (store == WeightStore::kBF16 ? 2u : 4u));
    for (const size_t rows : {1, 9}) {
      std::vector<float> x(rows * in);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 17 % 9) - 4);
      std::vector<float> y(rows * out);
      linear.Forward(x.data(), in, rows, y.data(), out, nullptr);
      for (size_t r = 0; r < rows; ++r) {
        for (size_t o = 0; o < out; ++o) {
          int sum = 0;
          for (size_t i = 0; i < in; ++i) sum += static_cast<int>(w[o * in + i]) * static_cast<int>(x[r * in + i]);
          ASSERT_EQ(y[r * out + o], static_cast<float>(sum));
        }
      }
    }
  }
}

TEST(LinearTest, ViewsOfMappedMemoryMayBeUnaligned) {
  const size_t in = 40;
  const size_t out = 6;
  const std::vector<uint8_t> bytes = RandomWeights(DType::kF32, out, in, 4);
  std::vector<uint8_t> shifted(bytes.size() + 1);
  std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
  const Linear linear =
      MakeOrDie(MatrixView(DType::kF32, out, in, shifted.data() + 1), {}, WeightStore::kAsStored, /*copy=*/false);
  const Linear straight = MakeOrDie(MatrixView(DType::kF32, out, in, bytes.data()), {}, WeightStore::kAsStored, false);
  const std::vector<float> x = RandomFloats(in, 5);
  std::vector<float> a(out), b(out);
  linear.Forward(x.data(), in, 1, a.data(), out, nullptr);
  straight.Forward(x.data(), in, 1, b.data(), out, nullptr);
  EXPECT_EQ(a, b);
}

TEST(LinearTest, CopyRowDecodes) {
  for (const DType dtype : kAllTypes) {
    const std::vector<uint8_t> bytes = RandomWeights(dtype, 3, 512, 4);
    const std::vector<float> w = Decoded(dtype, size_t{3} * 512, bytes);
    const Linear linear = MakeOrDie(MatrixView(dtype, 3, 512, bytes.data()), {}, WeightStore::kAsStored);
    std::vector<float> row(512);
    linear.CopyRow(2, row.data());
    EXPECT_EQ(row, std::vector<float>(w.begin() + 1024, w.end())) << DTypeName(dtype);
  }
}

TEST(LinearTest, VectorDecodingAgreesWithTheReference) {
  if (ActiveSimdLevel() == SimdLevel::kNone) return;  // there is one decoder only
  for (const DType dtype : kAllTypes) {
    const size_t in = DTypeBlockSize(dtype) == 1 ? 67 : 512;
    const std::vector<uint8_t> bytes = RandomWeights(dtype, 4, in, 4);
    std::vector<float> rows(2 * in, kPoison);
    internal::DecodeRows(dtype, bytes.data(), bytes.size() / 4, in, 1, 3, rows.data());
    const std::vector<float> w = Decoded(dtype, 4 * in, bytes);
    EXPECT_TRUE(TensorsNear(rows, std::span(w).subspan(in, 2 * in), {1e-6, 1e-6, 0.999999})) << DTypeName(dtype);
  }
}

TEST(LinearTest, BF16RoundingAgreesWithTheReference) {
  std::vector<float> x = RandomFloats(131, 3);
  x[0] = kPoison;
  x[1] = -std::numeric_limits<float>::infinity();
  x[2] = std::numeric_limits<float>::max();
  x[3] = 1.00390625f;  // half way between two
  std::vector<uint16_t> rounded(x.size());
  RoundToBf16(x.data(), x.size(), rounded.data());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(rounded[i], FloatToBF16(x[i])) << i;
}

TEST(LinearTest, RefusesWhatDoesNotFit) {
  const std::vector<uint8_t> bytes(4096);
  TensorView cube = MatrixView(DType::kF32, 2, 2, bytes.data());
  cube.shape.push_back(2);
  EXPECT_EQ(Linear::Make(cube, {}, WeightStore::kAsStored).status().code(), StatusCode::kDamaged);
  const TensorView view = MatrixView(DType::kF32, 4, 4, bytes.data());
  EXPECT_FALSE(Linear::Make(view, std::vector<float>(3), WeightStore::kAsStored).ok());
  EXPECT_FALSE(Linear::Make(MatrixView(DType::kQ4_1, 4, 33, bytes.data()), {}, WeightStore::kAsStored).ok());
  EXPECT_FALSE(Linear::Make(MatrixView(DType::kI64, 4, 4, bytes.data()), {}, WeightStore::kF32).ok());
  EXPECT_FALSE(Linear::Make(MatrixView(DType::kI8, 4, 4, bytes.data()), {}, WeightStore::kAsStored).ok());
  EXPECT_TRUE(Linear::Make(MatrixView(DType::kI8, 4, 4, bytes.data()), {}, WeightStore::kF32).ok());
}

TEST(GemmTest, AgreesWithReference) {
  for (const bool transpose : {false, true}) {
    for (const size_t m : {0, 1, 5, 19}) {
      for (const size_t n : {0, 1, 7, 33}) {
        for (const size_t k : {0, 1, 13, 64}) {
          const size_t ldb = (transpose ? k : n) + 2;
          const std::vector<float> a = PoisonedRows(m, k, k + 1, 1);
          const std::vector<float> b = PoisonedRows(transpose ? n : k, transpose ? k : n, ldb, 2);
          std::vector<float> c = RandomFloats(m * (n + 3), 3);
          std::vector<float> expected = c;
          for (const float beta : {0.0f, 1.0f}) {
            (transpose ? GemmNT : GemmNN)(m, n, k, a.data(), k + 1, b.data(), ldb, beta, c.data(), n + 3);
            reference::Gemm(transpose, m, n, k, a.data(), k + 1, b.data(), ldb, beta, expected.data(), n + 3);
            EXPECT_TRUE(TensorsNear(c, expected, {2e-5, 1e-5, 0.999999})) << m << " " << n << " " << k;
          }
        }
      }
    }
  }
}

TEST(LinearTest, Int8IsTheRoundedNumbersProductExactly) {
  for (const size_t in : {1u, 15u, 16u, 63u, 384u}) {
    for (const size_t rows : {1u, 3u, 65u}) {
      const size_t out = 49;
      // Whole numbers, one of each row 127: nothing is lost by rounding.
      std::vector<float> weight(out * in), x(rows * in), bias(out);
      uint32_t state = 3;
      const auto whole = [&](std::vector<float>* v) {
        for (size_t i = 0; i < v->size(); ++i) {
          state = state * 1664525 + 1013904223;
          (*v)[i] = i % in == 0 ? -127.0f : static_cast<float>(static_cast<int>(state >> 24) % 255 - 127);
        }
      };
      whole(&weight);
      whole(&x);
      for (size_t o = 0; o < out; ++o) bias[o] = static_cast<float>(o);
      const auto linear = Linear::Make({DType::kF32, {out, in}, weight.data()}, bias, WeightStore::kI8);
      ASSERT_TRUE(linear.ok()) << linear.status().message();
      EXPECT_EQ(linear->bytes(), out * in + 2 * out * sizeof(float));
      std::vector<float> y(rows * out), row(in);
      ThreadPool pool(3);
      linear->Forward(x.data(), in, rows, y.data(), out, &pool);
      for (size_t r = 0; r < rows; ++r) {
        for (size_t o = 0; o < out; ++o) {
          double sum = bias[o];
          for (size_t i = 0; i < in; ++i)
            sum += static_cast<double>(weight[o * in + i]) * static_cast<double>(x[r * in + i]);
          ASSERT_NEAR(y[r * out + o], sum, 1e-6 * std::abs(sum) + 1e-3) << in << " " << rows << " " << r << " " << o;
        }
      }
      linear->CopyRow(7, row.data());
      for (size_t i = 0; i < in; ++i) ASSERT_FLOAT_EQ(row[i], weight[7 * in + i]);
    }
  }
}

}  // namespace
}  // namespace longview
