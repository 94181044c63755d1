// The bytes of each cache mode against numbers worked out by hand from design §2.
#include "attention/mla/cache_mode.h"

#include <gtest/gtest.h>

namespace longview {
namespace {

TEST(CacheMode, ElementsPerTokenOfTheDefaultModel) {
  CacheShape s;  // 8 layers, 9 heads of 64, 3 groups, 128 + 32, d_v 384
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kMha, s), 2u * 8 * 9 * 64 + 32);
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kGqa, s), 2u * 8 * 3 * 64 + 32);
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kMqa, s), 2u * 8 * 64 + 32);
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kMlaLayers, s), 8u * 128 + 32);
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kMla, s), 160u);
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kStates, s), 384u + 1 + 32);
}

TEST(CacheMode, ImportedCheckpointsKeepATimeKeyPerLayer) {
  CacheShape s;
  s.layers = 4;
  s.heads = 32;
  s.d_k = 128;
  s.d_c = 512;
  s.d_r = 64;
  s.time_key_per_layer = true;
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kMlaLayers, s), 4u * (512 + 64));
  // Only a latent per layer brings a key per layer.
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kMla, s), 512u + 64);
}

TEST(CacheMode, CutsPerLayer) {
  CacheShape s;
  s.layers = 3;
  s.layer_cuts = {32, 64, 128};
  EXPECT_EQ(CacheElementsPerToken(CacheMode::kMlaLayers, s), 32u + 64 + 128 + 32);
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kMlaLayers, CacheStore::kI8, s), 32u + 64 + 128 + 3 * 4 + 64);
}

TEST(CacheMode, BytesPerToken) {
  CacheShape s;
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kMla, CacheStore::kBF16, s), 320u);
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kMla, CacheStore::kF16, s), 320u);
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kMla, CacheStore::kF32, s), 640u);
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kMla, CacheStore::kI8, s), 196u);
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kMha, CacheStore::kF32, s), 4u * (2 * 8 * 9 * 64 + 32));
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kMha, CacheStore::kI8, s), 2u * 8 * 9 * (64 + 4) + 64);
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kStates, CacheStore::kBF16, s), 2u * (384 + 32) + 4);
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kStates, CacheStore::kF32, s), 4u * (384 + 1 + 32));
  EXPECT_EQ(CacheBytesPerToken(CacheMode::kStates, CacheStore::kI8, s), 384u + 4 + 64);
}

TEST(CacheMode, NamesGoBothWays) {
  for (const CacheMode mode : {CacheMode::kMha, CacheMode::kGqa, CacheMode::kMqa, CacheMode::kMlaLayers,
                               CacheMode::kMla, CacheMode::kStates}) {
    const auto parsed = ParseCacheMode(CacheModeName(mode));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, mode);
  }
  for (const CacheStore store : {CacheStore::kF32, CacheStore::kF16, CacheStore::kBF16, CacheStore::kI8}) {
    const auto parsed = ParseCacheStore(CacheStoreName(store));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, store);
  }
  const auto wrong = ParseCacheMode("mlaa");
  EXPECT_EQ(wrong.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(wrong.status().message().find("mla_layers"), std::string::npos);
  EXPECT_FALSE(ParseCacheStore("").ok());
  EXPECT_EQ(LatentPreset("balanced"), 64u);
  EXPECT_EQ(LatentPreset("huge"), std::nullopt);
}

}  // namespace
}  // namespace longview
