// One token after another: the latents' keys and values are made once, those of what was said are kept.
#include "attention/bridge/caption_head.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/ops/elementwise.h"
#include "core/ops/sdpa.h"

namespace longview {
namespace {

constexpr float kNormEpsilon = 1e-5f;

// Keys and values that one layer attends to, [rows, width] each.
struct Past {
  std::vector<float> keys, values;
};

class Describer {
 public:
  Describer(const CaptionHeadWeights& head, std::span<const float> latents, size_t d_c)
      : head_(head), width_(head.embed.in()), latents_(latents.size() / d_c), seen_(head.layers.size()),
        said_(head.layers.size()), x_(width_), y_(width_), z_(width_), wide_(head.embed.out()) {
    for (size_t i = 0; i < head.layers.size(); ++i) {
      const CaptionLayerWeights& layer = head.layers[i];
      seen_[i].keys.resize(latents_ * width_);
      seen_[i].values.resize(latents_ * width_);
      layer.cross_k.Forward(latents.data(), d_c, latents_, seen_[i].keys.data(), width_, nullptr);
      layer.cross_v.Forward(latents.data(), d_c, latents_, seen_[i].values.data(), width_, nullptr);
      wide_.resize(std::max({wide_.size(), layer.up.out(), 3 * width_}));
    }
  }

  // Reads the token of this number as the position-th; the number of the one that follows.
  size_t Next(size_t number, size_t position) {
    head_.embed.CopyRow(number, x_.data());
    Add(head_.position.data() + position * width_, width_, x_.data());
    for (size_t i = 0; i < head_.layers.size(); ++i) {
      const CaptionLayerWeights& layer = head_.layers[i];
      Norm(layer.norm1_weight, layer.norm1_bias);
      layer.qkv.Forward(y_.data(), width_, 1, wide_.data(), 3 * width_, nullptr);
      Past& said = said_[i];
      const auto key = wide_.begin() + static_cast<ptrdiff_t>(width_);
      const auto value = key + static_cast<ptrdiff_t>(width_);
      said.keys.insert(said.keys.end(), key, value);
      said.values.insert(said.values.end(), value, value + static_cast<ptrdiff_t>(width_));
      Attend(wide_.data(), said, position + 1);
      AddThrough(layer.o, z_);
      Norm(layer.norm2_weight, layer.norm2_bias);
      layer.cross_q.Forward(y_.data(), width_, 1, wide_.data(), width_, nullptr);
      Attend(wide_.data(), seen_[i], latents_);
      AddThrough(layer.cross_o, z_);
      Norm(layer.norm3_weight, layer.norm3_bias);
      layer.up.Forward(y_.data(), width_, 1, wide_.data(), layer.up.out(), nullptr);
      Gelu(wide_.data(), layer.up.out(), wide_.data());
      AddThrough(layer.down, wide_);
    }
    Norm(head_.norm_weight, head_.norm_bias);
    const size_t count = head_.embed.out();
    head_.embed.Forward(y_.data(), width_, 1, wide_.data(), count, nullptr);
    const auto best = std::max_element(wide_.begin(), wide_.begin() + static_cast<ptrdiff_t>(count));
    return static_cast<size_t>(best - wide_.begin());
  }

 private:
  // y = LayerNorm(x).
  void Norm(const std::vector<float>& weight, const std::vector<float>& bias) {
    LayerNorm(x_.data(), width_, weight.data(), bias.data(), kNormEpsilon, 1, width_, y_.data(), width_);
  }
  // x += linear(from).
  void AddThrough(const Linear& linear, const std::vector<float>& from) {
    linear.Forward(from.data(), linear.in(), 1, y_.data(), width_, nullptr);
    Add(y_.data(), width_, x_.data());
  }
  // z = attention of one query row.
  void Attend(const float* query, const Past& to, size_t rows) {
    SdpaParams params;
    params.q = query;
    params.k = to.keys.data();
    params.v = to.values.data();
    params.out = z_.data();
    params.q_stride = params.k_stride = params.v_stride = params.out_stride = width_;
    params.head_dim = width_ / head_.heads;
    params.q_head_stride = params.k_head_stride = params.v_head_stride = params.out_head_stride = params.head_dim;
    params.q_rows = 1;
    params.kv_rows = rows;
    params.heads = params.kv_heads = head_.heads;
    params.scale = 1.0f / std::sqrt(static_cast<float>(params.head_dim));
    Sdpa(params, nullptr);
  }

  const CaptionHeadWeights& head_;
  const size_t width_, latents_;
  std::vector<Past> seen_, said_;  // by layer: the latents, and the tokens so far
  std::vector<float> x_, y_, z_, wide_;
};

}  // namespace

Result<std::vector<int32_t>> DescribeLatents(const BridgeWeights& weights, std::span<const float> latents,
                                             size_t max_tokens, const std::stop_token& stop) {
  if (!weights.caption_head) return Unsupported("this bridge has no caption head");
  const size_t d_c = weights.config.d_c;
  if (latents.empty() || latents.size() % d_c != 0) {
    return InvalidArgument("a caption needs latents of " + std::to_string(d_c) + " numbers, not " +
                           std::to_string(latents.size()) + " numbers in all");
  }
  const CaptionHeadWeights& head = *weights.caption_head;
  Describer describer(head, latents, d_c);
  std::vector<int32_t> said;
  const size_t longest = std::min(max_tokens, weights.config.caption->longest);
  // Number 0 begins and ends a caption.
  for (size_t number = 0; said.size() < longest;) {
    if (stop.stop_requested()) return Cancelled();
    number = describer.Next(number, said.size());
    if (number == 0) break;
    said.push_back(head.tokens[number - 1]);
  }
  return said;
}

}  // namespace longview
