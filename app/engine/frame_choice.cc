// Retrieval vectors, the caption head's second reading, attention, and how they come together.
#include "app/engine/frame_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "app/engine/question_words.h"
#include "app/engine/time_text.h"
#include "attention/bridge/cross_blocks.h"
#include "attention/bridge/retrieval.h"

namespace longview {
namespace {

// A moment this near to a better one of the same shot shows the same thing and is left out of a search's list.
constexpr double kMomentGap_s = 5.0;
// Of the frames of a search or a question, how many of the best by their vectors the caption head reads.
constexpr size_t kReadAgain = 64;
// How much the caption head's reading counts beside the vectors (docs/evaluation.md).
constexpr double kSecondReading = 0.5;

// Under focus, frames of up to so many tokens in all are attended to at once as well: about two hours at the defaults,
// some tenths of a second.
constexpr uint64_t kAttendedToo = 500'000;

// The heads know captions: of a question only the words that say what is to be seen count, where there are any.
void LeaveOutAsking(const Tokenizer& tokenizer, const ChatPrompt& prompt, WordVectors* words) {
  std::vector<float> shares = words->shares;
  float sum = 0.0f;
  for (size_t i = 0; i < shares.size(); ++i) {
    const std::string text = tokenizer.Decode(std::span(prompt.tokens).subspan(prompt.text_begin + i, 1));
    const std::vector<QuestionWord> alone = WordsOf(text);
    if (AsksOnly(alone.empty() ? std::string_view() : std::string_view(alone.front().lower))) shares[i] = 0.0f;
    sum += shares[i];
  }
  if (sum <= 0.0f) return;
  for (float& share : shares) share /= sum;
  words->shares = std::move(shares);
}

// question: whether the prompt is one, rather than words to look for.
Result<std::vector<double>> ScoreByHeads(const Session& session, const ChatPrompt& prompt,
                                         std::span<const size_t> frames, bool question, KvCache* kv, ThreadPool* pool,
                                         const std::stop_token& stop) {
  const BridgeWeights& bridge = session.bridge();
  ForwardCall call;
  call.tokens = std::span(prompt.tokens).first(prompt.text_end);
  call.logits = ForwardCall::Logits::kNone;
  call.capture_layer = static_cast<int>(bridge.config.retrieval->layer);
  call.stop = stop;
  const TextDecoder& decoder = *session.text().decoder;
  LV_ASSIGN_OR_RETURN(const std::vector<float> embedded, decoder.HiddenStates(call.tokens, 0, kv, pool));
  LV_ASSIGN_OR_RETURN(const ForwardResult result, decoder.Forward(call, kv, pool));
  const size_t width = decoder.config().width, begin = prompt.text_begin * width;
  LV_ASSIGN_OR_RETURN(WordVectors words, ReadWords(bridge, embedded.data() + begin, result.captured.data() + begin,
                                                   prompt.text_end - prompt.text_begin, width));
  if (question) LeaveOutAsking(*session.text().tokenizer, prompt, &words);
  const RetrievalConfig& config = *bridge.config.retrieval;
  std::vector<std::span<const float>> vectors;
  vectors.reserve(frames.size());
  for (const size_t f : frames) {
    const SessionFrame& frame = session.frames()[f];
    LV_ASSIGN_OR_RETURN(const CacheFileFrame rows, session.videos()[frame.video].index->Frame(frame.index));
    if (rows.retrieval.size() != config.parts() * config.width) {
      return InternalError("the index has other retrieval vectors");
    }
    vectors.push_back(rows.retrieval);
  }
  std::vector<double> scores(frames.size());
  pool->ParallelFor(frames.size(), [&](size_t first, size_t last, int) {
    for (size_t i = first; i < last; ++i) scores[i] = Fit(config, words, vectors[i]);
  });
  return scores;
}

// 0 .. scores.size() - 1, the best score first, equal ones in order.
std::vector<size_t> ByScore(std::span<const double> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

// Two orders of the same things as one: by the sum of 1 / (60 + place) (reciprocal rank fusion, Cormack et al. 2009).
std::vector<size_t> Fused(const std::vector<size_t>& one, const std::vector<size_t>& other) {
  std::vector<double> scores(one.size(), 0.0);
  for (const std::vector<size_t>* order : {&one, &other}) {
    for (size_t place = 0; place < order->size(); ++place) {
      scores[(*order)[place]] += 1.0 / (60.0 + static_cast<double>(place));
    }
  }
  return ByScore(scores);
}

Status NoPicture(const Session& session, const std::string& when) {
  double until = 0.0;
  for (const SessionFrame& frame : session.frames()) until = std::max(until, frame.end);
  const std::string of = session.videos().size() == 1 ? session.videos()[0].name : "the videos";
  return OutOfRange(of + ": no picture was kept " + when + "; the last one ends at " + FormatTime(until, 3));
}

}  // namespace

Result<std::vector<size_t>> FramesAsked(const Session& session, const std::optional<TimeSpan>& at) {
  std::vector<size_t> frames(session.frames().size());
  std::iota(frames.begin(), frames.end(), size_t{0});
  if (!at) return frames;
  frames = session.FramesIn(*at);
  if (!frames.empty()) return frames;
  const std::string end = std::isfinite(at->end) ? FormatTime(at->end, 3) : "the end";
  return NoPicture(session, "between " + FormatTime(at->start, 3) + " and " + end);
}

Status CheckNamed(const Session& session, const TimeSpan& named) {
  constexpr double kRounded_s = 1.0;  // people round, and mean the last picture by the film's length
  for (const SessionFrame& frame : session.frames()) {
    const bool still = session.videos()[frame.video].index->totals().still;
    if (still || named.start <= frame.end + kRounded_s) return Status::Ok();
  }
  return NoPicture(session, "at " + FormatTime(named.start) + ", which the question names");
}

std::vector<size_t> NamedFrames(const Session& session, const TimeSpan& named, size_t count,
                                std::vector<size_t> frames) {
  if (named.end > named.start) {
    std::vector<size_t> within = session.FramesIn(named);
    return within.empty() ? std::move(frames) : std::move(within);
  }
  const SessionFrame shown = session.frames()[session.FramesNear(named.start, 1).front()];
  frames = session.FramesNear(named.start, count);
  std::erase_if(frames, [&](size_t f) {
    return session.frames()[f].video == shown.video && session.frames()[f].shot != shown.shot;
  });
  return frames;
}

std::vector<size_t> Apart(const Session& session, std::span<const size_t> frames, std::span<const size_t> order,
                          size_t count) {
  std::vector<size_t> taken;
  for (const size_t i : order) {
    if (taken.size() >= count) break;
    const SessionFrame& frame = session.frames()[frames[i]];
    const bool near_a_better = std::any_of(taken.begin(), taken.end(), [&](size_t t) {
      const SessionFrame& better = session.frames()[frames[t]];
      return better.video == frame.video && better.shot == frame.shot &&
             std::max(better.start - frame.end, frame.start - better.end) < kMomentGap_s;
    });
    if (!near_a_better) taken.push_back(i);
  }
  return taken;
}

Result<std::vector<double>> ScoreByAttention(const Session& session, const ChatPrompt& prompt,
                                             std::span<const size_t> frames, double question_time_s,
                                             PromptReading* reading, ThreadPool* pool, const std::stop_token& stop) {
  CrossBlocksOptions options;
  options.question_time_s = question_time_s;
  LV_ASSIGN_OR_RETURN(const std::unique_ptr<CrossBlocks> cross, session.Attend(frames, std::move(options), pool));
  LV_RETURN_IF_ERROR(
      ReadWith(session, prompt, std::span(&cross, 1), ForwardCall::Logits::kNone, reading, pool, stop).status());
  return cross->Evidence();
}

Result<std::vector<double>> ScoreFrames(const Session& session, const ChatPrompt& prompt,
                                        std::span<const size_t> frames, double question_time_s, PromptReading* reading,
                                        ThreadPool* pool, const std::stop_token& stop) {
  return session.bridge().config.retrieval
             ? ScoreByHeads(session, prompt, frames, false, &reading->kv, pool, stop)
             : ScoreByAttention(session, prompt, frames, question_time_s, reading, pool, stop);
}

Result<std::vector<size_t>> Rank(const Session& session, std::string_view words, std::span<const size_t> frames,
                                 const std::stop_token& stop, ThreadPool* pool, std::vector<double>* scores) {
  std::vector<size_t> order = ByScore(*scores);
  const BridgeWeights& bridge = session.bridge();
  if (!bridge.config.retrieval || !bridge.caption_head) return order;
  const size_t count = std::min(kReadAgain, order.size());
  std::vector<size_t> read;
  for (size_t k = 0; k < count; ++k) read.push_back(frames[order[k]]);
  LV_ASSIGN_OR_RETURN(const std::vector<double> fits, session.Fit(words, read, pool, stop));
  const double likeliest = *std::max_element(fits.begin(), fits.end());
  for (size_t k = 0; k < count; ++k) {
    (*scores)[order[k]] += kSecondReading * (fits[k] - likeliest) / static_cast<double>(bridge.retrieval_scale);
  }
  double last = (*scores)[order.front()];
  for (size_t k = 0; k < count; ++k) last = std::min(last, (*scores)[order[k]]);
  for (size_t k = count; k < order.size(); ++k) (*scores)[order[k]] = std::min((*scores)[order[k]], last);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return (*scores)[a] > (*scores)[b]; });
  return order;
}

