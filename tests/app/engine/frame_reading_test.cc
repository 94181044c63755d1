// Which frame an answer comes from.
#include "app/engine/frame_reading.h"

#include <gtest/gtest.h>

namespace longview {
namespace {

TEST(FrameReading, TheSurestFrameAnswers) {
  EXPECT_EQ(ChooseFrame(std::vector<double>{0.1, 0.95, 0.99, 0.8}), 2u);
  EXPECT_EQ(ChooseFrame(std::vector<double>{kShown, 0.2}), 0u);
  EXPECT_EQ(ChooseFrame(std::vector<double>{0.9, 0.9}), 0u) << "equal ones by how well they fit the question";
  EXPECT_EQ(ChooseFrame(std::vector<double>{0.3}), 0u);
}

TEST(FrameReading, WhereNoneIsSureTheFirstDenies) {
  // 0.6 is easily reached by one of many frames that do not show the thing.
  EXPECT_EQ(ChooseFrame(std::vector<double>{0.6, 0.4, 0.1}), 1u);
  EXPECT_EQ(ChooseFrame(std::vector<double>{0.05, 0.4, 0.01}), 0u);
  EXPECT_EQ(ChooseFrame(std::vector<double>{0.69, 0.55, 0.6}), 1u) << "none denies: the least sure";
}

}  // namespace
}  // namespace longview
