// Pooling, the token encoder's layers, compression.
#include "attention/bridge/frame_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "attention/bridge/retrieval.h"
#include "core/base/log.h"
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

FrameEncoderFloats::Matrix FloatsOf(const Linear& linear) {
  FrameEncoderFloats::Matrix matrix;
  matrix.weight.resize(linear.out() * linear.in());
  for (size_t row = 0; row < linear.out(); ++row) linear.CopyRow(row, matrix.weight.data() + row * linear.in());
  matrix.bias = linear.bias();
  return matrix;
}

FrameEncoderFloats FloatsOf(const BridgeWeights& w) {
  FrameEncoderFloats floats;
  floats.in_norm = {w.in_norm_weight, w.in_norm_bias};
  floats.out_norm = {w.out_norm_weight, w.out_norm_bias};
  floats.in = FloatsOf(w.in);
  floats.position = w.position;
  for (const EncoderLayerWeights& layer : w.encoder) {
    floats.layers.push_back({{layer.norm1_weight, layer.norm1_bias},
                             {layer.norm2_weight, layer.norm2_bias},
                             FloatsOf(layer.qkv),
                             FloatsOf(layer.proj),
                             FloatsOf(layer.fc1),
                             FloatsOf(layer.fc2)});
  }
  floats.down = FloatsOf(w.compressor.down());
  floats.time_key = FloatsOf(w.compressor.time_key());
  floats.latent_norm = w.compressor.norm();
  if (w.frame_head) {
    floats.frame_fc1 = FloatsOf(w.frame_head->fc1);
    floats.frame_fc2 = FloatsOf(w.frame_head->fc2);
    floats.frame_place = w.frame_place;
  }
  return floats;
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

FrameEncoder::FrameEncoder(std::shared_ptr<const BridgeWeights> weights, std::shared_ptr<GpuNet> device)
    : weights_(std::move(weights)) {
  if (device == nullptr) return;
  const std::string name = device->Name();
  auto gpu = GpuFrameEncoder::Make(std::move(device), weights_->config, FloatsOf(*weights_));
  if (gpu.ok()) {
    LogDebug("frames are encoded on " + name);
    gpu_ = std::move(gpu).value();
  } else {
    LogInfo("the frame encoder stays with the processor: " + gpu.status().message());
  }
}

bool FrameEncoder::on_device() const {
  const std::scoped_lock lock(gpu_mutex_);
  return gpu_ != nullptr;
}

Result<GpuBuffer> FrameEncoder::Room(size_t numbers) const {
  const std::scoped_lock lock(gpu_mutex_);
  if (gpu_ == nullptr) return Unsupported("the processor encodes frames");
  return gpu_->Room(numbers);
}

std::vector<EncodedFrame> FrameEncoder::FromDevice(std::span<const FrameInput> frames, const GpuFrames& made) const {
  const BridgeConfig& c = weights_->config;
  std::vector<EncodedFrame> encoded(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto take = [&](const std::vector<float>& from) {
      const size_t numbers = from.size() / frames.size();
      const auto first = from.begin() + static_cast<std::ptrdiff_t>(i * numbers);
      return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(numbers));
    };
    encoded[i] = {take(made.latents), take(made.keys), take(made.retrieval)};
    weights_->rope.Apply(frames[i].time_s, encoded[i].keys.data(), c.tokens_per_frame(), c.d_r);
    if (c.retrieval) NormaliseVectors(encoded[i].retrieval.data(), c.retrieval->parts(), c.retrieval->width);
  }
  return encoded;
}

Result<std::vector<EncodedFrame>> FrameEncoder::Encode(std::span<const FrameInput> frames, ThreadPool* pool) const {
  if (frames.empty()) return std::vector<EncodedFrame>();
  {
    const std::scoped_lock lock(gpu_mutex_);
    if (gpu_ != nullptr) {
      const Result<GpuFrames> made = gpu_->Encode(frames);
      if (made.ok()) return FromDevice(frames, *made);
      LogWarning("the frame encoder goes on on the processor: " + made.status().message());
      gpu_ = nullptr;
    }
  }
  if (std::any_of(frames.begin(), frames.end(), [](const FrameInput& f) { return f.on_device; })) {
    return Unsupported("the processor cannot read a ViT's tokens in a GPU's memory");
  }
  std::vector<EncodedFrame> encoded;
  encoded.reserve(frames.size());
  for (const FrameInput& frame : frames) encoded.push_back(Encode(frame.vit, frame.time_s, pool));
  return encoded;
}

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
