// TokenSampler: penalty, temperature, top-p and the draw.
#include "attention/decoder/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace longview {
namespace {

// The index of the largest number, the lowest of equals; 0 where all are NaN.
int32_t ArgMax(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best] || (std::isnan(logits[best]) && !std::isnan(logits[i]))) best = i;
  }
  return static_cast<int32_t>(best);
}

}  // namespace

Result<TokenSampler> TokenSampler::Make(const SamplerOptions& options) {
  if (!(options.temperature >= 0.0f) || !std::isfinite(options.temperature)) {
    return InvalidArgument("temperature must be 0 or more, not " + std::to_string(options.temperature));
  }
  if (!(options.top_p > 0.0f && options.top_p <= 1.0f)) {
    return InvalidArgument("top-p must lie above 0 and up to 1, not " + std::to_string(options.top_p));
  }
  if (!(options.repetition_penalty >= 1.0f) || !std::isfinite(options.repetition_penalty)) {
    return InvalidArgument("the repetition penalty must be 1 or more, not " +
                           std::to_string(options.repetition_penalty));
  }
  return TokenSampler(options);
}

// From the top 53 bits: the same on every standard library, unlike std::uniform_real_distribution.
double TokenSampler::Draw() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

int32_t TokenSampler::Sample(std::span<float> logits, std::span<const int32_t> seen) {
  if (options_.repetition_penalty > 1.0f) {
    // Once per token, however often it was seen.
    order_.assign(seen.begin(), seen.end());
    std::sort(order_.begin(), order_.end());
    order_.erase(std::unique(order_.begin(), order_.end()), order_.end());
    for (const int32_t id : order_) {
      if (id < 0 || static_cast<size_t>(id) >= logits.size()) continue;
      float& logit = logits[static_cast<size_t>(id)];
      logit = logit > 0.0f ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    }
  }
  const int32_t best = ArgMax(logits);
  const float top = logits.empty() ? 0.0f : logits[static_cast<size_t>(best)];
  if (options_.temperature == 0.0f || !std::isfinite(top)) return best;

  // Probabilities relative to the best token's. What is below e^-40 of it cannot be drawn and need not be sorted.
  order_.clear();
  double total = 0.0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const float exponent = (logits[i] - top) / options_.temperature;
    if (!(exponent > -40.0f)) continue;
    logits[i] = std::exp(exponent);
    total += logits[i];
    order_.push_back(static_cast<int32_t>(i));
  }
  const auto weight = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::sort(order_.begin(), order_.end(),
            [&](int32_t a, int32_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  double kept = 0.0;
  size_t count = 0;
  while (count < order_.size() && (count == 0 || kept < options_.top_p * total)) kept += weight(order_[count++]);

  double draw = Draw() * kept;
  for (size_t i = 0; i < count; ++i) {
    draw -= weight(order_[i]);
    if (draw < 0.0) return order_[i];
  }
  return order_[count - 1];
}

}  // namespace longview
