// The bodies of the text decoder's attention to its conversation: RoPE with the keeping of keys and values, and the
// attention itself. Written against simt.h: the same source runs on the device and, emulated, in the tests.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_TEXT_ATTENTION_H_
#define LONGVIEW_CORE_BACKEND_CUDA_TEXT_ATTENTION_H_

#include <cstddef>
#include <cstdint>

#include "core/backend/cuda/simt.h"
#include "core/backend/cuda/text_kernels.h"
#include "core/backend/net_calls.h"

namespace longview::LV_SIMT {

// Bytes of shared memory of a block of TextAttendHead: scores, the query, what the warps found, sums of values.
constexpr uint32_t TextAttentionShared(uint32_t context) {
  return (context + 128 + 2 * kTextWarps + kTextThreads) * static_cast<uint32_t>(sizeof(float));
}

// Where this layer's keys of token `token` of the conversation begin; its values stand behind them.
LV_DEVICE uint16_t* KeysOf(const GpuTextAttention& call, uint32_t token) {
  return call.place->kv + static_cast<size_t>(token) * call.token_stride + call.layer_offset;
}

// Row block.x: its queries are turned in place, its keys on their way to the conversation's.
LV_DEVICE void TextRopeRow(Block& block, const GpuTextAttention& call) {
  const uint32_t half = call.head_dim / 2, kv_width = call.kv_heads * call.head_dim;
  const uint32_t token = call.place->position + block.x;
  float* row = call.qkv + static_cast<size_t>(block.x) * (call.heads * call.head_dim + 2 * kv_width);
  const float* cos = call.cos + static_cast<size_t>(token) * half;
  const float* sin = call.sin + static_cast<size_t>(token) * half;
  uint16_t* keys = KeysOf(call, token);
  ForThreads<kTextThreads>(block, [&](int thread) {
    for (uint32_t i = thread; i < (call.heads + call.kv_heads) * half; i += kTextThreads) {
      const uint32_t head = i / half, j = i % half, at = head * call.head_dim + j;
      const float a = row[at], b = row[at + half];
      const float first = a * cos[j] - b * sin[j], second = a * sin[j] + b * cos[j];
      if (head < call.heads) {
        row[at] = first;
        row[at + half] = second;
      } else {
        const uint32_t to = at - call.heads * call.head_dim;
        keys[to] = NarrowBF16(first);
        keys[to + half] = NarrowBF16(second);
      }
    }
    const float* values = row + static_cast<size_t>(call.heads) * call.head_dim + kv_width;
    for (uint32_t i = thread; i < kv_width; i += kTextThreads) keys[kv_width + i] = NarrowBF16(values[i]);
  });
}

// Head block.y of row block.x: a thread scores whole keys, then sums one number of the values over a part of the
// tokens.
class TextHead {
 public:
  LV_DEVICE TextHead(Block& block, const GpuTextAttention& call)
      : block_(block),
        call_(call),
        kv_head_(block.y / (call.heads / call.kv_heads)),
        keys_(call.place->position + block.x + 1),
        scores_(reinterpret_cast<float*>(block.shared)),
        query_(scores_ + call.context),
        highest_(query_ + 128),
        sums_(highest_ + kTextWarps),
        parts_(sums_ + kTextWarps) {}

  LV_DEVICE void Run() {
    const uint32_t width = (call_.heads + 2 * call_.kv_heads) * call_.head_dim;
    const float* q = call_.qkv + static_cast<size_t>(block_.x) * width + static_cast<size_t>(block_.y) * call_.head_dim;
    constexpr float kLog2E = 1.44269504088896341f;
    ForThreads<kTextThreads>(block_, [&](int thread) {
      if (static_cast<uint32_t>(thread) < call_.head_dim) query_[thread] = q[thread] * call_.scale * kLog2E;
    });
    block_.Sync();
    ForThreads<kTextThreads>(block_, [&](int thread) {
      for (uint32_t key = thread; key < keys_; key += kTextThreads) scores_[key] = Score(key);
    });
    block_.Sync();
    Weigh();
    Sum();
  }

 private:
  LV_DEVICE float Score(uint32_t key) const {
    const uint16_t* k = KeysOf(call_, key) + static_cast<size_t>(kv_head_) * call_.head_dim;
    float sum = 0.0f;
    for (uint32_t i = 0; i < call_.head_dim; i += 8) {
      const U4 pairs = LoadPairs(k + i);
      LV_UNROLL
      for (int j = 0; j < 4; ++j) {
        sum += WidenBF16(static_cast<uint16_t>(pairs.v[j])) * query_[i + 2 * j] +
               WidenBF16(static_cast<uint16_t>(pairs.v[j] >> 16)) * query_[i + 2 * j + 1];
      }
    }
    return sum;
  }

  // Scores become powers of two, relative to the highest; their sum stands in sums_, a share a warp.
  LV_DEVICE void Weigh() {
    ForWarps<kTextWarps>(block_, [&](int warp) {
      PerLane<float> max;
      ForLanes([&](int lane) {
        max[lane] = scores_[0];
        for (uint32_t key = 32 * warp + lane; key < keys_; key += kTextThreads)
          max[lane] = Max(max[lane], scores_[key]);
      });
      WarpMax(max);
      ForLanes([&](int lane) {
        if (lane == 0) highest_[warp] = max[lane];
      });
    });
    block_.Sync();
    ForWarps<kTextWarps>(block_, [&](int warp) {
      PerLane<float> sum;
      ForLanes([&](int lane) {
        float max = highest_[0];
        LV_UNROLL
        for (int i = 1; i < kTextWarps; ++i) max = Max(max, highest_[i]);
        sum[lane] = 0.0f;
        for (uint32_t key = 32 * warp + lane; key < keys_; key += kTextThreads) {
          sum[lane] += scores_[key] = Exp2(scores_[key] - max);
        }
      });
      WarpSum(sum);
      ForLanes([&](int lane) {
        if (lane == 0) sums_[warp] = sum[lane];
      });
    });
    block_.Sync();
  }

  LV_DEVICE void Sum() {
    const uint32_t d = call_.head_dim, parts = kTextThreads / d;
    ForThreads<kTextThreads>(block_, [&](int thread) {
      const uint32_t part = thread / d, number = call_.kv_heads * d + kv_head_ * d + thread % d;
      if (part >= parts) return;
      float sum = 0.0f;
      for (uint32_t key = part; key < keys_; key += parts) sum += scores_[key] * WidenBF16(KeysOf(call_, key)[number]);
      parts_[thread] = sum;
    });
    block_.Sync();
    ForThreads<kTextThreads>(block_, [&](int thread) {
      if (static_cast<uint32_t>(thread) >= d) return;
      float sum = 0.0f, total = 0.0f;
      for (uint32_t part = 0; part < parts; ++part) sum += parts_[part * d + thread];
      LV_UNROLL
      for (int i = 0; i < kTextWarps; ++i) total += sums_[i];
      call_.out[(static_cast<size_t>(block_.x) * call_.heads + block_.y) * d + thread] = NarrowBF16(sum / total);
    });
  }

  Block& block_;
  const GpuTextAttention& call_;
  const uint32_t kv_head_, keys_;
  float* const scores_;   // [context]
  float* const query_;    // [128], with the scale and log2(e)
  float* const highest_;  // [kTextWarps]
  float* const sums_;     // [kTextWarps]
  float* const parts_;    // [kTextThreads]
};

LV_DEVICE void TextAttendHead(Block& block, const GpuTextAttention& call) { TextHead(block, call).Run(); }

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_TEXT_ATTENTION_H_
