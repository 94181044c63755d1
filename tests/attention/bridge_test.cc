// The bridge against the training code's PyTorch (tools/golden/make_bridge.py), absorbed and expanded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attention/bridge/bridge_config.h"
#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/cache_form.h"
#include "attention/bridge/caption_head.h"
#include "attention/bridge/cross_blocks.h"
#include "attention/bridge/frame_encoder.h"
#include "attention/bridge/latent_residual.h"
#include "attention/bridge/retrieval.h"
#include "core/base/arena.h"
#include "core/io/weights.h"
#include "core/tensor/dtype.h"
#include "tests/attention/bridge_fixture.h"
#include "tests/support/compare.h"
#include "tests/support/temp_folder.h"

namespace longview {
namespace {

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
    const float* picture = vit.data() + i * 257 * kVitWidth;
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
    d = Compare(frame.retrieval, std::span(retrieval).subspan(i * frame.retrieval.size(), frame.retrieval.size()));
    EXPECT_LE(d.max_error, 1e-5) << d.worst;
  }
}

TEST_F(BridgeTest, WordsFitFramesAsInTraining) {
  const std::vector<float> hidden = Expected("hidden"), embedded = Expected("embedded"), frames = Expected("retrieval"),
                           fits = Expected("fits");
  const auto words = ReadWords(*weights_, embedded.data(), hidden.data(), kRows, kWidth);
  ASSERT_TRUE(words.ok());
  EXPECT_LE(Compare(words->vectors, Expected("word_vectors")).max_error, 1e-5);
  EXPECT_LE(Compare(words->shares, Expected("word_shares")).max_error, 1e-5);
  const RetrievalConfig& config = *weights_->config.retrieval;
  const size_t numbers = config.parts() * config.width;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(Fit(config, *words, std::span(frames).subspan(i * numbers, numbers)), fits[i], 1e-5);
  }
  EXPECT_EQ(ReadWords(*weights_, embedded.data(), hidden.data(), 0, kWidth).status().code(),
            StatusCode::kInvalidArgument);
  BridgeWeights headless = *weights_;
  headless.config.retrieval.reset();
  EXPECT_EQ(ReadWords(headless, embedded.data(), hidden.data(), kRows, kWidth).status().code(),
            StatusCode::kUnsupported);
}

