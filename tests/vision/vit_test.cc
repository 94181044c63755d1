// VitEncoder against ONNX Runtime (tools/golden/make_vit.py) on two pictures given by formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/io/weights.h"
#include "tests/support/compare.h"
#include "tests/support/emulated_net.h"
#include "tests/support/model_parts.h"
#include "tests/support/test_net.h"
#include "vision/vit/vit_encoder.h"
#include "vision/vit/vit_weights.h"

namespace longview {
namespace {

constexpr size_t kSide = 224;
constexpr size_t kPicture = 3 * kSide * kSide;
constexpr size_t kTokens = 257;
constexpr size_t kWidth = 384;

// The upper 24 bits of Numerical Recipes' generator, as in make_vit.py.
uint32_t Lcg(uint32_t* state) {
  *state = *state * 1664525 + 1013904223;
  return *state >> 8;
}

std::vector<float> NoisePicture(uint32_t state = 1) {
  std::vector<float> chw(kPicture);
  for (float& v : chw) v = static_cast<float>(Lcg(&state)) / 4194304.0f - 2.0f;
  return chw;
}

std::vector<float> ShapesPicture() {
  std::vector<float> chw;
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 224; ++y) {
      for (int x = 0; x < 224; ++x) {
        int v = (x + (c + 1) * y) % 256;
        if ((x / 28 + y / 28) % 2 == 1) v = 255 - v / 2;
        if ((x - 120) * (x - 120) + (y - 100) * (y - 100) < 3600) v = 40 + 80 * c;
        chw.push_back(static_cast<float>(v) / 64.0f - 2.0f);
      }
    }
  }
  return chw;
}

std::shared_ptr<const VitEncoder> Load(WeightStore store) {
  auto encoder = VitEncoder::Load(ModelPart(kVitPart), VitConfig(), store);
  EXPECT_TRUE(encoder.ok()) << encoder.status().message();
  return encoder.ok() ? *encoder : nullptr;
}

std::vector<float> Golden(const std::string& name, const std::vector<uint64_t>& shape) {
  const auto file = WeightFile::Open(GoldenFile("vit.safetensors"));
  EXPECT_TRUE(file.ok()) << file.status().message();
  if (!file.ok()) return {};
  const auto numbers = (*file)->GetFloat(name, shape);
  EXPECT_TRUE(numbers.ok()) << numbers.status().message();
  return numbers.ok() ? *numbers : std::vector<float>();
}

// `encode` writes the tokens of one picture.
template <typename Encode>
void CheckEncoding(const Encode& encode, double min_cosine, double max_error) {
  std::vector<float> signs(kWidth);
  uint32_t state = 7;
  for (float& s : signs) s = ((Lcg(&state) >> 23) != 0 ? 1.0f : -1.0f) / std::sqrt(384.0f);
  for (const auto& [name, picture] :
       std::map<std::string, std::vector<float>>{{"noise", NoisePicture()}, {"shapes", ShapesPicture()}}) {
    std::vector<float> tokens(kTokens * kWidth);
    ASSERT_TRUE(encode(picture.data(), tokens.data()).ok());
    std::vector<float> some, projections;
    for (size_t row = 0; row < kTokens; ++row) {
      const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(row * kWidth);
      if (row % 8 == 0) some.insert(some.end(), first, first + kWidth);
      double sum = 0.0;
      for (size_t i = 0; i < kWidth; ++i) sum += static_cast<double>(first[static_cast<std::ptrdiff_t>(i)]) * signs[i];
      projections.push_back(static_cast<float>(sum));
    }
    const Difference d = Compare(some, Golden(name + ".tokens", {33, kWidth}));
    EXPECT_GE(d.cosine, min_cosine) << name;
    EXPECT_LE(d.max_error, max_error) << name << " at token " << d.worst / kWidth * 8;
    const Difference p = Compare(projections, Golden(name + ".projections", {kTokens}));
    EXPECT_LE(p.max_error, max_error) << name << " at token " << p.worst;
  }
}

void CheckAgainstGolden(WeightStore store, double min_cosine, double max_error) {
  const auto encoder = Load(store);
  ASSERT_NE(encoder, nullptr);
  ThreadPool pool;
  CheckEncoding([&](const float* chw, float* tokens) { return encoder->Encode(chw, 1, tokens, &pool); }, min_cosine,
                max_error);
}

TEST(VitTest, FloatMatchesOnnxRuntime) { CheckAgainstGolden(WeightStore::kF32, 0.9999999, 1e-3); }

