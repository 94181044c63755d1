// Captions: equal neighbours are one event, nothing is lost, and a sink's failure ends it.
#include "app/engine/caption_merge.h"

#include <gtest/gtest.h>

#include <vector>

namespace longview {
namespace {

std::vector<CaptionEvent> Merge(const std::vector<CaptionEvent>& events) {
  std::vector<CaptionEvent> out;
  CaptionMerger merger([&](const CaptionEvent& event) {
    out.push_back(event);
    return Status::Ok();
  });
  for (const CaptionEvent& event : events) EXPECT_TRUE(merger.Add(event).ok());
  EXPECT_TRUE(merger.Finish().ok());
  EXPECT_EQ(merger.events(), out.size());
  return out;
}

TEST(CaptionMerge, EqualNeighboursBecomeOneEvent) {
  const auto out = Merge({{"v", 0, 2, "A man rides a bike."},
                          {"v", 2, 4, "a man rides a  bike"},
                          {"v", 4, 6, "A dog."},
                          {"v", 6, 8, "A man rides a bike."}});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_DOUBLE_EQ(out[0].end, 4);
  EXPECT_EQ(out[0].text, "A man rides a bike.");
  EXPECT_EQ(out[2].text, "A man rides a bike.");
}

TEST(CaptionMerge, ApartInTimeStaysApart) { EXPECT_EQ(Merge({{"v", 0, 1, "A."}, {"v", 30, 31, "A."}}).size(), 2u); }

TEST(CaptionMerge, TextIsOneLineAndNeverEmpty) {
  const auto out = Merge({{"v", 0, 1, "  Two\nlines\t here \r\n"}, {"v", 1, 2, " \n "}, {"v", 2, 3, "caf\xc3\xa9"}});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].text, "Two lines here");
  EXPECT_EQ(out[1].text, "caf\xc3\xa9");
  EXPECT_FALSE(SameCaption("caf\xc3\xa9", "caf"));
}

TEST(CaptionMerge, AFailingSinkEndsIt) {
  CaptionMerger merger([](const CaptionEvent&) { return IoError("disk full"); });
  EXPECT_TRUE(merger.Add({"v", 0, 1, "A."}).ok());
  EXPECT_EQ(merger.Add({"v", 1, 2, "B."}).code(), StatusCode::kIo);
}

}  // namespace
}  // namespace longview
