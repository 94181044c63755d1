// The text decoder's own kernels one by one against plain arithmetic in double, and the choice of tokens against
// TokenSampler, on the device that this program is linked with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "attention/decoder/token_sampler.h"
#include "core/ops/rope.h"
#include "core/tensor/dtype.h"
#include "tests/support/test_net.h"

namespace longview::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class TextKernels : public NetDevice {
 protected:
  // `numbers` in the device's memory, and memory for as many that come back.
  template <class T>
  T* Put(const std::vector<T>& numbers) {
    const size_t bytes = numbers.size() * sizeof(T);
    pinned_.push_back(GpuBuffer::Make(net_, GpuStream::Memory::kPinned, bytes).value());
    std::copy(numbers.begin(), numbers.end(), pinned_.back().As<T>());
    device_.push_back(GpuBuffer::Make(net_, GpuStream::Memory::kDevice, bytes).value());
    EXPECT_TRUE(net_->Upload(device_.back().As<T>(), pinned_.back().As<T>(), bytes).ok());
    EXPECT_TRUE(net_->Finish().ok());
    return device_.back().As<T>();
  }
  template <class T>
  std::vector<T> Get(const T* from, size_t count) {
    const GpuBuffer pinned = GpuBuffer::Make(net_, GpuStream::Memory::kPinned, count * sizeof(T)).value();
    EXPECT_TRUE(net_->Download(pinned.As<T>(), from, count * sizeof(T)).ok());
    EXPECT_TRUE(net_->Finish().ok());
    return std::vector<T>(pinned.As<T>(), pinned.As<T>() + count);
  }
  std::vector<float> Random(size_t count, float spread = 1.0f) {
    std::normal_distribution<float> normal(0.0f, spread);
    std::vector<float> numbers(count);
    for (float& v : numbers) v = normal(random_);
    return numbers;
  }
  // The token that the device chooses.
  int32_t Sample(const std::vector<float>& logits, const SamplerOptions& options, const std::vector<int32_t>& seen,
                 double draw) {
    GpuSample call;
    call.logits = Put(logits);
    call.seen = Put(seen);
    call.token = Put(std::vector<int32_t>{-1});
    call.count = static_cast<uint32_t>(logits.size());
    call.seen_count = options.repetition_penalty > 1.0f ? static_cast<uint32_t>(seen.size()) : 0;
    call.penalty = options.repetition_penalty;
    call.temperature = options.temperature;
    call.top_p = options.top_p;
    call.draw = draw;
    EXPECT_TRUE(net_->Sample(call).ok());
    return Get(call.token, 1)[0];
  }

  std::mt19937 random_{1};
  std::vector<GpuBuffer> pinned_, device_;
};

TEST_F(TextKernels, RmsNorm) {
  for (const size_t width : {8u, 300u, 576u}) {
    const std::vector<float> x = Random(3 * width, 4.0f), weight = Random(width);
    uint16_t* y = Put(std::vector<uint16_t>(3 * width));
    ASSERT_TRUE(net_->RmsNorm({Put(x), Put(weight), y, 3, static_cast<uint32_t>(width), 1e-5f}).ok());
    const std::vector<uint16_t> got = Get(y, 3 * width);
    for (size_t i = 0; i < got.size(); ++i) {
      double squares = 0.0;
      for (size_t j = 0; j < width; ++j) squares += std::pow(x[i / width * width + j], 2.0);
      const double expected = x[i] / std::sqrt(squares / static_cast<double>(width) + 1e-5) * weight[i % width];
      ASSERT_NEAR(BF16ToFloat(got[i]), expected, 1e-6 + std::abs(expected) / 250) << i;
    }
  }
}

