// Shot changes and near-identical pictures on pictures made here.
#include "vision/scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace longview {
namespace {

uint32_t Hash(uint32_t v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  v ^= v >> 15;
  v *= 0x846ca68bu;
  return v ^ (v >> 16);
}

// A textured picture: blobs of a palette that `scene` picks, shifted by `shift` pixels, brighter by `light`, with
// noise.
Picture Make(uint32_t scene, double time_s, int shift = 0, int light = 0, uint32_t noise = 0) {
  Picture p;
  p.width = kSmallWidth;
  p.height = kSmallHeight;
  p.time_s = time_s;
  p.rgb.resize(static_cast<size_t>(kSmallWidth * kSmallHeight * 3));
  for (int y = 0; y < p.height; ++y) {
    for (int x = 0; x < p.width; ++x) {
      const auto cell = static_cast<uint32_t>((x + shift) / 8 * 64 + y / 8);
      for (int c = 0; c < 3; ++c) {
        const uint32_t base = Hash(scene * 3 + static_cast<uint32_t>(c)) % 160;
        int v = static_cast<int>(base + Hash(cell + 977 * scene) % 70) + light;
        if (noise != 0) v += static_cast<int>(Hash(noise + static_cast<uint32_t>((y * 64 + x) * 3 + c)) % 5) - 2;
        p.Row(y)[3 * x + c] = static_cast<uint8_t>(std::clamp(v, 0, 255));
      }
    }
  }
  return p;
}

TEST(Scene, AHardCutIsFoundAtItsFirstPicture) {
  SceneDetector detector;
  int cuts = 0;
  for (int n = 0; n < 60; ++n) {
    const bool cut = detector.Offer(Make(n < 30 ? 1 : 2, n * 0.04, n, 0, 100 + static_cast<uint32_t>(n)));
    EXPECT_EQ(cut, n == 30) << n;
    cuts += cut ? 1 : 0;
  }
  EXPECT_EQ(cuts, 1);
}

TEST(Scene, MotionNoiseAndSlowLightAreNoCuts) {
  SceneDetector pan;
  for (int n = 0; n < 60; ++n) EXPECT_FALSE(pan.Offer(Make(3, n * 0.04, 4 * n, 0, static_cast<uint32_t>(n) + 1))) << n;
  SceneDetector dawn;
  for (int n = 0; n < 60; ++n) EXPECT_FALSE(dawn.Offer(Make(4, n * 0.04, 0, n))) << n;
}

TEST(Scene, FlashingIsOneCutAtMost) {
  SceneDetector detector;
  int cuts = 0;
  for (int n = 0; n < 50; ++n) cuts += detector.Offer(Make(n % 2 == 0 ? 5 : 6, n * 0.04)) ? 1 : 0;
  EXPECT_LE(cuts, 1);
}

TEST(Scene, SlidesFarApartAreShots) {
  SceneDetector detector;
  EXPECT_FALSE(detector.Offer(Make(1, 0.0)));
  EXPECT_TRUE(detector.Offer(Make(2, 10.0)));
  EXPECT_TRUE(detector.Offer(Make(3, 20.0)));
  EXPECT_FALSE(detector.Offer(Make(3, 30.0)));
}

// What was seen longer ago than kSceneMemory_s makes no difference.
TEST(Scene, AWarmStartDecidesAlike) {
  std::vector<Picture> film;
  for (int n = 0; n < 250; ++n) {
    const uint32_t scene = n < 80 ? 1 : n < 83 ? 2 : n < 160 ? 3 : (n / 2) % 7;
    film.push_back(Make(scene, n * 0.04, n / 3, 0, static_cast<uint32_t>(n) + 9));
  }
  SceneDetector whole;
  std::vector<bool> want;
  for (const Picture& p : film) want.push_back(whole.Offer(p));
  for (const size_t from : {100u, 140u, 170u, 200u}) {
    SceneDetector warm;
    for (size_t n = from; n < film.size(); ++n) {
      const bool cut = warm.Offer(film[n]);
      if (film[n].time_s > film[from].time_s + kSceneMemory_s) {
        EXPECT_EQ(cut, want[n]) << n << " from " << from;
      }
    }
  }
}

TEST(Scene, NoiseIsIdenticalAndASmallThingIsNot) {
  const Picture a = Make(7, 0.0, 0, 0, 11);
  EXPECT_TRUE(NearlyIdentical(a, Make(7, 1.0, 0, 0, 22)));
  EXPECT_FALSE(NearlyIdentical(a, Make(8, 1.0)));
  Picture b = Make(7, 1.0, 0, 0, 33);
  for (int y = 10; y < 15; ++y) {
    for (int x = 20; x < 25; ++x) {
      for (int c = 0; c < 3; ++c) b.Row(y)[3 * x + c] = static_cast<uint8_t>(b.Row(y)[3 * x + c] ^ 0x80);
    }
  }
  EXPECT_FALSE(NearlyIdentical(a, b)) << "one block of the picture changed";
}

TEST(Scene, DifferencesHaveTheirUnits) {
  Picture black = Make(1, 0.0);
  std::fill(black.rgb.begin(), black.rgb.end(), 0);
  Picture white = black;
  std::fill(white.rgb.begin(), white.rgb.end(), 255);
  const SmallDifference d = Compare(black, white);
  EXPECT_DOUBLE_EQ(d.mean, 255.0);
  EXPECT_DOUBLE_EQ(d.block, 255.0);
  EXPECT_NEAR(d.histogram, 1.0, 1e-4);
  EXPECT_EQ(Compare(black, black).mean, 0.0);
  EXPECT_EQ(Compare(black, {}).histogram, 1.0) << "no common size: as different as can be";
}

}  // namespace
}  // namespace longview
