// Reading a film by a device's decoder and by the processor's: the same frames, their pictures nearly so.
#ifndef LONGVIEW_TESTS_VISION_DECODING_PARITY_H_
#define LONGVIEW_TESTS_VISION_DECODING_PARITY_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_net.h"
#include "vision/ingest_pipeline.h"

namespace longview::test {

// A device's decoder for one reader; null where there is none.
std::shared_ptr<av::HardwareDecoding> MakeTestDecoding();

struct Reading {
  Status status;
  IngestSummary summary;
  std::vector<IngestFrame> frames;
  size_t on_device = 0;
};

constexpr int kReadSize = 56;

// The numbers of a picture that a reader left on the device.
inline std::vector<float> Fetch(const GpuBuffer& device) {
  const std::shared_ptr<GpuNet> net = MakeTestNet();
  auto pinned = GpuBuffer::Make(net, GpuStream::Memory::kPinned, device.bytes());
  EXPECT_TRUE(pinned.ok());
  EXPECT_TRUE(net->Download(pinned->As<float>(), device.As<float>(), device.bytes()).ok() && net->Finish().ok());
  return std::vector<float>(pinned->As<float>(), pinned->As<float>() + device.bytes() / sizeof(float));
}

inline Reading Ingest(const std::string& path, std::shared_ptr<av::HardwareDecoding> decoding) {
  IngestOptions options;
  options.preprocess.size = kReadSize;
  options.thumbnail = 40;
  options.batch = 2;
  options.reader.hardware = std::move(decoding);
  Reading run;
  const auto consume = [&](std::vector<IngestFrame> batch) {
    for (IngestFrame& frame : batch) {
      if (frame.device_chw != nullptr) {
        EXPECT_TRUE(frame.chw.empty());
        EXPECT_EQ(frame.device_chw->bytes(), size_t{3} * kReadSize * kReadSize * sizeof(float));
        frame.chw = Fetch(*frame.device_chw);
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
inline std::pair<double, double> Steps(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0, most = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double steps = std::abs(a[i] - b[i]) * 255.0 * PreprocessSpec{}.std[i / (a.size() / 3)];
    sum += steps;
    most = std::max(most, steps);
  }
  return {sum / static_cast<double>(a.size()), most};
}

// The same frames; what the ViT reads of them differs by at most so many steps, and by so many in the mean.
inline void ExpectSame(const Reading& device, const Reading& processor, double most, double mean) {
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

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_VISION_DECODING_PARITY_H_