TEST_F(TextKernels, RopeAndAttention) {
  constexpr size_t kHeads = 6, kKvHeads = 2, kRows = 3, kContext = 800;
  for (const size_t d : {8u, 64u, 96u, 128u}) {
    for (const size_t before : {0u, 5u, 700u}) {
      const size_t width = (kHeads + 2 * kKvHeads) * d, stride = 6 * kKvHeads * d, offset = 2 * kKvHeads * d;
      const std::vector<float> qkv = Random(kRows * width, 0.5f);
      std::vector<uint16_t> kv((before + kRows) * stride);
      const std::vector<float> held = Random(kv.size(), 0.5f);
      std::transform(held.begin(), held.end(), kv.begin(), FloatToBF16);
      const RopeTable rope(d, 1000.0, kContext);
      GpuTextAttention call;
      call.qkv = Put(qkv);
      call.place = Put(std::vector<GpuTextPlace>{{Put(kv), static_cast<uint32_t>(before)}});
      call.cos = Put(std::vector<float>(rope.cos(0), rope.cos(0) + kContext * d / 2));
      call.sin = Put(std::vector<float>(rope.sin(0), rope.sin(0) + kContext * d / 2));
      call.out = Put(std::vector<uint16_t>(kRows * kHeads * d));
      call.rows = kRows;
      call.heads = kHeads;
      call.kv_heads = kKvHeads;
      call.head_dim = static_cast<uint32_t>(d);
      call.context = kContext;
      call.token_stride = static_cast<uint32_t>(stride);
      call.layer_offset = static_cast<uint32_t>(offset);
      call.scale = 1.0f / std::sqrt(static_cast<float>(d));
      ASSERT_TRUE(net_->TextRope(call).ok() && net_->TextAttention(call).ok());
      const std::vector<uint16_t> got = Get(call.out, kRows * kHeads * d);

      std::vector<float> turned = qkv;
      for (size_t row = 0; row < kRows; ++row) {
        float* q = turned.data() + row * width;
        rope.Rotate(before + row, kHeads + kKvHeads, q, d);
        for (size_t i = 0; i < 2 * kKvHeads * d; ++i) {
          kv[(before + row) * stride + offset + i] = FloatToBF16(q[kHeads * d + i]);
        }
      }
      for (size_t i = 0; i < got.size(); ++i) {
        const size_t row = i / (kHeads * d), head = i / d % kHeads, kv_head = head / (kHeads / kKvHeads);
        double sum = 0.0, total = 0.0;
        for (size_t key = 0; key <= before + row; ++key) {
          const uint16_t* k = kv.data() + key * stride + offset + kv_head * d;
          double score = 0.0;
          for (size_t j = 0; j < d; ++j) score += BF16ToFloat(k[j]) * turned[row * width + head * d + j];
          const double weight = std::exp(score * call.scale);
          total += weight;
          sum += weight * BF16ToFloat(k[kKvHeads * d + i % d]);
        }
        ASSERT_NEAR(BF16ToFloat(got[i]), sum / total, 1e-4 + std::abs(sum / total) / 200) << d << " " << before;
      }
    }
  }
}

TEST_F(TextKernels, SiluMul) {
  const std::vector<float> gate_up = Random(1200, 3.0f);
  uint16_t* y = Put(std::vector<uint16_t>(600));
  ASSERT_TRUE(net_->SiluMul({Put(gate_up), y, 2, 300}).ok());
  const std::vector<uint16_t> got = Get(y, 600);
  for (size_t i = 0; i < got.size(); ++i) {
    const double gate = gate_up[i / 300 * 600 + i % 300], up = gate_up[i / 300 * 600 + 300 + i % 300];
    const double expected = gate / (1.0 + std::exp(-gate)) * up;
    ASSERT_NEAR(BF16ToFloat(got[i]), expected, 1e-6 + std::abs(expected) / 250) << i;
  }
}

TEST_F(TextKernels, TheMostLikelyToken) {
  EXPECT_EQ(Sample({kNan, 1.0f, 3.0f, 3.0f, -5.0f, kNan}, {}, {}, 0.0), 2);
  EXPECT_EQ(Sample({kNan, kNan, kNan}, {}, {}, 0.0), 0);
  EXPECT_EQ(Sample({4.0f, 3.0f, -1.0f}, {.repetition_penalty = 2.0f}, {0, 2, 0, -7, 99}, 0.0), 1);
  std::vector<float> logits = Random(5000);
  logits[4321] = logits[1234] = 9.0f;
  EXPECT_EQ(Sample(logits, {}, {}, 0.0), 1234);
}

TEST_F(TextKernels, DrawsAsTheSamplerDoes) {
  for (const size_t count : {1u, 40u, 3000u}) {
    std::vector<float> logits = Random(count, 3.0f);
    if (count > 1) {
      for (size_t i = 0; i < count; i += 7) logits[i] = 1.0f;  // equals
      logits[1] = kNan;
      logits[2] = -std::numeric_limits<float>::infinity();
    }
    const std::vector<int32_t> seen = {0, 7, 14, 7};
    for (const SamplerOptions& options :
         {SamplerOptions{.temperature = 1.0f}, SamplerOptions{.temperature = 0.4f, .top_p = 0.5f, .seed = 1},
          SamplerOptions{.temperature = 2.0f, .top_p = 0.9f, .repetition_penalty = 1.2f, .seed = 2}}) {
      TokenSampler sampler = *TokenSampler::Make(options), draws = *TokenSampler::Make(options);
      for (int i = 0; i < 8; ++i) {
        std::vector<float> copy = logits;
        EXPECT_EQ(Sample(logits, options, seen, draws.Draw()), sampler.Sample(copy, seen)) << count << " draw " << i;
      }
    }
  }
}

}  // namespace
}  // namespace longview::test
