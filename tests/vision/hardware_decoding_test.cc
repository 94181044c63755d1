// Reading through a device's decoder: the same frames as by the processor's, their pictures nearly so, and the
// processor where anything fails. The decoder is an emulated one: the processor's, whose pictures are brought into the
// form and the memory of a device.
#include "vision/av/hardware_decoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/emulated_net.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_clip.h"
#include "tests/vision/video_test_util.h"
#include "vision/ingest_pipeline.h"

namespace longview::test {
namespace {

class EmulatedDecoding : public av::HardwareDecoding {
 public:
  // Fails with the picture after `pictures`.
  explicit EmulatedDecoding(int pictures = 1 << 30)
      : HardwareDecoding(std::make_shared<EmulatedNet>()), pictures_(pictures) {}

  Result<const AVCodec*> Decoder(AVCodecID id) const override { return avcodec_find_decoder(id); }
  Status Attach(AVCodecContext*) override { return Status::Ok(); }
  Result<GpuSurface> SurfaceOf(const AVFrame& frame) override {
    const bool deep = frame.format == AV_PIX_FMT_YUV420P10LE;
    if (!deep && frame.format != AV_PIX_FMT_YUV420P) return Unsupported("not a form of the device");
    if (&frame != last_ || frame.pts != last_pts_) {
      if (--pictures_ < 0) return InternalError("the device was pulled out");
      last_ = &frame;
      last_pts_ = frame.pts;
    }
    const auto width = static_cast<size_t>(frame.width), height = static_cast<size_t>(frame.height);
    const size_t half_width = (width + 1) / 2, half_height = (height + 1) / 2, sample = deep ? 2 : 1;
    const size_t pitch = (2 * half_width * sample + 255) / 256 * 256;
    surface_.assign(pitch * (height + half_height), std::byte{0x55});
    const auto copy = [&](int plane, size_t row, size_t column, std::byte* to) {
      const uint8_t* from = frame.data[plane] + static_cast<ptrdiff_t>(row) * frame.linesize[plane] + column * sample;
      uint16_t value = *from;
      if (deep) {
        std::memcpy(&value, from, 2);
        value = static_cast<uint16_t>(value << 6);
      }
      std::memcpy(to, &value, sample);
    };
    for (size_t row = 0; row < height; ++row) {
      for (size_t x = 0; x < width; ++x) copy(0, row, x, surface_.data() + row * pitch + x * sample);
    }
    for (size_t row = 0; row < half_height; ++row) {
      std::byte* to = surface_.data() + (height + row) * pitch;
      for (size_t x = 0; x < half_width; ++x) {
        copy(1, row, x, to + 2 * x * sample);
        copy(2, row, x, to + (2 * x + 1) * sample);
      }
    }
    return GpuSurface{surface_.data(),
                      surface_.data() + height * pitch,
                      pitch,
                      pitch,
                      static_cast<uint32_t>(width),
                      static_cast<uint32_t>(height),
                      deep};
  }

