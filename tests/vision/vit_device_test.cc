// The vision transformer on a device against plain loops in double, on the device that this program is linked with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/test_net.h"
#include "vision/vit/gpu_vit.h"

namespace longview::test {
namespace {

using Doubles = std::vector<double>;

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

struct Random {
  std::mt19937 bits{1};
  std::vector<float> Numbers(size_t count, float spread, float mean = 0.0f) {
    std::normal_distribution<float> normal(mean, spread);
    std::vector<float> numbers(count);
    for (float& v : numbers) v = normal(bits);
    return numbers;
  }
  VitFloatMatrix Matrix(size_t out, size_t in) {
    return {Numbers(out * in, 1.0f / std::sqrt(static_cast<float>(in))), Numbers(out, 0.2f)};
  }
  VitNorm Norm(size_t width) { return {Numbers(width, 0.2f, 1.0f), Numbers(width, 0.2f)}; }
};

VitFloats RandomWeights(const VitConfig& c) {
  Random random;
  VitFloats w;
  const size_t patch = 3 * c.patch * c.patch;
  w.patch = random.Numbers(c.width * patch, 1.0f / std::sqrt(static_cast<float>(patch)));
  w.start = random.Numbers(c.tokens() * c.width, 0.5f);
  for (size_t i = 0; i < c.depth(); ++i) {
    w.layers.push_back({random.Norm(c.width), random.Norm(c.width), random.Matrix(3 * c.width, c.width),
                        random.Matrix(c.width, c.width), random.Matrix(c.mlp, c.width), random.Matrix(c.width, c.mlp)});
  }
  w.norm = random.Norm(c.width);
  return w;
}

Doubles Multiply(const Doubles& x, const std::vector<float>& weight, const std::vector<float>& bias, size_t in) {
  const size_t rows = x.size() / in, out = weight.size() / in;
  Doubles y(rows * out);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t o = 0; o < out; ++o) {
      double sum = bias.empty() ? 0.0 : bias[o];
      for (size_t i = 0; i < in; ++i) sum += x[r * in + i] * weight[o * in + i];
      y[r * out + o] = sum;
    }
  }
  return y;
}

Doubles Normed(const Doubles& x, const VitNorm& norm, double epsilon) {
  const size_t width = norm.weight.size();
  Doubles y(x.size());
  for (size_t at = 0; at < x.size(); at += width) {
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < width; ++i) mean += x[at + i] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) variance += (x[at + i] - mean) * (x[at + i] - mean) / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) {
      y[at + i] = (x[at + i] - mean) / std::sqrt(variance + epsilon) * norm.weight[i] + norm.bias[i];
    }
  }
  return y;
}

Doubles Attended(const Doubles& qkv, const VitConfig& c) {
  const size_t d = c.width / c.heads, rows = c.tokens();
  Doubles out(rows * c.width, 0.0), p(rows);
  for (size_t head = 0; head < c.heads; ++head) {
    for (size_t row = 0; row < rows; ++row) {
      double sum = 0.0;
      for (size_t key = 0; key < rows; ++key) {
        double score = 0.0;
        for (size_t i = 0; i < d; ++i) {
          score += qkv[row * 3 * c.width + head * d + i] * qkv[key * 3 * c.width + c.width + head * d + i];
        }
        p[key] = std::exp(score / std::sqrt(static_cast<double>(d)));
        sum += p[key];
      }
      for (size_t key = 0; key < rows; ++key) {
        for (size_t i = 0; i < d; ++i) {
          out[row * c.width + head * d + i] += p[key] / sum * qkv[key * 3 * c.width + 2 * c.width + head * d + i];
        }
      }
    }
  }
  return out;
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
  const auto add = [&](const Doubles& x) {
    for (size_t i = 0; i < hidden.size(); ++i) hidden[i] += x[i];
  };
  std::vector<float> out(c.tokens() * c.out_width());
  size_t column = 0;
  const auto give = [&] {
    const Doubles normed = Normed(hidden, w.norm, c.norm_epsilon);
    for (size_t i = 0; i < normed.size(); ++i) {
      out[i / c.width * c.out_width() + column + i % c.width] = static_cast<float>(normed[i]);
    }
    column += c.width;
  };
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const VitFloatLayer& layer = w.layers[i];
    const Doubles qkv =
        Multiply(Normed(hidden, layer.norm1, c.norm_epsilon), layer.qkv.weight, layer.qkv.bias, c.width);
    add(Multiply(Attended(qkv, c), layer.proj.weight, layer.proj.bias, c.width));
    Doubles inner = Multiply(Normed(hidden, layer.norm2, c.norm_epsilon), layer.fc1.weight, layer.fc1.bias, c.width);
    for (double& v : inner) v = 0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0)));
    add(Multiply(inner, layer.fc2.weight, layer.fc2.bias, c.mlp));
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
  const Status status = (*vit)->Encode(in, out.data());
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
  EXPECT_EQ((*vit)->Encode(pictures, out.data(), stop.get_token()).code(), StatusCode::kCancelled);
  EXPECT_TRUE((*vit)->Encode({}, out.data()).ok());
  EXPECT_EQ((*vit)->SecondsOf(0, 1).status().code(), StatusCode::kInvalidArgument);
  const auto seconds = (*vit)->SecondsOf(2, 1);
  ASSERT_TRUE(seconds.ok()) << seconds.status().message();
  EXPECT_GT(*seconds, 0.0);
  c.width = 60;
  EXPECT_EQ(GpuVit::Make(net_, c, {}).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace longview::test
