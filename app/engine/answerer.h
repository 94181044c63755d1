// Questions to a session: which frames to look at, the answer, and what it drew on.
#ifndef LONGVIEW_APP_ENGINE_ANSWERER_H_
#define LONGVIEW_APP_ENGINE_ANSWERER_H_

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/engine.h"
#include "app/engine/events.h"
#include "app/engine/session.h"
#include "core/base/progress.h"
#include "core/base/thread_pool.h"

namespace longview {

// kInvalidArgument where there is nothing to see in `words`, or more than 4,096 bytes; `what` they are opens the
// message.
Status CheckWords(std::string_view words, const std::string& what);

// kInvalidArgument: a question that CheckWords refuses, or an option out of range.
Status CheckAsk(std::string_view question, const AskOptions& options);

// Answers from a session of at least one frame. time.index_s and total_s are the caller's to fill; first_token_s counts
// from `ready`. Errors: kInvalidArgument (an empty question), kOutOfRange (no frame within options.at, or by
// the time that the question names; a question longer than the decoder's context), kCancelled.
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