TEST(VitTest, Bf16MatchesOnnxRuntime) { CheckAgainstGolden(WeightStore::kBF16, 0.9999, 0.15); }

// A GPU's launches, emulated: bf16 between them all, where the processor has it in products alone.
TEST(VitTest, DeviceMatchesOnnxRuntime) {
  const auto encoder = VitEncoder::Load(ModelPart(kVitPart), VitConfig(), WeightStore::kAsStored, test::MakeTestNet());
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  CheckEncoding([&](const float* chw, float* tokens) { return (*encoder)->Encode(chw, 1, tokens, nullptr); }, 0.9999,
                0.2);
}

// A device that fails is no failure of the encoder: the processor goes on.
TEST(VitTest, WithoutItsDeviceTheProcessorEncodes) {
  const auto small = std::make_shared<test::EmulatedNet>(size_t{60} << 20);  // the weights, and little else
  const auto encoder = VitEncoder::Load(ModelPart(kVitPart), VitConfig(), WeightStore::kAsStored, small);
  const auto tiny = VitEncoder::Load(ModelPart(kVitPart), VitConfig(), WeightStore::kAsStored,
                                     std::make_shared<test::EmulatedNet>(size_t{1} << 20));
  ASSERT_TRUE(encoder.ok() && tiny.ok()) << encoder.status().message() << tiny.status().message();
  const std::vector<float> picture = ShapesPicture();
  std::vector<float> pictures, tokens(size_t{8} * kTokens * kWidth), expected(tokens.size());
  for (int i = 0; i < 8; ++i) pictures.insert(pictures.end(), picture.begin(), picture.end());
  ThreadPool pool;
  ASSERT_TRUE(Load(WeightStore::kBF16)->Encode(pictures.data(), 8, expected.data(), &pool).ok());
  for (const auto& one : {*encoder, *tiny}) {
    ASSERT_TRUE(one->Encode(pictures.data(), 8, tokens.data(), &pool).ok());
    EXPECT_EQ(tokens, expected);
  }
  EXPECT_EQ(small->live(), 0u);
}

TEST(VitTest, Int8IsNearFloat) {
  VitConfig config;
  config.taps = {5, 7, 10};
  const auto exact = VitEncoder::Load(ModelPart(kVitPart), config, WeightStore::kF32);
  const auto small = VitEncoder::Load(ModelPart(kVitPart), config, WeightStore::kI8);
  ASSERT_TRUE(exact.ok() && small.ok());
  EXPECT_LT((*small)->weight_bytes(), (*exact)->weight_bytes() * 3 / 10);
  ThreadPool pool;
  for (const std::vector<float>& picture : {NoisePicture(), ShapesPicture()}) {
    std::vector<float> expected(kTokens * 3 * kWidth), tokens(expected.size());
    ASSERT_TRUE((*exact)->Encode(picture.data(), 1, expected.data(), &pool).ok());
    ASSERT_TRUE((*small)->Encode(picture.data(), 1, tokens.data(), &pool).ok());
    const Difference d = Compare(tokens, expected);
    EXPECT_GE(d.cosine, 0.999);
    EXPECT_LE(d.cosine, 0.99999) << "int8 cannot be that exact";
  }
}

// Each tap's tokens at mean 0 and variance 1, side by side; the blocks above the last are not read.
TEST(VitTest, TapsMatchOnnxRuntime) {
  VitConfig config;
  config.taps = {3, 8};
  EXPECT_EQ(config.out_width(), 2 * kWidth);
  const auto encoder = VitEncoder::Load(ModelPart(kVitPart), config, WeightStore::kF32);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  EXPECT_LT((*encoder)->weight_bytes(), Load(WeightStore::kF32)->weight_bytes());
  std::vector<float> both;
  for (const std::vector<float>& picture : {NoisePicture(), ShapesPicture()}) {
    both.insert(both.end(), picture.begin(), picture.end());
  }
  std::vector<float> tokens(2 * kTokens * 2 * kWidth);
  ThreadPool pool;
  ASSERT_TRUE((*encoder)->Encode(both.data(), 2, tokens.data(), &pool).ok());
  for (size_t i = 0; i < 2; ++i) {
    std::vector<float> some;
    for (size_t row = 0; row < kTokens; row += 32) {
      const auto first = tokens.begin() + static_cast<std::ptrdiff_t>((i * kTokens + row) * 2 * kWidth);
      some.insert(some.end(), first, first + 2 * kWidth);
    }
    const Difference d = Compare(some, Golden(i == 0 ? "noise.taps" : "shapes.taps", {9, 2 * kWidth}));
    EXPECT_GE(d.cosine, 0.9999999) << i;
    EXPECT_LE(d.max_error, 1e-3) << i;
  }
}

