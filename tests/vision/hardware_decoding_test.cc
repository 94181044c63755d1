// What a device's decoder is asked for, and the processor where anything fails. The decoder is an emulated one: the
// processor's, whose pictures are brought into the form and the memory of a device.
#include "vision/av/hardware_decoding.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/emulated_net.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_clip.h"
#include "tests/vision/decoding_parity.h"
#include "tests/vision/video_test_util.h"

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

TEST(HardwareDecoding, KnowsDepthMatrixAndRange) {
  for (const char* name : {"tenbit.mp4", "bt709_sd.mp4", "vfr_burst.mp4", "crop_94x62.mp4", "start_offset.ts"}) {
    SCOPED_TRACE(name);
    const Reading device = Ingest(Case(name), std::make_shared<EmulatedDecoding>());
    EXPECT_EQ(device.on_device, device.frames.size());
    ExpectSame(device, Ingest(Case(name), nullptr), 4.1, 0.5);
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

std::shared_ptr<av::HardwareDecoding> MakeTestDecoding() { return std::make_shared<EmulatedDecoding>(); }

}  // namespace longview::test
