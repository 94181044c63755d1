// The two heads that place the parts of frames and the words of questions in one space, and their meeting.
#include "attention/bridge/retrieval.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "attention/bridge/frame_encoder.h"
#include "core/ops/elementwise.h"

namespace longview {
namespace {

constexpr float kTextNormEpsilon = 1e-6f;  // keeps a hidden state of zeros from dividing by zero

}  // namespace

// As torch.nn.functional.normalize.
void NormaliseVectors(float* rows, size_t count, size_t width) {
  for (size_t i = 0; i < count; ++i) {
    float* row = rows + i * width;
    const float length = std::max(std::sqrt(Dot(row, row, width)), 1e-12f);
    for (size_t j = 0; j < width; ++j) row[j] /= length;
  }
}

std::vector<float> FrameVectors(const BridgeWeights& weights, const float* vit, ThreadPool* pool) {
  if (!weights.config.retrieval) return {};
  const BridgeConfig& c = weights.config;
  const RetrievalConfig& r = *c.retrieval;
  const size_t parts = r.parts(), width = c.vit_width;
  std::vector<float> x(parts * width, 0.0f), hidden(parts * r.hidden), out(parts * r.width);
  PoolVitTokens(vit, c.patch_grid, r.pool, width, x.data());
  for (size_t part = 1; part + 1 < parts; ++part) {
    Axpy(1.0f / static_cast<float>(parts - 2), x.data() + part * width, width, x.data() + (parts - 1) * width);
  }
  weights.frame_head->fc1.Forward(x.data(), width, parts, hidden.data(), r.hidden, pool);
  Add(weights.frame_place.data(), parts * r.hidden, hidden.data());
  Gelu(hidden.data(), hidden.size(), hidden.data());
  weights.frame_head->fc2.Forward(hidden.data(), r.hidden, parts, out.data(), r.width, pool);
  NormaliseVectors(out.data(), parts, r.width);
  return out;
}

Result<WordVectors> ReadWords(const BridgeWeights& weights, const float* embedded, const float* hidden, size_t rows,
                              size_t width) {
  if (!weights.config.retrieval) return Unsupported("this bridge has no retrieval heads");
  if (rows == 0 || width != weights.config.width) {
    return InvalidArgument("word vectors need hidden states of " + std::to_string(weights.config.width) +
                           " numbers, not " + std::to_string(rows) + " of " + std::to_string(width));
  }
  const RetrievalConfig& r = *weights.config.retrieval;
  const size_t numbers = r.width + 1;  // the last one says how much the word counts
  std::vector<float> x(rows * 2 * width), between(rows * r.hidden), out(rows * numbers);
  RmsNorm(embedded, width, nullptr, kTextNormEpsilon, rows, width, x.data(), 2 * width);
  RmsNorm(hidden, width, nullptr, kTextNormEpsilon, rows, width, x.data() + width, 2 * width);
  weights.text_head->fc1.Forward(x.data(), 2 * width, rows, between.data(), r.hidden, nullptr);
  Gelu(between.data(), between.size(), between.data());
  weights.text_head->fc2.Forward(between.data(), r.hidden, rows, out.data(), numbers, nullptr);
  WordVectors words;
  float sum = 0.0f;
  for (size_t i = 0; i < rows; ++i) {
    const float* row = out.data() + i * numbers;
    words.vectors.insert(words.vectors.end(), row, row + r.width);
    constexpr float kMost = 8.0f;  // e^8 against e^-8: one word alone
    words.shares.push_back(std::exp(std::clamp(row[r.width], -kMost, kMost)));
    sum += words.shares.back();
  }
  for (float& share : words.shares) share /= sum;
  NormaliseVectors(words.vectors.data(), rows, r.width);
  return words;
}

double Fit(const RetrievalConfig& config, const WordVectors& words, std::span<const float> frame) {
  const size_t parts = frame.size() / config.width;
  double fit = 0.0;
  for (size_t word = 0; word < words.shares.size(); ++word) {
    float sum = 0.0f;
    for (size_t part = 0; part < parts; ++part) {
      const float cosine =
          Dot(words.vectors.data() + word * config.width, frame.data() + part * config.width, config.width);
      sum += std::exp(config.sharpness * cosine);
    }
    fit += words.shares[word] * std::log(sum / static_cast<float>(parts)) / config.sharpness;
  }
  return fit;
}

}  // namespace longview
