// The body of a cross block's attention to few tokens: written against simt.h, so the same source runs on the device
// and, emulated, in the tests. Many tokens are attention/kernels/cuda's.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_LATENT_ATTENTION_H_
#define LONGVIEW_CORE_BACKEND_CUDA_LATENT_ATTENTION_H_

#include <cstddef>
#include <cstdint>

#include "core/backend/cuda/simt.h"
#include "core/backend/net_calls.h"

namespace longview::LV_SIMT {

inline constexpr int kLatentWarps = 8, kLatentThreads = 32 * kLatentWarps;

// Bytes of shared memory of a block.
LV_HOST_DEVICE constexpr uint32_t LatentAttentionShared(const GpuLatentAttention& call) {
  return (call.tokens + call.d_c + call.d_r + 2 * kLatentWarps + kLatentThreads) * sizeof(float);
}

// Head block.y of row block.x.
class LatentHead {
 public:
  LV_DEVICE LatentHead(Block& block, const GpuLatentAttention& call)
      : block_(block),
        call_(call),
        scores_(reinterpret_cast<float*>(block.shared)),
        query_(scores_ + call.tokens),
        highest_(query_ + call.d_c + call.d_r),
        sums_(highest_ + kLatentWarps),
        parts_(sums_ + kLatentWarps) {}

  LV_DEVICE void Run() {
    LoadQuery();
    block_.Sync();
    ForWarps<kLatentWarps>(block_, [&](int warp) {
      for (uint32_t token = warp; token < call_.tokens; token += kLatentWarps) Score(token);
    });
    block_.Sync();
    Weigh();
    Sum();
  }

 private:
  static constexpr float kLog2E = 1.44269504088896341f;

  // The content part as it is, the time part turned; both with the scale and log2(e).
  LV_DEVICE void LoadQuery() {
    const uint32_t width = call_.heads * (call_.d_c + call_.d_r), half = call_.d_r / 2;
    const float* row = call_.q + static_cast<size_t>(block_.x) * width;
    const float* content = row + static_cast<size_t>(block_.y) * call_.d_c;
    const float* time = row + static_cast<size_t>(call_.heads) * call_.d_c + static_cast<size_t>(block_.y) * call_.d_r;
    const float factor = call_.scale * kLog2E;
    ForThreads<kLatentThreads>(block_, [&](int thread) {
      const uint32_t i = thread;
      if (i < call_.cut) query_[i] = content[i] * factor;
      if (i >= half) return;
      const float a = time[i] * factor, b = time[i + half] * factor;
      query_[call_.d_c + i] = a * call_.cos[i] - b * call_.sin[i];
      query_[call_.d_c + half + i] = a * call_.sin[i] + b * call_.cos[i];
    });
  }

  // One token, by the lanes of a warp.
  LV_DEVICE void Score(uint32_t token) {
    const float* latent = call_.latents + static_cast<size_t>(token) * call_.d_c;
    const float* key = call_.keys + static_cast<size_t>(token) * call_.d_r;
    PerLane<float> sum;
    ForLanes([&](int lane) {
      sum[lane] = 0.0f;
      for (uint32_t i = lane; i < call_.cut; i += 32) sum[lane] += latent[i] * query_[i];
      for (uint32_t i = lane; i < call_.d_r; i += 32) sum[lane] += key[i] * query_[call_.d_c + i];
    });
    WarpSum(sum);
    ForLanes([&](int lane) {
      if (lane == 0) scores_[token] = sum[lane];
    });
  }

  // Scores become powers of two, relative to the highest or to the sink; their sum stands in sums_, a share a warp.
  LV_DEVICE void Weigh() {
    ForWarps<kLatentWarps>(block_, [&](int warp) {
      PerLane<float> max;
      ForLanes([&](int lane) {
        max[lane] = Sink();
        for (uint32_t i = 32 * warp + lane; i < call_.tokens; i += kLatentThreads)
          max[lane] = Max(max[lane], scores_[i]);
      });
      WarpMax(max);
      ForLanes([&](int lane) {
        if (lane == 0) highest_[warp] = max[lane];
      });
    });
    block_.Sync();
    ForWarps<kLatentWarps>(block_, [&](int warp) {
      PerLane<float> sum;
      ForLanes([&](int lane) {
        const float max = Highest();
        sum[lane] = 0.0f;
        for (uint32_t i = 32 * warp + lane; i < call_.tokens; i += kLatentThreads) {
          sum[lane] += scores_[i] = Exp2(scores_[i] - max);
        }
      });
      WarpSum(sum);
      ForLanes([&](int lane) {
        if (lane == 0) sums_[warp] = sum[lane];
      });
    });
    block_.Sync();
  }

  LV_DEVICE float Sink() const { return call_.sink[block_.y] * kLog2E; }
  LV_DEVICE float Highest() const {
    float max = highest_[0];
    LV_UNROLL
    for (int i = 1; i < kLatentWarps; ++i) max = Max(max, highest_[i]);
    return max;
  }

  // Each of cut numbers by so many threads as there are, every one with its own tokens.
  LV_DEVICE void Sum() {
    const uint32_t cut = call_.cut, parts = kLatentThreads / cut;
    ForThreads<kLatentThreads>(block_, [&](int thread) {
      const uint32_t part = thread / cut, number = thread % cut;
      if (part >= parts) return;
      float sum = 0.0f;
      for (uint32_t i = part; i < call_.tokens; i += parts) {
        sum += scores_[i] * call_.latents[static_cast<size_t>(i) * call_.d_c + number];
      }
      parts_[thread] = sum;
    });
    block_.Sync();
    ForThreads<kLatentThreads>(block_, [&](int thread) {
      const uint32_t number = thread;
      if (number >= call_.d_c) return;
      float sum = 0.0f, total = Exp2(Sink() - Highest());
      for (uint32_t part = 0; number < cut && part < parts; ++part) sum += parts_[part * cut + number];
      LV_UNROLL
      for (int i = 0; i < kLatentWarps; ++i) total += sums_[i];
      call_.out[(static_cast<size_t>(block_.x) * call_.heads + block_.y) * call_.d_c + number] =
          NarrowBF16(sum / total);
    });
  }

  Block& block_;
  const GpuLatentAttention& call_;
  float* const scores_;   // [tokens]
  float* const query_;    // [d_c + d_r], with the scale and log2(e)
  float* const highest_;  // [kLatentWarps]
  float* const sums_;     // [kLatentWarps]
  float* const parts_;    // [kLatentThreads]
};

LV_DEVICE void LatentAttendHead(Block& block, const GpuLatentAttention& call) { LatentHead(block, call).Run(); }

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_LATENT_ATTENTION_H_
