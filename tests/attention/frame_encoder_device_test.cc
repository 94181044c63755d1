// The bridge's frame encoder on a device against plain loops in double, on the device that this program is linked with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "attention/bridge/gpu_frame_encoder.h"
#include "tests/support/compare.h"
#include "tests/support/plain_network.h"
#include "tests/support/test_net.h"

namespace longview::test {
namespace {

constexpr double kEpsilon = 1e-6;

BridgeConfig TinyBridge() {
  BridgeConfig c;
  c.pool = 3;
  c.patch_grid = 6;
  c.vit_width = 48;
  c.d_v = 64;
  c.encoder_layers = 2;
  c.encoder_heads = 4;
  c.encoder_mlp = 96;
  c.d_c = 32;
  c.d_r = 8;
  c.retrieval = RetrievalConfig{.width = 24, .hidden = 40, .pool = 2};
  return c;
}

FrameEncoderFloats RandomFloats(const BridgeConfig& c) {
  Random random;
  using Floats = FrameEncoderFloats;
  const auto norm = [&](size_t width) {
    return Floats::Norm{random.Numbers(width, 0.2f, 1.0f), random.Numbers(width, 0.2f)};
  };
  const auto matrix = [&](size_t out, size_t in) {
    return Floats::Matrix{random.Weight(out, in), random.Numbers(out, 0.2f)};
  };
  Floats w;
  w.in_norm = norm(c.vit_width);
  w.out_norm = norm(c.d_v);
  w.in = matrix(c.d_v, c.vit_width);
  w.position = random.Numbers(c.tokens_per_frame() * c.d_v, 0.5f);
  for (size_t i = 0; i < c.encoder_layers; ++i) {
    w.layers.push_back({norm(c.d_v), norm(c.d_v), matrix(3 * c.d_v, c.d_v), matrix(c.d_v, c.d_v),
                        matrix(c.encoder_mlp, c.d_v), matrix(c.d_v, c.encoder_mlp)});
  }
  w.down = {random.Weight(c.d_c, c.d_v), {}};
  w.time_key = {random.Weight(c.d_r, c.d_v), {}};
  w.latent_norm = random.Numbers(c.d_c, 0.2f, 1.0f);
  if (c.retrieval) {
    w.frame_fc1 = matrix(c.retrieval->hidden, c.vit_width);
    w.frame_fc2 = matrix(c.retrieval->width, c.retrieval->hidden);
    w.frame_place = random.Numbers(c.retrieval->parts() * c.retrieval->hidden, 0.5f);
  }
  return w;
}

// The class token, the means of squares and, where `whole`, of all patches.
Doubles Pooled(const BridgeConfig& c, const float* vit, size_t pool, bool whole) {
  const size_t side = c.patch_grid / pool, width = c.vit_width;
  Doubles out((1 + pool * pool + (whole ? 1 : 0)) * width, 0.0);
  for (size_t i = 0; i < width; ++i) out[i] = vit[i];
  for (size_t patch = 0; patch < c.patch_grid * c.patch_grid; ++patch) {
    const size_t cell = patch / c.patch_grid / side * pool + patch % c.patch_grid / side;
    for (size_t i = 0; i < width; ++i) {
      const double v = vit[(1 + patch) * width + i];
      out[(1 + cell) * width + i] += v / static_cast<double>(side * side);
      if (whole) out[(1 + pool * pool) * width + i] += v / static_cast<double>(c.patch_grid * c.patch_grid);
    }
  }
  return out;
}

struct Expected {
  Doubles latents, keys, retrieval;
};

Expected Reference(const BridgeConfig& c, const FrameEncoderFloats& w, const float* vit) {
  const auto multiply = [](const Doubles& x, const FrameEncoderFloats::Matrix& m, size_t in) {
    return Multiply(x, m.weight, m.bias, in);
  };
  Doubles x =
      multiply(Normed(Pooled(c, vit, c.pool, false), w.in_norm.weight, w.in_norm.bias, kEpsilon), w.in, c.vit_width);
  for (size_t i = 0; i < x.size(); ++i) x[i] += w.position[i];
  for (const FrameEncoderFloats::Layer& layer : w.layers) {
    const Doubles qkv = multiply(Normed(x, layer.norm1.weight, layer.norm1.bias, kEpsilon), layer.qkv, c.d_v);
    AddTo(multiply(Attended(qkv, c.d_v, c.encoder_heads), layer.proj, c.d_v), &x);
    const Doubles inner = Gelued(multiply(Normed(x, layer.norm2.weight, layer.norm2.bias, kEpsilon), layer.fc1, c.d_v));
    AddTo(multiply(inner, layer.fc2, c.encoder_mlp), &x);
  }
  x = Normed(x, w.out_norm.weight, w.out_norm.bias, kEpsilon);
  Expected expected;
  expected.latents = RmsNormed(multiply(x, w.down, c.d_v), w.latent_norm, kEpsilon);
  expected.keys = multiply(x, w.time_key, c.d_v);
  if (c.retrieval) {
    Doubles hidden = multiply(Pooled(c, vit, c.retrieval->pool, true), w.frame_fc1, c.vit_width);
    for (size_t i = 0; i < hidden.size(); ++i) hidden[i] += w.frame_place[i];
    expected.retrieval = multiply(Gelued(hidden), w.frame_fc2, c.retrieval->hidden);
  }
  return expected;
}

void ExpectNear(const std::vector<float>& all, size_t frame, const Doubles& expected, const char* what) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(frame * expected.size());
  const std::vector<float> here(first, first + static_cast<std::ptrdiff_t>(expected.size()));
  const Difference d = Compare(here, std::vector<float>(expected.begin(), expected.end()));
  EXPECT_GE(d.cosine, 0.9998) << what << " of frame " << frame;
  EXPECT_LE(d.max_error, 0.08) << what << " of frame " << frame << ", worst at " << d.worst;
  EXPECT_GT(d.max_error, 1e-5) << what << ": bf16 cannot be that exact";
}

// `frames` at random through a device that takes `most` at once; every second lies there already.
void ExpectAgrees(const std::shared_ptr<GpuNet>& net, const BridgeConfig& c, size_t frames, size_t most) {
  const FrameEncoderFloats weights = RandomFloats(c);
  auto encoder = GpuFrameEncoder::Make(net, c, weights, most);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  Random random;
  const size_t numbers = c.vit_tokens() * c.vit_width, bytes = frames * numbers * sizeof(float);
  const std::vector<float> vit = random.Numbers(frames * numbers, 1.0f);
  const auto room = (*encoder)->Room(frames * numbers);
  auto pinned = GpuBuffer::Make(net, GpuStream::Memory::kPinned, bytes);
  ASSERT_TRUE(room.ok() && pinned.ok());
  std::copy(vit.begin(), vit.end(), pinned->As<float>());
  ASSERT_TRUE(net->Upload(room->As<float>(), pinned->As<float>(), bytes).ok());
  ASSERT_TRUE(net->Finish().ok());
  std::vector<FrameInput> inputs(frames);
  for (size_t i = 0; i < frames; ++i) {
    inputs[i].on_device = i % 2 == 1;
    inputs[i].vit = (inputs[i].on_device ? room->As<const float>() : vit.data()) + i * numbers;
  }
  const auto made = (*encoder)->Encode(inputs);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(made->latents.size(), frames * c.tokens_per_frame() * c.d_c);
  for (size_t i = 0; i < frames; ++i) {
    const Expected expected = Reference(c, weights, vit.data() + i * numbers);
    ExpectNear(made->latents, i, expected.latents, "latents");
    ExpectNear(made->keys, i, expected.keys, "time keys");
    if (c.retrieval) ExpectNear(made->retrieval, i, expected.retrieval, "retrieval vectors");
  }
}

TEST_F(NetDevice, FramesAgreeWithTheReference) { ExpectAgrees(net_, TinyBridge(), 1, 4); }

TEST_F(NetDevice, FramesThatAreMoreThanFitAtOnce) { ExpectAgrees(net_, TinyBridge(), 7, 3); }

TEST_F(NetDevice, FramesOfABridgeWithoutRetrieval) {
  BridgeConfig c = TinyBridge();
  c.retrieval.reset();
  ExpectAgrees(net_, c, 2, 4);
}

TEST_F(NetDevice, FramesOfABridgeThatTheDeviceDoesNotTake) {
  BridgeConfig c = TinyBridge();
  c.d_r = 12;
  EXPECT_EQ(GpuFrameEncoder::Make(net_, c, {}).status().code(), StatusCode::kUnsupported);
  c = TinyBridge();
  c.retrieval->width = 20;
  EXPECT_EQ(GpuFrameEncoder::Make(net_, c, {}).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace longview::test
