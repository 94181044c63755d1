// A llama-type decoder of a few thousand random weights as a GGUF file, and the same arithmetic written out plainly in
// double.
#ifndef LONGVIEW_TESTS_ATTENTION_TINY_DECODER_H_
#define LONGVIEW_TESTS_ATTENTION_TINY_DECODER_H_

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/attention/tiny_gguf.h"

namespace longview {

struct TinyDecoder {
  size_t layers = 3, width = 32, heads = 4, kv_heads = 2, ffn = 48, vocabulary = 300, context = 600;
  double epsilon = 1e-5, rope_base = 1000.0;
  TinyGguf file;

  size_t head_dim() const { return width / heads; }

  explicit TinyDecoder(bool tied = true) {
    file.strings["general.architecture"] = "llama";
    file.uints = {{"llama.block_count", layers},         {"llama.embedding_length", width},
                  {"llama.attention.head_count", heads}, {"llama.attention.head_count_kv", kv_heads},
                  {"llama.feed_forward_length", ffn},    {"llama.vocab_size", vocabulary},
                  {"llama.context_length", context},     {"llama.rope.dimension_count", head_dim()}};
    file.floats = {{"llama.attention.layer_norm_rms_epsilon", static_cast<float>(epsilon)},
                   {"llama.rope.freq_base", static_cast<float>(rope_base)}};
    AddTensor("token_embd.weight", {vocabulary, width}, 1.0);
    if (!tied) AddTensor("output.weight", {vocabulary, width}, 1.0);
    AddTensor("output_norm.weight", {width}, 1.0);
    for (size_t i = 0; i < layers; ++i) {
      const std::string block = "blk." + std::to_string(i) + ".";
      AddTensor(block + "attn_norm.weight", {width}, 1.0);
      AddTensor(block + "ffn_norm.weight", {width}, 1.0);
      AddTensor(block + "attn_q.weight", {width, width}, 0.4);
      AddTensor(block + "attn_k.weight", {kv_heads * head_dim(), width}, 0.4);
      AddTensor(block + "attn_v.weight", {kv_heads * head_dim(), width}, 0.2);
      AddTensor(block + "attn_output.weight", {width, width}, 0.2);
      AddTensor(block + "ffn_gate.weight", {ffn, width}, 0.2);
      AddTensor(block + "ffn_up.weight", {ffn, width}, 0.2);
      AddTensor(block + "ffn_down.weight", {width, ffn}, 0.2);
    }
  }

  // Logits of every row, [tokens, vocabulary]. RoPE turns neighbouring rows, the form in which llama.cpp stores q and
  // k.
  std::vector<double> Logits(std::span<const int32_t> tokens) const {
    std::vector<std::vector<double>> h;
    const auto& embedding = file.tensors.at("token_embd.weight").numbers;
    for (const int32_t token : tokens) {
      const auto row = embedding.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(token) * width);
      h.emplace_back(row, row + static_cast<std::ptrdiff_t>(width));
    }
    for (size_t layer = 0; layer < layers; ++layer) {
      const std::string block = "blk." + std::to_string(layer) + ".";
      AddAttention(block, &h);
      for (auto& row : h) {
        const auto x = Norm(row, block + "ffn_norm.weight");
        auto gate = Multiply(block + "ffn_gate.weight", x);
        const auto up = Multiply(block + "ffn_up.weight", x);
        for (size_t i = 0; i < ffn; ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
        const auto down = Multiply(block + "ffn_down.weight", gate);
        for (size_t i = 0; i < width; ++i) row[i] += down[i];
      }
    }
    std::vector<double> logits;
    const std::string output = file.tensors.count("output.weight") != 0 ? "output.weight" : "token_embd.weight";
    for (const auto& row : h) {
      const auto scores = Multiply(output, Norm(row, "output_norm.weight"));
      logits.insert(logits.end(), scores.begin(), scores.end());
    }
    return logits;
  }

 private:
  using Row = std::vector<double>;

  void AddTensor(const std::string& name, std::vector<uint64_t> shape, double scale) {
    size_t count = 1;
    for (const uint64_t d : shape) count *= d;
    TinyGguf::Tensor& tensor = file.tensors[name];
    tensor.shape = std::move(shape);
    for (size_t i = 0; i < count; ++i) {
      state_ = state_ * 1664525 + 1013904223;
      tensor.numbers.push_back(static_cast<float>(scale * ((state_ >> 8) / 8388608.0 - 1.0)));
    }
  }
  Row Multiply(const std::string& name, const Row& x) const {
    const TinyGguf::Tensor& w = file.tensors.at(name);
    Row y(w.shape[0], 0.0);
    for (size_t o = 0; o < y.size(); ++o) {
      for (size_t i = 0; i < x.size(); ++i) y[o] += static_cast<double>(w.numbers[o * x.size() + i]) * x[i];
    }
    return y;
  }
  Row Norm(const Row& x, const std::string& name) const {
    double squares = 0.0;
    for (const double v : x) squares += v * v;
    Row y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      y[i] = x[i] / std::sqrt(squares / static_cast<double>(x.size()) + epsilon) * file.tensors.at(name).numbers[i];
    }
    return y;
  }
  void Rotate(Row* row, size_t position) const {
    for (size_t i = 0; i < row->size(); i += 2) {
      const double pair = static_cast<double>(i % head_dim()) / 2;
      const double angle =
          static_cast<double>(position) * std::pow(rope_base, -2.0 * pair / static_cast<double>(head_dim()));
      const double a = (*row)[i], b = (*row)[i + 1];
      (*row)[i] = a * std::cos(angle) - b * std::sin(angle);
      (*row)[i + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
  void AddAttention(const std::string& block, std::vector<Row>* h) const {
    std::vector<Row> keys, values;
    const size_t d = head_dim();
    for (size_t t = 0; t < h->size(); ++t) {
      const Row x = Norm((*h)[t], block + "attn_norm.weight");
      Row q = Multiply(block + "attn_q.weight", x);
      keys.push_back(Multiply(block + "attn_k.weight", x));
      values.push_back(Multiply(block + "attn_v.weight", x));
      Rotate(&q, t);
      Rotate(&keys.back(), t);
      Row out(width, 0.0);
      for (size_t head = 0; head < heads; ++head) {
        const size_t kv = head / (heads / kv_heads) * d;
        Row weight(t + 1);
        double total = 0.0;
        for (size_t s = 0; s <= t; ++s) {
          double score = 0.0;
          for (size_t i = 0; i < d; ++i) score += q[head * d + i] * keys[s][kv + i];
          total += weight[s] = std::exp(score / std::sqrt(static_cast<double>(d)));
        }
        for (size_t s = 0; s <= t; ++s) {
          for (size_t i = 0; i < d; ++i) out[head * d + i] += weight[s] / total * values[s][kv + i];
        }
      }
      const Row projected = Multiply(block + "attn_output.weight", out);
      for (size_t i = 0; i < width; ++i) (*h)[t][i] += projected[i];
    }
  }

  uint32_t state_ = 1;
};

}  // namespace longview

#endif  // LONGVIEW_TESTS_ATTENTION_TINY_DECODER_H_
