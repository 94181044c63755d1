// The bridge against the training code's PyTorch (tools/golden/make_bridge.py), absorbed and expanded.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attention/bridge/bridge_config.h"
#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/cross_blocks.h"
#include "attention/bridge/frame_encoder.h"
#include "core/base/arena.h"
#include "core/io/weights.h"
#include "tests/support/compare.h"
#include "tests/support/temp_folder.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(LV_TEST_SOURCE_DIR) / "tests/golden/bridge";
constexpr double kTimes[] = {0.0, 4321.5};
constexpr double kQuestionTime = 4300.25;
constexpr size_t kTokens = 17, kRows = 5, kWidth = 72;

class BridgeTest : public testing::Test {
 protected:
  void SetUp() override {
    auto weights = LoadBridge(kFolder, WeightStore::kF32);
    ASSERT_TRUE(weights.ok()) << weights.status().message();
    weights_ = *weights;
    auto expected = WeightFile::Open(kFolder / "expected.safetensors");
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    expected_ = *expected;
  }

  std::vector<float> Expected(const std::string& name) const {
    return expected_->tensors().at(name).CopyToFloat().value();
  }

  // The two golden frames, encoded here, in a cache of that shape.
  CacheView Cached(size_t d_c, CacheStore store) {
    auto cache = LatentCache::Make({d_c, 16, store}, &arena_);
    EXPECT_TRUE(cache.ok());
    const FrameEncoder encoder(weights_);
    const std::vector<float> vit = Expected("vit");
    for (size_t i = 0; i < 2; ++i) {
      const EncodedFrame frame = encoder.Encode(vit.data() + i * 257 * 48, kTimes[i], nullptr);
      FrameRows rows;
      rows.time_s = kTimes[i];
      rows.end_s = kTimes[i] + 1;
      rows.tokens = kTokens;
      rows.latents = frame.latents.data();
      rows.latent_stride = 64;
      rows.keys = frame.keys.data();
      EXPECT_TRUE(cache->Append(rows).ok());
    }
    caches_.push_back(std::move(*cache));
    return caches_.back().View();
  }

  std::unique_ptr<CrossBlocks> Blocks(CacheView view, CrossBlocksOptions options = {}, ThreadPool* pool = nullptr) {
    options.question_time_s = kQuestionTime;
    auto blocks = CrossBlocks::Make(weights_, std::move(view), options, pool);
    EXPECT_TRUE(blocks.ok()) << blocks.status().message();
    return std::move(*blocks);
  }

  // The golden hidden states, taken through four decoder layers' hooks.
  std::vector<float> Through(CrossBlocks* blocks) const {
    std::vector<float> h = Expected("hidden");
    for (int layer = 0; layer < 4; ++layer) {
      const std::vector<float> before = h;
      EXPECT_TRUE(blocks->BeforeLayer(layer, h.data(), kRows, kWidth).ok());
      EXPECT_EQ(h == before, layer % 2 == 0) << "blocks stand before layers 1 and 3 alone: " << layer;
    }
    return h;
  }

  std::shared_ptr<const BridgeWeights> weights_;
  std::shared_ptr<const WeightFile> expected_;
  Arena arena_;
  std::vector<LatentCache> caches_;
};

TEST_F(BridgeTest, ReadsItsConfig) {
  const BridgeConfig& c = weights_->config;
  EXPECT_EQ(c.tokens_per_frame(), kTokens);
  EXPECT_EQ(c.vit_tokens(), 257u);
  EXPECT_EQ(c.width, kWidth);
  EXPECT_EQ(c.cross_layers, (std::vector<int>{1, 3}));
  ASSERT_TRUE(c.retrieval.has_value());
  EXPECT_EQ(c.retrieval->width, 24u);
  EXPECT_EQ(weights_->retrieval_scale, 20.0f);
  EXPECT_GT(weights_->bytes(), 100000u);
  EXPECT_EQ(c.cache_shape().layers, 2u);
}

TEST_F(BridgeTest, FrameTokensLatentsAndTimeKeys) {
  const FrameEncoder encoder(weights_);
  const std::vector<float> vit = Expected("vit"), x = Expected("x"), latents = Expected("latents"),
                           keys = Expected("keys"), retrieval = Expected("retrieval");
  ThreadPool pool(3);
  for (size_t i = 0; i < 2; ++i) {
    const float* picture = vit.data() + i * 257 * 48;
    std::vector<float> here(kTokens * 48);
    encoder.FrameTokens(picture, here.data(), &pool);
    Difference d = Compare(here, std::span(x).subspan(i * here.size(), here.size()));
    EXPECT_GE(d.cosine, 0.9999999);
    EXPECT_LE(d.max_error, 1e-4) << d.worst;
    const EncodedFrame frame = encoder.Encode(picture, kTimes[i], nullptr);
    d = Compare(frame.latents, std::span(latents).subspan(i * kTokens * 64, kTokens * 64));
    EXPECT_LE(d.max_error, 1e-4) << d.worst;
    d = Compare(frame.keys, std::span(keys).subspan(i * kTokens * 16, kTokens * 16));
    EXPECT_LE(d.max_error, 1e-4) << d.worst;
    d = Compare(frame.retrieval, std::span(retrieval).subspan(i * 24, 24));
    EXPECT_LE(d.max_error, 1e-5) << d.worst;
  }
}

