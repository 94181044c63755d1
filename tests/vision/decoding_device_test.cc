// Reading through a device's decoder, on the device that this program is linked with.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/support/temp_folder.h"
#include "tests/support/test_clip.h"
#include "tests/vision/decoding_parity.h"
#include "tests/vision/video_test_util.h"

namespace longview::test {
namespace {

class DecodingDevice : public testing::Test {
 protected:
  void SetUp() override {
    decoding_ = MakeTestDecoding();
    if (decoding_ == nullptr) GTEST_SKIP() << "skipped: no GPU";
  }
  std::shared_ptr<av::HardwareDecoding> decoding_;
};

TEST_F(DecodingDevice, KeepsTheFramesOfTheProcessor) {
  const TempFolder folder;
  const std::string shots = (folder.path() / "shots.mp4").string(), deep = (folder.path() / "deep.mp4").string();
  MakeThreeShots(shots, 9);
  RunFfmpeg({"-i", shots, "-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-preset", "ultrafast", "-x265-params",
             "log-level=none:pools=1:frame-threads=1:colormatrix=bt2020nc:range=full", "-color_range", "pc", deep});
  for (const std::string& film : {shots, deep}) {
    SCOPED_TRACE(film);
    const Reading device = Ingest(film, std::exchange(decoding_, MakeTestDecoding()));
    EXPECT_EQ(device.on_device, device.frames.size());
    EXPECT_GE(device.frames.size(), 9u);
    ExpectSame(device, Ingest(film, nullptr), 6.1, 0.3);
  }
}

TEST_F(DecodingDevice, SmallPicturesAreTheSameToTheBit) {
  const TempFolder folder;
  const std::string path = (folder.path() / "tall.mp4").string();
  RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=640x478:r=10:d=1", "-pix_fmt", "yuv420p", path});
  for (const std::string& film : {path, Case("bframes.mp4")}) {
    ReaderOptions options;
    auto processor = VideoReader::Open(film, options, {});
    options.hardware = std::exchange(decoding_, MakeTestDecoding());
    auto device = VideoReader::Open(film, options, {});
    ASSERT_TRUE(processor.ok() && device.ok());
    while (true) {
      const auto a = (*processor)->Advance(), b = (*device)->Advance();
      ASSERT_TRUE(a.ok() && b.ok());
      ASSERT_EQ(a->has_value(), b->has_value());
      if (!a->has_value()) break;
      ASSERT_EQ((*a)->time_s, (*b)->time_s);
      ASSERT_EQ((*processor)->Small(64, 36)->rgb, (*device)->Small(64, 36)->rgb) << film << " at " << (*a)->time_s;
    }
  }
}

TEST_F(DecodingDevice, WhatMustBeTreatedGoesThroughTheProcessor) {
  for (const char* name : {"rot90.mp4", "sar.mp4", "hdr_pq.mp4", "interlaced.ts"}) {
    SCOPED_TRACE(name);
    const Reading device = Ingest(Case(name), std::exchange(decoding_, MakeTestDecoding()));
    EXPECT_EQ(device.on_device, 0u);
    ExpectSame(device, Ingest(Case(name), nullptr), 0.0, 0.0);
  }
}

}  // namespace
}  // namespace longview::test