 private:
  int pictures_;
  const AVFrame* last_ = nullptr;
  int64_t last_pts_ = 0;
  std::vector<std::byte> surface_;
};

struct Reading {
  Status status;
  IngestSummary summary;
  std::vector<IngestFrame> frames;
  size_t on_device = 0;
};

constexpr int kSize = 56;

Reading Ingest(const std::string& path, std::shared_ptr<av::HardwareDecoding> decoding) {
  IngestOptions options;
  options.preprocess.size = kSize;
  options.thumbnail = 40;
  options.batch = 2;
  options.reader.hardware = std::move(decoding);
  Reading run;
  const auto consume = [&](std::vector<IngestFrame> batch) {
    for (IngestFrame& frame : batch) {
      if (frame.device_chw != nullptr) {
        EXPECT_TRUE(frame.chw.empty());
        EXPECT_EQ(frame.device_chw->bytes(), size_t{3} * kSize * kSize * sizeof(float));
        const auto* numbers = frame.device_chw->As<const float>();
        frame.chw.assign(numbers, numbers + size_t{3} * kSize * kSize);
        ++run.on_device;
      }
      run.frames.push_back(std::move(frame));
    }
    return Status::Ok();
  };
  // As the indexer does it: the last batch comes again.
  const auto read_to = [&]() -> std::optional<double> {
    run.on_device = 0;
    run.frames.resize(run.frames.size() - std::min<size_t>(run.frames.size(), 2));
    if (run.frames.empty()) return std::nullopt;
    return run.frames.back().time_s;
  };
  Result<IngestSummary> summary = IngestVideo(path, options, {}, consume, read_to);
  run.status = summary.status();
  if (summary.ok()) run.summary = *summary;
  return run;
}

// In steps of 8 bits: the mean and the greatest difference of what the ViT reads.
std::pair<double, double> Steps(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0, most = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double steps = std::abs(a[i] - b[i]) * 255.0 * PreprocessSpec{}.std[i / (a.size() / 3)];
    sum += steps;
    most = std::max(most, steps);
  }
  return {sum / static_cast<double>(a.size()), most};
}

// The same frames; what the ViT reads of them differs by at most so many steps, and by so many in the mean.
void ExpectSame(const Reading& device, const Reading& processor, double most, double mean) {
  ASSERT_TRUE(device.status.ok()) << device.status.message();
  ASSERT_TRUE(processor.status.ok()) << processor.status.message();
  ASSERT_EQ(device.frames.size(), processor.frames.size());
  EXPECT_EQ(device.summary.info.pix_fmt, processor.summary.info.pix_fmt);
  for (size_t i = 0; i < device.frames.size(); ++i) {
    const IngestFrame& a = device.frames[i];
    const IngestFrame& b = processor.frames[i];
    EXPECT_EQ(a.time_s, b.time_s);
    EXPECT_EQ(a.end_s, b.end_s);
    EXPECT_EQ(a.scene_start, b.scene_start);
    EXPECT_EQ(a.key, b.key);
    ASSERT_EQ(a.chw.size(), b.chw.size());
    const auto [average, worst] = Steps(a.chw, b.chw);
    EXPECT_LE(average, mean) << "at " << a.time_s;
    EXPECT_LE(worst, most) << "at " << a.time_s;
    ASSERT_EQ(a.thumbnail.width, b.thumbnail.width);
    ASSERT_EQ(a.thumbnail.height, b.thumbnail.height);
    for (size_t j = 0; j < a.thumbnail.rgb.size(); ++j) {
      ASSERT_NEAR(a.thumbnail.rgb[j], b.thumbnail.rgb[j], 2) << "thumbnail at " << a.time_s;
    }
  }
}

TEST(HardwareDecoding, KeepsTheFramesOfTheProcessor) {
  const TempFolder folder;
  const std::string path = (folder.path() / "shots.mp4").string();
  MakeThreeShots(path, 9);
  const Reading device = Ingest(path, std::make_shared<EmulatedDecoding>());
  EXPECT_EQ(device.on_device, device.frames.size());
  EXPECT_GE(device.frames.size(), 9u);
  ExpectSame(device, Ingest(path, nullptr), 4.1, 0.3);
}

TEST(HardwareDecoding, KnowsDepthMatrixAndRange) {
  for (const char* name : {"tenbit.mp4", "bt709_sd.mp4", "vfr_burst.mp4", "crop_94x62.mp4", "start_offset.ts"}) {
    SCOPED_TRACE(name);
    const Reading device = Ingest(Case(name), std::make_shared<EmulatedDecoding>());
    EXPECT_EQ(device.on_device, device.frames.size());
    ExpectSame(device, Ingest(Case(name), nullptr), 4.1, 0.5);
  }
}

TEST(HardwareDecoding, SmallPicturesAreTheSameToTheBit) {
  const TempFolder folder;
  const std::string path = (folder.path() / "tall.mp4").string();
  RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=640x478:r=10:d=1", "-pix_fmt", "yuv420p", path});
  for (const std::string& film : {path, Case("tenbit.mp4"), Case("bframes.mp4")}) {
    ReaderOptions options;
    auto processor = VideoReader::Open(film, options, {});
    options.hardware = std::make_shared<EmulatedDecoding>();
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

TEST(HardwareDecoding, WhatMustBeTreatedGoesThroughTheProcessor) {
  for (const char* name : {"rot90.mp4", "sar.mp4", "hdr_pq.mp4"}) {
    SCOPED_TRACE(name);
    const Reading device = Ingest(Case(name), std::make_shared<EmulatedDecoding>());
    EXPECT_EQ(device.on_device, 0u);
    ExpectSame(device, Ingest(Case(name), nullptr), 0.0, 0.0);
  }
}

TEST(HardwareDecoding, TheProcessorReadsOnWhereTheDeviceFails) {
  const TempFolder folder;
  const std::string path = (folder.path() / "shots.mp4").string();
  MakeThreeShots(path, 9);
  const Reading processor = Ingest(path, nullptr);
  for (const int pictures : {0, 1, 17, 50, 89}) {
    SCOPED_TRACE(pictures);
    const Reading device = Ingest(path, std::make_shared<EmulatedDecoding>(pictures));
    EXPECT_EQ(device.on_device, 0u);
    ExpectSame(device, processor, 4.1, 0.3);
  }
  // Another form of pictures, and a film that is damaged: the processor's own report.
  const Reading odd = Ingest(Case("odd_131x97.webm"), std::make_shared<EmulatedDecoding>());
  EXPECT_EQ(odd.on_device, 0u);
  ExpectSame(odd, Ingest(Case("odd_131x97.webm"), nullptr), 0.0, 0.0);
}

TEST(HardwareDecoding, SaysWhatItDoesNotDo) {
  ReaderOptions options;
  options.hardware = std::make_shared<EmulatedDecoding>();
  options.decode = DecodeMode::kFast;
  EXPECT_EQ(VideoReader::Open(Case("bframes.mp4"), options, {}).status().code(), StatusCode::kUnsupported);
  options.decode = DecodeMode::kExact;
  EXPECT_EQ(VideoReader::Open(Case("exif6.jpg"), options, {}).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(OpenHardwareDecoding(std::make_shared<EmulatedNet>()).status().code(), StatusCode::kUnsupported);
  auto reader = VideoReader::Open(Case("bframes.mp4"), options, {});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ((*reader)->RenderOnDevice({}, 0).status().code(), StatusCode::kInternal);
  EXPECT_EQ((*reader)->PictureAt(1.0)->rgb, OpenCase("bframes.mp4")->PictureAt(1.0)->rgb);
}

}  // namespace
}  // namespace longview::test
