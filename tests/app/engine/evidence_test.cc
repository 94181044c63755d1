// Evidence: merging within shots, thresholds, order, and the choice of frames.
#include "app/engine/evidence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace longview {
namespace {

std::vector<FrameMass> Frames(const std::vector<double>& masses) {
  std::vector<FrameMass> frames;
  for (size_t i = 0; i < masses.size(); ++i) {
    frames.push_back({0, static_cast<double>(i), static_cast<double>(i + 1), i == 0, masses[i]});
  }
  return frames;
}

TEST(Evidence, NeighboursOfOneShotBecomeOneSpan) {
  auto frames = Frames({0.0, 0.2, 0.3, 0.1, 0.0, 0.15});
  auto spans = MergeEvidence(frames);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_DOUBLE_EQ(spans[0].start, 1);
  EXPECT_DOUBLE_EQ(spans[0].end, 3);  // 0.1 is below 0.35 of the best
  EXPECT_NEAR(spans[0].weight, 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(spans[1].start, 5);
  frames[2].shot_start = true;
  spans = MergeEvidence(frames);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_DOUBLE_EQ(spans[0].start, 2);
  EXPECT_DOUBLE_EQ(spans[1].start, 1);
}

TEST(Evidence, FramesOfTwoVideosNeverMerge) {
  auto frames = Frames({0.2, 0.2});
  frames[1].video = 1;
  frames[1].start = 0;
  frames[1].end = 1;
  const auto spans = MergeEvidence(frames);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].video, 0u);
  EXPECT_EQ(spans[1].video, 1u);
}

TEST(Evidence, IsEmptyBelowTheThresholdOrWhereNothingStandsOut) {
  EXPECT_TRUE(MergeEvidence(Frames({})).empty());
  EXPECT_TRUE(MergeEvidence(Frames({0.0, 0.0})).empty());
  EXPECT_TRUE(MergeEvidence(Frames({0.01, 0.005})).empty());
  EXPECT_TRUE(MergeEvidence(Frames({std::nan("")})).empty());
  EXPECT_TRUE(MergeEvidence(Frames(std::vector<double>(40, 0.02))).empty());
  std::vector<double> one(40, 0.01);
  one[7] = 0.3;
  ASSERT_EQ(MergeEvidence(Frames(one)).size(), 1u);
  EXPECT_DOUBLE_EQ(MergeEvidence(Frames(one))[0].start, 7);
}

TEST(Evidence, OverHoursASmallShareIsEnough) {
  std::vector<double> masses(3600, 0.9 / 3600);
  masses[1234] = 0.01;
  const auto spans = MergeEvidence(Frames(masses));
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_DOUBLE_EQ(spans[0].start, 1234);
  masses[1234] = 0.9 / 3600 * 3;
  EXPECT_TRUE(MergeEvidence(Frames(masses)).empty());
}

TEST(Evidence, AtMostEightBestFirstAndNeverWithoutLength) {
  std::vector<double> masses;
  for (int i = 0; i < 16; ++i) masses.push_back(i % 2 == 0 ? 0.05 + 0.001 * i : 0.0);
  masses.push_back(0.0);
  masses.push_back(0.08);
  auto frames = Frames(masses);
  frames.back().end = frames.back().start;  // a still, or the last picture
  EvidenceOptions options;
  options.stand_out = 0;
  const auto spans = MergeEvidence(frames, options);
  ASSERT_EQ(spans.size(), 8u);
  EXPECT_DOUBLE_EQ(spans[0].start, 17);
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_GT(spans[i].end, spans[i].start);
    EXPECT_LE(spans[i].weight, 1.0);
    if (i > 0) {
      EXPECT_LE(spans[i].weight, spans[i - 1].weight);
    }
  }
}

}  // namespace
}  // namespace longview
