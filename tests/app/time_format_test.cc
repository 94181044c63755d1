// Durations, sizes, numbers and timestamps: what is read, what is refused, and that the locale never matters.
#include "app/engine/time_format.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>

#include "tests/support/run_process.h"
#include "tests/support/temp_folder.h"

namespace longview {
namespace {

TEST(TimeFormatTest, ReadsDurations) {
  const std::pair<const char*, double> kCases[] = {
      {"10s", 10.0},     {"500ms", 0.5},   {"2m", 120.0},      {"2min", 120.0},         {"1.5h", 5400.0},
      {"1h30m", 5400.0}, {"2d", 172800.0}, {"1m5s", 65.0},     {"1h2m3s4ms", 3723.004}, {"10", 10.0},
      {"0.25", 0.25},    {"1:30", 90.0},   {"1:00:00", 3600.0}};
  for (const auto& [text, seconds] : kCases) {
    const Result<double> result = ParseDuration(text);
    ASSERT_TRUE(result.ok()) << text << ": " << result.status().message();
    EXPECT_NEAR(*result, seconds, 1e-9) << text;
  }
}

TEST(TimeFormatTest, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "s", "10x", "5m1h", "5m5m", "-3s", "+3s", "1e3", "inf", "nan", "3 s", "1,5s", "0", "0s",
                           "1..5s", ".", "10s ", "1h30", "99999999999999999999999999s"}) {
    const Result<double> result = ParseDuration(text);
    EXPECT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(result.status().message().find(std::string("'") + text), std::string::npos) << result.status().message();
  }
}

TEST(TimeFormatTest, ReadsSizes) {
  const std::pair<const char*, uint64_t> kCases[] = {{"1", 1},
                                                     {"812B", 812},
                                                     {"4GB", 4000000000ULL},
                                                     {"4gb", 4000000000ULL},
                                                     {"4GiB", 4294967296ULL},
                                                     {"4G", 4294967296ULL},
                                                     {"1.5k", 1536},
                                                     {"2TB", 2000000000000ULL},
                                                     {"512MiB", 536870912ULL}};
  for (const auto& [text, bytes] : kCases) {
    const Result<uint64_t> result = ParseSize(text);
    ASSERT_TRUE(result.ok()) << text;
    EXPECT_EQ(*result, bytes) << text;
  }
  for (const char* text : {"", "GB", "4XB", "4 GB", "-4GB", "4GBs", "0", "99999999999TB", "1e9", "4ib"}) {
    EXPECT_FALSE(ParseSize(text).ok()) << text;
  }
}

TEST(TimeFormatTest, ReadsCountsAndNumbers) {
  EXPECT_EQ(*ParseCount("0", 10), 0u);
  EXPECT_EQ(*ParseCount("10", 10), 10u);
  for (const char* text : {"11", "", "-1", "+1", "1.0", "0x3", "18446744073709551616", " 1"}) {
    EXPECT_FALSE(ParseCount(text, 10).ok()) << text;
  }
  EXPECT_DOUBLE_EQ(*ParseNumber("0.5"), 0.5);
  for (const char* text : {"", "0,5", "1e3", "-1", "nan", "0.5f"}) EXPECT_FALSE(ParseNumber(text).ok()) << text;
}

// Case 40 of the collected faults: rounded once, then split.
TEST(TimeFormatTest, RoundsToMillisecondsOnce) {
  const std::pair<double, const char*> kCases[] = {{0.9995, "00:00:01,000"},
                                                   {59.9999, "00:01:00,000"},
                                                   {3599.9999, "01:00:00,000"},
                                                   {0.0004, "00:00:00,000"},
                                                   {1.9996, "00:00:02,000"},
                                                   {0.0, "00:00:00,000"},
                                                   {3601.0, "01:00:01,000"},
                                                   {360000.25, "100:00:00,250"},
                                                   {-1.0, "00:00:00,000"},
                                                   {std::nan(""), "00:00:00,000"},
                                                   {std::numeric_limits<double>::infinity(), "00:00:00,000"}};
  for (const auto& [seconds, text] : kCases) {
    EXPECT_EQ(FormatTimestamp(ToMilliseconds(seconds), ','), text) << seconds;
  }
  EXPECT_EQ(FormatTimestamp(3723004, '.'), "01:02:03.004");
}

TEST(TimeFormatTest, WritesForPeople) {
  EXPECT_EQ(FormatDuration(0.84), "0.8 s");
  EXPECT_EQ(FormatDuration(9.96), "10 s");
  EXPECT_EQ(FormatDuration(59.7), "1 min 00 s");
  EXPECT_EQ(FormatDuration(185), "3 min 05 s");
  EXPECT_EQ(FormatDuration(7805), "2 h 10 min");
  EXPECT_EQ(FormatSize(812), "812 B");
  EXPECT_EQ(FormatSize(4096), "4.10 kB");
  EXPECT_EQ(FormatSize(999999), "1.00 MB");
  EXPECT_EQ(FormatSize(2500000000ULL), "2.50 GB");
  EXPECT_EQ(FormatSize(std::numeric_limits<uint64_t>::max()), "18447 PB");
  EXPECT_EQ(FormatNumber(0.5, 2), "0.50");
  EXPECT_EQ(FormatNumber(1e300, 0).size(), 301u);
}

// Case 44: a process whose locale writes decimal commas. The locale is compiled here where the system lacks it.
TEST(TimeFormatTest, IgnoresTheLocale) {
  const TempFolder folder;
  const auto made = test::RunProcess({"localedef", "-i", "de_DE", "-f", "UTF-8", (folder / "de_DE.UTF-8").string()});
  ASSERT_EQ(made.exit_code, 0) << "localedef failed (package locales, which tools/test installs): " << made.err;
  setenv("LOCPATH", folder.path().c_str(), 1);
  ASSERT_NE(std::setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
  EXPECT_STREQ(std::localeconv()->decimal_point, ",");
  EXPECT_DOUBLE_EQ(*ParseDuration("0.5s"), 0.5);
  EXPECT_DOUBLE_EQ(*ParseNumber("0.25"), 0.25);
  EXPECT_EQ(FormatNumber(0.5, 3), "0.500");
  EXPECT_EQ(FormatSize(4096), "4.10 kB");
  std::setlocale(LC_ALL, "C");
  unsetenv("LOCPATH");
}

}  // namespace
}  // namespace longview
