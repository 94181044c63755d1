// Questions to a session: which frames to look at, the answer, and what it drew on.
#ifndef LONGVIEW_APP_ENGINE_ANSWERER_H_
#define LONGVIEW_APP_ENGINE_ANSWERER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/engine.h"
#include "app/engine/events.h"
#include "app/engine/session.h"
#include "attention/decoder/chat_prompt.h"
#include "attention/decoder/kv_cache.h"
#include "core/base/progress.h"
#include "core/base/thread_pool.h"

namespace longview {

// How well each of `frames` (ascending, not empty) fits the words of `prompt`, higher is better: cosine -1..1 where the
// model has retrieval heads, else the share of attention 0..1 that a first reading of the prompt gave it. `kv` (empty)
// afterwards holds a beginning of the prompt, at most up to prompt.cross_from, which needs no video: the answer goes on
// from there.
Result<std::vector<double>> ScoreFrames(const Session& session, const ChatPrompt& prompt,
                                        std::span<const size_t> frames, double question_time_s, KvCache* kv,
                                        ThreadPool* pool, const std::stop_token& stop);

// The same by attention, whatever the model has. What is not a frame's share went to the sinks.
Result<std::vector<double>> ScoreByAttention(const Session& session, const ChatPrompt& prompt,
                                             std::span<const size_t> frames, double question_time_s, KvCache* kv,
                                             ThreadPool* pool, const std::stop_token& stop);

// kInvalidArgument where there is nothing to see in `words`, or more than 4,096 bytes; `what` they are opens the
// message.
Status CheckWords(std::string_view words, const std::string& what);

// kInvalidArgument: a question that CheckWords refuses, or an option out of range.
Status CheckAsk(std::string_view question, const AskOptions& options);

// Answers from a session of at least one frame. time.index_s and total_s are the caller's to fill; first_token_s counts
// from `ready`. Errors: kInvalidArgument (an empty question), kOutOfRange (no frame within options.at; a question
// longer than the decoder's context), kCancelled.
Result<Answer> AnswerFrom(const Session& session, std::string_view question, const AskOptions& options,
                          std::chrono::steady_clock::time_point ready, const JobContext& job,
                          const std::function<void(std::string_view)>& on_text, ThreadPool* pool);

// Answers from the text decoder alone.
Result<Answer> AnswerPlain(const TextPart& text, std::string_view question, const AskOptions& options,
                           std::chrono::steady_clock::time_point ready, const JobContext& job,
                           const std::function<void(std::string_view)>& on_text, ThreadPool* pool);

// The moments that fit the words best.
Result<SearchResult> SearchIn(const Session& session, std::string_view words, const SearchOptions& options,
                              const JobContext& job, ThreadPool* pool);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_ANSWERER_H_
