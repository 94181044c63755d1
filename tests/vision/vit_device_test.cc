// The vision transformer on a device against plain loops in double, on the device that this program is linked with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/plain_network.h"
#include "tests/support/test_net.h"
#include "vision/vit/gpu_vit.h"

namespace longview::test {
namespace {

VitConfig TinyConfig() {
  VitConfig c;
  c.layers = 3;
  c.width = 64;
  c.heads = 2;
  c.patch = 14;
  c.image = 56;
  c.mlp = 96;
  return c;
}

VitFloatMatrix RandomMatrix(Random* random, size_t out, size_t in) {
  return {random->Weight(out, in), random->Numbers(out, 0.2f)};
}

VitNorm RandomNorm(Random* random, size_t width) {
  return {random->Numbers(width, 0.2f, 1.0f), random->Numbers(width, 0.2f)};
}

VitFloats RandomWeights(const VitConfig& c) {
  Random random;
  VitFloats w;
  const size_t patch = 3 * c.patch * c.patch;
  w.patch = random.Numbers(c.width * patch, 1.0f / std::sqrt(static_cast<float>(patch)));
  w.start = random.Numbers(c.tokens() * c.width, 0.5f);
  for (size_t i = 0; i < c.depth(); ++i) {
    w.layers.push_back({RandomNorm(&random, c.width), RandomNorm(&random, c.width),
                        RandomMatrix(&random, 3 * c.width, c.width), RandomMatrix(&random, c.width, c.width),
                        RandomMatrix(&random, c.mlp, c.width), RandomMatrix(&random, c.width, c.mlp)});
  }
  w.norm = RandomNorm(&random, c.width);
  return w;
}

// One picture's tokens, in double.
std::vector<float> Reference(const VitConfig& c, const VitFloats& w, const float* chw) {
  const size_t grid = c.grid(), patch = 3 * c.patch * c.patch;
  Doubles patches(c.tokens() * patch, 0.0);
  for (size_t i = 0; i < 3 * c.image * c.image; ++i) {
    const size_t plane = i / (c.image * c.image), y = i / c.image % c.image, x = i % c.image;
    const size_t row = 1 + y / c.patch * grid + x / c.patch;
    patches[row * patch + (plane * c.patch + y % c.patch) * c.patch + x % c.patch] = chw[i];
  }
  Doubles hidden = Multiply(patches, w.patch, {}, patch);
  for (size_t i = 0; i < hidden.size(); ++i) hidden[i] += w.start[i];
  std::vector<float> out(c.tokens() * c.out_width());
  size_t column = 0;
  const auto give = [&] {
    const Doubles normed = Normed(hidden, w.norm.weight, w.norm.bias, c.norm_epsilon);
    for (size_t i = 0; i < normed.size(); ++i) {
      out[i / c.width * c.out_width() + column + i % c.width] = static_cast<float>(normed[i]);
    }
    column += c.width;
  };
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const VitFloatLayer& layer = w.layers[i];
    const auto normed = [&](const VitNorm& norm) { return Normed(hidden, norm.weight, norm.bias, c.norm_epsilon); };
    const Doubles qkv = Multiply(normed(layer.norm1), layer.qkv.weight, layer.qkv.bias, c.width);
    AddTo(Multiply(Attended(qkv, c.width, c.heads), layer.proj.weight, layer.proj.bias, c.width), &hidden);
    const Doubles inner = Gelued(Multiply(normed(layer.norm2), layer.fc1.weight, layer.fc1.bias, c.width));
    AddTo(Multiply(inner, layer.fc2.weight, layer.fc2.bias, c.mlp), &hidden);
    if (std::binary_search(c.taps.begin(), c.taps.end(), i)) give();
  }
  if (c.taps.empty()) give();
  return out;
}

// `pictures` random pictures through a device that takes `most` at once; of `on_device` every second lies there
// already.
void ExpectAgrees(const std::shared_ptr<GpuNet>& net, const VitConfig& c, size_t pictures, size_t most,
                  bool on_device = false) {
  const VitFloats weights = RandomWeights(c);
  auto vit = GpuVit::Make(net, c, weights, most);
  ASSERT_TRUE(vit.ok()) << vit.status().message();
  Random random;
  const size_t picture = 3 * c.image * c.image, tokens = c.tokens() * c.out_width();
  const std::vector<float> chw = random.Numbers(pictures * picture, 1.0f);
  std::vector<float> out(pictures * tokens);
  std::vector<VitPicture> in(pictures);
  auto device = GpuBuffer::Make(net, GpuStream::Memory::kDevice, chw.size() * sizeof(float));
  auto pinned = GpuBuffer::Make(net, GpuStream::Memory::kPinned, chw.size() * sizeof(float));
  ASSERT_TRUE(device.ok() && pinned.ok());
  std::copy(chw.begin(), chw.end(), pinned->As<float>());
  ASSERT_TRUE(net->Upload(device->As<float>(), pinned->As<float>(), chw.size() * sizeof(float)).ok());
  ASSERT_TRUE(net->Finish().ok());
  for (size_t i = 0; i < pictures; ++i) {
    in[i].on_device = on_device && i % 2 == 1;
    in[i].pixels = (in[i].on_device ? device->As<const float>() : chw.data()) + i * picture;
  }
  const Status status = (*vit)->Encode(in, {out.data()});
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < pictures; ++i) {
    const std::vector<float> expected = Reference(c, weights, chw.data() + i * picture);
    const auto first = out.begin() + static_cast<std::ptrdiff_t>(i * tokens);
    const Difference d = Compare(std::vector<float>(first, first + static_cast<std::ptrdiff_t>(tokens)), expected);
    EXPECT_GE(d.cosine, 0.9995) << "picture " << i;
    EXPECT_LE(d.max_error, 0.15) << "picture " << i << ", worst at " << d.worst;
    EXPECT_GT(d.max_error, 1e-5) << "bf16 cannot be that exact";
  }
}