TEST(VitTest, PositionsMatchTheGraphsResize) {
  const auto weights = LoadVitWeights(ModelPart(kVitPart), VitConfig(), WeightStore::kF32);
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  std::vector<float> some;
  for (size_t row = 0; row < 256; row += 16) {
    const auto first = (*weights)->patch_positions.begin() + static_cast<std::ptrdiff_t>(row * kWidth);
    some.insert(some.end(), first, first + kWidth);
  }
  EXPECT_LE(Compare(some, Golden("positions", {16, kWidth})).max_error, 1e-5);
}

TEST(VitTest, ResizeKeepsWhatNeedsNoResizing) {
  std::vector<float> grid(50);
  for (size_t i = 0; i < grid.size(); ++i) grid[i] = static_cast<float>(i * i % 13);
  EXPECT_EQ(ResizePositions(grid, 5, 5, 2), grid);
  const std::vector<float> flat(49, 2.5f);
  for (const float v : ResizePositions(flat, 7, 3, 1)) EXPECT_FLOAT_EQ(v, 2.5f);
}

TEST(VitTest, APicturesTokensDoNotDependOnItsCompany) {
  const auto encoder = Load(WeightStore::kF32);
  ASSERT_NE(encoder, nullptr);
  std::vector<std::vector<float>> alone;
  std::vector<float> together;
  for (uint32_t i = 0; i < 6; ++i) {
    const std::vector<float> picture = i == 2 ? ShapesPicture() : NoisePicture(100 + i);
    together.insert(together.end(), picture.begin(), picture.end());
    alone.emplace_back(kTokens * kWidth);
    ASSERT_TRUE(encoder->Encode(picture.data(), 1, alone.back().data(), nullptr).ok());
  }
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    std::vector<float> out(6 * kTokens * kWidth);
    ASSERT_TRUE(encoder->Encode(together.data(), 6, out.data(), &pool).ok());
    for (size_t i = 0; i < 6; ++i) {
      const auto first = out.begin() + static_cast<std::ptrdiff_t>(i * kTokens * kWidth);
      EXPECT_TRUE(std::equal(alone[i].begin(), alone[i].end(), first))
          << "picture " << i << ", " << threads << " threads";
    }
  }
}

TEST(VitTest, StopAndEmptyBatch) {
  const auto encoder = Load(WeightStore::kF32);
  ASSERT_NE(encoder, nullptr);
  std::vector<float> out(kTokens * kWidth);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(encoder->Encode(NoisePicture().data(), 1, out.data(), nullptr, stop.get_token()).code(),
            StatusCode::kCancelled);
  EXPECT_TRUE(encoder->Encode(nullptr, 0, nullptr, nullptr).ok());
}

TEST(VitTest, WrongFilesAndShapesAreNamed) {
  const std::filesystem::path path = ModelPart(kVitPart);
  const auto message = [](const std::filesystem::path& file, const VitConfig& config) {
    const auto result = VitEncoder::Load(file, config, WeightStore::kF32);
    EXPECT_FALSE(result.ok());
    return result.status().message();
  };
  EXPECT_NE(message("/nowhere/vit.onnx", {}).find("/nowhere/vit.onnx"), std::string::npos);
  EXPECT_FALSE(message(ModelPart(kTextPart), {}).empty());
  VitConfig config;
  config.layers = 13;
  EXPECT_NE(message(path, config).find("layer.12"), std::string::npos);
  config = {};
  config.width = 192;
  config.heads = 3;
  EXPECT_NE(message(path, config).find("192"), std::string::npos);
  EXPECT_NE(message(path, config).find(path.filename().string()), std::string::npos);
  config = {};
  config.mlp = 1024;
  EXPECT_NE(message(path, config).find("/mlp/fc1/MatMul"), std::string::npos);
  for (const auto& change : std::vector<void (*)(VitConfig*)>{
           [](VitConfig* c) { c->heads = 5; }, [](VitConfig* c) { c->image = 225; }, [](VitConfig* c) { c->patch = 0; },
           [](VitConfig* c) { c->width = size_t{1} << 40; }, [](VitConfig* c) { c->norm_epsilon = NAN; },
           [](VitConfig* c) { c->taps = {12}; },
           [](VitConfig* c) {
             c->taps = {5, 5};
           }}) {
    config = {};
    change(&config);
    EXPECT_EQ(VitEncoder::Load(path, config, WeightStore::kF32).status().code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace longview
