// Times: parsing, printing, and what a question names.
#include "app/engine/time_text.h"

#include <gtest/gtest.h>

namespace longview {
namespace {

TEST(TimeText, ParsesEveryWrittenForm) {
  const std::pair<const char*, double> cases[] = {{"0", 0},          {"12.5", 12.5},       {"10s", 10},
                                                  {"1:02", 62},      {"01:02.250", 62.25}, {"12:40", 760},
                                                  {"1:02:03", 3723}, {"40:00:00", 144000}, {"90:00", 5400}};
  for (const auto& [text, seconds] : cases) {
    const auto parsed = ParseTime(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_DOUBLE_EQ(*parsed, seconds) << text;
  }
}

TEST(TimeText, RefusesWhatIsNoTime) {
  for (const char* text : {"", "s", ":", "1:", ":30", "1:2", "1:60", "1:02:60", "-3", "1e5", "nan", "inf", "1:02:03:04",
                           "1.5:00", "12,5", " 12", "0x10", "1..2", "5m"}) {
    const auto parsed = ParseTime(text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.status().message().find("'" + std::string(text) + "'"), std::string::npos);
  }
}

TEST(TimeText, ParsesRanges) {
  EXPECT_DOUBLE_EQ(ParseTimeRange("1:20:00-1:35:00")->start, 4800);
  EXPECT_DOUBLE_EQ(ParseTimeRange("1:20:00-1:35:00")->end, 5700);
  EXPECT_DOUBLE_EQ(ParseTimeRange("90")->end, 90);
  EXPECT_GT(ParseTimeRange("90-")->end, 1e18);
  EXPECT_DOUBLE_EQ(ParseTimeRange("5-5")->end, 5);
  EXPECT_NE(ParseTimeRange("-5").status().message().find("'-5'"), std::string::npos);
  for (const char* text : {"-", "-5", "5-3", "-3-5", "a-b", "1-2-3"}) EXPECT_FALSE(ParseTimeRange(text).ok()) << text;
}

TEST(TimeText, PrintsWithoutSixtySeconds) {
  EXPECT_EQ(FormatTime(0), "0:00");
  EXPECT_EQ(FormatTime(59.6), "1:00");
  EXPECT_EQ(FormatTime(59.9996, 3), "1:00.000");
  EXPECT_EQ(FormatTime(3723.25, 2), "1:02:03.25");
  EXPECT_EQ(FormatTime(-1), "0:00");
}

struct QuestionCase {
  const char* text;
  double start;
  double end;
};

TEST(TimeText, FindsTheTimeThatAQuestionNames) {
  const QuestionCase cases[] = {
      {"What happens at 12:40?", 760, 760},
      {"What happens at 1:02:03.", 3723, 3723},
      {"who walks in after 90 seconds?", 90, 90},
      {"What is shown in minute 5", 300, 300},
      {"What is there at 5 minutes and 10 seconds?", 310, 310},
      {"What is shown at 1h20m?", 4800, 4800},
      {"What is shown around the 90 second mark?", 90, 90},
      {"what do we see 2 minutes in?", 120, 120},
      {"what is on the road ten seconds into the video", 10, 10},
      {"what happens half an hour in?", 1800, 1800},
      {"what happens between 1:00 and 2:00?", 60, 120},
      {"what happens from 3 to 5 minutes?", 180, 300},
      {"What is he holding between 30 seconds and 2 minutes?", 30, 120},
      {"AT 0:05 WHAT?", 5, 5},
  };
  for (const QuestionCase& c : cases) {
    const auto found = TimeInQuestion(c.text);
    ASSERT_TRUE(found) << c.text;
    EXPECT_DOUBLE_EQ(found->start, c.start) << c.text;
    EXPECT_DOUBLE_EQ(found->end, c.end) << c.text;
  }
}

TEST(TimeText, LeavesNumbersThatAreNoTimesAlone) {
  for (const char* text :
       {"How many of the 7 dogs are black?", "Is it 3 seconds long?", "What is at table 5?", "Are there 2 or 3 people?",
        "", "Which second dog barks?", "Does the score read 3 : 2?", "between 2 and 3 people", "ratio 1:2"}) {
    EXPECT_FALSE(TimeInQuestion(text)) << text;
  }
}

}  // namespace
}  // namespace longview
