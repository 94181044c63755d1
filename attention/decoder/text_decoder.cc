// TextDecoder::Forward: a llama-type transformer (RMSNorm, grouped-query attention with RoPE, SwiGLU), rows in chunks.
#include "attention/decoder/text_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "attention/decoder/decoder_layer.h"
#include "attention/decoder/gpu_decoder.h"
#include "core/ops/elementwise.h"
#include "core/ops/sdpa.h"

namespace longview {
namespace {

// Rows read at once: enough for full speed in the matrix products, few enough that scratch memory stays small.
constexpr size_t kChunkRows = ForwardCall::kMaxBranchRows;
// Rows below which splitting element-wise work over threads costs more than it saves.
constexpr size_t kMinRowsToSplit = 8;

// body(first, last) over [0, rows), split over `pool` where that pays.
template <typename Body>
void ForRows(size_t rows, ThreadPool* pool, const Body& body) {
  if (pool == nullptr || rows < kMinRowsToSplit) {
    body(size_t{0}, rows);
    return;
  }
  pool->ParallelFor(rows, [&](size_t first, size_t last, int) { body(first, last); });
}

}  // namespace

// Buffers of one call, all [rows, width of the thing].
struct TextDecoder::Scratch {
  Scratch(const TextDecoderConfig& c, size_t rows)
      : qkv_width((c.heads + 2 * c.kv_heads) * c.head_dim),
        hidden(rows * c.width),
        normed(rows * c.width),
        qkv(rows * qkv_width),
        attended(rows * c.width),
        gate_up(rows * 2 * c.ffn),
        activated(rows * c.ffn) {}

