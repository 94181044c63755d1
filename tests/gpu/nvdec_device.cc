// The tests of decoding on a device get a GPU's decoder here, without which they are skipped, and its speed is
// measured: a line "name value unit" for tools/gpu_check.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "core/backend/cuda/cuda_net.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_clip.h"
#include "tests/support/test_net.h"
#include "tests/vision/decoding_parity.h"

namespace longview::test {

std::shared_ptr<GpuNet> MakeTestNet() {
  auto net = OpenCudaNet(0);
  if (net.ok()) return *net;
  EXPECT_EQ(net.status().code(), StatusCode::kNotFound) << net.status().message();
  return nullptr;
}

std::shared_ptr<av::HardwareDecoding> MakeTestDecoding() {
  auto net = MakeTestNet();
  if (net == nullptr) return nullptr;
  auto decoding = OpenHardwareDecoding(std::move(net));
  if (decoding.ok()) return *decoding;
  ADD_FAILURE() << decoding.status().message();
  return nullptr;
}

namespace {

TEST(Nvdec, ReadsFullHd) {
  IngestOptions options;
  options.thumbnail = 160;
  options.reader.hardware = MakeTestDecoding();
  if (options.reader.hardware == nullptr) GTEST_SKIP() << "skipped: no GPU";
  const TempFolder folder;
  const std::string path = (folder.path() / "film.mp4").string();
  RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=30:d=20", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset",
             "ultrafast", path});
  const auto start = std::chrono::steady_clock::now();
  size_t on_device = 0, frames = 0;
  const auto read = IngestVideo(path, options, {}, [&](const std::vector<IngestFrame>& batch) {
    for (const IngestFrame& frame : batch) on_device += frame.device_chw != nullptr ? 1 : 0;
    frames += batch.size();
    return Status::Ok();
  });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(on_device, frames);
  std::printf("nvdec_1080p_pictures_s %.1f pictures/s\n", static_cast<double>(read->decoded) / taken.count());
}

}  // namespace
}  // namespace longview::test
