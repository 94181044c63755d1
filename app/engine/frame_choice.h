// Which frames a search lists and a question looks at.
#ifndef LONGVIEW_APP_ENGINE_FRAME_CHOICE_H_
#define LONGVIEW_APP_ENGINE_FRAME_CHOICE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "app/engine/engine_options.h"
#include "app/engine/frame_reading.h"
#include "app/engine/session.h"
#include "attention/decoder/chat_prompt.h"
#include "core/base/thread_pool.h"

namespace longview {

// The frames that `at` leaves; all where it says nothing. kOutOfRange names the videos and how far they go
// where none is left.
Result<std::vector<size_t>> FramesAsked(const Session& session, const std::optional<TimeSpan>& at);

// kOutOfRange, with how far the videos go, where all of them have ended by the time that a question names; a picture
// has no times.
Status CheckNamed(const Session& session, const TimeSpan& named);

// A time in the question's words says where to look, whatever the pictures are like: of a moment the frame shown then
// and of its shot the nearest, `count` at most, in order; of a span all that it has, or `frames` where it has none.
std::vector<size_t> NamedFrames(const Session& session, const TimeSpan& named, size_t count,
                                std::vector<size_t> frames);

// How well each of `frames` (ascending, not empty) fits the words of `prompt`, higher is better: -1..1
// (attention/bridge/retrieval.h) where the model has retrieval heads, else the share of attention 0..1 that a first
// reading of the prompt gave it. The answer goes on from `reading` (empty before).
Result<std::vector<double>> ScoreFrames(const Session& session, const ChatPrompt& prompt,
                                        std::span<const size_t> frames, double question_time_s, PromptReading* reading,
                                        ThreadPool* pool, const std::stop_token& stop);

// The same by attention, whatever the model has. What is not a frame's share went to the sinks. `reading` may hold a
// beginning of the prompt already.
Result<std::vector<double>> ScoreByAttention(const Session& session, const ChatPrompt& prompt,
                                             std::span<const size_t> frames, double question_time_s,
                                             PromptReading* reading, ThreadPool* pool, const std::stop_token& stop);

// 0 .. frames.size() - 1, those that fit `words` best first, `scores` being ScoreFrames of a prompt with these words.
// Where the model has retrieval heads and a caption head, the best are read again: what is added to their scores is
// half of how much less likely the caption head finds the words of this frame than of the likeliest, in the units in
// which the retrieval heads were trained; what was not read stays behind what was.
Result<std::vector<size_t>> Rank(const Session& session, std::string_view words, std::span<const size_t> frames,
                                 const std::stop_token& stop, ThreadPool* pool, std::vector<double>* scores);

// Of frames[order], best first, those that are no nearer than five seconds to a better one of the same shot; at most
// `count`.
std::vector<size_t> Apart(const Session& session, std::span<const size_t> frames, std::span<const size_t> order,
                          size_t count);

// The frames that a question looks at one by one, those that fit it best first.
struct Candidates {
  std::vector<size_t> frames;    // session indices
  std::vector<size_t> attended;  // all that were attended to together before, in order; empty under focus
  std::vector<double> masses;    // the share of attention that each of these got
};

// The best `options.focus_frames` by the question's words and by the attention that each gets when all are attended to
// at once; by the words alone where that would take long and was not asked for, and by attention alone where the model
// has no retrieval heads.
Result<Candidates> FindCandidates(const Session& session, std::string_view words, const ChatPrompt& prompt,
                                  const AskOptions& options, const std::optional<TimeSpan>& named,
                                  double question_time_s, PromptReading* reading, ThreadPool* pool,
                                  const std::stop_token& stop);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_FRAME_CHOICE_H_