TEST_F(BridgeTest, TextVector) {
  const std::vector<float> hidden = Expected("hidden");
  const auto vector = TextVector(*weights_, hidden.data(), kRows, kWidth);
  ASSERT_TRUE(vector.ok());
  EXPECT_LE(Compare(*vector, Expected("text_vector")).max_error, 1e-5);
  EXPECT_EQ(TextVector(*weights_, hidden.data(), 0, kWidth).status().code(), StatusCode::kInvalidArgument);
  BridgeWeights headless = *weights_;
  headless.text_head.reset();
  EXPECT_EQ(TextVector(headless, hidden.data(), kRows, kWidth).status().code(), StatusCode::kUnsupported);
}

TEST_F(BridgeTest, CrossBlocksAsInTraining) {
  for (const size_t cut : {size_t{32}, size_t{64}}) {
    const std::string suffix = "." + std::to_string(cut);
    const std::vector<float> expected = Expected("h" + suffix), evidence = Expected("evidence" + suffix);
    for (const CacheMode mode : {CacheMode::kMla, CacheMode::kMha}) {
      ThreadPool pool(2);
      CrossBlocksOptions options;
      options.mode = mode;
      const auto blocks = Blocks(Cached(cut, CacheStore::kF32), options, &pool);
      EXPECT_EQ(blocks->SinkShare(), 1.0);
      const Difference d = Compare(Through(blocks.get()), expected);
      EXPECT_GE(d.cosine, 0.999999) << CacheModeName(mode) << suffix;
      EXPECT_LE(d.max_error, 1e-3) << CacheModeName(mode) << suffix;
      const std::vector<double> shares = blocks->Evidence();
      ASSERT_EQ(shares.size(), 2u);
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(shares[i], evidence[i], 1e-4) << CacheModeName(mode) << suffix;
      EXPECT_NEAR(blocks->SinkShare(), 1.0 - evidence[0] - evidence[1], 2e-4);
      blocks->ResetEvidence();
      EXPECT_EQ(blocks->Evidence(), std::vector<double>(2, 0.0));
    }
  }
}

TEST_F(BridgeTest, StoresCostLittle) {
  const std::vector<float> expected = Expected("h.64");
  const struct {
    CacheStore store;
    double low;
  } cases[] = {{CacheStore::kBF16, 0.9999}, {CacheStore::kF16, 0.99999}, {CacheStore::kI8, 0.999}};
  for (const auto& c : cases) {
    const auto blocks = Blocks(Cached(64, c.store));
    const Difference d = Compare(Through(blocks.get()), expected);
    EXPECT_GE(d.cosine, c.low) << CacheStoreName(c.store);
    EXPECT_GT(d.max_error, 1e-5) << CacheStoreName(c.store);
  }
}

TEST_F(BridgeTest, ACutPerLayerReadsTheFirstNumbers) {
  CrossBlocksOptions options;
  options.layer_cuts = {32, 32};
  const auto blocks = Blocks(Cached(64, CacheStore::kF32), options);
  EXPECT_LE(Compare(Through(blocks.get()), Expected("h.32")).max_error, 1e-3);
}

TEST_F(BridgeTest, RowsAreIndependent) {
  // A row alone gives what it gives among others: decoding one token at a time continues a prompt read at once.
  const auto together = Blocks(Cached(64, CacheStore::kBF16)), alone = Blocks(Cached(64, CacheStore::kBF16));
  const std::vector<float> expected = Through(together.get());
  std::vector<float> h = Expected("hidden");
  for (size_t r = 0; r < kRows; ++r) {
    for (const int layer : {1, 3}) ASSERT_TRUE(alone->BeforeLayer(layer, h.data() + r * kWidth, 1, kWidth).ok());
  }
  EXPECT_LE(Compare(h, expected).max_error, 1e-3);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(alone->Evidence()[i], together->Evidence()[i], 1e-5);
}

TEST_F(BridgeTest, WithoutFramesNothingActs) {
  const auto blocks = Blocks(CacheView());
  std::vector<float> h = Expected("hidden");
  const std::vector<float> before = h;
  for (const int layer : {1, 3}) ASSERT_TRUE(blocks->BeforeLayer(layer, h.data(), kRows, kWidth).ok());
  EXPECT_EQ(h, before);
  EXPECT_TRUE(blocks->Evidence().empty());
}

