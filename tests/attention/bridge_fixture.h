// The bridge of the training code's golden numbers, its frames in caches of any form: what tests of the bridge share.
#ifndef LONGVIEW_TESTS_ATTENTION_BRIDGE_FIXTURE_H_
#define LONGVIEW_TESTS_ATTENTION_BRIDGE_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/cache_form.h"
#include "attention/bridge/cross_blocks.h"
#include "attention/bridge/frame_encoder.h"
#include "core/base/arena.h"
#include "core/io/weights.h"
#include "core/tensor/dtype.h"

namespace longview {

namespace fs = std::filesystem;

inline const fs::path kFolder = fs::path(LV_TEST_SOURCE_DIR) / "tests/golden/bridge";
inline constexpr double kTimes[] = {0.0, 4321.5};
inline constexpr double kQuestionTime = 4300.25;
inline constexpr size_t kTokens = 17, kRows = 5, kWidth = 72, kVitWidth = 96;

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

  // The two golden frames, encoded here, in a cache of that form. Their latents are what an index keeps: bf16.
  CacheView Cached(const CacheForm& form) {
    auto builder = CacheBuilder::Make(weights_, form);
    EXPECT_TRUE(builder.ok()) << builder.status().message();
    auto cache = FrameCache::Make(builder->shape(), &arena_);
    EXPECT_TRUE(cache.ok());
    const size_t per_token = CacheBytesPerToken(form.mode, form.store, FormShape(weights_->config, form));
    cache->ExpectBytes(2 * kTokens * per_token);
    const FrameEncoder encoder(weights_);
    const std::vector<float> vit = Expected("vit");
    for (size_t i = 0; i < 2; ++i) {
      std::vector<float> x(kTokens * 48);
      encoder.FrameTokens(vit.data() + i * 257 * kVitWidth, x.data(), nullptr);
      const EncodedFrame encoded = encoder.Encode(vit.data() + i * 257 * kVitWidth, kTimes[i], nullptr);
      std::vector<uint16_t> latents(encoded.latents.size()), keys(encoded.keys.size());
      std::transform(encoded.latents.begin(), encoded.latents.end(), latents.begin(), FloatToBF16);
      std::transform(encoded.keys.begin(), encoded.keys.end(), keys.begin(), FloatToBF16);
      IndexedFrame frame{kTimes[i], kTimes[i] + 1, kTokens, latents.data(), 64, keys.data()};
      if (form.mode == CacheMode::kStates) frame.states = x.data();
      EXPECT_TRUE(builder->Append(frame, &*cache, nullptr).ok());
    }
    // Predicted and allocated bytes agree.
    const double predicted = static_cast<double>(2 * kTokens * per_token);
    EXPECT_NEAR(static_cast<double>(cache->bytes()), predicted, 0.01 * predicted) << CacheModeName(form.mode);
    caches_.push_back(std::move(*cache));
    return caches_.back().View();
  }

  // The same latents in float, as the golden numbers have them.
  CacheView CachedExactly(size_t d_c) {
    auto cache = FrameCache::Make({{d_c}, 16, CacheStore::kF32}, &arena_);
    EXPECT_TRUE(cache.ok());
    const FrameEncoder encoder(weights_);
    const std::vector<float> vit = Expected("vit");
    for (size_t i = 0; i < 2; ++i) {
      const EncodedFrame frame = encoder.Encode(vit.data() + i * 257 * kVitWidth, kTimes[i], nullptr);
      FrameRows rows;
      rows.time_s = kTimes[i];
      rows.end_s = kTimes[i] + 1;
      rows.tokens = kTokens;
      rows.vectors = frame.latents.data();
      rows.stride = 64;
      rows.keys = frame.keys.data();
      EXPECT_TRUE(cache->Append(rows).ok());
    }
    caches_.push_back(std::move(*cache));
    return caches_.back().View();
  }

  // Everything that a form does, on the golden hidden states.
  std::vector<float> ThroughForm(const CacheForm& form, bool reference = false) {
    CrossBlocksOptions options;
    options.form = form;
    options.reference = reference;
    ThreadPool pool(2);
    const auto blocks = Blocks(Cached(form), options, &pool);
    std::vector<float> h = Through(blocks.get());
    shares_ = blocks->Evidence();
    return h;
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
  std::deque<FrameCache> caches_;
  std::vector<double> shares_;  // of the last ThroughForm
};

}  // namespace longview

#endif  // LONGVIEW_TESTS_ATTENTION_BRIDGE_FIXTURE_H_
