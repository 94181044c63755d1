// Reading frames one at a time: a question put to each alone, and which of them to answer from.
#ifndef LONGVIEW_APP_ENGINE_FRAME_READING_H_
#define LONGVIEW_APP_ENGINE_FRAME_READING_H_

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "app/engine/session.h"
#include "attention/bridge/cross_blocks.h"
#include "attention/decoder/chat_prompt.h"
#include "attention/decoder/kv_cache.h"
#include "attention/decoder/text_decoder.h"
#include "core/base/thread_pool.h"

namespace longview {

// How likely an answer drawn from these logits [vocabulary] does not deny: one that does begins with one of two words,
// as the bridge was taught ("No, there is no dog.", "Not in this footage.").
double ShareNotDenied(const Tokenizer& tokenizer, std::span<const float> logits);

// A prompt as far as it was read without a video, which is done once for all that it is then put to.
struct PromptReading {
  KvCache kv;                   // a beginning of the prompt, at most all before prompt.cross_from
  std::vector<float> entering;  // then the states in which what follows enters the first cross layer; empty before
  size_t from_layer = 0;        // that layer
};

// The logits [hooks.size(), vocabulary] behind the prompt, as each hook alone makes them; none where `logits` is kNone.
// `reading` goes on from where it is and ends at prompt.cross_from. Errors: kOutOfRange for a prompt longer than the
// decoder's context, kCancelled, the hooks' own.
Result<std::vector<float>> ReadWith(const Session& session, const ChatPrompt& prompt,
                                    std::span<const std::unique_ptr<CrossBlocks>> hooks, ForwardCall::Logits logits,
                                    PromptReading* reading, ThreadPool* pool, const std::stop_token& stop);

// Of each of `frames` (session indices), attended to alone: how surely it shows what the prompt asks about, 0..1, by
// the probability that the answer does not begin by denying it. A small decoder answers far better from one picture
// than from several at once. A frame's result does not depend on the others. Errors as ReadWith; kDamaged names an
// index file.
Result<std::vector<double>> ReadAlone(const Session& session, const ChatPrompt& prompt, std::span<const size_t> frames,
                                      double question_time_s, PromptReading* reading, ThreadPool* pool,
                                      const std::stop_token& stop);

// A frame that shows what is asked about this surely is answered from: of several that were read, one is easily taken
// for what it is not, so that evens will not do.
inline constexpr double kShown = 0.7;

// Which of the frames to answer from, `shown` (not empty) being what ReadAlone gave for them, those that fit the
// question best first: the one that shows it most surely; where none does surely enough the first that denies it.
size_t ChooseFrame(std::span<const double> shown);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_FRAME_READING_H_