TEST_F(BridgeTest, RefusesWhatDoesNotFit) {
  CacheView view = Cached(64, CacheStore::kF32);
  CrossBlocksOptions options;
  options.mode = CacheMode::kGqa;
  EXPECT_EQ(CrossBlocks::Make(weights_, view, options, nullptr).status().code(), StatusCode::kUnsupported);
  options = {};
  options.layer_cuts = {32};
  EXPECT_EQ(CrossBlocks::Make(weights_, view, options, nullptr).status().code(), StatusCode::kInvalidArgument);
  options.layer_cuts = {32, 48};
  EXPECT_EQ(CrossBlocks::Make(weights_, view, options, nullptr).status().code(), StatusCode::kInvalidArgument);
  view.d_r = 32;
  EXPECT_EQ(CrossBlocks::Make(weights_, view, {}, nullptr).status().code(), StatusCode::kInvalidArgument);
  view.d_r = 16;
  const auto blocks = Blocks(view);
  std::vector<float> h(576);
  EXPECT_EQ(blocks->BeforeLayer(1, h.data(), 1, 576).code(), StatusCode::kInvalidArgument);
}

TEST_F(BridgeTest, TensorsThatAreMissingOrMisshapenAreNamed) {
  auto file = WeightFile::Open(kFolder / "bridge.safetensors");
  ASSERT_TRUE(file.ok());
  BridgeConfig config = weights_->config;
  config.mlp = 63;
  auto loaded = LoadBridge(config, **file, WeightStore::kF32);
  EXPECT_NE(loaded.status().message().find("cross.0.up"), std::string::npos) << loaded.status().message();
  config = weights_->config;
  config.cross_layers = {1, 3, 5};
  loaded = LoadBridge(config, **file, WeightStore::kF32);
  EXPECT_EQ(loaded.status().code(), StatusCode::kNotFound);
  EXPECT_NE(loaded.status().message().find("cross.2."), std::string::npos) << loaded.status().message();
  config = weights_->config;
  config.retrieval.reset();
  EXPECT_TRUE(LoadBridge(config, **file, WeightStore::kAsStored).ok());
  const TempFolder folder;
  EXPECT_EQ(LoadBridge(folder.path(), WeightStore::kF32).status().code(), StatusCode::kNotFound);
}

TEST_F(BridgeTest, ConfigsThatCannotBeAreNamed) {
  std::ifstream in(kFolder / "config.json");
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  ASSERT_TRUE(ParseBridgeConfig(good, "config.json").ok());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return ParseBridgeConfig(text, "config.json").status();
  };
  const std::pair<std::string, std::string> changes[] = {
      {"\"d_c\": 64", "\"d_c\": 65"},
      {"\"d_c\": 64", "\"d_c\": -1"},
      {"\"d_c\": 64", "\"d_c\": 1e9"},
      {"\"d_r\": 16", "\"d_r\": 12"},
      {"\"pool\": 4", "\"pool\": 5"},
      {"\"pool\": 4", "\"pool\": 0"},
      {"\"encoder_heads\": 3", "\"encoder_heads\": 5"},
      {"\"min_wavelength_s\": 2.0", "\"min_wavelength_s\": 0.0"},
      {"\"max_wavelength_s\": 144000.0", "\"max_wavelength_s\": 1.0"},
      {"\"file\": \"bridge.safetensors\"", "\"file\": \"../../etc/passwd\""},
      {"\"heads\": 3", "\"heads_\": 3"},
      {"\"version\": 1", "\"version\": 2"},
      {"longview-model", "other"},
      {"\"patch\": 14", "\"patch\": 0"},
  };
  for (const auto& [from, to] : changes) {
    const Status status = with(from, to);
    EXPECT_FALSE(status.ok()) << to;
    EXPECT_NE(status.message().find("config.json"), std::string::npos) << status.message();
  }
  EXPECT_FALSE(ParseBridgeConfig("", "config.json").ok());
  EXPECT_FALSE(ParseBridgeConfig("[]", "config.json").ok());
}

TEST(TimeRope, TurnsByTheTimeInEveryWavelength) {
  const auto rope = TimeRope::Make(4, 2.0, 144000.0);
  ASSERT_TRUE(rope.ok());
  // Pair 0 has a wavelength of 2 s, pair 1 of 40 h.
  float x[4] = {1.0f, 1.0f, 0.0f, 0.0f};
  rope->Apply(0.5, x, 1, 4);  // a quarter turn; nearly none
  EXPECT_NEAR(x[0], 0.0f, 1e-6);
  EXPECT_NEAR(x[2], 1.0f, 1e-6);
  EXPECT_NEAR(x[1], 1.0f, 1e-6);
  EXPECT_NEAR(x[3], 2 * M_PI * 0.5 / 144000.0, 1e-8);
  // Ten hours: a whole number of turns of 2 s leaves no trace, which angles in float would.
  float y[4] = {1.0f, 1.0f, 0.0f, 0.0f};
  rope->Apply(36000.0, y, 1, 4);
  EXPECT_NEAR(y[0], 1.0f, 1e-6);
  EXPECT_NEAR(y[2], 0.0f, 1e-6);
  EXPECT_NEAR(y[1], 0.0f, 1e-6);  // a quarter of 40 h
  EXPECT_NEAR(y[3], 1.0f, 1e-6);
  EXPECT_FALSE(TimeRope::Make(3, 2.0, 10.0).ok());
  EXPECT_FALSE(TimeRope::Make(32, 0.0, 10.0).ok());
  EXPECT_FALSE(TimeRope::Make(32, 2.0, HUGE_VAL).ok());
}

}  // namespace
}  // namespace longview
