// Times: the container's own, counted from its earliest stream; the same picture by seeking as by reading through.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/vision/video_test_util.h"

namespace longview {
namespace {

using test::Case;
using test::Colour;
using test::Number;
using test::NumberAt;
using test::OpenCase;
using test::ReadAll;

struct Moment {
  std::string file;
  double time_s;
  int number;
  int bits = 8;
  int slack = 0;
};

TEST(VideoTime, PictureAtIsTheLastOneNotLater) {
  const std::vector<Moment> moments = {
      {"vfr_burst.mp4", 0.50, 15},
      {"vfr_burst.mp4", 1.50, 30},
      {"vfr_burst.mp4", 3.50, 32},
      {"bframes.mp4", 1.00, 25},
      {"bframes.mp4", 2.50, 62},
      {"start_offset.ts", 0.50, 12},
      {"editlist_trim.mp4", 0.00, 65},
      {"editlist_trim.mp4", 1.40, 100},
      {"live_noduration.webm", 3.20, 80},
      {"last_frame.mp4", 2.96, 74},
      {"last_frame.mp4", 2.999, 74},
      {"long_gop.mp4", 13.70, 137},
      {"long_gop.mp4", 19.90, 199},
      {"raw_nopts.h264", 1.00, 25},
      {"nopts_bframes.avi", 1.00, 25, 8, 1},
      {"res_change.ts", 1.00, 25},
      {"res_change.ts", 3.00, 25},
      {"interlaced.ts", 1.00, 25},
      {"multi_video.mkv", 1.00, 25},
      {"attach.mkv", 1.00, 25},
      {"tmcd.mov", 1.00, 25},
      {"vfr.gif", 4.90, 1},
      {"vfr.gif", 5.50, 2},
      {"vfr.gif", 10.0, 3},
      {"corrupt_mid.mp4", 2.00, 50},
      {"corrupt_mid.mp4", 6.00, 150},
      {"hours_3h.mkv", 3600.0, 360, 12},
      {"hours_3h.mkv", 10915.0, 1091, 12},
      {"many_frames.mkv", 300.55, 300, 10},
      {"many_frames.mkv", 599.95, 599, 10},
  };
  for (const Moment& m : moments) {
    auto reader = OpenCase(m.file);
    ASSERT_NE(reader, nullptr);
    EXPECT_NEAR(NumberAt(*reader, m.time_s, m.bits), m.number, m.slack) << m.file << " at " << m.time_s;
  }
}

TEST(VideoTime, DurationsAreThoseOfThePictures) {
  const std::vector<std::pair<std::string, double>> files = {
      {"vfr_burst.mp4", 4.033}, {"start_offset.ts", 4.0},  {"editlist_trim.mp4", 3.4}, {"live_noduration.webm", 4.0},
      {"last_frame.mp4", 3.0},  {"audio_longer.mkv", 3.0}, {"raw_nopts.h264", 2.0},    {"nopts_bframes.avi", 2.0},
      {"backwards.ts", 4.0},    {"one_frame.mp4", 0.04},   {"five_frames.mp4", 0.2},   {"interlaced.ts", 2.0},
      {"multi_video.mkv", 3.0}, {"vfr.gif", 11.0},         {"corrupt_mid.mp4", 8.0},   {"many_frames.mkv", 600.0},
      {"hours_3h.mkv", 10920},  {"res_change.ts", 4.0},
  };
  for (const auto& [file, duration] : files) {
    auto reader = OpenCase(file);
    ASSERT_NE(reader, nullptr);
    EXPECT_NEAR(reader->Info().duration_s, duration, 0.01) << file;
    EXPECT_FALSE(reader->Info().still) << file;
  }
}

TEST(VideoTime, TimesCountFromTheEarliestStream) {
  auto offset = OpenCase("start_offset.ts");
  ASSERT_NE(offset, nullptr);
  EXPECT_EQ(offset->Info().first_time_s, 0.0);
  auto trimmed = OpenCase("editlist_trim.mp4");
  ASSERT_NE(trimmed, nullptr);
  EXPECT_EQ(trimmed->Info().first_time_s, 0.0);
  EXPECT_EQ(Colour(*trimmed->PictureAt(0.0)), "blue");
  // The sound's encoder delay puts it before the picture.
  auto sound = OpenCase("audio_longer.mkv");
  ASSERT_NE(sound, nullptr);
  EXPECT_GT(sound->Info().first_time_s, 0.0);
  EXPECT_LT(sound->Info().first_time_s, 0.05);
  EXPECT_TRUE(sound->Info().audio);
  EXPECT_EQ(sound->PictureAt(0.0).status().code(), StatusCode::kOutOfRange);
}

TEST(VideoTime, ReadingThroughGivesEveryPictureOnceInOrder) {
  for (const char* file : {"bframes.mp4", "raw_nopts.h264", "nopts_bframes.avi", "start_offset.ts", "last_frame.mp4",
                           "attach.mkv", "live_noduration.webm"}) {
    auto reader = OpenCase(file);
    ASSERT_NE(reader, nullptr);
    const std::vector<Picture> pictures = ReadAll(*reader);
    ASSERT_EQ(pictures.size(), static_cast<size_t>(std::lround(25 * reader->Info().duration_s))) << file;
    for (size_t n = 0; n < pictures.size(); ++n) {
      EXPECT_NEAR(pictures[n].time_s, 0.04 * static_cast<double>(n), 0.0011) << file << " picture " << n;
      EXPECT_EQ(Number(pictures[n]), static_cast<int>(n)) << file;
    }
    EXPECT_TRUE(reader->Damage().message.empty()) << file << reader->Damage().message;
  }
}

TEST(VideoTime, VariableRateIsSeenAndConstantRateIsNot) {
  for (const char* file : {"vfr_burst.mp4", "vfr.gif"}) {
    auto reader = OpenCase(file);
    ASSERT_NE(reader, nullptr);
    EXPECT_TRUE(reader->Info().vfr) << file;
  }
  for (const char* file :
       {"bframes.mp4", "live_noduration.webm", "start_offset.ts", "interlaced.ts", "raw_nopts.h264"}) {
    auto reader = OpenCase(file);
    ASSERT_NE(reader, nullptr);
    EXPECT_FALSE(reader->Info().vfr) << file;
    EXPECT_NEAR(reader->Info().fps_avg, 25.0, 0.1) << file;
  }
}

TEST(VideoTime, OutsideThePicturesIsAnErrorNotAnotherPicture) {
  auto reader = OpenCase("audio_longer.mkv");
  ASSERT_NE(reader, nullptr);
  const Result<Picture> late = reader->PictureAt(5.0);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.status().code(), StatusCode::kOutOfRange);
  EXPECT_NE(late.status().message().find("audio_longer.mkv"), std::string::npos);
  EXPECT_NE(late.status().message().find("5.00 s"), std::string::npos);
  auto film = OpenCase("last_frame.mp4");
  ASSERT_NE(film, nullptr);
  EXPECT_EQ(film->PictureAt(3.0).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(film->PictureAt(-0.01).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(film->PictureAt(std::nan("")).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(NumberAt(*film, 2.99), 74) << "the reader goes on after an error";
}

TEST(VideoTime, SeekingBackAfterSeekingForth) {
  auto reader = OpenCase("long_gop.mp4");
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(NumberAt(*reader, 13.70), 137);
  EXPECT_EQ(Colour(*reader->PictureAt(13.70)), "green");
  EXPECT_EQ(NumberAt(*reader, 0.30), 3);
}

TEST(VideoTime, SeekingIsCheap) {
  auto reader = OpenCase("many_frames.mkv");  // 6000 pictures, a keyframe every 60 s
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(NumberAt(*reader, 541.0, 10), 541);
  EXPECT_LT(reader->Counters().packets, 200);
  EXPECT_EQ(reader->Counters().rendered, 1);
  auto one_key = OpenCase("long_gop.mp4");
  ASSERT_NE(one_key, nullptr);
  EXPECT_EQ(NumberAt(*one_key, 5.0), 50);
  EXPECT_EQ(NumberAt(*one_key, 5.1), 51);
  EXPECT_EQ(NumberAt(*one_key, 5.15), 51);
  EXPECT_EQ(one_key->Counters().seeks, 0) << "further on without a keyframe between needs no seek";
}

// The same pixels whichever way one comes to a picture.
TEST(VideoTime, SeekingEqualsReadingThrough) {
  for (const char* file :
       {"vfr_burst.mp4", "bframes.mp4", "start_offset.ts", "editlist_trim.mp4", "live_noduration.webm",
        "raw_nopts.h264", "nopts_bframes.avi", "backwards.ts", "res_change.ts", "interlaced.ts", "corrupt_mid.mp4",
        "vfr.gif", "alpha_vp9.webm", "long_gop.mp4"}) {
    auto through = OpenCase(file);
    auto seeking = OpenCase(file);
    ASSERT_TRUE(through != nullptr && seeking != nullptr);
    const std::vector<Picture> pictures = ReadAll(*through);
    ASSERT_FALSE(pictures.empty());
    const size_t step = pictures.size() > 60 ? 13 : 7;
    for (size_t i = pictures.size(); i-- > 0;) {  // backwards: every one needs a jump
      if (i % step != 0 && i + 1 != pictures.size()) continue;
      Result<Picture> sought = seeking->PictureAt(pictures[i].time_s);
      ASSERT_TRUE(sought.ok()) << sought.status().message();
      EXPECT_EQ(sought->time_s, pictures[i].time_s) << file;
      EXPECT_TRUE(sought->rgb == pictures[i].rgb) << file << " at " << pictures[i].time_s;
    }
  }
}

// A large file is not read to the end first; here every file counts as large.
TEST(VideoTime, WithoutAFullReadTimesAndPicturesAreTheSame) {
  ReaderOptions large;
  large.read_all_below = 0;
  for (const char* file :
       {"vfr_burst.mp4", "bframes.mp4", "editlist_trim.mp4", "live_noduration.webm", "long_gop.mp4", "audio_longer.mkv",
        "many_frames.mkv", "corrupt_mid.mp4", "raw_nopts.h264", "backwards.ts"}) {
    auto whole = OpenCase(file);
    auto reader = OpenCase(file, large);
    ASSERT_TRUE(whole != nullptr && reader != nullptr);
    EXPECT_NEAR(reader->Info().duration_s, whole->Info().duration_s, 0.001) << file;
    EXPECT_EQ(reader->Info().first_time_s, whole->Info().first_time_s) << file;
    EXPECT_EQ(reader->Info().vfr, whole->Info().vfr) << file;
    EXPECT_NEAR(reader->Info().fps_avg, whole->Info().fps_avg, 0.02 * whole->Info().fps_avg) << file;
    const double end = whole->Info().first_time_s + whole->Info().duration_s;
    for (const double share : {0.97, 0.2, 0.63, 0.05}) {
      const Result<Picture> want = whole->PictureAt(share * end);
      const Result<Picture> got = reader->PictureAt(share * end);
      ASSERT_TRUE(want.ok() && got.ok()) << file << want.status().message() << got.status().message();
      EXPECT_EQ(got->time_s, want->time_s) << file << " at " << share * end;
      EXPECT_TRUE(got->rgb == want->rgb) << file << " at " << share * end;
    }
  }
  EXPECT_TRUE(OpenCase("bframes.mp4", large)->Info().estimated);
  EXPECT_FALSE(OpenCase("live_noduration.webm", large)->Info().estimated) << "its header says nothing";
  EXPECT_FALSE(OpenCase("backwards.ts", large)->Info().estimated) << "its clock may jump";
}

TEST(VideoTime, NextGoesOnFromASoughtTime) {
  auto reader = OpenCase("bframes.mp4");
  ASSERT_NE(reader, nullptr);
  ASSERT_TRUE(reader->Seek(2.01).ok());
  EXPECT_EQ(Number(**reader->Next()), 50);
  EXPECT_EQ(Number(**reader->Next()), 51);
  EXPECT_EQ(NumberAt(*reader, 1.0), 25);
  EXPECT_EQ(Number(**reader->Next()), 26);
  EXPECT_EQ(reader->Seek(99.0).code(), StatusCode::kOutOfRange);
}

TEST(VideoTime, AClockThatStartsAgainGoesOnRising) {
  auto reader = OpenCase("backwards.ts");
  ASSERT_NE(reader, nullptr);
  std::set<std::string> colours;
  double last = -1.0;
  const std::vector<Picture> pictures = ReadAll(*reader);
  EXPECT_EQ(pictures.size(), 100u);
  for (const Picture& p : pictures) {
    EXPECT_GT(p.time_s, last);
    last = p.time_s;
    colours.insert(Colour(p));
  }
  EXPECT_EQ(colours, (std::set<std::string>{"red", "green", "blue", "yellow"}));
  EXPECT_EQ(Colour(*reader->PictureAt(2.5)), "blue");
  EXPECT_EQ(Colour(*reader->PictureAt(0.5)), "red");
}

TEST(VideoTime, DecodeModesKeepTimes) {
  ReaderOptions keys;
  keys.decode = DecodeMode::kKeyframe;
  auto by_key = OpenCase("start_offset.ts", keys);
  ASSERT_NE(by_key, nullptr);
  const std::vector<Picture> keyframes = ReadAll(*by_key);
  ASSERT_GE(keyframes.size(), 4u);
  EXPECT_LT(keyframes.size(), 10u);
  EXPECT_EQ(keyframes[0].time_s, 0.0);
  for (const Picture& p : keyframes) {
    EXPECT_TRUE(p.key);
    EXPECT_EQ(Number(p), std::lround(p.time_s * 25.0));
  }
  ReaderOptions fast;
  fast.decode = DecodeMode::kFast;
  auto quick = OpenCase("bframes.mp4", fast);
  ASSERT_NE(quick, nullptr);
  const std::vector<Picture> pictures = ReadAll(*quick);
  EXPECT_LT(pictures.size(), 90u) << "unreferenced pictures are left out";
  EXPECT_GT(pictures.size(), 20u);
  for (const Picture& p : pictures) EXPECT_EQ(Number(p), std::lround(p.time_s * 25.0));
  EXPECT_TRUE(quick->Damage().message.empty());
}

TEST(VideoTime, StoppedBeforeAndBetween) {
  std::stop_source stop;
  auto reader = VideoReader::Open(Case("bframes.mp4"), {}, stop.get_token());
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE((*reader)->Next().ok());
  ASSERT_TRUE((*reader)->Next().ok());
  stop.request_stop();
  EXPECT_EQ((*reader)->Next().status().code(), StatusCode::kCancelled);
  EXPECT_EQ((*reader)->PictureAt(3.0).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(VideoReader::Open(Case("bframes.mp4"), {}, stop.get_token()).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace longview
