// Files that are damaged, cut, vanish, or are no videos: one clear line each, no crash, no wait.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/run_process.h"
#include "tests/support/temp_folder.h"
#include "tests/vision/video_test_util.h"
#include "vision/av/damage_tracker.h"

namespace longview {
namespace {

namespace fs = std::filesystem;
using av::DamageTracker;
using test::Case;
using test::Number;
using test::NumberAt;
using test::OpenCase;
using test::OpenFailure;
using test::ReadAll;

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(VideoDamage, ADamagedStretchIsReportedAndTheRestKeepsItsTimes) {
  auto reader = OpenCase("corrupt_mid.mp4");
  ASSERT_NE(reader, nullptr);
  for (const Picture& p : ReadAll(*reader)) {
    EXPECT_TRUE(p.time_s < 3.0 || p.time_s >= 4.0) << p.time_s;
    EXPECT_EQ(Number(p), std::lround(25 * p.time_s));
  }
  const DamageReport report = reader->Damage();
  ASSERT_EQ(report.spans.size(), 1u);
  EXPECT_NEAR(report.spans[0].start_s, 3.0, 0.001);
  EXPECT_NEAR(report.spans[0].end_s, 4.0, 0.001);
  EXPECT_NE(report.message.find("3.00 s to 4.00 s"), std::string::npos) << report.message;
  EXPECT_FALSE(report.shortened);
}

TEST(VideoDamage, NoPictureStandsInForADamagedOne) {
  auto reader = OpenCase("corrupt_mid.mp4");
  ASSERT_NE(reader, nullptr);
  const Result<Picture> damaged = reader->PictureAt(3.5);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.status().code(), StatusCode::kDamaged);
  EXPECT_NE(damaged.status().message().find("3.50 s"), std::string::npos);
  EXPECT_EQ(NumberAt(*reader, 2.96), 74);
  EXPECT_EQ(NumberAt(*reader, 4.0), 100);
}

TEST(VideoDamage, NotAVideoSaysSo) {
  struct Row {
    std::string path;
    StatusCode code;
    const char* words;
  };
  const Row rows[] = {{Case("bad/zero.mp4"), StatusCode::kDamaged, "empty"},
                      {Case("bad/text.mp4"), StatusCode::kDamaged, "not a video"},
                      {Case("bad/garbage.mp4"), StatusCode::kDamaged, "not a video"},
                      {Case("bad/moovless.mp4"), StatusCode::kDamaged, "cut off"},
                      {Case("bad/dir.mp4"), StatusCode::kInvalidArgument, "folder"},
                      {Case("bad/none.mp4"), StatusCode::kNotFound, "no such file"},
                      {Case("expected.tsv"), StatusCode::kDamaged, "not a video"}};
  for (const Row& row : rows) {
    const Status status = OpenFailure(row.path);
    EXPECT_EQ(status.code(), row.code) << status.message();
    EXPECT_NE(status.message().find(row.words), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find(row.path), 0u) << "begins with the name: " << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << "one line: " << status.message();
  }
}

TEST(VideoDamage, APipeIsRefusedAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const Status status = OpenFailure(Case("stalled/stalled.mp4"));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("named pipe"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(VideoDamage, WhatTheSystemRefusesIsNamed) {
  const Status status = OpenFailure("/" + std::string(300, 'x') + ".mp4");
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_NE(status.message().find("too long"), std::string::npos) << status.message();
}

// A playlist names other files and addresses; none of them is ever touched.
TEST(VideoDamage, APlaylistLeadsNowhere) {
  TempFolder folder;
  const std::string film = Case("bframes.mp4");
  const Status hls = OpenFailure(
      folder.Write("list.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:4,\nfile://" + film + "\n#EXT-X-ENDLIST\n"));
  EXPECT_EQ(hls.code(), StatusCode::kUnsupported) << hls.message();
  EXPECT_NE(hls.message().find("no video itself"), std::string::npos) << hls.message();
  const Status concat = OpenFailure(folder.Write("list.txt", "ffconcat version 1.0\nfile '" + film + "'\n"));
  EXPECT_EQ(concat.code(), StatusCode::kUnsupported) << concat.message();
}

TEST(VideoDamage, OddNamesAreOnlyNames) {
  TempFolder folder;
  const std::string bytes = Bytes(Case("five_frames.mp4"));
  for (const char* name : {"a%03d.mp4", "concat:x|y.mp4", "file:z.mp4", "-i.mp4", "two  words .mp4", "bad\xff\xfe.mp4",
                           "line\nbreak.mp4", "noextension", "picture%d.png"}) {
    const Result<std::unique_ptr<VideoReader>> reader = VideoReader::Open(folder.Write(name, bytes), {}, {});
    ASSERT_TRUE(reader.ok()) << name << ": " << reader.status().message();
    EXPECT_EQ(ReadAll(**reader).size(), 5u) << name;
  }
}

TEST(VideoDamage, ACutFileGivesWhatIsThere) {
  TempFolder folder;
  const std::string whole = Bytes(Case("many_frames.mkv"));
  const std::string cut = folder.Write("cut.mkv", whole.substr(0, whole.size() / 2));
  const Result<std::unique_ptr<VideoReader>> reader = VideoReader::Open(cut, {}, {});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const double duration = (*reader)->Info().duration_s;
  EXPECT_GT(duration, 100.0);
  EXPECT_LT(duration, 500.0) << "the header says 600 and is not believed";
  ASSERT_TRUE((*reader)->Seek(duration - 1.0).ok());
  for (const Picture& p : ReadAll(**reader)) EXPECT_EQ(Number(p, 10), static_cast<int>(p.time_s + 1e-4));
}

// Every cut and many flipped bytes: an error or pictures, never a crash, a hang, or pictures out of order.
TEST(VideoDamage, HostileBytesEndCleanly) {
  TempFolder folder;
  for (const char* name :
       {"bframes.mp4", "vfr.gif", "live_noduration.webm", "start_offset.ts", "exif6.jpg", "nopts_bframes.avi"}) {
    const std::string whole = Bytes(Case(name));
    uint32_t random = 12345;
    for (int round = 0; round < 12; ++round) {
      std::string bytes = whole;
      for (int i = 0; i < 20; ++i) {
        random = random * 1664525u + 1013904223u;
        bytes[(random >> 8) % bytes.size()] = static_cast<char>(random >> 3);
      }
      if (round % 3 == 0) bytes.resize((random >> 8) % bytes.size());
      const fs::path file = folder.Write(name, bytes);
      Result<std::unique_ptr<VideoReader>> reader = VideoReader::Open(file, {}, {});
      if (!reader.ok()) {
        EXPECT_FALSE(reader.status().message().empty());
        continue;
      }
      double last = -1.0e9;
      for (int n = 0; n < 2000; ++n) {
        const Result<std::optional<Picture>> next = (*reader)->Next();
        if (!next.ok() || !next->has_value()) break;
        EXPECT_GT((*next)->time_s, last) << name << " round " << round;
        last = (*next)->time_s;
      }
      (void)(*reader)->PictureAt(0.5 * (*reader)->Info().duration_s).ok();
    }
  }
}

TEST(VideoDamage, AFileThatShrinksWhileReadIsReported) {
  TempFolder folder;
  const std::string file = folder / "live.mkv";
  const test::RunOutcome made = test::RunProcess({"ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                                                  "testsrc2=s=320x240:r=10:d=30", "-c:v", "mjpeg", "-q:v", "3", file});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  ASSERT_GT(fs::file_size(file), 1000000u) << "larger than what is read ahead";
  const Result<std::unique_ptr<VideoReader>> reader = VideoReader::Open(file, {}, {});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  for (int n = 0; n < 10; ++n) ASSERT_TRUE((*reader)->Next().ok());
  fs::resize_file(file, fs::file_size(file) / 2);
  size_t more = 0;
  while (true) {
    const Result<std::optional<Picture>> next = (*reader)->Next();
    if (!next.ok() || !next->has_value()) break;
    ++more;
  }
  EXPECT_GT(more, 50u) << "what was read stays";
  EXPECT_LT(more, 280u);
  EXPECT_TRUE((*reader)->Damage().shortened);
  EXPECT_NE((*reader)->Damage().message.find("became shorter"), std::string::npos);
}

TEST(DamageTracker, WhatNeverCameOutAfterAComplaintIsDamage) {
  DamageTracker tracker;
  for (int n = 0; n < 6; ++n) tracker.Sent(n, 1.0);
  EXPECT_TRUE(tracker.Came(0.0, 1.0, true, false));
  tracker.Failed();
  EXPECT_TRUE(tracker.Came(1.0, 1.0, false, false));
  EXPECT_TRUE(tracker.spans().empty()) << "nothing is missing yet";
  EXPECT_TRUE(tracker.Came(4.0, 1.0, true, false)) << "a keyframe stands by itself";
  ASSERT_EQ(tracker.spans().size(), 1u);
  EXPECT_EQ(tracker.spans()[0].start_s, 2.0);
  EXPECT_EQ(tracker.spans()[0].end_s, 4.0);
  EXPECT_TRUE(tracker.DamagedAt(2.5).has_value());
  EXPECT_FALSE(tracker.DamagedAt(4.0).has_value());
}

TEST(DamageTracker, WithoutAComplaintNothingIsDamage) {
  DamageTracker tracker;
  for (int n = 0; n < 4; ++n) tracker.Sent(n, 1.0);
  EXPECT_TRUE(tracker.Came(3.0, 1.0, false, false));
  tracker.Ended(4.0);
  EXPECT_TRUE(tracker.spans().empty());
}

TEST(DamageTracker, PicturesBuiltOnADamagedOneAreDroppedForAWhileOrUntilAKeyframe) {
  DamageTracker tracker;
  EXPECT_FALSE(tracker.Came(0.0, 0.1, false, true));
  EXPECT_FALSE(tracker.Came(0.5, 0.1, false, false));
  EXPECT_TRUE(tracker.Came(0.6, 0.1, true, false));
  EXPECT_TRUE(tracker.Came(0.7, 0.1, false, false));
  DamageTracker mending;
  EXPECT_FALSE(mending.Came(0.0, 0.1, false, true));
  EXPECT_TRUE(mending.Came(0.1 + DamageTracker::kSmear_s, 0.1, false, false));
}

TEST(DamageTracker, DamageAtTheEndReachesToTheEnd) {
  DamageTracker tracker;
  EXPECT_TRUE(tracker.Came(0.0, 1.0, true, false));
  tracker.Sent(1.0, 1.0);
  tracker.Failed();
  tracker.Ended(3.0);
  ASSERT_EQ(tracker.spans().size(), 1u);
  EXPECT_EQ(tracker.spans()[0].start_s, 1.0);
  EXPECT_EQ(tracker.spans()[0].end_s, 3.0);
}

}  // namespace
}  // namespace longview
