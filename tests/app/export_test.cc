// Subtitle files: times, text that breaks formats, and FFmpeg reading back what was written.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/engine/export_subtitles.h"
#include "tests/support/run_process.h"
#include "tests/support/temp_folder.h"

namespace longview {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The texts of case 43 of the collected faults; `shown` of them are not empty.
const std::vector<std::string>& EvilTexts() {
  static const std::vector<std::string> texts = {"a < b & c > d",
                                                 "x --> y",
                                                 "00:00:01,000 --> 00:00:02,000",
                                                 "two\n\nparagraphs",
                                                 "\n leading and trailing \n",
                                                 "line\rreturn",
                                                 "WEBVTT",
                                                 "NOTE remark",
                                                 "<b>bold</b> <c.red>",
                                                 "1",
                                                 "",
                                                 "   ",
                                                 "\u2028line separator",
                                                 "RTL \u202eabc",
                                                 std::string("nul \0 inside", 12),
                                                 "emoji \U0001f3ac \U0001f468\u200d\U0001f469\u200d\U0001f467",
                                                 "quote \" and \\ backslash",
                                                 "{\\an8}override",
                                                 "%s %d %n"};
  return texts;
}
constexpr size_t kShown = 17;

std::vector<Cue> EvilCues() {
  std::vector<Cue> cues;
  for (const std::string& text : EvilTexts()) {
    const double at = static_cast<double>(cues.size());
    cues.push_back({at, at + 0.75, text});
  }
  return cues;
}

// What FFmpeg finds in a subtitle file: start and end of every cue in milliseconds.
std::vector<std::pair<int64_t, int64_t>> ReadByFfmpeg(const std::string& bytes, const std::string& extension) {
  const TempFolder folder;
  const std::string path = folder.Write("cues." + extension, bytes).string();
  const auto run = test::RunProcess(
      {"ffprobe", "-v", "error", "-show_entries", "packet=pts_time,duration_time", "-of", "json", path});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  std::vector<std::pair<int64_t, int64_t>> cues;
  const nlohmann::json found = nlohmann::json::parse(run.out);
  for (const auto& packet : found["packets"]) {
    const double start = std::stod(packet["pts_time"].get<std::string>());
    const double length = std::stod(packet["duration_time"].get<std::string>());
    cues.emplace_back(std::llround(start * 1000), std::llround((start + length) * 1000));
  }
  return cues;
}

TEST(ArrangeCuesTest, KeepsGoodCuesAsTheyAre) {
  const std::vector<Cue> cues = {{0.0, 2.5, "a"}, {2.5, 4.0, "b"}, {5.0, 6.0, "c"}};
  const auto out = ArrangeCues(cues, 6.0);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].end_ms, 2500);
  EXPECT_EQ(out[1].start_ms, 2500);
  EXPECT_EQ(out[2].end_ms, 6000);
}

TEST(ArrangeCuesTest, OverlapsEndTheEarlierCue) {
  const auto out = ArrangeCues(std::vector<Cue>{{3.0, 9.0, "b"}, {0.0, 5.0, "a"}, {3.0, 4.0, "c"}}, 0.0);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].text, "a");
  EXPECT_EQ(out[0].end_ms, 3000);
  EXPECT_EQ(out[1].text, "b");  // equal starts keep their order, each at least a millisecond long
  EXPECT_EQ(out[1].end_ms, 3001);
  EXPECT_EQ(out[2].start_ms, 3001);
  EXPECT_EQ(out[2].end_ms, 4000);
}

TEST(ArrangeCuesTest, ClampsToTheFilm) {
  const auto out = ArrangeCues(std::vector<Cue>{{-1.0, 1.0, "a"}, {1.5, 9.0, "b"}, {2.0, 3.0, "late"}}, 2.0);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].start_ms, 0);
  EXPECT_EQ(out[1].end_ms, 2000);
  // An end that lies between two milliseconds is cut, not rounded up past the film.
  EXPECT_EQ(ArrangeCues(std::vector<Cue>{{0.0, 5.0, "a"}}, 1.9996)[0].end_ms, 1999);
  // 2.3 has no exact binary form: it is still 2300 ms.
  EXPECT_EQ(ArrangeCues(std::vector<Cue>{{0.0, 5.0, "a"}}, 2.3)[0].end_ms, 2300);
}

