// Settings: what is refused, and that the hash tells choices apart.
#include "app/engine/settings.h"

#include <gtest/gtest.h>

#include <cmath>

namespace longview {
namespace {

TEST(Settings, EveryChoiceOfSamplingHasItsOwnHash) {
  SamplingSettings base;
  SamplingSettings fps = base;
  fps.fps = 0.1;
  SamplingSettings scenes = base;
  scenes.scene_changes = false;
  SamplingSettings frames = base;
  frames.max_frames = 7;
  SamplingSettings decode = base;
  decode.decoding = Decoding::kKeyframe;
  EXPECT_EQ(SamplingHash(base), SamplingHash(SamplingSettings()));
  EXPECT_EQ(SamplingHash(base).size(), 16u);
  for (const SamplingSettings& other : {fps, scenes, frames, decode}) {
    EXPECT_NE(SamplingHash(other), SamplingHash(base)) << SamplingText(other);
  }
  EXPECT_EQ(SamplingText(decode), "decode=keyframe fps=1 max_frames=0 scenes=1");
  EXPECT_EQ(SamplingText(fps), "decode=exact fps=0.1 max_frames=0 scenes=1");
}

TEST(Settings, AnIndexOfSmallerLatentsIsAnotherOne) {
  SamplingSettings whole, lean;
  lean.latent = 32;
  EXPECT_EQ(SamplingText(lean), "decode=exact fps=1 max_frames=0 scenes=1 latent=32");
  EXPECT_NE(SamplingHash(whole), SamplingHash(lean));
}

TEST(Settings, LatentsHaveNamesAndNumbers) {
  EXPECT_EQ(*ParseLatent("auto"), kLatentAuto);
  EXPECT_EQ(*ParseLatent("64"), 64);
  EXPECT_EQ(*ParseLatent("long"), 32);
  EXPECT_EQ(*ParseLatent("balanced"), 64);
  EXPECT_EQ(*ParseLatent("quality"), 128);
  for (const char* wrong : {"", "0", "33", "-1", "Auto", "128 "}) EXPECT_FALSE(ParseLatent(wrong).ok()) << wrong;
  EXPECT_EQ(LatentName(kLatentAuto), "auto");
  EXPECT_EQ(LatentName(32), "32");
}

TEST(Settings, WrongChoicesAreNamed) {
  SamplingSettings sampling;
  for (const double fps : {0.0, -1.0, 1e9, std::nan("")}) {
    sampling.fps = fps;
    EXPECT_EQ(CheckSampling(sampling).code(), StatusCode::kInvalidArgument) << fps;
  }
  CacheOptions cache;
  EXPECT_TRUE(CheckCache(cache).ok());
  cache.mode = "mlx";
  EXPECT_NE(CheckCache(cache).message().find("\"mlx\""), std::string::npos);
  cache = {};
  cache.store = "fp8";
  EXPECT_NE(CheckCache(cache).message().find("\"fp8\""), std::string::npos);
  cache = {};
  cache.latent = 100;
  EXPECT_NE(CheckCache(cache).message().find("100"), std::string::npos);
  cache = {};
  cache.latent = kLatentAuto;
  EXPECT_TRUE(CheckCache(cache).ok());
  for (const char* mode : {"mha", "gqa", "mqa", "mla_layers", "states"}) {
    cache.mode = mode;
    EXPECT_EQ(CheckCache(cache).code(), StatusCode::kInvalidArgument) << mode << " has no latents of several sizes";
  }
  cache.latent = 64;
  EXPECT_TRUE(CheckCache(cache).ok());
  cache.groups = -1;
  EXPECT_FALSE(CheckCache(cache).ok());
  sampling = {};
  sampling.latent = -5;
  EXPECT_FALSE(CheckSampling(sampling).ok());
  EXPECT_FALSE(ParseDecoding("Exact").ok());
  EXPECT_EQ(*ParseDecoding("fast"), Decoding::kFast);
  EXPECT_EQ(*ParseScope("all"), Scope::kAll);
  EXPECT_FALSE(ParseScope("").ok());
}

}  // namespace
}  // namespace longview
