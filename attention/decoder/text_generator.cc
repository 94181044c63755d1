// Generate: read the prompt, then sample, tell, read back.
#include "attention/decoder/text_generator.h"

#include <algorithm>

namespace longview {

std::vector<int32_t> EndTokens(const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (const char* name : {"<|im_end|>", "<|endoftext|>"}) {
    const Result<int32_t> id = tokenizer.ControlToken(name);
    if (id.ok()) ids.push_back(*id);
  }
  return ids;
}

Result<Generation> Generate(const TextDecoder& decoder, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                            KvCache* cache, LayerHook* hook, size_t hook_from, const GenerateOptions& options,
                            ThreadPool* pool) {
  LV_ASSIGN_OR_RETURN(TokenSampler sampler, TokenSampler::Make(options.sampler));
  const std::vector<int32_t> stops = options.stop_tokens.empty() ? EndTokens(tokenizer) : options.stop_tokens;
  StreamDecoder stream(tokenizer);
  Generation generation;
  const auto tell = [&](const std::string& text) {
    generation.text += text;
    if (options.on_text && !text.empty()) options.on_text(text);
  };
  ForwardCall call{.tokens = prompt,
                   .hook = hook,
                   .hook_from = hook_from,
                   .entering = options.entering,
                   .from_layer = options.from_layer,
                   .stop = options.stop};
  int32_t token = 0;
  while (true) {
    const bool shown = generation.tokens.empty() && options.on_first_logits;
    call.sampler = shown ? nullptr : &sampler;
    call.seen = generation.tokens;
    Result<ForwardResult> step = decoder.Forward(call, cache, pool);
    if (!step.ok()) {
      if (!(step.status().code() == StatusCode::kCancelled && options.stop.stop_requested())) return step.status();
      generation.end = Generation::End::kCancelled;
      break;
    }
    if (generation.tokens.size() >= options.max_tokens) {
      generation.end = Generation::End::kMaxTokens;
      break;
    }
    if (shown) options.on_first_logits(step->logits);
    token = shown ? sampler.Sample(step->logits, generation.tokens) : step->token;
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) {
      generation.end = Generation::End::kStopToken;
      break;
    }
    generation.tokens.push_back(token);
    tell(stream.Push(token));
    if (generation.tokens.size() >= options.max_tokens) {
      generation.end = Generation::End::kMaxTokens;
      break;
    }
    if (cache->length() >= decoder.config().context) {
      generation.end = Generation::End::kContextFull;
      break;
    }
    call.tokens = std::span(&token, 1);
    call.entering = {};
  }
  tell(stream.Finish());
  return generation;
}

}  // namespace longview
