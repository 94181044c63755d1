// FrameIndex: spans, rates, keyframes and jumps from packets alone.
#include "vision/av/frame_index.h"

#include <gtest/gtest.h>

namespace longview::av {
namespace {

FrameIndex::Packet At(int64_t pts, int64_t dts, bool key = false, int64_t duration = 40, int64_t position = -1) {
  FrameIndex::Packet p;
  p.pts = pts;
  p.dts = dts;
  p.key = key;
  p.duration = duration;
  p.position = position;
  return p;
}

TEST(FrameIndex, ReorderedPicturesSpanTheirTimes) {
  FrameIndex index(0.001, 40);
  // I0 P120 B40 B80 | I160, decoded in that order.
  const int64_t pts[] = {0, 120, 40, 80, 160};
  for (int64_t n = 0; n < 5; ++n) index.Add(At(pts[n], n * 40 - 80, n == 0 || n == 4));
  index.Finish();
  EXPECT_EQ(index.count(), 5);
  EXPECT_EQ(index.first_ticks(), 0);
  EXPECT_EQ(index.end_ticks(), 200);
  EXPECT_EQ(index.step_ticks(), 40);
  EXPECT_FALSE(index.vfr());
  EXPECT_FALSE(index.untimed());
  EXPECT_EQ(index.segments(), 1u);
  ASSERT_EQ(index.keys().size(), 2u);
  EXPECT_EQ(index.KeyAt(159), 0u);
  EXPECT_EQ(index.KeyAt(160), 1u);
  EXPECT_EQ(index.KeyAt(-1), std::nullopt);
}

TEST(FrameIndex, MillisecondRoundingIsNoVariableRate) {
  FrameIndex index(0.001, 33);
  for (int64_t n = 0; n < 300; ++n) index.Add(At(n * 100 / 3, n * 100 / 3, n == 0, 33));
  index.Finish();
  EXPECT_FALSE(index.vfr());
}

TEST(FrameIndex, AChangeOfPaceIs) {
  FrameIndex index(0.001, 33);
  for (int64_t n = 0; n < 30; ++n) index.Add(At(n * 33, n * 33, n == 0, 33));
  for (int64_t n = 1; n < 4; ++n) index.Add(At(960 + n * 1000, 960 + n * 1000, false, 0));
  index.Finish();
  EXPECT_TRUE(index.vfr());
  EXPECT_EQ(index.end_ticks(), 3960 + 33) << "the last length is not said: the usual step";
}

TEST(FrameIndex, AClockThatStartsAgainGoesOn) {
  FrameIndex index(0.001, 40);
  for (int64_t n = 0; n < 50; ++n) index.Add(At(n * 40, n * 40, n == 0, 40, 1000 * n));
  for (int64_t n = 0; n < 50; ++n) index.Add(At(n * 40, n * 40, n == 0, 40, 50000 + 1000 * n));
  index.Finish();
  EXPECT_EQ(index.segments(), 2u);
  EXPECT_EQ(index.count(), 100);
  EXPECT_EQ(index.end_ticks(), 4000);
  EXPECT_FALSE(index.vfr());
  EXPECT_EQ(index.OffsetAt(49999), 0);
  EXPECT_EQ(index.OffsetAt(50000), 2000);
  ASSERT_EQ(index.keys().size(), 2u);
  EXPECT_EQ(index.keys()[1].ticks, 2000);
  EXPECT_EQ(index.keys()[1].pts, 0);
  EXPECT_EQ(index.KeyAt(1999), 0u);
}

TEST(FrameIndex, PicturesCutOffByAnEditListCountForKeysOnly) {
  FrameIndex index(0.001, 40);
  for (int64_t n = -15; n < 85; ++n) {
    FrameIndex::Packet p = At(n * 40, n * 40, n == -15 || n == 35);
    p.discard = n < 0;
    index.Add(p);
  }
  index.Finish();
  EXPECT_EQ(index.count(), 85);
  EXPECT_EQ(index.first_ticks(), 0);
  EXPECT_EQ(index.end_ticks(), 3400);
  EXPECT_EQ(index.KeyAt(0), 0u);
  EXPECT_EQ(index.keys()[0].ticks, -600);
}

TEST(FrameIndex, WithoutPresentationTimesTheCountTells) {
  FrameIndex counted(0.04, 1);
  FrameIndex by_dts(0.04, 1);
  for (int64_t n = 0; n < 50; ++n) {
    FrameIndex::Packet p;
    p.key = n == 0;
    counted.Add(p);
    p.dts = n < 25 ? n : n + 10;  // ten pictures were never coded
    by_dts.Add(p);
  }
  counted.Finish();
  by_dts.Finish();
  EXPECT_TRUE(counted.untimed());
  EXPECT_FALSE(counted.has_dts());
  EXPECT_EQ(counted.end_ticks(), 50);
  EXPECT_TRUE(by_dts.untimed());
  EXPECT_TRUE(by_dts.has_dts());
  EXPECT_EQ(by_dts.end_ticks(), 60);
}

// Program streams leave out the times of some pictures; AVI guesses those that it gives.
TEST(FrameIndex, SomeTimesMissing) {
  FrameIndex stream(0.001, 40);
  FrameIndex avi(0.001, 40, false);
  for (int64_t n = 0; n < 60; ++n) {
    FrameIndex::Packet p = At(n * 40, n * 40, n == 0);
    if (n % 3 == 2) p.pts.reset();
    stream.Add(p);
    avi.Add(p);
  }
  stream.Finish();
  avi.Finish();
  EXPECT_FALSE(stream.untimed());
  EXPECT_EQ(stream.step_ticks(), 40);
  EXPECT_FALSE(stream.vfr());
  EXPECT_EQ(stream.end_ticks(), 2400) << "the last picture is one without";
  EXPECT_TRUE(avi.untimed());
}

TEST(FrameIndex, NothingAtAll) {
  FrameIndex index(0.001, 40);
  index.Finish();
  EXPECT_EQ(index.count(), 0);
  EXPECT_EQ(index.KeyAt(0), std::nullopt);
  EXPECT_EQ(index.OffsetAt(0), 0);
}

}  // namespace
}  // namespace longview::av
