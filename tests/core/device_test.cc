// The choice of a device: which one, and what is said about it.
#include "core/backend/device.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace longview {
namespace {

constexpr size_t kGiB = size_t{1} << 30;

Result<std::vector<GpuInfo>> TwoGpus() {
  return std::vector<GpuInfo>{{"Old", 8 * kGiB, 7, 5}, {"New", 140 * kGiB, 9, 0}};
}

TEST(ChooseDevice, AutoTakesTheFirstGpuThatTheKernelsRunOn) {
  const auto device = ChooseAmong("auto", TwoGpus());
  ASSERT_TRUE(device.ok());
  EXPECT_TRUE(device->cuda);
  EXPECT_EQ(device->index, 1);
  EXPECT_EQ(device->name, "cuda:1 New (140 GiB, compute capability 9.0)");
}

TEST(ChooseDevice, AutoFallsBackToTheProcessorAndSaysWhy) {
  const auto without_build = ChooseAmong("auto", Unsupported("this build has no CUDA"));
  ASSERT_TRUE(without_build.ok());
  EXPECT_FALSE(without_build->cuda);
  EXPECT_EQ(without_build->name, "cpu");
  EXPECT_EQ(without_build->reason, "this build has no CUDA");
  EXPECT_EQ(ChooseAmong("auto", NotFound("no driver"))->reason, "no driver");
  const auto old = ChooseAmong("auto", std::vector<GpuInfo>{{"Old", 8 * kGiB, 7, 5}});
  EXPECT_FALSE(old->cuda);
  EXPECT_NE(old->reason.find("compute capability 8.0"), std::string::npos) << old->reason;
  EXPECT_FALSE(ChooseAmong("auto", std::vector<GpuInfo>())->cuda);
}

TEST(ChooseDevice, ANumberedGpuOrAnErrorThatSaysWhatToDo) {
  EXPECT_EQ(ChooseAmong("cuda:1", TwoGpus())->index, 1);
  EXPECT_EQ(ChooseAmong("cuda:2", TwoGpus()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ChooseAmong("cuda", TwoGpus()).status().code(), StatusCode::kUnsupported);  // the first is too old
  const Status without = ChooseAmong("cuda:0", Unsupported("this build has no CUDA")).status();
  EXPECT_EQ(without.code(), StatusCode::kUnsupported);
  EXPECT_EQ(without.message(), "device 'cuda:0': this build has no CUDA; use --device cpu");
  EXPECT_EQ(ChooseAmong("cuda", NotFound("no driver")).status().code(), StatusCode::kNotFound);
  for (const char* wrong : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "CUDA"}) {
    EXPECT_EQ(ChooseAmong(wrong, TwoGpus()).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(ChooseDevice, TheProcessorNeedsNobody) {
  EXPECT_FALSE(ChooseDevice("cpu")->cuda);
  const auto device = ChooseDevice("auto");
  ASSERT_TRUE(device.ok());
  EXPECT_FALSE(device->reason.empty());
}

}  // namespace
}  // namespace longview