  size_t qkv_width;
  std::vector<float> hidden;    // the residual stream
  std::vector<float> normed;    // what a block reads, then what it adds
  std::vector<float> qkv;       // queries, keys, values side by side
  std::vector<float> attended;  // heads side by side
  std::vector<float> gate_up;
  std::vector<float> activated;
};

TextDecoder::TextDecoder() = default;
TextDecoder::~TextDecoder() = default;

size_t TextDecoder::weight_bytes() const {
  size_t total = embedding_.bytes() + (tied_ ? 0 : output_.bytes());
  for (const DecoderLayer& layer : layers_) {
    total += layer.qkv.bytes() + layer.attention_out.bytes() + layer.gate_up.bytes() + layer.ffn_down.bytes();
  }
  return total;
}

Status TextDecoder::CheckCall(const ForwardCall& call, const KvCache& cache) const {
  if (call.tokens.empty()) return InvalidArgument("the text decoder was given no tokens to read");
  if (call.capture_layer > static_cast<int>(config_.layers)) {
    return InvalidArgument("the text decoder has no layer " + std::to_string(call.capture_layer) + " to capture");
  }
  if (!call.entering.empty() &&
      (call.from_layer > config_.layers || call.entering.size() != call.tokens.size() * config_.width)) {
    return InvalidArgument("the text decoder was given " + std::to_string(call.entering.size()) +
                           " numbers to go on from at layer " + std::to_string(call.from_layer));
  }
  if (call.branches != 1 && (call.branches == 0 || call.tokens.size() % call.branches != 0 ||
                             call.tokens.size() > ForwardCall::kMaxBranchRows || call.hook_from > cache.length())) {
    return InvalidArgument("the text decoder cannot read " + std::to_string(call.tokens.size()) + " tokens as " +
                           std::to_string(call.branches) + " branches");
  }
  if (call.sampler != nullptr && (call.logits != ForwardCall::Logits::kLast || call.branches != 1)) {
    return InvalidArgument("a token is drawn from the last logits, which were not asked for");
  }
  for (const int32_t token : call.tokens) {
    if (token < 0 || static_cast<size_t>(token) >= config_.vocabulary) {
      return InvalidArgument("token " + std::to_string(token) + " is outside the vocabulary of " +
                             std::to_string(config_.vocabulary));
    }
  }
  if (cache.layers_ != 0 &&
      (cache.layers_ != config_.layers || cache.kv_width_ != config_.kv_heads * config_.head_dim)) {
    return InvalidArgument("the conversation's cache belongs to another model");
  }
  if (cache.lost_) return ResourceError("the device had no memory for a copy of the conversation");
  const size_t added = call.tokens.size() / call.branches;
  if (added > config_.context || cache.length() > config_.context - added) {
    return OutOfRange("the conversation would be " + std::to_string(cache.length() + added) +
                      " tokens long; the text decoder was made for " + std::to_string(config_.context) +
                      ": ask a shorter question or start anew");
  }
  return Status::Ok();
}

Result<ForwardResult> TextDecoder::Forward(const ForwardCall& call, KvCache* cache, ThreadPool* pool) const {
  return Run(call, config_.layers, cache, pool);
}

Result<std::vector<float>> TextDecoder::HiddenStates(std::span<const int32_t> tokens, size_t layer, KvCache* cache,
                                                     ThreadPool* pool) const {
  if (layer > config_.layers) {
    return InvalidArgument("the text decoder has no layer " + std::to_string(layer) + " to read hidden states from");
  }
  const size_t before = cache->length();
  ForwardCall call{.tokens = tokens, .logits = ForwardCall::Logits::kNone, .capture_layer = static_cast<int>(layer)};
  LV_ASSIGN_OR_RETURN(ForwardResult result, Run(call, layer, cache, pool));
  cache->Truncate(before);
  return std::move(result.captured);
}

Result<ForwardResult> TextDecoder::Run(const ForwardCall& call, size_t end_layer, KvCache* cache,
                                       ThreadPool* pool) const {
  LV_RETURN_IF_ERROR(CheckCall(call, *cache));
  cache->layers_ = config_.layers;
  cache->kv_width_ = config_.kv_heads * config_.head_dim;
  if (gpu_ != nullptr) return gpu_->Run(call, end_layer, cache);
  const size_t before = cache->length();
  cache->Reserve(before + call.tokens.size());
  Scratch scratch(config_, std::min(call.tokens.size(), kChunkRows));
  ForwardResult result;
  for (size_t first = 0; first < call.tokens.size(); first += kChunkRows) {
    const size_t rows = std::min(kChunkRows, call.tokens.size() - first);
    if (Status status = RunChunk(call, first, rows, end_layer, cache, &scratch, &result, pool); !status.ok()) {
      cache->Truncate(before);
      return status;
    }
    const bool last = first + rows == call.tokens.size();
    if (end_layer < config_.layers || call.logits == ForwardCall::Logits::kNone) continue;
    if (call.logits == ForwardCall::Logits::kAll) {
      AppendLogits(scratch.hidden.data(), rows, &scratch, &result.logits, pool);
    } else if (last) {
      const size_t each = rows / call.branches;
      for (size_t b = 0; each > 1 && b < call.branches; ++b) {
        std::copy_n(scratch.hidden.data() + ((b + 1) * each - 1) * config_.width, config_.width,
                    scratch.hidden.data() + b * config_.width);
      }
      AppendLogits(scratch.hidden.data(), call.branches, &scratch, &result.logits, pool);
    }
  }
  if (call.sampler != nullptr && !result.logits.empty()) {
    result.token = call.sampler->Sample(result.logits, call.seen);
    result.logits.clear();
  }
  return result;
}

Status TextDecoder::RunChunk(const ForwardCall& call, size_t first, size_t rows, size_t end_layer, KvCache* cache,
                             Scratch* scratch, ForwardResult* result, ThreadPool* pool) const {
  const size_t position = cache->length();
  float* hidden = scratch->hidden.data();
  const bool goes_on = !call.entering.empty();
  if (goes_on) {
    std::copy_n(call.entering.data() + first * config_.width, rows * config_.width, hidden);
  } else {
    for (size_t i = 0; i < rows; ++i) {
      embedding_.CopyRow(static_cast<size_t>(call.tokens[first + i]), hidden + i * config_.width);
    }
  }
  const size_t hook_row = call.hook_from > position ? std::min(call.hook_from - position, rows) : 0;
  const auto capture = [&](size_t layer) {
    if (call.capture_layer != static_cast<int>(layer)) return;
    result->captured.insert(result->captured.end(), hidden, hidden + rows * config_.width);
  };
  for (size_t layer = goes_on ? call.from_layer : 0; layer < end_layer; ++layer) {
    if (call.stop.stop_requested()) return Cancelled();
    capture(layer);
    if (call.hook != nullptr && hook_row < rows) {
      LV_RETURN_IF_ERROR(call.hook->BeforeLayer(static_cast<int>(layer), hidden + hook_row * config_.width,
                                                rows - hook_row, config_.width));
    }
    Attention(layer, rows, call.branches, cache, scratch, pool);
    FeedForward(layer, rows, scratch, pool);
  }
  capture(end_layer);
  if (call.branches == 1) cache->length_ += rows;
  return Status::Ok();
}

void TextDecoder::Attention(size_t layer, size_t rows, size_t branches, KvCache* cache, Scratch* scratch,
                            ThreadPool* pool) const {
  const DecoderLayer& weights = layers_[layer];
  const TextDecoderConfig& c = config_;
  const size_t position = cache->length_;
  const size_t kv_width = cache->kv_width_;
  const size_t qkv_width = scratch->qkv_width;
  const size_t each = rows / branches;
  float* keys = cache->keys_[layer].data();
  float* values = cache->values_[layer].data();
  ForRows(rows, pool, [&](size_t first, size_t last) {
    RmsNorm(scratch->hidden.data() + first * c.width, c.width, weights.attention_norm.data(), c.rms_epsilon,
            last - first, c.width, scratch->normed.data() + first * c.width, c.width);
  });
  weights.qkv.Forward(scratch->normed.data(), c.width, rows, scratch->qkv.data(), qkv_width, pool);
  SdpaParams params;
  params.q_stride = qkv_width;
  params.k = keys;
  params.v = values;
  params.k_stride = params.v_stride = kv_width;
  params.out_stride = c.width;
  params.q_head_stride = params.k_head_stride = params.v_head_stride = params.out_head_stride = c.head_dim;
  params.q_rows = each;
  params.kv_rows = position + each;
  params.heads = c.heads;
  params.kv_heads = c.kv_heads;
  params.head_dim = c.head_dim;
  params.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  params.causal = true;
  // Branches use the places behind the cache one after the other.
  for (size_t from = 0; from < rows; from += each) {
    ForRows(each, pool, [&](size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) {
        float* row = scratch->qkv.data() + (from + i) * qkv_width;
        // Keys lie behind the queries, so one call turns both.
        rope_.Rotate(position + i, c.heads + c.kv_heads, row, c.head_dim);
        std::memcpy(keys + (position + i) * kv_width, row + c.width, kv_width * sizeof(float));
        std::memcpy(values + (position + i) * kv_width, row + c.width + kv_width, kv_width * sizeof(float));
      }
    });
    params.q = scratch->qkv.data() + from * qkv_width;
    params.out = scratch->attended.data() + from * c.width;
    Sdpa(params, pool);
  }
  weights.attention_out.Forward(scratch->attended.data(), c.width, rows, scratch->normed.data(), c.width, pool);
  Add(scratch->normed.data(), rows * c.width, scratch->hidden.data());
}