Result<Candidates> FindCandidates(const Session& session, std::string_view words, const ChatPrompt& prompt,
                                  const AskOptions& options, const std::optional<TimeSpan>& named,
                                  double question_time_s, PromptReading* reading, ThreadPool* pool,
                                  const std::stop_token& stop) {
  Candidates found;
  LV_ASSIGN_OR_RETURN(std::vector<size_t> frames, FramesAsked(session, options.at));
  const auto count = static_cast<size_t>(options.focus_frames);
  const bool all = options.scope == Scope::kAll;
  const bool heads = session.bridge().config.retrieval.has_value();
  const bool by_time = !all && !options.at && named;
  if (by_time) frames = NamedFrames(session, *named, count, std::move(frames));
  if (!all && frames.size() == 1) return Candidates{std::move(frames), {}, {}};
  std::vector<size_t> order;
  if (by_time && named->end <= named->start) {
    std::vector<double> nearness;
    nearness.reserve(frames.size());
    for (const size_t f : frames) nearness.push_back(-AwayFrom(session.frames()[f], named->start));
    order = ByScore(nearness);
  } else {
    if (heads) {
      LV_ASSIGN_OR_RETURN(std::vector<double> fits,
                          ScoreByHeads(session, prompt, frames, true, &reading->kv, pool, stop));
      LV_ASSIGN_OR_RETURN(order, Rank(session, words, frames, stop, pool, &fits));
    }
    if (all || !heads || session.Stats().tokens <= kAttendedToo) {
      LV_ASSIGN_OR_RETURN(std::vector<double> masses,
                          ScoreByAttention(session, prompt, frames, question_time_s, reading, pool, stop));
      order = heads ? Fused(ByScore(masses), order) : ByScore(masses);
      if (all) {
        found.attended = frames;
        found.masses = std::move(masses);
      }
    }
  }
  for (const size_t i : Apart(session, frames, order, count)) found.frames.push_back(frames[i]);
  return found;
}

}  // namespace longview
