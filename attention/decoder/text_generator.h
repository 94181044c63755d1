// Generate: an answer, token by token, from a text decoder.
#ifndef LONGVIEW_ATTENTION_DECODER_TEXT_GENERATOR_H_
#define LONGVIEW_ATTENTION_DECODER_TEXT_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention/decoder/text_decoder.h"
#include "attention/decoder/token_sampler.h"
#include "attention/decoder/tokenizer.h"

namespace longview {

// The tokens that end a turn of a chat or a text: <|im_end|> and <|endoftext|>, as far as the vocabulary has them.
std::vector<int32_t> EndTokens(const Tokenizer& tokenizer);

struct GenerateOptions {
  size_t max_tokens = 256;
  SamplerOptions sampler = {};
  // Tokens that end the answer and are no part of it; empty: EndTokens.
  std::vector<int32_t> stop_tokens = {};
  // Told of text as it is made, whole characters only, from the calling thread. May be empty.
  std::function<void(std::string_view)> on_text = {};
  // Shown the logits [vocabulary] from which the answer's first token is drawn, before anything changes them. May be
  // empty.
  std::function<void(std::span<const float>)> on_first_logits = {};
  // Of the prompt; as in ForwardCall.
  std::span<const float> entering = {};
  size_t from_layer = 0;
  std::stop_token stop = {};
};

struct Generation {
  enum class End { kStopToken, kMaxTokens, kContextFull, kCancelled };
  std::vector<int32_t> tokens;  // without the stop token
  std::string text;             // Decode of them: all that on_text was told
  End end = End::kStopToken;
};

// Reads `prompt` (not empty) after what `cache` holds, then writes an answer. `hook` and `hook_from` as in ForwardCall.
// The repetition penalty sees the answer's own tokens only. The cache afterwards holds the prompt and the answer as far
// as it was read back: its last token may be missing. A stop gives what was made, with End::kCancelled; failures are
// TextDecoder's.
Result<Generation> Generate(const TextDecoder& decoder, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                            KvCache* cache, LayerHook* hook, size_t hook_from, const GenerateOptions& options,
                            ThreadPool* pool);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_TEXT_GENERATOR_H_
