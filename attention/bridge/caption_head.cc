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

class Reader {
 public:
  // Of a bridge that has a caption head.
  Reader(const BridgeWeights& weights, std::span<const float> latents)
      : head_(*weights.caption_head),
        heads_(weights.config.caption->heads),
        width_(head_.embed.in()),
        latents_(latents.size() / weights.config.d_c),
        seen_(head_.layers.size()),
        said_(head_.layers.size()) {
    const size_t d_c = weights.config.d_c;
    for (size_t i = 0; i < head_.layers.size(); ++i) {
      const CaptionLayerWeights& layer = head_.layers[i];
      seen_[i].keys.resize(latents_ * width_);
      seen_[i].values.resize(latents_ * width_);
      layer.cross_k.Forward(latents.data(), d_c, latents_, seen_[i].keys.data(), width_, nullptr);
      layer.cross_v.Forward(latents.data(), d_c, latents_, seen_[i].values.data(), width_, nullptr);
    }
  }

  // Reads the tokens of these numbers, which follow those read before and with them are no more than a caption has:
  // logits [numbers, 1 + tokens] of what follows each.
  std::span<const float> Read(std::span<const uint32_t> numbers) {
    const size_t rows = numbers.size(), count = head_.embed.out();
    x_.resize(rows * width_);
    y_.resize(rows * width_);
    z_.resize(rows * width_);
    for (size_t r = 0; r < rows; ++r) head_.embed.CopyRow(numbers[r], x_.data() + r * width_);
    Add(head_.position.data() + read_ * width_, rows * width_, x_.data());
    read_ += rows;
    for (size_t i = 0; i < head_.layers.size(); ++i) ThroughLayer(i, rows);
    Norm(head_.norm_weight, head_.norm_bias, rows);
    wide_.resize(rows * count);
    head_.embed.Forward(y_.data(), width_, rows, wide_.data(), count, nullptr);
    return wide_;
  }

 private:
  void ThroughLayer(size_t i, size_t rows) {
    const CaptionLayerWeights& layer = head_.layers[i];
    Norm(layer.norm1_weight, layer.norm1_bias, rows);
    wide_.resize(rows * 3 * width_);
    layer.qkv.Forward(y_.data(), width_, rows, wide_.data(), 3 * width_, nullptr);
    Past& said = said_[i];
    for (size_t r = 0; r < rows; ++r) {
      const auto key = wide_.begin() + static_cast<ptrdiff_t>((3 * r + 1) * width_);
      const auto value = key + static_cast<ptrdiff_t>(width_);
      said.keys.insert(said.keys.end(), key, value);
      said.values.insert(said.values.end(), value, value + static_cast<ptrdiff_t>(width_));
    }
    Attend(3 * width_, rows, said, read_, true);
    AddThrough(layer.o, z_, rows);
    Norm(layer.norm2_weight, layer.norm2_bias, rows);
    layer.cross_q.Forward(y_.data(), width_, rows, wide_.data(), width_, nullptr);
    Attend(width_, rows, seen_[i], latents_, false);
    AddThrough(layer.cross_o, z_, rows);
    Norm(layer.norm3_weight, layer.norm3_bias, rows);
    wide_.resize(rows * layer.up.out());
    layer.up.Forward(y_.data(), width_, rows, wide_.data(), layer.up.out(), nullptr);
    Gelu(wide_.data(), wide_.size(), wide_.data());
    AddThrough(layer.down, wide_, rows);
  }

  // y = LayerNorm(x).
  void Norm(const std::vector<float>& weight, const std::vector<float>& bias, size_t rows) {
    LayerNorm(x_.data(), width_, weight.data(), bias.data(), kNormEpsilon, rows, width_, y_.data(), width_);
  }
  // x += linear(from).
  void AddThrough(const Linear& linear, const std::vector<float>& from, size_t rows) {
    linear.Forward(from.data(), linear.in(), rows, y_.data(), width_, nullptr);
    Add(y_.data(), rows * width_, x_.data());
  }
  // z = attention of the query rows in `wide_`, `stride` floats apart.
  void Attend(size_t stride, size_t rows, const Past& to, size_t count, bool causal) {
    SdpaParams params;
    params.q = wide_.data();
    params.k = to.keys.data();
    params.v = to.values.data();
    params.out = z_.data();
    params.q_stride = stride;
    params.k_stride = params.v_stride = params.out_stride = width_;
    params.head_dim = width_ / heads_;
    params.q_head_stride = params.k_head_stride = params.v_head_stride = params.out_head_stride = params.head_dim;
    params.q_rows = rows;
    params.kv_rows = count;
    params.heads = params.kv_heads = heads_;
    params.scale = 1.0f / std::sqrt(static_cast<float>(params.head_dim));
    params.causal = causal;
    Sdpa(params, nullptr);
  }

  const CaptionHeadWeights& head_;
  const size_t heads_, width_, latents_;
  size_t read_ = 0;
  std::vector<Past> seen_, said_;  // by layer: the latents, and the tokens so far
  std::vector<float> x_, y_, z_, wide_;
};

Status CheckLatents(const BridgeWeights& weights, std::span<const float> latents) {
  if (!weights.caption_head) return Unsupported("this bridge has no caption head");
  const size_t d_c = weights.config.d_c;
  if (!latents.empty() && latents.size() % d_c == 0) return Status::Ok();
  return InvalidArgument("a caption needs latents of " + std::to_string(d_c) + " numbers, not " +
                         std::to_string(latents.size()) + " numbers in all");
}

}  // namespace

Result<std::vector<int32_t>> DescribeLatents(const BridgeWeights& weights, std::span<const float> latents,
                                             size_t max_tokens, const std::stop_token& stop) {
  LV_RETURN_IF_ERROR(CheckLatents(weights, latents));
  const CaptionHeadWeights& head = *weights.caption_head;
  Reader reader(weights, latents);
  std::vector<int32_t> said;
  const size_t longest = std::min(max_tokens, weights.config.caption->longest);
  // Number 0 begins and ends a caption.
  for (uint32_t number = 0; said.size() < longest;) {
    if (stop.stop_requested()) return Cancelled();
    const std::span<const float> logits = reader.Read(std::span(&number, 1));
    number = static_cast<uint32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    if (number == 0) break;
    said.push_back(head.tokens[number - 1]);
  }
  return said;
}

Result<double> ScoreCaption(const BridgeWeights& weights, std::span<const float> latents,
                            std::span<const int32_t> tokens) {
  LV_RETURN_IF_ERROR(CheckLatents(weights, latents));
  const CaptionHeadWeights& head = *weights.caption_head;
  std::vector<uint32_t> numbers = {0};  // the beginning, then the caption's
  for (const int32_t token : tokens.first(std::min(tokens.size(), weights.config.caption->longest))) {
    const auto known = head.number_of.find(token);
    numbers.push_back(known == head.number_of.end() ? 0 : known->second);
  }
  if (numbers.size() == 1) return 0.0;
  Reader reader(weights, latents);
  const std::span<const float> logits = reader.Read(std::span(numbers).first(numbers.size() - 1));
  const size_t count = head.embed.out();
  double score = 0.0;
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    const std::span<const float> row = logits.subspan((i - 1) * count, count);
    const double top = *std::max_element(row.begin(), row.end());
    double sum = 0.0;
    for (const float z : row) sum += std::exp(z - top);
    score += row[numbers[i]] - top - std::log(sum);
  }
  return score;
}

}  // namespace longview
