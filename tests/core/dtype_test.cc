// Storage types: roundings at their edges, and the block formats against gguf-py (tools/golden/make_dequant.py).
#include "core/tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/io/json.h"
#include "core/tensor/tensor.h"

namespace longview {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(DTypeTest, EveryHalfComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = F16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(F16ToFloat(FloatToF16(value))));
    } else {
      ASSERT_EQ(FloatToF16(value), bits);
    }
    const float wide = BF16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(BF16ToFloat(FloatToBF16(wide))));
    } else {
      ASSERT_EQ(FloatToBF16(wide), bits);
    }
  }
}

TEST(DTypeTest, HalvesRoundToNearestEven) {
  EXPECT_EQ(F16ToFloat(FloatToF16(1.0f + 0x1p-11f)), 1.0f);                // half way: to even
  EXPECT_EQ(F16ToFloat(FloatToF16(1.0f + 3 * 0x1p-11f)), 1.0f + 0x1p-9f);  // half way: to even
  EXPECT_EQ(F16ToFloat(FloatToF16(65519.0f)), 65504.0f);
  EXPECT_EQ(F16ToFloat(FloatToF16(65520.0f)), kInf);
  EXPECT_EQ(F16ToFloat(FloatToF16(-1e30f)), -kInf);
  EXPECT_EQ(F16ToFloat(FloatToF16(0x1p-24f)), 0x1p-24f);
  EXPECT_EQ(F16ToFloat(FloatToF16(0x1p-25f)), 0.0f);
  EXPECT_EQ(F16ToFloat(FloatToF16(0x1.8p-25f)), 0x1p-24f);
  EXPECT_EQ(F16ToFloat(FloatToF16(0x1.ff8p-15f)), 0x1.ff8p-15f);
  EXPECT_EQ(F16ToFloat(FloatToF16(0x1.ffep-15f)), 0x1p-14f);  // up into the normal numbers
  EXPECT_EQ(BF16ToFloat(FloatToBF16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(BF16ToFloat(FloatToBF16(1.0f + 3 * 0x1p-8f)), 1.0f + 0x1p-6f);
  EXPECT_EQ(BF16ToFloat(FloatToBF16(std::numeric_limits<float>::max())), kInf);
  EXPECT_TRUE(std::isnan(BF16ToFloat(FloatToBF16(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_TRUE(std::isnan(BF16ToFloat(FloatToBF16(kNan))));
}

TEST(DTypeTest, BytesAndBlocks) {
  EXPECT_EQ(*DTypeBytes(DType::kQ4_1, 64), 40u);
  EXPECT_EQ(*DTypeBytes(DType::kQ6_K, 256), 210u);
  EXPECT_EQ(*DTypeBytes(DType::kI64, 3), 24u);
  EXPECT_FALSE(DTypeBytes(DType::kQ4_K, 255).ok());
  EXPECT_FALSE(DTypeBytes(DType::kF32, UINT64_MAX / 2).ok());
  EXPECT_EQ(DTypeName(DType::kQ8_0), "q8_0");
}

std::vector<uint8_t> FromHex(const std::string& hex) {
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

TEST(DTypeTest, BlocksDecodeAsGgufPyDecodesThem) {
  Result<Json> golden = Json::ParseFile(LONGVIEW_SOURCE_DIR "/tests/golden/dequant.json");
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  const DType types[] = {DType::kF16,  DType::kBF16, DType::kQ4_0, DType::kQ4_1,
                         DType::kQ8_0, DType::kQ4_K, DType::kQ6_K};
  for (const DType dtype : types) {
    SCOPED_TRACE(DTypeName(dtype));
    Result<Json> entry = golden->Get(DTypeName(dtype));
    ASSERT_TRUE(entry.ok());
    const std::vector<uint8_t> blocks = FromHex(*entry->GetString("blocks"));
    const std::vector<uint8_t> bytes = FromHex(*entry->GetString("floats"));
    std::vector<float> expected(bytes.size() / 4);
    std::memcpy(expected.data(), bytes.data(), bytes.size());
    ASSERT_EQ(*DTypeBytes(dtype, expected.size()), blocks.size());
    std::vector<float> actual(expected.size());
    ASSERT_TRUE(ConvertToFloat(dtype, blocks.data(), actual).ok());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], 1e-6 * std::abs(expected[i]) + 1e-9) << i;
    }
  }
}

TEST(DTypeTest, IntegersAndRefusals) {
  const int8_t bytes[2] = {-3, 5};
  std::vector<float> out(2);
  ASSERT_TRUE(ConvertToFloat(DType::kI8, bytes, out).ok());
  EXPECT_EQ(out, (std::vector<float>{-3.0f, 5.0f}));
  ASSERT_TRUE(ConvertToFloat(DType::kU8, bytes, out).ok());
  EXPECT_EQ(out[0], 253.0f);
  EXPECT_EQ(ConvertToFloat(DType::kI64, bytes, out).code(), StatusCode::kUnsupported);
  EXPECT_EQ(ConvertToFloat(DType::kQ4_1, bytes, out).code(), StatusCode::kDamaged);
}

TEST(TensorViewTest, TextAndCopy) {
  const float numbers[6] = {1, 2, 3, 4, 5, 6};
  TensorView view;
  view.shape = {2, 3};
  view.data = numbers;
  EXPECT_EQ(view.ShapeText(), "[2, 3]");
  EXPECT_EQ(view.count(), 6u);
  EXPECT_EQ(*view.CopyToFloat(), std::vector<float>(numbers, numbers + 6));
  view.shape = {uint64_t{1} << 40, uint64_t{1} << 40};
  EXPECT_FALSE(view.CopyToFloat().ok());
}

}  // namespace
}  // namespace longview
