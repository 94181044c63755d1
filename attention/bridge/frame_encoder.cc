// Pooling, the token encoder's layers, compression.
#include "attention/bridge/frame_encoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention/bridge/retrieval.h"
#include "core/ops/elementwise.h"
#include "core/ops/sdpa.h"

namespace longview {
namespace {

constexpr float kNormEpsilon = 1e-6f;

// x += proj(attention(norm1(x))) over the tokens of one frame; y, qkv are scratch.
void SelfAttention(const EncoderLayerWeights& layer, size_t tokens, size_t width, size_t heads, float* x, float* y,
                   float* qkv, ThreadPool* pool) {
  LayerNorm(x, width, layer.norm1_weight.data(), layer.norm1_bias.data(), kNormEpsilon, tokens, width, y, width);
  layer.qkv.Forward(y, width, tokens, qkv, 3 * width, pool);
  SdpaParams attention;
  attention.head_dim = width / heads;
  attention.q = qkv;
  attention.k = qkv + width;
  attention.v = qkv + 2 * width;
  attention.q_stride = attention.k_stride = attention.v_stride = 3 * width;
  attention.q_head_stride = attention.k_head_stride = attention.v_head_stride = attention.head_dim;
  attention.out = y;
  attention.out_stride = width;
  attention.out_head_stride = attention.head_dim;
  attention.q_rows = attention.kv_rows = tokens;
  attention.heads = attention.kv_heads = heads;
  attention.scale = 1.0f / std::sqrt(static_cast<float>(attention.head_dim));
  Sdpa(attention, pool);
  layer.proj.Forward(y, width, tokens, qkv, width, pool);
  Add(qkv, tokens * width, x);
}

// x += fc2(gelu(fc1(norm2(x)))).
void FeedForward(const EncoderLayerWeights& layer, size_t tokens, size_t width, float* x, float* y, float* hidden,
                 ThreadPool* pool) {
  LayerNorm(x, width, layer.norm2_weight.data(), layer.norm2_bias.data(), kNormEpsilon, tokens, width, y, width);
  layer.fc1.Forward(y, width, tokens, hidden, layer.fc1.out(), pool);
  Gelu(hidden, tokens * layer.fc1.out(), hidden);
  layer.fc2.Forward(hidden, layer.fc1.out(), tokens, y, width, pool);
  Add(y, tokens * width, x);
}

}  // namespace

void PoolVitTokens(const float* vit, size_t grid, size_t pool, size_t width, float* out) {
  std::copy_n(vit, width, out);
  const size_t step = grid / pool;
  const float share = 1.0f / static_cast<float>(step * step);
  for (size_t row = 0; row < pool; ++row) {
    for (size_t column = 0; column < pool; ++column) {
      float* to = out + (1 + row * pool + column) * width;
      std::fill_n(to, width, 0.0f);
      for (size_t i = 0; i < step * step; ++i) {
        const size_t patch = (row * step + i / step) * grid + column * step + i % step;
        Axpy(share, vit + (1 + patch) * width, width, to);
      }
    }
  }
}

FrameEncoder::FrameEncoder(std::shared_ptr<const BridgeWeights> weights) : weights_(std::move(weights)) {}

void FrameEncoder::FrameTokens(const float* vit, float* x, ThreadPool* pool) const {
  const BridgeWeights& w = *weights_;
  const size_t tokens = w.config.tokens_per_frame(), width = w.config.d_v;
  const size_t vit_width = w.config.vit_width;
  std::vector<float> y(tokens * std::max(width, vit_width));
  std::vector<float> wide(tokens * std::max(3 * width, w.config.encoder_mlp));
  PoolVitTokens(vit, w.config.patch_grid, w.config.pool, vit_width, y.data());
  LayerNorm(y.data(), vit_width, w.in_norm_weight.data(), w.in_norm_bias.data(), kNormEpsilon, tokens, vit_width,
            y.data(), vit_width);
  w.in.Forward(y.data(), vit_width, tokens, x, width, pool);
  Add(w.position.data(), tokens * width, x);
  for (const EncoderLayerWeights& layer : w.encoder) {
    SelfAttention(layer, tokens, width, w.config.encoder_heads, x, y.data(), wide.data(), pool);
    FeedForward(layer, tokens, width, x, y.data(), wide.data(), pool);
  }
  LayerNorm(x, width, w.out_norm_weight.data(), w.out_norm_bias.data(), kNormEpsilon, tokens, width, x, width);
}

EncodedFrame FrameEncoder::Encode(const float* vit, double t_s, ThreadPool* pool) const {
  const BridgeConfig& c = weights_->config;
  std::vector<float> x(c.tokens_per_frame() * c.d_v);
  FrameTokens(vit, x.data(), pool);
  EncodedFrame frame;
  frame.latents.resize(c.tokens_per_frame() * c.d_c);
  frame.keys.resize(c.tokens_per_frame() * c.d_r);
  weights_->compressor.Compress(x.data(), c.tokens_per_frame(), t_s, frame.latents.data(), frame.keys.data(), pool);
  frame.retrieval = FrameVectors(*weights_, vit, pool);
  return frame;
}

}  // namespace longview
