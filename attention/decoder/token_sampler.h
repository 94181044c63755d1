// TokenSampler: chooses the next token from logits.
#ifndef LONGVIEW_ATTENTION_DECODER_TOKEN_SAMPLER_H_
#define LONGVIEW_ATTENTION_DECODER_TOKEN_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "core/base/status.h"

namespace longview {

struct SamplerOptions {
  float temperature = 0.0f;  // 0: the most likely token; otherwise logits are divided by it
  float top_p = 1.0f;        // (0, 1]: the smallest set of tokens that holds this much probability (Holtzman 2019)
  float repetition_penalty = 1.0f;  // >= 1: divides positive and multiplies negative logits of seen tokens (CTRL, 2019)
  uint64_t seed = 0;                // the same seed, the same draws
};

// Not thread-safe: it holds the state of its random numbers.
class TokenSampler {
 public:
  // kInvalidArgument names the option that is out of range.
  static Result<TokenSampler> Make(const SamplerOptions& options);

  // The next token. `logits` [vocabulary] are changed; `seen` are the tokens to which the repetition penalty applies,
  // in any order, ids outside the vocabulary ignored. Of equal logits the lower id wins; NaN counts as impossible.
  int32_t Sample(std::span<float> logits, std::span<const int32_t> seen);

  // For a device that does the same: what it does it by, and the number in [0, 1) that Sample would draw next.
  const SamplerOptions& options() const { return options_; }
  double Draw();

 private:
  explicit TokenSampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}
  SamplerOptions options_;
  std::mt19937_64 random_;
  std::vector<int32_t> order_;  // scratch
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_TOKEN_SAMPLER_H_
