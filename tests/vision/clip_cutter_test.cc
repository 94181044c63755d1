// Clips copied out of a film: what they begin with, how long they are, and what is refused.
#include "vision/av/clip_cutter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "tests/support/temp_folder.h"
#include "tests/support/test_clip.h"
#include "vision/av/video_reader.h"

namespace longview {
namespace {

class ClipCutter : public ::testing::Test {
 protected:
  // 12 s of 10 pictures a second with a keyframe every 2 s.
  void SetUp() override { test::MakeThreeShots(film_, 12); }

  std::unique_ptr<VideoReader> Open(const std::filesystem::path& path) {
    auto reader = VideoReader::Open(path.string(), ReaderOptions(), {});
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return reader.ok() ? std::move(reader).value() : nullptr;
  }

  TempFolder folder_;
  std::filesystem::path film_ = folder_ / "film.mp4";
};

TEST_F(ClipCutter, BeginsAtTheKeyframeBeforeAndEndsInTime) {
  for (const char* name : {"clip.mp4", "clip.mkv"}) {
    const std::filesystem::path out = folder_ / name;
    const Status status = CopyClip(film_.string(), 5.0, 8.0, out.string(), {});
    ASSERT_TRUE(status.ok()) << status.message();
    const auto film = Open(film_);
    const auto clip = Open(out);
    ASSERT_TRUE(film && clip);
    EXPECT_GE(clip->Info().duration_s, 3.0);
    EXPECT_LE(clip->Info().duration_s, 4.4) << "from 4 s to 8 s";
    const auto first = clip->PictureAt(clip->Info().first_time_s);
    const auto wanted = film->PictureAt(4.0);
    ASSERT_TRUE(first.ok() && wanted.ok());
    EXPECT_EQ(first->rgb, wanted->rgb);
    EXPECT_LT(clip->Info().first_time_s, 0.11);
  }
}

TEST_F(ClipCutter, CopiesToTheEndWhereNoneIsNamed) {
  const std::filesystem::path out = folder_ / "rest.mp4";
  ASSERT_TRUE(CopyClip(film_.string(), 8.0, std::numeric_limits<double>::infinity(), out.string(), {}).ok());
  const auto clip = Open(out);
  ASSERT_TRUE(clip);
  EXPECT_NEAR(clip->Info().duration_s, 4.0, 0.11);
}

TEST_F(ClipCutter, RefusesWhatCannotBeAndLeavesNothingBehind) {
  const auto code = [&](double start, double end, const std::filesystem::path& out) {
    return CopyClip(film_.string(), start, end, out.string(), {}).code();
  };
  EXPECT_EQ(code(5.0, 5.0, folder_ / "a.mp4"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(0.0, 5.0, film_), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(0.0, 5.0, folder_ / "a.nothing"), StatusCode::kUnsupported);
  EXPECT_EQ(code(0.0, 5.0, folder_ / "a.webm"), StatusCode::kUnsupported);
  EXPECT_EQ(code(0.0, 5.0, folder_ / "no folder/a.mp4"), StatusCode::kIo);
  const std::filesystem::path broken = folder_.Write("broken.mp4", std::string(5000, 'x'));
  EXPECT_EQ(CopyClip(broken.string(), 0.0, 1.0, (folder_ / "b.mp4").string(), {}).code(), StatusCode::kDamaged);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(CopyClip(film_.string(), 0.0, 5.0, (folder_ / "c.mp4").string(), {stop.get_token(), {}}).code(),
            StatusCode::kCancelled);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name == "film.mp4" || name == "broken.mp4") << name;
  }
}

}  // namespace
}  // namespace longview