TEST(ArrangeCuesTest, RepairsCuesWithoutLength) {
  const auto out = ArrangeCues(std::vector<Cue>{{1.0, 1.0, "a"}, {1.4, 1.0, "b"}, {8.0, 8.0, "c"}}, 8.2);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].end_ms, 1400);
  EXPECT_EQ(out[1].end_ms, 2400);
  EXPECT_EQ(out[2].end_ms, 8200);
}

TEST(ArrangeCuesTest, LeavesOutWhatShowsNothingOrHasNoTime) {
  const double nan = std::nan("");
  const std::vector<Cue> cues = {{0, 1, ""},    {1, 2, " \t\r\n"},  {2, 3, "\u200b\u2028\ufeff"},
                                 {nan, 4, "x"}, {4, INFINITY, "x"}, {5, 6, "\x01\x7f"},
                                 {6, 7, "kept"}};
  const auto out = ArrangeCues(cues, 0.0);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].text, "kept");
}

// Case 42: each frame its own scene, and far more cues than milliseconds.
TEST(ArrangeCuesTest, ManyShortCuesNeverOverlap) {
  for (const double step : {0.04, 0.001, 0.0003}) {
    std::vector<Cue> cues;
    for (int i = 0; i * step < 2.0; ++i) cues.push_back({i * step, (i + 1) * step, "x"});
    int64_t last_end = 0;
    const auto out = ArrangeCues(cues, 2.0);
    EXPECT_GE(out.size(), std::min<size_t>(cues.size(), 1999));
    for (const TimedCue& cue : out) {
      ASSERT_GE(cue.start_ms, last_end);
      ASSERT_GT(cue.end_ms, cue.start_ms);
      last_end = cue.end_ms;
    }
    EXPECT_LE(last_end, 2000);
  }
}

// Cases 40 and 41.
TEST(SubtitlesTest, TimesRoundOnceAndCarryHours) {
  const std::vector<Cue> cues = {
      {1.9996, 3.0, "a"}, {59.9996, 61.0, "b"}, {3599.9996, 3600.5, "c"}, {10915.5, 10920, "d"}};
  const std::string srt = WriteSubtitles(SubtitleFormat::kSrt, cues, 10920, "v");
  EXPECT_EQ(srt,
            "1\n00:00:02,000 --> 00:00:03,000\na\n\n2\n00:01:00,000 --> 00:01:01,000\nb\n\n"
            "3\n01:00:00,000 --> 01:00:00,500\nc\n\n4\n03:01:55,500 --> 03:02:00,000\nd\n\n");
  const std::string vtt = WriteSubtitles(SubtitleFormat::kVtt, cues, 10920, "v");
  EXPECT_TRUE(vtt.starts_with("WEBVTT\n\n00:00:02.000 --> 00:00:03.000\na\n\n")) << vtt;
  EXPECT_NE(vtt.find("03:01:55.500 --> 03:02:00.000\nd\n"), std::string::npos);
  EXPECT_EQ(WriteSubtitles(SubtitleFormat::kTxt, cues, 10920, "v"),
            "[00:02.000 - 00:03.000] a\n[01:00.000 - 01:01.000] b\n[01:00:00.000 - 01:00:00.500] c\n"
            "[03:01:55.500 - 03:02:00.000] d\n");
  EXPECT_EQ(WriteSubtitles(SubtitleFormat::kSrt, {}, 5, "v"), "");
  EXPECT_EQ(WriteSubtitles(SubtitleFormat::kVtt, {}, 5, "v"), "WEBVTT\n\n");
}

// Case 43: no payload line is empty, only a number, or a time line.
TEST(SubtitlesTest, EvilTextsStayInsideTheirCues) {
  for (const SubtitleFormat format : {SubtitleFormat::kSrt, SubtitleFormat::kVtt}) {
    const std::string out = WriteSubtitles(format, EvilCues(), 100, "v");
    const std::vector<std::string> lines = Lines(out);
    size_t cues = 0;
    bool payload = false;
    for (const std::string& line : lines) {
      if (!payload && line.find(" --> ") != std::string::npos) {
        ++cues;
        payload = true;
        continue;
      }
      if (line.empty()) payload = false;
      if (!payload) continue;
      EXPECT_EQ(line.find("-->"), std::string::npos) << line;
      EXPECT_NE(line.find_first_not_of("0123456789"), std::string::npos) << line;
      EXPECT_EQ(line.find('\r'), std::string::npos) << line;
    }
    EXPECT_EQ(cues, kShown);
    EXPECT_EQ(out.find('\0'), std::string::npos);
    EXPECT_EQ(ReadByFfmpeg(out, std::string(SubtitleFormatName(format))).size(), kShown) << out;
  }
}

