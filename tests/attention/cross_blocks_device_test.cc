// The bridge's cross blocks on a device against plain loops in double, on the device that this program is linked with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "attention/bridge/gpu_cross_blocks.h"
#include "core/tensor/dtype.h"
#include "tests/attention/mla_parity.h"
#include "tests/support/compare.h"
#include "tests/support/plain_network.h"
#include "tests/support/test_net.h"

namespace longview::test {
namespace {

BridgeConfig TinyBridge() {
  BridgeConfig c;
  c.width = 48;
  c.heads = 3;
  c.d_k = 16;
  c.d_c = 64;
  c.d_r = 16;
  c.mlp = 40;
  return c;
}

CrossBlockFloats RandomBlock(const BridgeConfig& c, Random* random) {
  CrossBlockFloats b;
  b.norm = random->Numbers(c.width, 0.2f, 1.0f);
  b.mlp_norm = random->Numbers(c.width, 0.2f, 1.0f);
  b.q = random->Weight(c.heads * (c.d_c + c.d_r), c.width);
  b.out = random->Weight(c.width, c.heads * c.d_c);
  b.up = random->Weight(c.mlp, c.width);
  b.up_bias = random->Numbers(c.mlp, 0.2f);
  b.down = random->Weight(c.width, c.mlp);
  b.sink = random->Numbers(c.heads, 1.0f);
  return b;
}

struct Tokens {
  std::vector<float> latents, keys;
};

// [rows, heads, d_c] of the queries [rows, heads (d_c + d_r)]. What the first third of the tokens and the rest take of
// each query is added to `shares`.
Doubles AttendedTo(const BridgeConfig& c, const Tokens& tokens, const std::vector<float>& sink,
                   const CrossQuestion& question, const Doubles& queries, double* shares) {
  const size_t width = c.heads * (c.d_c + c.d_r), rows = queries.size() / width, half = c.d_r / 2;
  const size_t count = tokens.latents.size() / c.d_c;
  Doubles out(rows * c.heads * c.d_c, 0.0);
  for (size_t query = 0; query < rows * c.heads; ++query) {
    const size_t head = query % c.heads;
    const double* content = queries.data() + query / c.heads * width + head * c.d_c;
    const double* time = queries.data() + query / c.heads * width + c.heads * c.d_c + head * c.d_r;
    double total = std::exp(sink[head]), parts[2] = {};
    for (size_t t = 0; t < count; ++t) {
      const float* latent = tokens.latents.data() + t * c.d_c;
      const float* key = tokens.keys.data() + t * c.d_r;
      double score = 0.0;
      for (size_t i = 0; i < question.cut; ++i) score += content[i] * latent[i];
      for (size_t i = 0; i < half; ++i) {
        score += (time[i] * question.cos[i] - time[i + half] * question.sin[i]) * key[i] +
                 (time[i] * question.sin[i] + time[i + half] * question.cos[i]) * key[i + half];
      }
      const double weight = std::exp(score / std::sqrt(static_cast<double>(c.d_k + c.d_r)));
      total += weight;
      parts[t < count / 3 ? 0 : 1] += weight;
      for (size_t i = 0; i < question.cut; ++i) out[query * c.d_c + i] += weight * latent[i];
    }
    for (size_t i = 0; i < question.cut; ++i) out[query * c.d_c + i] /= total;
    for (size_t i = 0; i < 2; ++i) shares[i] += parts[i] / total;
  }
  return out;
}

Doubles Reference(const BridgeConfig& c, const CrossBlockFloats& b, const Tokens& tokens, const CrossQuestion& question,
                  Doubles h, double* shares) {
  const Doubles queries = Multiply(RmsNormed(h, b.norm, 1e-5), b.q, {}, c.width);
  AddTo(Multiply(AttendedTo(c, tokens, b.sink, question, queries, shares), b.out, {}, c.heads * c.d_c), &h);
  const Doubles inner = Gelued(Multiply(RmsNormed(h, b.mlp_norm, 1e-5), b.up, b.up_bias, c.width));
  AddTo(Multiply(inner, b.down, {}, c.mlp), &h);
  return h;
}

class CrossDevice : public NetDevice {
 protected:
  // Two blocks one after the other over `count` tokens, in a mirror where `many`: in two runs, with their shares.
  void ExpectAgrees(const BridgeConfig& c, size_t count, size_t rows, size_t cut, bool many = false) {
    Random random;
    const std::vector<CrossBlockFloats> weights = {RandomBlock(c, &random), RandomBlock(c, &random)};
    auto blocks = GpuCrossBlocks::Make(net_, c, weights);
    ASSERT_TRUE(blocks.ok()) << blocks.status().message();
    Tokens tokens = {random.Numbers(count * c.d_c, 1.0f), random.Numbers(count * c.d_r, 1.0f)};
    std::vector<uint16_t> latents, keys;
    for (float& v : tokens.latents) v = BF16ToFloat(latents.emplace_back(FloatToBF16(v)));
    for (float& v : tokens.keys) v = BF16ToFloat(keys.emplace_back(FloatToBF16(v)));
    CrossTokens source;
    auto there = (*blocks)->Copy(tokens.latents, tokens.keys);
    ASSERT_TRUE(there.ok()) << there.status().message();
    std::unique_ptr<MlaMirror> mirror;
    if (many) {
      std::vector<CrossAttnRun> runs(2);
      const size_t part = count / 3;
      for (size_t i = 0; i < 2; ++i) {
        runs[i].latents = latents.data() + i * part * c.d_c;
        runs[i].keys = keys.data() + i * part * c.d_r;
        runs[i].tokens = static_cast<uint32_t>(i == 0 ? part : count - part);
        runs[i].d_c = runs[i].latent_stride = static_cast<uint16_t>(c.d_c);
      }
      MlaMirrorOptions options;
      options.latent_stride = c.d_c;
      options.d_r = c.d_r;
      auto made = MlaMirror::Make(MakeTestBackend(TestLimits()), runs, options);
      ASSERT_TRUE(made.ok()) << made.status().message();
      mirror = std::move(made).value();
      ASSERT_TRUE(mirror->ResetMass().ok());
      source.many = mirror.get();
      source.mass_factor = static_cast<float>(rows);
    } else {
      source.few = &*there;
    }
    std::vector<float> cosines, sines;
    for (size_t i = 0; i < c.d_r / 2; ++i) {
      cosines.push_back(std::cos(0.7f * static_cast<float>(i + 1)));
      sines.push_back(std::sin(0.7f * static_cast<float>(i + 1)));
    }
    const CrossQuestion question = {cosines, sines, cut};
    const std::vector<float> h = random.Numbers(rows * c.width, 1.5f);
    // A row more, which is nobody's to touch.
    const size_t bytes = (rows + 1) * c.width * sizeof(float);
    auto device = GpuBuffer::Make(net_, GpuStream::Memory::kDevice, bytes);
    auto pinned = GpuBuffer::Make(net_, GpuStream::Memory::kPinned, bytes);
    ASSERT_TRUE(device.ok() && pinned.ok());
    std::fill_n(pinned->As<float>(), (rows + 1) * c.width, 5.0f);
    std::copy(h.begin(), h.end(), pinned->As<float>());
    ASSERT_TRUE(net_->Upload(device->As<float>(), pinned->As<float>(), bytes).ok());
    Doubles expected(h.begin(), h.end());
    double shares[2] = {};
    for (size_t block = 0; block < 2; ++block) {
      const Status status = (*blocks)->Add(net_.get(), block, source, question, device->As<float>(), rows);
      ASSERT_TRUE(status.ok()) << status.message();
      expected = Reference(c, weights[block], tokens, question, std::move(expected), shares);
    }
    ASSERT_TRUE(net_->Download(pinned->As<float>(), device->As<float>(), bytes).ok() && net_->Finish().ok());
    const auto* got = pinned->As<const float>();
    const Difference d = Compare(std::span(got, h.size()), std::vector<float>(expected.begin(), expected.end()));
    EXPECT_GE(d.cosine, 0.9998) << count << " tokens, " << rows << " rows";
    EXPECT_LE(d.max_error, 0.06) << count << " tokens, " << rows << " rows, worst at " << d.worst;
    EXPECT_GT(d.max_error, 1e-5) << "bf16 cannot be that exact";
    for (size_t i = 0; i < c.width; ++i) ASSERT_EQ(got[h.size() + i], 5.0f) << "behind the last row";
    if (!many) return;
    const auto mass = mirror->Mass();
    ASSERT_TRUE(mass.ok()) << mass.status().message();
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR((*mass)[i], shares[i] / static_cast<double>(c.heads), 0.02 * static_cast<double>(rows)) << i;
    }
    EXPECT_GT(shares[0], 0.0);
  }
};

TEST_F(CrossDevice, BlocksAgreeWithTheReference) {
  for (const size_t tokens : {1u, 7u, 65u, 1000u}) ExpectAgrees(TinyBridge(), tokens, 1, 64);
  for (const size_t rows : {2u, 9u, 33u}) ExpectAgrees(TinyBridge(), 65, rows, 64);
}

TEST_F(CrossDevice, ACutIsAllThatCounts) {
  for (const size_t cut : {8u, 32u}) ExpectAgrees(TinyBridge(), 65, 3, cut);
}

TEST_F(CrossDevice, BlocksOverAMirrorAgreeWithTheReference) {
  for (const size_t tokens : {1000u, 2100u}) ExpectAgrees(TinyBridge(), tokens, 1, 64, true);
  ExpectAgrees(TinyBridge(), 1000, 9, 64, true);
  ExpectAgrees(TinyBridge(), 1000, 3, 32, true);
  ExpectAgrees(BridgeConfig(), 300, 2, 128, true);
}

TEST_F(CrossDevice, TheSizesOfTheModel) {
  BridgeConfig c;
  ExpectAgrees(c, 65, 2, 128);
  c.d_r = 128;
  c.d_c = 256;
  ExpectAgrees(c, 130, 1, 256);
}

// What a query gets where one token or the sink is so much more than all else that the result is known to the bit.
TEST_F(CrossDevice, OneTokenOrTheSinkTakesAll) {
  constexpr size_t kHeads = 2, kTokens = 300, kNumbers = 32, kTime = 4;
  std::vector<float> q(kHeads * (kNumbers + kTime), 0.0f), latents(kTokens * kNumbers), keys(kTokens * kTime, 0.0f);
  for (size_t i = 0; i < latents.size(); ++i) latents[i] = static_cast<float>(i % 64) - 32.0f;
  // By its time part, turned a quarter: number 0 becomes number 2, which token 211 alone has.
  for (size_t head = 0; head < kHeads; ++head) q[kHeads * kNumbers + head * kTime] = 1000.0f;
  keys[211 * kTime + 2] = 1.0f;
  GpuLatentAttention call;
  const auto put = [&](const std::vector<float>& numbers, size_t at, const GpuBuffer& to, const GpuBuffer& pinned) {
    std::copy(numbers.begin(), numbers.end(), pinned.As<float>(at * sizeof(float)));
    EXPECT_TRUE(net_->Upload(to.As<float>(at * sizeof(float)), pinned.As<float>(at * sizeof(float)),
                             numbers.size() * sizeof(float))
                    .ok());
    return to.As<const float>(at * sizeof(float));
  };
  const size_t bytes = (latents.size() + keys.size() + q.size() + kHeads) * sizeof(float);
  auto device = GpuBuffer::Make(net_, GpuStream::Memory::kDevice, bytes);
  auto pinned = GpuBuffer::Make(net_, GpuStream::Memory::kPinned, bytes);
  auto out = GpuBuffer::Make(net_, GpuStream::Memory::kDevice, kHeads * kNumbers * sizeof(uint16_t));
  auto got = GpuBuffer::Make(net_, GpuStream::Memory::kPinned, kHeads * kNumbers * sizeof(uint16_t));
  ASSERT_TRUE(device.ok() && pinned.ok() && out.ok() && got.ok());
  call.latents = put(latents, 0, *device, *pinned);
  call.keys = put(keys, latents.size(), *device, *pinned);
  call.q = put(q, latents.size() + keys.size(), *device, *pinned);
  call.sink = put({0.0f, 2000.0f}, latents.size() + keys.size() + q.size(), *device, *pinned);
  call.out = out->As<uint16_t>();
  call.rows = 1;
  call.heads = kHeads;
  call.tokens = kTokens;
  call.d_c = kNumbers;
  call.cut = 24;
  call.d_r = kTime;
  call.sin[0] = 1.0f;
  call.cos[1] = 1.0f;
  ASSERT_TRUE(net_->LatentAttention(call).ok());
  ASSERT_TRUE(net_->Download(got->As<uint16_t>(), out->As<uint16_t>(), kHeads * kNumbers * sizeof(uint16_t)).ok());
  ASSERT_TRUE(net_->Finish().ok());
  for (size_t i = 0; i < kNumbers; ++i) {
    EXPECT_EQ(BF16ToFloat(got->As<uint16_t>()[i]), i < 24 ? latents[211 * kNumbers + i] : 0.0f) << i;
    EXPECT_EQ(BF16ToFloat(got->As<uint16_t>()[kNumbers + i]), 0.0f) << "the sink's head, " << i;
  }
}

TEST_F(CrossDevice, WhatItDoesNotTake) {
  BridgeConfig c = TinyBridge();
  Random random;
  const std::vector<CrossBlockFloats> weights = {RandomBlock(c, &random)};
  auto blocks = GpuCrossBlocks::Make(net_, c, weights);
  ASSERT_TRUE(blocks.ok()) << blocks.status().message();
  const auto copy = [&](size_t latents, size_t keys) {
    return (*blocks)->Copy(std::vector<float>(latents), std::vector<float>(keys)).status().code();
  };
  EXPECT_EQ(copy(2 * c.d_c, 2 * c.d_r), StatusCode::kOk);
  EXPECT_EQ(copy(0, 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(2 * c.d_c, c.d_r), StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(4097 * c.d_c, 4097 * c.d_r), StatusCode::kInvalidArgument);
  EXPECT_EQ((*blocks)->Add(net_.get(), 0, {}, {}, nullptr, 257).code(), StatusCode::kInvalidArgument);
  c.d_c = 512;
  EXPECT_EQ(GpuCrossBlocks::Make(net_, c, {}).status().code(), StatusCode::kUnsupported);
  c = TinyBridge();
  c.width = 44;
  EXPECT_EQ(GpuCrossBlocks::Make(net_, c, {}).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace longview::test