TEST_F(BridgeTest, TheCaptionHeadSaysWhatTheTrainingCodeSays) {
  const std::vector<float> whole = Expected("latents");
  for (const size_t cut : {size_t{32}, size_t{64}}) {
    // What was cut away is zero.
    std::vector<float> latents = whole;
    for (size_t i = 0; i < latents.size(); ++i) {
      if (i % 64 >= cut) latents[i] = 0.0f;
    }
    const std::span<const float> both(latents);
    const std::pair<const char*, std::span<const float>> cases[] = {
        {"first", both.first(kTokens * 64)}, {"second", both.subspan(kTokens * 64)}, {"both", both}};
    for (const auto& [name, frames] : cases) {
      std::vector<int32_t> expected;
      for (const float number : Expected("said." + std::string(name) + "." + std::to_string(cut))) {
        if (number == 0.0f) break;
        expected.push_back(static_cast<int32_t>(7 + 3 * (number - 1)));
      }
      const auto said = DescribeLatents(*weights_, frames, 100, {});
      ASSERT_TRUE(said.ok()) << said.status().message();
      EXPECT_EQ(*said, expected) << name << cut;
      const auto begun = DescribeLatents(*weights_, frames, 3, {});
      expected.resize(std::min<size_t>(expected.size(), 3));
      EXPECT_EQ(*begun, expected);
    }
  }
  // How likely it finds what it is given: the training code's sum over the tokens that it knows.
  const std::vector<int32_t> words = {7 + 3 * 4, 7 + 3 * 58, 8, 7 + 3 * 21};
  const auto score = ScoreCaption(*weights_, std::span(whole).first(kTokens * 64), words);
  ASSERT_TRUE(score.ok()) << score.status().message();
  EXPECT_NEAR(*score, Expected("score")[0], 1e-3);
  EXPECT_EQ(*ScoreCaption(*weights_, whole, std::vector<int32_t>{8, 9}), 0.0);
  EXPECT_EQ(*ScoreCaption(*weights_, whole, {}), 0.0);
  EXPECT_TRUE(ScoreCaption(*weights_, whole, std::vector<int32_t>(50, 10)).ok());
  EXPECT_EQ(ScoreCaption(*weights_, {}, words).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(DescribeLatents(*weights_, {}, 3, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(DescribeLatents(*weights_, std::span(whole).first(63), 3, {}).status().code(),
            StatusCode::kInvalidArgument);
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(DescribeLatents(*weights_, whole, 3, stopped.get_token()).status().code(), StatusCode::kCancelled);
  BridgeWeights headless = *weights_;
  headless.caption_head.reset();
  EXPECT_EQ(DescribeLatents(headless, whole, 3, {}).status().code(), StatusCode::kUnsupported);
  EXPECT_LT(headless.bytes(), weights_->bytes());
}

TEST_F(BridgeTest, CrossBlocksAsInTraining) {
  for (const size_t cut : {size_t{32}, size_t{64}}) {
    const std::string suffix = "." + std::to_string(cut);
    const std::vector<float> expected = Expected("h" + suffix), evidence = Expected("evidence" + suffix);
    for (const bool reference : {false, true}) {
      ThreadPool pool(2);
      CrossBlocksOptions options;
      options.form.store = CacheStore::kF32;
      options.form.latent = cut;
      options.reference = reference;
      const auto blocks = Blocks(CachedExactly(cut), options, &pool);
      EXPECT_EQ(blocks->SinkShare(), 1.0);
      const Difference d = Compare(Through(blocks.get()), expected);
      EXPECT_GE(d.cosine, 0.999999) << reference << suffix;
      EXPECT_LE(d.max_error, 1e-3) << reference << suffix;
      const std::vector<double> shares = blocks->Evidence();
      ASSERT_EQ(shares.size(), 2u);
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(shares[i], evidence[i], 1e-4) << reference << suffix;
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
  } cases[] = {{CacheStore::kBF16, 0.9999}, {CacheStore::kF16, 0.9999}, {CacheStore::kI8, 0.999}};
  for (const auto& c : cases) {
    const Difference d = Compare(ThroughForm({CacheMode::kMla, c.store}), expected);
    EXPECT_GE(d.cosine, c.low) << CacheStoreName(c.store);
    EXPECT_GT(d.max_error, 1e-5) << CacheStoreName(c.store);
  }
}

TEST_F(BridgeTest, ExactModesAgreeWithTheReference) {
  const std::vector<float> expected = ThroughForm({CacheMode::kMla, CacheStore::kF32}, /*reference=*/true);
  const std::vector<double> shares = shares_;
  const struct {
    CacheStore store;
    double error;
  } stores[] = {{CacheStore::kF32, 1e-4}, {CacheStore::kF16, 2e-2}, {CacheStore::kBF16, 0.1}, {CacheStore::kI8, 0.3}};
  // mha: expanded from the same latents. mla and mla_layers: absorbed. states: from the frame tokens, whose latents the
  // others read after their rounding to bf16.
  for (const CacheMode mode : {CacheMode::kMha, CacheMode::kMla, CacheMode::kMlaLayers, CacheMode::kStates}) {
    for (const auto& s : stores) {
      const bool rounded = mode == CacheMode::kStates;
      const Difference d = Compare(ThroughForm({mode, s.store}), expected);
      const std::string what = std::string(CacheModeName(mode)) + " " + std::string(CacheStoreName(s.store));
      EXPECT_LE(d.max_error, rounded ? std::max(s.error, 0.1) : s.error) << what;
      EXPECT_GE(d.cosine, s.store == CacheStore::kF32 && !rounded ? 0.9999999 : 0.999) << what;
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(shares_[i], shares[i], 0.02) << what;
    }
  }
}

TEST_F(BridgeTest, PooledHeads) {
  const std::vector<float> expected = ThroughForm({CacheMode::kMha, CacheStore::kF32});
  // As many groups as heads: nothing is pooled.
  CacheForm form{CacheMode::kGqa, CacheStore::kF32};
  form.groups = weights_->config.heads;
  EXPECT_LE(Compare(ThroughForm(form), expected).max_error, 1e-6);
  // One group: what differs between heads is lost, in any storage type.
  const Difference lost = Compare(ThroughForm({CacheMode::kMqa, CacheStore::kF32}), expected);
  EXPECT_GT(lost.max_error, 1e-2);
  EXPECT_LT(lost.cosine, 0.999999);
  for (const CacheStore store : {CacheStore::kF16, CacheStore::kBF16, CacheStore::kI8}) {
    EXPECT_GE(Compare(ThroughForm({CacheMode::kMqa, store}), ThroughForm({CacheMode::kMqa, CacheStore::kF32})).cosine,
              0.999);
  }
  // Heads that are all alike lose nothing.
  auto alike = std::make_shared<BridgeWeights>(*weights_);
  for (CrossLayerWeights& layer : alike->cross) {
    const size_t block = alike->config.d_k * alike->config.d_c;
    for (std::vector<float>* u : {&layer.uk, &layer.uv}) {
      for (size_t h = 1; h < alike->config.heads; ++h)
        std::copy_n(u->begin(), block, u->begin() + static_cast<ptrdiff_t>(h * block));
    }
  }
  weights_ = alike;
  EXPECT_LE(Compare(ThroughForm({CacheMode::kMqa, CacheStore::kF32}), ThroughForm({CacheMode::kMha, CacheStore::kF32}))
                .max_error,
            1e-4);
}

TEST_F(BridgeTest, ACutPerLayerReadsTheFirstNumbers) {
  CacheForm narrow{CacheMode::kMla, CacheStore::kF32};
  narrow.latent = 32;
  const std::vector<float> expected = ThroughForm(narrow);
  EXPECT_GE(Compare(expected, Expected("h.32")).cosine, 0.9999);
  for (const CacheMode mode : {CacheMode::kMla, CacheMode::kMlaLayers, CacheMode::kMha, CacheMode::kStates}) {
    CacheForm form{mode, CacheStore::kF32};
    if (IsProjected(mode) || mode == CacheMode::kStates) {
      form.latent = 32;
    } else {
      form.layer_cuts = {32, 32};
    }
    const Difference d = Compare(ThroughForm(form), expected);
    EXPECT_LE(d.max_error, mode == CacheMode::kStates ? 0.1 : 1e-4) << CacheModeName(mode);
  }
  // One layer alone at 32: neither of the two.
  CacheForm mixed{CacheMode::kMlaLayers, CacheStore::kF32};
  mixed.layer_cuts = {32, 64};
  EXPECT_GT(Compare(ThroughForm(mixed), expected).max_error, 1e-3);
  EXPECT_EQ(FormVectors(weights_->config, mixed).vectors, (std::vector<size_t>{32, 64}));
}

TEST_F(BridgeTest, WhatACutLoses) {
  const LatentResidual residual(*weights_);
  EXPECT_EQ(residual.layers(), 2u);
  // Latents whose numbers beyond 32 are zero lose nothing there; those whose first 32 are zero lose everything.
  std::vector<uint16_t> head(kTokens * 64, 0), tail(kTokens * 64, 0);
  for (size_t t = 0; t < kTokens; ++t) {
    for (size_t j = 0; j < 32; ++j) {
      head[t * 64 + j] = FloatToBF16(0.1f * static_cast<float>(j + t));
      tail[t * 64 + 32 + j] = FloatToBF16(1.0f - 0.1f * static_cast<float>(j));
    }
  }
  EXPECT_NEAR(residual.FrameLoss(head.data(), kTokens, 64)[0], 0.0, 1e-6);
  EXPECT_NEAR(residual.FrameLoss(tail.data(), kTokens, 64)[0], 1.0, 1e-5);
  EXPECT_EQ(residual.FrameLoss(tail.data(), kTokens, 64)[1], 0.0);
  for (const std::vector<double>& layer : residual.LayerLoss(tail.data(), kTokens, 64)) {
    EXPECT_NEAR(layer[0], 1.0, 1e-5);
    EXPECT_EQ(layer[1], 0.0);
  }
}

TEST(ChooseCuts, SpendsTheAllowedLossWhereItSavesMost) {
  const std::vector<size_t> cuts = {32, 64, 128};
  // Item 0 needs little: 32 numbers lose no more than 64. Item 1 has the rest of what the middle for both would lose.
  const std::vector<std::vector<double>> losses = {{0.01, 0.01, 0.0}, {0.9, 0.5, 0.0}};
  EXPECT_EQ(ChooseCuts(losses, cuts), (std::vector<size_t>{32, 64}));
  // Items alike stay at the middle.
  EXPECT_EQ(ChooseCuts({{0.4, 0.1, 0.0}, {0.4, 0.1, 0.0}}, cuts), (std::vector<size_t>{64, 64}));
  // Many easy frames pay for a hard one.
  std::vector<std::vector<double>> many(9, {0.05, 0.04, 0.0});
  many.push_back({0.9, 0.3, 0.0});
  const std::vector<size_t> chosen = ChooseCuts(many, cuts);
  double lost = 0.0, allowed = 0.0;
  size_t numbers = 0;
  for (size_t i = 0; i < many.size(); ++i) {
    lost += many[i][chosen[i] == 32 ? 0 : chosen[i] == 64 ? 1 : 2];
    allowed += many[i][1];
    numbers += chosen[i];
  }
  EXPECT_LE(lost, allowed);
  EXPECT_LT(numbers, many.size() * 64);
  EXPECT_EQ(chosen.back(), 128u);
  EXPECT_TRUE(ChooseCuts({}, cuts).empty());
}

TEST_F(BridgeTest, RowsAreIndependent) {
  // A row alone gives what it gives among others: decoding one token at a time continues a prompt read at once.
  const auto together = Blocks(Cached({})), alone = Blocks(Cached({}));
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
  CacheView view = Cached({});
  const auto code = [&](const CrossBlocksOptions& options) {
    return CrossBlocks::Make(weights_, view, options, nullptr).status().code();
  };
  const StatusCode invalid = StatusCode::kInvalidArgument;
  CrossBlocksOptions options;
  options.form.mode = CacheMode::kGqa;
  EXPECT_EQ(code(options), invalid) << "the view holds latents";
  options = {};
  options.form.store = CacheStore::kF16;
  EXPECT_EQ(code(options), invalid);
  for (const std::vector<size_t>& cuts : std::vector<std::vector<size_t>>{{32}, {32, 48}, {32, 128}}) {
    options = {};
    options.form.layer_cuts = cuts;
    EXPECT_EQ(code(options), invalid);
  }
  options = {};
  options.form.groups = 2;  // of three heads
  EXPECT_EQ(code(options), invalid);
  options.form.groups = 0;
  options.form.latent = 48;
  EXPECT_EQ(code(options), invalid);
  EXPECT_FALSE(CacheBuilder::Make(weights_, options.form).ok());
  view.shape.d_r = 32;
  EXPECT_EQ(code({}), invalid);
  view.shape.d_r = 16;
  const auto blocks = Blocks(view);
  std::vector<float> h(576);
  EXPECT_EQ(blocks->BeforeLayer(1, h.data(), 1, 576).code(), invalid);
  // States cannot be made from latents.
  auto builder = CacheBuilder::Make(weights_, {CacheMode::kStates});
  auto cache = FrameCache::Make(builder->shape(), &arena_);
  const std::vector<uint16_t> numbers(64);
  EXPECT_EQ(builder->Append({0, 1, 1, numbers.data(), 64, numbers.data()}, &*cache, nullptr).code(), invalid);
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
  config.caption->longest = 21;
  loaded = LoadBridge(config, **file, WeightStore::kF32);
  EXPECT_NE(loaded.status().message().find("caption.position"), std::string::npos) << loaded.status().message();
  config = weights_->config;
  config.retrieval.reset();
  config.caption.reset();
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
      {"\"longest\": 20", "\"longest\": 0"},
      {"\"tokens\": 60", "\"tokens\": 1e9"},
      {"\"width\": 24,\n  \"heads\"", "\"width\": 25,\n  \"heads\""},
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
