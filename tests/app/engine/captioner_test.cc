// Cutting a video into segments.
#include "app/engine/captioner.h"

#include <gtest/gtest.h>

namespace longview {
namespace {

// Frames one second apart; `shots` gives each frame's shot.
std::vector<SessionFrame> Frames(const std::vector<uint32_t>& shots) {
  std::vector<SessionFrame> frames;
  for (uint32_t i = 0; i < shots.size(); ++i) {
    frames.push_back({0, i, double(i), i + 1.0, shots[i], i == 0 || shots[i] != shots[i - 1]});
  }
  return frames;
}

void ExpectWhole(const std::vector<CaptionSegment>& segments, double end) {
  ASSERT_FALSE(segments.empty());
  EXPECT_DOUBLE_EQ(segments.front().start, 0.0);
  EXPECT_DOUBLE_EQ(segments.back().end, end);
  for (size_t i = 0; i < segments.size(); ++i) {
    EXPECT_GT(segments[i].end, segments[i].start);
    EXPECT_FALSE(segments[i].frames.empty());
    if (i > 0) {
      EXPECT_DOUBLE_EQ(segments[i].start, segments[i - 1].end);
    }
  }
}

TEST(Captioner, ShotsAreSegmentsAndLongOnesAreCut) {
  const auto frames = Frames({0, 0, 0, 1, 2, 2, 2, 2, 2, 2});
  CaptionOptions options;
  auto segments = CutSegments(frames, options);
  ASSERT_EQ(segments.size(), 3u);
  ExpectWhole(segments, 10);
  EXPECT_EQ(segments[0].frames, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(segments[0].middle, 1u);
  EXPECT_EQ(segments[2].middle, 7u);
  options.max_segment_s = 2.5;
  segments = CutSegments(frames, options);
  ExpectWhole(segments, 10);
  ASSERT_EQ(segments.size(), 6u);  // 3 s: 2 parts; 1 s; 6 s: 3 parts
  EXPECT_DOUBLE_EQ(segments[1].start, 1.5);
  EXPECT_EQ(segments[5].frames, (std::vector<size_t>{8, 9}));
}

TEST(Captioner, EveryNSecondsCrossesShots) {
  const auto frames = Frames({0, 0, 0, 1, 2, 2, 2, 2, 2, 2});
  CaptionOptions options;
  options.every_s = 4;
  auto segments = CutSegments(frames, options);
  ASSERT_EQ(segments.size(), 3u);
  ExpectWhole(segments, 10);
  EXPECT_EQ(segments[1].frames, (std::vector<size_t>{4, 5, 6, 7}));
  EXPECT_EQ(segments[1].middle, 6u);
  options.every_s = 5;
  EXPECT_EQ(CutSegments(frames, options).size(), 2u);
  options.every_s = 0.1;  // finer than the frames: each still shows one
  segments = CutSegments(frames, options);
  ExpectWhole(segments, 10);
  EXPECT_EQ(segments.size(), 100u);
  EXPECT_EQ(segments[55].middle, 5u);
}

TEST(Captioner, AStillAndNothing) {
  EXPECT_TRUE(CutSegments({}, {}).empty());
  const std::vector<SessionFrame> still = {{0, 0, 0.0, 0.0, 0, true}};
  for (const double every : {0.0, 5.0}) {
    CaptionOptions options;
    options.every_s = every;
    const auto segments = CutSegments(still, options);
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_GT(segments[0].end, segments[0].start);
    EXPECT_EQ(segments[0].frames, (std::vector<size_t>{0}));
  }
}

TEST(Captioner, RefusesOptionsThatCannotBe) {
  CaptionOptions options;
  EXPECT_TRUE(CheckCaption(options).ok());
  options.every_s = 0.01;
  EXPECT_FALSE(CheckCaption(options).ok());
  options.every_s = -1;
  EXPECT_FALSE(CheckCaption(options).ok());
  options = {};
  options.max_segment_s = -1;
  EXPECT_FALSE(CheckCaption(options).ok());
  options = {};
  options.max_tokens = 0;
  EXPECT_FALSE(CheckCaption(options).ok());
}

}  // namespace
}  // namespace longview