TEST(SubtitlesTest, EscapesByFormat) {
  const std::vector<Cue> cues = {
      {0, 1, "a < b & c > d --> --->"}, {1, 2, "two\r\n\r\n lines\t\n7"}, {2, 3, "-12"}, {3, 4, "bad \xff"}};
  EXPECT_EQ(WriteSubtitles(SubtitleFormat::kSrt, cues, 9, "v"),
            "1\n00:00:00,000 --> 00:00:01,000\na < b & c > d \u2192 -\u2192\n\n"
            "2\n00:00:01,000 --> 00:00:02,000\ntwo\nlines\n7.\n\n"
            "3\n00:00:02,000 --> 00:00:03,000\n-12.\n\n4\n00:00:03,000 --> 00:00:04,000\nbad \ufffd\n\n");
  EXPECT_EQ(WriteSubtitles(SubtitleFormat::kVtt, cues, 9, "v"),
            "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na &lt; b &amp; c &gt; d --&gt; ---&gt;\n\n"
            "00:00:01.000 --> 00:00:02.000\ntwo\nlines\n7.\n\n00:00:02.000 --> 00:00:03.000\n-12.\n\n"
            "00:00:03.000 --> 00:00:04.000\nbad \ufffd\n\n");
  EXPECT_EQ(WriteSubtitles(SubtitleFormat::kTxt, std::span(cues).subspan(1, 1), 9, "v"),
            "[00:01.000 - 00:02.000] two lines 7\n");
}

TEST(SubtitlesTest, JsonlGivesTextsBackUnchanged) {
  const std::string out = WriteSubtitles(SubtitleFormat::kJsonl, EvilCues(), 100, "bad\xff\n%s.mp4");
  const std::vector<std::string> lines = Lines(out);
  ASSERT_EQ(lines.size(), kShown);
  EXPECT_EQ(out.find("\u2028"), std::string::npos);  // str.splitlines() of Python would cut there
  size_t at = 0;
  for (size_t i = 0; i < EvilTexts().size(); ++i) {
    if (EvilTexts()[i].find_first_not_of(' ') == std::string::npos) continue;
    const auto object = nlohmann::json::parse(lines[at++]);
    EXPECT_EQ(object["text"].get<std::string>(), EvilTexts()[i]);
    EXPECT_EQ(object["start"].get<double>(), static_cast<double>(i));
    EXPECT_EQ(object["end"].get<double>(), static_cast<double>(i) + 0.75);
    EXPECT_EQ(object["video"].get<std::string>(), "bad\ufffd\n%s.mp4");
    EXPECT_EQ(object.size(), 4u);
  }
}

TEST(SubtitlesTest, FfmpegReadsTheSameTimes) {
  std::vector<Cue> cues;
  cues.reserve(300);
  for (int i = 0; i < 300; ++i) cues.push_back({i * 40.0337, i * 40.0337 + 39.9999, "cue " + std::to_string(i)});
  const auto arranged = ArrangeCues(cues, 0.0);
  for (const SubtitleFormat format : {SubtitleFormat::kSrt, SubtitleFormat::kVtt}) {
    const auto read = ReadByFfmpeg(WriteSubtitles(format, cues, 0.0, "v"), std::string(SubtitleFormatName(format)));
    ASSERT_EQ(read.size(), arranged.size());
    for (size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i], std::make_pair(arranged[i].start_ms, arranged[i].end_ms)) << i;
    }
  }
}

TEST(SubtitlesTest, FormatNames) {
  for (const char* name : {"srt", "vtt", "jsonl", "txt"})
    EXPECT_EQ(SubtitleFormatName(*ParseSubtitleFormat(name)), name);
  EXPECT_FALSE(ParseSubtitleFormat("SRT").ok());
  EXPECT_NE(ParseSubtitleFormat("doc").status().message().find("srt, vtt, jsonl, txt"), std::string::npos);
}

}  // namespace
}  // namespace longview