void TextDecoder::FeedForward(size_t layer, size_t rows, Scratch* scratch, ThreadPool* pool) const {
  const DecoderLayer& weights = layers_[layer];
  const TextDecoderConfig& c = config_;
  ForRows(rows, pool, [&](size_t first, size_t last) {
    RmsNorm(scratch->hidden.data() + first * c.width, c.width, weights.ffn_norm.data(), c.rms_epsilon, last - first,
            c.width, scratch->normed.data() + first * c.width, c.width);
  });
  weights.gate_up.Forward(scratch->normed.data(), c.width, rows, scratch->gate_up.data(), 2 * c.ffn, pool);
  ForRows(rows, pool, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const float* gate = scratch->gate_up.data() + i * 2 * c.ffn;
      SiluMul(gate, gate + c.ffn, c.ffn, scratch->activated.data() + i * c.ffn);
    }
  });
  weights.ffn_down.Forward(scratch->activated.data(), c.ffn, rows, scratch->normed.data(), c.width, pool);
  Add(scratch->normed.data(), rows * c.width, scratch->hidden.data());
}

void TextDecoder::AppendLogits(const float* hidden, size_t rows, Scratch* scratch, std::vector<float>* logits,
                               ThreadPool* pool) const {
  RmsNorm(hidden, config_.width, output_norm_.data(), config_.rms_epsilon, rows, config_.width, scratch->normed.data(),
          config_.width);
  const size_t at = logits->size();
  logits->resize(at + rows * config_.vocabulary);
  output_.Forward(scratch->normed.data(), config_.width, rows, logits->data() + at, config_.vocabulary, pool);
}

}  // namespace longview
