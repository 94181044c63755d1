// Pictures as a person would see them: upright, square pixels, right colours, nothing hidden shown, nothing too large.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/vision/video_test_util.h"
#include "vision/picture_io.h"
#include "vision/preprocess.h"

namespace longview {
namespace {

using test::At;
using test::Case;
using test::Colour;
using test::OpenCase;
using test::OpenFailure;

Picture First(const std::string& file) {
  auto reader = OpenCase(file);
  if (reader == nullptr) return {};
  Result<std::optional<Picture>> next = reader->Next();
  EXPECT_TRUE(next.ok()) << next.status().message();
  if (!next.ok() || !next->has_value()) return {};
  EXPECT_EQ((*next)->width, reader->Info().width);
  EXPECT_EQ((*next)->height, reader->Info().height);
  return std::move(**next);
}

void ExpectNear(const uint8_t* pixel, std::array<int, 3> want, int slack, const std::string& where) {
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(pixel[c], want[static_cast<size_t>(c)], slack) << where << " channel " << c;
}

TEST(VideoPicture, StoredRotationIsApplied) {
  for (const char* file : {"rot90.mp4", "exif6.jpg"}) {
    const Picture p = First(file);
    ASSERT_EQ(p.width, 96) << file;
    ASSERT_EQ(p.height, 160) << file;
    EXPECT_EQ(Colour(p, 0.1, 0.1), "red") << file;
    EXPECT_EQ(Colour(p, 0.9, 0.1), "green") << file;
    EXPECT_EQ(Colour(p, 0.1, 0.9), "blue") << file;
    EXPECT_EQ(Colour(p, 0.9, 0.9), "white") << file;
    EXPECT_EQ(OpenCase(file)->Info().rotation, 90) << file;
    EXPECT_FALSE(OpenCase(file)->Info().mirrored) << file;
  }
}

// The eight orientations of EXIF, written over the one of exif6.jpg; its stored corners are green, white, red, blue.
TEST(VideoPicture, EveryOrientationIsTurnedUpright) {
  struct Row {
    const char* corners[4];  // upper left, upper right, lower left, lower right
    int rotation;
    bool mirrored;
  };
  const Row rows[] = {{{"green", "white", "red", "blue"}, 0, false},   {{"white", "green", "blue", "red"}, 0, true},
                      {{"blue", "red", "white", "green"}, 180, false}, {{"red", "blue", "green", "white"}, 180, true},
                      {{"green", "red", "white", "blue"}, 90, true},   {{"red", "green", "blue", "white"}, 90, false},
                      {{"blue", "white", "red", "green"}, 270, true},  {{"white", "blue", "green", "red"}, 270, false}};
  std::ifstream in(Case("exif6.jpg"), std::ios::binary);
  std::string jpeg((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t entry = jpeg.find(std::string("\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06", 10));
  ASSERT_NE(entry, std::string::npos);
  TempFolder folder;
  for (int value = 1; value <= 8; ++value) {
    jpeg[entry + 9] = static_cast<char>(value);
    const Result<std::unique_ptr<VideoReader>> reader = VideoReader::Open(folder.Write("o.jpg", jpeg), {}, {});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    const Picture p = **(*reader)->Next();
    const Row& row = rows[value - 1];
    for (int corner = 0; corner < 4; ++corner) {
      EXPECT_EQ(Colour(p, corner % 2 == 0 ? 0.1 : 0.9, corner < 2 ? 0.1 : 0.9), row.corners[corner])
          << "orientation " << value << " corner " << corner;
    }
    EXPECT_EQ((*reader)->Info().rotation, row.rotation) << value;
    EXPECT_EQ((*reader)->Info().mirrored, row.mirrored) << value;
    EXPECT_EQ(p.width, value >= 5 ? 96 : 160) << value;
  }
}

TEST(VideoPicture, PixelsAreMadeSquare) {
  const Picture p = First("sar.mp4");
  ASSERT_EQ(p.width, 256);
  ASSERT_EQ(p.height, 144);
  int wide = 0;
  int high = 0;
  for (int x = 0; x < p.width; ++x) wide += p.Row(p.height / 2)[ptrdiff_t{3} * x] > 128 ? 1 : 0;
  for (int y = 0; y < p.height; ++y) high += At(p, 0.45, (y + 0.5) / p.height)[0] > 128 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(wide) / high, 1.0, 0.05) << wide << " x " << high;
}

TEST(VideoPicture, OddSizesLoseNoColumn) {
  for (const auto& [file, width, height, grey] :
       {std::tuple("odd_131x97.webm", 131, 97, 100), {"crop_94x62.mp4", 94, 62, 60}}) {
    auto reader = OpenCase(file);
    ASSERT_NE(reader, nullptr);
    for (const Picture& p : test::ReadAll(*reader)) {
      ASSERT_EQ(p.width, width);
      ASSERT_EQ(p.height, height);
      for (int y = 0; y < height; ++y) {
        EXPECT_EQ(test::ColourName(p.Row(y) + ptrdiff_t{3} * (width - 1)), "red") << file << " row " << y;
        ExpectNear(p.Row(y) + ptrdiff_t{3} * grey, {128, 128, 128}, 4, file);
      }
    }
  }
}

TEST(VideoPicture, ASizeThatChangesInMidStreamIsFollowed) {
  auto reader = OpenCase("res_change.ts");
  ASSERT_NE(reader, nullptr);
  const Result<Picture> before = reader->PictureAt(1.0);
  const Result<Picture> after = reader->PictureAt(3.0);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before->width, 160);
  EXPECT_EQ(before->height, 96);
  EXPECT_EQ(after->width, 96);
  EXPECT_EQ(after->height, 160);
  EXPECT_EQ(Colour(*after), "yellow");
}

TEST(VideoPicture, RangeMatrixAndDepthAreTheFrames) {
  for (const char* file : {"range_full8.mp4", "tenbit.mp4"}) {
    const Picture p = First(file);
    const int want[] = {0, 64, 128, 255};
    for (int i = 0; i < 4; ++i) {
      ExpectNear(At(p, 0.125 + 0.25 * i, 0.5), {want[i], want[i], want[i]}, 3,
                 std::string(file) + " stripe " + std::to_string(i));
    }
  }
  const Picture p = First("bt709_sd.mp4");
  ExpectNear(At(p, 0.125, 0.5), {255, 0, 0}, 8, "red");
  ExpectNear(At(p, 0.375, 0.5), {0, 255, 0}, 8, "green");
  ExpectNear(At(p, 0.625, 0.5), {0, 0, 255}, 8, "blue");
  ExpectNear(At(p, 0.875, 0.5), {200, 100, 50}, 8, "brown");
  EXPECT_EQ(OpenCase("tenbit.mp4")->Info().pix_fmt, "yuv420p10le");
  EXPECT_FALSE(OpenCase("tenbit.mp4")->Info().hdr);
}

TEST(VideoPicture, HdrIsToneMapped) {
  EXPECT_TRUE(OpenCase("hdr_pq.mp4")->Info().hdr);
  const Picture p = First("hdr_pq.mp4");
  const uint8_t* black = At(p, 0.125, 0.5);
  const uint8_t* white = At(p, 0.375, 0.5);
  const uint8_t* bright = At(p, 0.625, 0.5);
  const uint8_t* red = At(p, 0.875, 0.5);
  EXPECT_LE(*std::max_element(black, black + 3), 8);
  EXPECT_GE(*std::min_element(white, white + 3), 165);
  EXPECT_LE(*std::max_element(white, white + 3) - *std::min_element(white, white + 3), 4);
  EXPECT_GT(bright[1], white[1]);
  EXPECT_LE(red[1], 0.45 * red[0]);
  EXPECT_LE(red[2], 0.35 * red[0]);
}

TEST(VideoPicture, TransparencyShowsTheBackground) {
  for (const char* file : {"alpha_vp9.webm", "alpha_qtrle.mov"}) {
    const Picture p = First(file);
    EXPECT_EQ(Colour(p, 0.25, 0.5), "green") << file;
    EXPECT_EQ(Colour(p, 0.75, 0.5), "white") << file;
  }
}

TEST(VideoPicture, InterlacedFramesAreDeinterlaced) {
  auto reader = OpenCase("interlaced.ts");
  ASSERT_NE(reader, nullptr);
  const Result<Picture> p = reader->PictureAt(1.0);
  ASSERT_TRUE(p.ok());
  double sum = 0.0;
  int count = 0;
  for (int y = p->height / 2 + 4; y + 5 < p->height; ++y) {
    for (int x = 0; x < p->width; ++x, ++count)
      sum += std::abs(p->Row(y)[ptrdiff_t{3} * x] - p->Row(y + 1)[ptrdiff_t{3} * x]);
  }
  EXPECT_LE(sum / count, 2.0);
}

TEST(VideoPicture, StillsAreOnePictureWithoutDuration) {
  for (const char* file : {"exif6.jpg", "one_pixel.png"}) {
    auto reader = OpenCase(file);
    ASSERT_NE(reader, nullptr);
    EXPECT_TRUE(reader->Info().still) << file;
    EXPECT_EQ(reader->Info().duration_s, 0.0) << file;
    EXPECT_TRUE(reader->PictureAt(0.0).ok()) << file;
    EXPECT_TRUE(reader->PictureAt(0.5).ok()) << file;
    EXPECT_EQ(reader->PictureAt(1.5).status().code(), StatusCode::kOutOfRange) << file;
    ASSERT_TRUE(reader->Seek(0.0).ok());
    EXPECT_EQ(test::ReadAll(*reader).size(), 1u) << file;
  }
}

// A photograph's bytes fill more than a probe's first look, and its name's ending then says "a pattern of files".
TEST(VideoPicture, DetailedStillsAreReadByTheirBytes) {
  Picture noise;
  noise.width = 320;
  noise.height = 240;
  noise.rgb.resize(size_t{3} * 320 * 240);
  uint32_t state = 1;
  for (uint8_t& value : noise.rgb) value = static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  const TempFolder folder;
  for (const std::string ending : {".jpg", ".png"}) {
    const std::string path = (folder / ("detailed" + ending)).string();
    ASSERT_TRUE(WritePicture(noise, path).ok());
    const auto reader = VideoReader::Open(path, {}, {});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_TRUE((*reader)->Info().still);
    EXPECT_EQ((*reader)->Info().width, 320);
    EXPECT_TRUE((*reader)->PictureAt(0.0).ok());
  }
}

TEST(VideoPicture, TinyAndThinPicturesWork) {
  EXPECT_EQ(First("one_pixel.png").rgb, (std::vector<uint8_t>{255, 0, 0}));
  EXPECT_EQ(Colour(First("tiny_2x2.mkv"), 0.0, 0.0), "red");
  const Picture strip = First("strip_3000x4.mkv");
  EXPECT_EQ(strip.width, 3000);
  EXPECT_EQ(strip.height, 4);
  for (const char* file : {"one_pixel.png", "tiny_2x2.mkv", "strip_3000x4.mkv"}) {
    auto reader = OpenCase(file);
    ASSERT_TRUE(reader->Advance().ok());
    const Result<Picture> small = reader->Small(64, 36);
    ASSERT_TRUE(small.ok()) << small.status().message();
    EXPECT_EQ(test::ColourName(small->Row(35) + ptrdiff_t{3} * 63), "red") << file;
    EXPECT_TRUE(PreprocessPicture(*reader->Render(), {}).ok()) << file;
  }
}

TEST(VideoPicture, DeliveredAtATargetSizeEqualsStretchingTheShownPicture) {
  ReaderOptions options;
  options.target_width = options.target_height = 224;
  for (const char* file : {"sar.mp4", "rot90.mp4", "interlaced.ts"}) {
    auto scaled = OpenCase(file, options);
    ASSERT_NE(scaled, nullptr);
    const Picture p = **scaled->Next();
    EXPECT_EQ(p.width, 224);
    EXPECT_EQ(p.rgb, StretchPicture(First(file), 224, 224)->rgb) << file;
  }
}

TEST(VideoPicture, TooLargeIsRefusedBySizeBeforeAnythingIsAllocated) {
  struct rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  for (const auto& [file, size] : {std::pair("bomb_16000.png", "16000x16000"), {"bomb_header.png", "65500x65500"}}) {
    const Status status = OpenFailure(Case(file));
    EXPECT_EQ(status.code(), StatusCode::kResource) << status.message();
    EXPECT_NE(status.message().find(size), std::string::npos) << status.message();
  }
  ReaderOptions small;
  small.max_pixels = 4000;
  const Result<std::unique_ptr<VideoReader>> film = VideoReader::Open(Case("bframes.mp4"), small, {});
  EXPECT_EQ(film.status().code(), StatusCode::kResource) << film.status().message();
  struct rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB";
}

TEST(VideoPicture, AFilmThatGoesOnForTooLongIsRefused) {
  ReaderOptions brief;
  brief.max_duration_s = 0.5;
  const Status lasting = VideoReader::Open(Case("bframes.mp4"), brief, {}).status();
  EXPECT_EQ(lasting.code(), StatusCode::kResource) << lasting.message();
  EXPECT_NE(lasting.message().find("limit of 0.5"), std::string::npos) << lasting.message();
  ReaderOptions few;
  few.max_pictures = 3;
  const Status many = VideoReader::Open(Case("bframes.mp4"), few, {}).status();
  EXPECT_EQ(many.code(), StatusCode::kResource) << many.message();
  EXPECT_NE(many.message().find("limit of 3 pictures"), std::string::npos) << many.message();
}

TEST(VideoPicture, AVeryLargeFilmFitsInMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "skipped: AddressSanitizer keeps freed memory, so the process's size says nothing";
#endif
  const Picture p = First("big_8192.mp4");
  EXPECT_EQ(p.width, 8192);
  EXPECT_EQ(p.height, 4320);
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 900 * 1024) << "KiB";
}

TEST(VideoPicture, CoversAndSoundAreNoVideo) {
  for (const char* file : {"cover.mp3", "cover.m4a", "audio_only.wav"}) {
    const Status status = OpenFailure(Case(file));
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << file;
    EXPECT_NE(status.message().find("no video in this file"), std::string::npos) << status.message();
  }
}

TEST(VideoPicture, TheDefaultStreamIsChosen) {
  auto reader = OpenCase("multi_video.mkv");
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->Info().width, 160);
  EXPECT_EQ(reader->Info().height, 96);
  EXPECT_EQ(reader->Info().video_codec, "h264");
}

TEST(VideoPicture, AnimatedWebpIsRefusedClearly) {
  const Status status = OpenFailure(Case("anim.webp"));
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("animated WebP is not supported"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace longview