TEST_F(NetDevice, VitAgreesWithTheReference) { ExpectAgrees(net_, TinyConfig(), 1, 4); }

TEST_F(NetDevice, VitGivesItsTapsSideBySide) {
  VitConfig c = TinyConfig();
  c.taps = {0, 1};
  ExpectAgrees(net_, c, 2, 4);
}

TEST_F(NetDevice, VitTakesMorePicturesThanFitAtOnceAndOddNumbers) { ExpectAgrees(net_, TinyConfig(), 7, 4); }

TEST_F(NetDevice, VitTakesPicturesThatLieOnTheDevice) { ExpectAgrees(net_, TinyConfig(), 5, 4, true); }

TEST_F(NetDevice, VitBatchesThatAreNoPowerOfTwo) { ExpectAgrees(net_, TinyConfig(), 3, 3); }

TEST_F(NetDevice, VitStopsAndRefusesWhatTheDeviceDoesNotTake) {
  VitConfig c = TinyConfig();
  auto vit = GpuVit::Make(net_, c, RandomWeights(c));
  ASSERT_TRUE(vit.ok()) << vit.status().message();
  std::stop_source stop;
  stop.request_stop();
  std::vector<float> chw(3 * c.image * c.image), out(c.tokens() * c.out_width());
  const std::vector<VitPicture> pictures = {{chw.data()}};
  EXPECT_EQ((*vit)->Encode(pictures, {out.data()}, stop.get_token()).code(), StatusCode::kCancelled);
  EXPECT_TRUE((*vit)->Encode({}, {out.data()}).ok());
  EXPECT_EQ((*vit)->SecondsOf(0, 1).status().code(), StatusCode::kInvalidArgument);
  const auto seconds = (*vit)->SecondsOf(2, 1);
  ASSERT_TRUE(seconds.ok()) << seconds.status().message();
  EXPECT_GT(*seconds, 0.0);
  c.width = 60;
  EXPECT_EQ(GpuVit::Make(net_, c, {}).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace longview::test
