// Preprocessing against the training code's own numbers; PNG and JPEG there and back.
#include "vision/preprocess.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/support/tiny_video.h"
#include "vision/picture_io.h"

namespace longview {
namespace {

// As tools/golden/make_preprocess.py has it.
Picture Formula(int width, int height) {
  Picture p;
  p.width = width;
  p.height = height;
  p.rgb.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) p.Row(y)[3 * x + c] = static_cast<uint8_t>(7 * x + 13 * y + 61 * c + (x * y >> 3));
    }
  }
  return p;
}

// One step of an 8-bit channel, normalised by the smallest deviation: OpenCV builds may round a tie either way.
constexpr double kOneStep = 1.0 / 255.0 / 0.224 + 1e-5;

TEST(Preprocess, EqualsTheTrainingCode) {
  std::ifstream golden(std::string(LV_TEST_SOURCE_DIR) + "/tests/golden/preprocess.txt");
  ASSERT_TRUE(golden.is_open());
  std::vector<float> chw;
  std::string line;
  int samples = 0;
  int exact = 0;
  while (std::getline(golden, line)) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "case") {
      int width = 0;
      int height = 0;
      in >> width >> height;
      const Result<std::vector<float>> result = PreprocessPicture(Formula(width, height), {});
      ASSERT_TRUE(result.ok()) << result.status().message();
      chw = *result;
      ASSERT_EQ(chw.size(), 3u * 224 * 224);
    } else if (word == "s") {
      size_t c = 0, y = 0, x = 0;
      double want = 0.0;
      in >> c >> y >> x >> want;
      const double got = chw[(c * 224 + y) * 224 + x];
      EXPECT_NEAR(got, want, kOneStep) << line;
      ++samples;
      exact += std::abs(got - want) < 1e-6 ? 1 : 0;
    } else if (word == "sum") {
      size_t c = 0;
      double want = 0.0;
      in >> c >> want;
      double got = 0.0;
      for (size_t i = 0; i < 224 * 224; ++i) got += chw[c * 224 * 224 + i];
      EXPECT_NEAR(got, want, 224 * 224 * 2e-4) << line;
    }
  }
  EXPECT_EQ(samples, 360);
  EXPECT_GE(exact, 340) << "a tie here and there, not another filter";
}

TEST(Preprocess, RefusesWhatIsNoPicture) {
  EXPECT_EQ(PreprocessPicture({}, {}).status().code(), StatusCode::kInvalidArgument);
  Picture cut = Formula(10, 10);
  cut.rgb.resize(7);
  EXPECT_FALSE(PreprocessPicture(cut, {}).ok());
  EXPECT_FALSE(StretchPicture(Formula(4, 4), 0, 4).ok());
}

TEST(Preprocess, ThumbnailsKeepTheShapeAndNeverGrow) {
  const Result<Picture> wide = Thumbnail(Formula(640, 360), 160);
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->width, 160);
  EXPECT_EQ(wide->height, 90);
  const Result<Picture> strip = Thumbnail(Formula(3000, 4), 320);
  ASSERT_TRUE(strip.ok());
  EXPECT_EQ(strip->width, 320);
  EXPECT_EQ(strip->height, 1);
  EXPECT_EQ(Thumbnail(Formula(20, 10), 320)->width, 20);
}

TEST(PictureIo, PngIsExactAndJpegIsNear) {
  const Picture p = Formula(61, 43);
  const auto png = EncodePicture(p, PictureFormat::kPng);
  ASSERT_TRUE(png.ok());
  const Result<Picture> back = DecodePicture(*png);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->width, 61);
  EXPECT_EQ(back->rgb, p.rgb);
  Picture flat;
  flat.width = flat.height = 32;
  for (int i = 0; i < 32 * 32; ++i) flat.rgb.insert(flat.rgb.end(), {200, 100, 50});
  const auto jpeg = EncodePicture(flat, PictureFormat::kJpeg, 90);
  ASSERT_TRUE(jpeg.ok());
  const Result<Picture> near = DecodePicture(*jpeg);
  ASSERT_TRUE(near.ok());
  EXPECT_NEAR(near->rgb[0], 200, 4);
  EXPECT_NEAR(near->rgb[1], 100, 4);
  EXPECT_NEAR(near->rgb[2], 50, 4);
}

TEST(PictureIo, HostileBytesAreRefused) {
  EXPECT_EQ(DecodePicture({}).status().code(), StatusCode::kUnsupported);
  std::vector<uint8_t> png = *EncodePicture(Formula(61, 43), PictureFormat::kPng);
  std::vector<uint8_t> cut(png.begin(), png.begin() + 40);
  EXPECT_FALSE(DecodePicture(cut).ok());
  png[16] = 0x7f;  // a width of two thousand million
  EXPECT_EQ(DecodePicture(png).status().code(), StatusCode::kResource);
}

TEST(PictureIo, HeadersTellTheSize) {
  const auto read = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return ReadStillHeader(bytes);
  };
  EXPECT_EQ(read(test::Case("bomb_header.png")).width, 65500);
  EXPECT_EQ(read(test::Case("exif6.jpg")).width, 160);
  EXPECT_EQ(read(test::Case("exif6.jpg")).height, 96);
  EXPECT_EQ(read(test::Case("vfr.gif")).width, 128);
  EXPECT_TRUE(read(test::Case("anim.webp")).animated_webp);
  EXPECT_EQ(read(test::Case("anim.webp")).width, 128);
  EXPECT_EQ(read(test::Case("bframes.mp4")).width, 0);
}

TEST(PictureIo, AFileIsWholeOrNotThere) {
  TempFolder folder;
  const Picture p = Formula(16, 16);
  ASSERT_TRUE(WritePicture(p, folder / "a.png").ok());
  ASSERT_TRUE(WritePicture(p, folder / "b.JPG").ok());
  EXPECT_EQ(WritePicture(p, folder / "c.gif").code(), StatusCode::kInvalidArgument);
  const Status nowhere = WritePicture(p, folder / "none/d.png");
  EXPECT_EQ(nowhere.code(), StatusCode::kIo);
  EXPECT_NE(nowhere.message().find("d.png"), std::string::npos);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 2u) << "nothing temporary is left";
}

}  // namespace
}  // namespace longview
