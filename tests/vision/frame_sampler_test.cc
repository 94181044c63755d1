// FrameSampler: rate, shot changes, cap, ranges, and the same decisions from a warm start.
#include "vision/frame_sampler.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

namespace longview {
namespace {

// Offers pictures every `step` seconds; shot changes at `cuts`.
std::vector<double> Keep(const SamplingOptions& options, double length, double step, const std::set<int>& cuts = {},
                         double from = -1.0) {
  Result<FrameSampler> sampler = FrameSampler::Create(options, 0.0, length);
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  std::vector<double> kept;
  if (!sampler.ok()) return kept;
  for (int n = 0; n * step < length - 1e-9; ++n) {
    if (n * step < from) continue;
    if (sampler->Offer(n * step, cuts.contains(n))) kept.push_back(n * step);
  }
  return kept;
}

TEST(FrameSampler, OnePictureASecondAtItsOwnTime) {
  const std::vector<double> kept = Keep({}, 10.0, 0.04);
  ASSERT_EQ(kept.size(), 10u);
  for (size_t n = 0; n < 10; ++n) EXPECT_NEAR(kept[n], static_cast<double>(n), 1e-9);
}

TEST(FrameSampler, AStillStretchIsOneSampleNotSeveral) {
  Result<FrameSampler> sampler = FrameSampler::Create({}, 0.0, 12.0);
  EXPECT_TRUE(sampler->Offer(0.0, false));
  EXPECT_TRUE(sampler->Offer(7.5, false)) << "the first picture after the grid points 1 to 7";
  EXPECT_FALSE(sampler->Offer(7.9, false));
  EXPECT_TRUE(sampler->Offer(8.1, false));
}

TEST(FrameSampler, ShotChangesAreKeptBesides) {
  SamplingOptions options;
  EXPECT_EQ(Keep(options, 3.0, 0.1, {14, 25}), (std::vector<double>{0.0, 1.0, 1.4000000000000001, 2.0, 2.5}));
  options.scenes = false;
  EXPECT_EQ(Keep(options, 3.0, 0.1, {14, 25}).size(), 3u);
  options.scenes = true;
  options.fps = 0.0;
  EXPECT_EQ(Keep(options, 3.0, 0.1, {14, 25}), (std::vector<double>{0.0, 1.4000000000000001, 2.5}));
}

TEST(FrameSampler, ACapCoversTheWholeFilm) {
  for (const int64_t cap : {1, 8, 16, 128}) {
    SamplingOptions options;
    options.max_frames = cap;
    std::set<int> cuts;
    for (int n = 0; n < 6000; n += 37) cuts.insert(n);
    const std::vector<double> kept = Keep(options, 600.0, 0.1, cuts);
    EXPECT_EQ(static_cast<int64_t>(kept.size()), cap);
    EXPECT_LE(kept.front(), 300.0 / static_cast<double>(cap) + 0.2);
    EXPECT_GE(kept.back(), 600.0 - 300.0 / static_cast<double>(cap) - 0.2);
  }
}

TEST(FrameSampler, WhatTheGridLeavesFreeGoesToShotChangesEverywhere) {
  SamplingOptions options;
  options.max_frames = 640;
  std::set<int> cuts;
  for (int n = 3; n < 6000; n += 10) cuts.insert(n);
  const std::vector<double> kept = Keep(options, 600.0, 0.1, cuts);
  EXPECT_LE(kept.size(), 640u);
  EXPECT_GE(kept.size(), 638u);
  double last_extra = 0.0;
  for (const double t : kept) {
    if (t - static_cast<int>(t + 1e-6) > 0.05) last_extra = t;
  }
  EXPECT_GT(last_extra, 580.0) << "not used up at the start";
}

TEST(FrameSampler, FewerPicturesThanAskedFor) {
  SamplingOptions options;
  options.max_frames = 16;
  options.fps = 1000.0;
  EXPECT_LE(Keep(options, 0.2, 0.04).size(), 5u);
  EXPECT_GE(Keep(options, 0.2, 0.04).size(), 4u);
  EXPECT_EQ(Keep({}, 0.04, 0.04).size(), 1u);
}

TEST(FrameSampler, RangesBoundWhatIsKept) {
  SamplingOptions options;
  options.ranges = {{20.0, 23.0}, {5.0, 7.0}, {6.0, 8.0}};
  const std::vector<double> kept = Keep(options, 60.0, 0.1, {100, 210});
  for (const double t : kept) EXPECT_TRUE((t >= 5.0 && t < 8.0) || (t >= 20.0 && t < 23.0)) << t;
  EXPECT_NEAR(kept.front(), 5.0, 1e-6);
  EXPECT_EQ(kept.size(), 6u);
  options.max_frames = 3;
  EXPECT_EQ(Keep(options, 60.0, 0.1).size(), 3u);
}

// A run from WarmStart on decides as one from the start.
TEST(FrameSampler, WarmStartAgrees) {
  std::set<int> cuts;
  for (int n = 3; n < 1200; n += 17) cuts.insert(n);
  std::vector<SamplingOptions> all(5);
  all[1].max_frames = 16;
  all[2].max_frames = 140;
  all[3].ranges = {{10.0, 40.0}, {70.0, 90.0}};
  all[3].max_frames = 60;
  all[4].fps = 0.0;
  for (const SamplingOptions& options : all) {
    const std::vector<double> whole = Keep(options, 120.0, 0.1, cuts);
    for (const double t : {0.0, 11.3, 33.35, 72.0, 89.9, 119.0}) {
      const double warm = FrameSampler::Create(options, 0.0, 120.0)->WarmStart(t);
      EXPECT_LE(warm, t);
      std::vector<double> want;
      std::vector<double> got;
      for (const double k : whole) {
        if (k > t) want.push_back(k);
      }
      for (const double k : Keep(options, 120.0, 0.1, cuts, warm)) {
        if (k > t) got.push_back(k);
      }
      EXPECT_EQ(got, want) << "from " << t << ", cap " << options.max_frames << ", rate " << options.fps;
    }
  }
}

TEST(FrameSampler, BadOptionsAreRefused) {
  SamplingOptions options;
  options.fps = -1.0;
  EXPECT_EQ(FrameSampler::Create(options, 0, 1).status().code(), StatusCode::kInvalidArgument);
  options.fps = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(FrameSampler::Create(options, 0, 1).ok());
  options.fps = 0.0;
  options.scenes = false;
  EXPECT_FALSE(FrameSampler::Create(options, 0, 1).ok());
  options = {};
  options.max_frames = -1;
  EXPECT_FALSE(FrameSampler::Create(options, 0, 1).ok());
  options = {};
  options.ranges = {{5.0, 5.0}};
  EXPECT_FALSE(FrameSampler::Create(options, 0, 10).ok());
}

TEST(FrameSampler, EveryDoesNotDrift) {
  const std::vector<double> times = FrameSampler::Every(0.0, 36000.0, 0.1);
  ASSERT_EQ(times.size(), 360000u);
  EXPECT_NEAR(times.back(), 35999.9, 1e-9);
  EXPECT_EQ(FrameSampler::Every(0.5, 0.54, 1.0), (std::vector<double>{0.5}));
  EXPECT_TRUE(FrameSampler::Every(0.0, 1.0, 0.0).empty());
  EXPECT_TRUE(FrameSampler::Every(1.0, 1.0, 0.5).empty());
}

}  // namespace
}  // namespace longview
