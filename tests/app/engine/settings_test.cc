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

TEST(Settings, WrongChoicesAreNamed) {
  SamplingSettings sampling;
  for (const double fps : {0.0, -1.0, 1e9, std::nan("")}) {
    sampling.fps = fps;
    EXPECT_EQ(CheckSampling(sampling).code(), StatusCode::kInvalidArgument) << fps;
  }
  CacheOptions cache;
  EXPECT_TRUE(CheckCache(cache).ok());
  cache.mode = "mlx";
  EXPECT_NE(CheckCache(cache).message().find("'mlx'"), std::string::npos);
  cache = {};
  cache.store = "fp8";
  EXPECT_NE(CheckCache(cache).message().find("'fp8'"), std::string::npos);
  cache = {};
  cache.latent = 100;
  EXPECT_NE(CheckCache(cache).message().find("100"), std::string::npos);
  EXPECT_FALSE(ParseDecoding("Exact").ok());
  EXPECT_EQ(*ParseDecoding("fast"), Decoding::kFast);
  EXPECT_EQ(*ParseScope("all"), Scope::kAll);
  EXPECT_FALSE(ParseScope("").ok());
}

}  // namespace
}  // namespace longview
