// Focus, answers, evidence, search.
#include "app/engine/answerer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "app/engine/evidence.h"
#include "app/engine/frame_choice.h"
#include "app/engine/frame_reading.h"
#include "app/engine/question.h"
#include "app/engine/question_words.h"
#include "app/engine/time_text.h"
#include "app/engine/utf8.h"
#include "attention/decoder/text_generator.h"
#include "core/base/clock.h"

namespace longview {
namespace {

// No moment is shorter, a still's neither.
constexpr double kShortest = 0.001;
// What the bridge was taught to say where a question presupposes what is not there.
constexpr std::string_view kAbsent = "Not in this footage.";

// t_q: the middle of what was named, or its beginning where it has no end.
double MiddleOf(const TimeSpan& span) { return std::isfinite(span.end) ? (span.start + span.end) / 2.0 : span.start; }

// `span` without what lies beyond `at`, where that is more than a moment.
TimeSpan Within(const std::optional<TimeSpan>& at, const TimeSpan& span) {
  if (!at || at->end <= at->start) return span;
  return {std::clamp(span.start, at->start, at->end), std::clamp(span.end, at->start, at->end)};
}

// The question's own prompt, or one that begins with the latest turns that together stay within kMaxHistory bytes, so
// that a long conversation never crowds out the question.
Result<ChatPrompt> PromptFor(const TextPart& text, std::string_view question, const AskOptions& options,
                             bool with_video) {
  if (options.history.empty()) return MakeQuestionPrompt(*text.tokenizer, question, with_video);
  constexpr size_t kMaxHistory = 1500;
  size_t first = options.history.size();
  for (size_t bytes = 0; first > 0; --first) {
    const AskTurn& turn = options.history[first - 1];
    bytes += turn.question.size() + turn.answer.size();
    if (bytes > kMaxHistory) break;
  }
  std::vector<ChatTurn> turns;
  for (size_t i = first; i < options.history.size(); ++i) {
    turns.push_back({ChatTurn::Role::kUser, options.history[i].question});
    turns.push_back({ChatTurn::Role::kAssistant, options.history[i].answer});
  }
  turns.push_back({ChatTurn::Role::kUser, std::string(question)});
  return MakeChatPrompt(*text.tokenizer, turns, !with_video);
}

std::vector<Evidence> LookedAt(const Session& session, std::span<const size_t> frames,
                               const std::vector<double>& masses) {
  std::vector<Evidence> looked;
  for (size_t i = 0; i < frames.size(); ++i) {
    const SessionFrame& frame = session.frames()[frames[i]];
    looked.push_back({session.videos()[frame.video].name, frame.start, frame.end, masses[i]});
  }
  return looked;
}

std::vector<Evidence> EvidenceOf(const Session& session, std::span<const size_t> frames,
                                 const std::vector<double>& masses, const std::optional<TimeSpan>& at) {
  std::vector<FrameMass> table;
  for (size_t i = 0; i < frames.size(); ++i) {
    const SessionFrame& frame = session.frames()[frames[i]];
    // Frames between which others were left out do not touch, whatever shot they are of.
    const bool follows = i > 0 && frames[i] == frames[i - 1] + 1;
    table.push_back({frame.video, frame.start, frame.end, frame.shot_start || !follows, masses[i]});
  }
  std::vector<Evidence> evidence;
  for (const EvidenceSpan& span : MergeEvidence(table)) {
    const TimeSpan shown = Within(at, {span.start, span.end});
    evidence.push_back({session.videos()[span.video].name, shown.start, shown.end, span.weight});
  }
  return evidence;
}

// Which of the candidates to answer from.
struct Choice {
  std::vector<double> shown;  // as ReadAlone; empty for a single frame that the answer itself will read
  size_t index = 0;
  bool absent = false;  // none shows what is to be counted
};

Result<Choice> ChooseAmong(const Session& session, const std::string& question, const ChatPrompt& prompt,
                           std::span<const size_t> frames, double question_time_s, PromptReading* reading,
                           ThreadPool* pool, const std::stop_token& stop) {
  Choice choice;
  if (const std::string presence = PresenceQuestion(question); !presence.empty()) {
    LV_ASSIGN_OR_RETURN(const ChatPrompt asked, MakeQuestionPrompt(*session.text().tokenizer, presence, true));
    PromptReading own;
    LV_ASSIGN_OR_RETURN(choice.shown, ReadAlone(session, asked, frames, question_time_s, &own, pool, stop));
    const auto surest = std::max_element(choice.shown.begin(), choice.shown.end());
    choice.index = static_cast<size_t>(surest - choice.shown.begin());
    // Of several frames one is more easily taken for what it is not.
    choice.absent = *surest < (frames.size() > 1 ? 0.5 : 0.3);
  } else if (frames.size() > 1) {
    LV_ASSIGN_OR_RETURN(choice.shown, ReadAlone(session, prompt, frames, question_time_s, reading, pool, stop));
    choice.index = ChooseFrame(choice.shown);
  }
  return choice;
}

// What the answer drew on: the frames that show what was asked about, each as surely as it does, together as surely as
// the chosen one does; where none does, the one that the denial came from, as surely as it denies.
void Attribute(const Session& session, const Candidates& candidates, const Choice& choice,
               const std::optional<TimeSpan>& at, Answer* answer) {
  const std::vector<double>& shown = choice.shown;
  const size_t chosen = choice.index;
  const bool found = shown[chosen] >= kShown;
  double sum = 0.0;
  for (const double s : shown) sum += s >= kShown ? s : 0.0;
  std::vector<std::pair<size_t, double>> table;  // session frame, weight
  for (size_t i = 0; i < shown.size(); ++i) {
    const double of_found = shown[i] >= kShown ? shown[i] / sum * shown[chosen] : 0.0;
    const double of_denied = i == chosen ? 1.0 - shown[i] : 0.0;
    table.emplace_back(candidates.frames[i], found ? of_found : of_denied);
  }
  std::sort(table.begin(), table.end());
  std::vector<size_t> frames;
  std::vector<double> weights;
  for (const auto& [frame, weight] : table) {
    frames.push_back(frame);
    weights.push_back(weight);
  }
  answer->looked = candidates.attended.empty() ? LookedAt(session, frames, weights)
                                               : LookedAt(session, candidates.attended, candidates.masses);
  // An answer that nothing of the kind is there drew on no moment.
  if (answer->text != kAbsent) answer->evidence = EvidenceOf(session, frames, weights, at);
}

// Reads the rest of the prompt and writes the answer.
Status Write(const TextPart& text, const ChatPrompt& prompt, PromptReading* reading, LayerHook* hook,
             const AskOptions& options, Clock::time_point ready, const JobContext& job,
             const std::function<void(std::string_view)>& on_text, ThreadPool* pool, Answer* answer) {
  GenerateOptions generate;
  generate.max_tokens = static_cast<size_t>(options.max_tokens);
  generate.stop = job.stop;
  generate.entering = reading->entering;
  generate.from_layer = reading->from_layer;
  if (hook != nullptr) {
    generate.on_first_logits = [&](std::span<const float> logits) {
      answer->in_footage = ShareNotDenied(*text.tokenizer, logits);
    };
  }
  bool first = true;
  generate.on_text = [&](std::string_view piece) {
    if (std::exchange(first, false)) answer->time.first_token_s = SecondsSince(ready);
    if (on_text) on_text(piece);
  };
  LV_ASSIGN_OR_RETURN(Generation generation,
                      Generate(*text.decoder, *text.tokenizer, std::span(prompt.tokens).subspan(reading->kv.length()),
                               &reading->kv, hook, prompt.cross_from, generate, pool));
  if (generation.end == Generation::End::kCancelled) return Cancelled();
  if (first) answer->time.first_token_s = SecondsSince(ready);
  answer->text = std::move(generation.text);
  answer->prompt_tokens = prompt.tokens.size();
  answer->answer_tokens = generation.tokens.size();
  return Status::Ok();
}

}  // namespace

Status CheckWords(std::string_view words, const std::string& what) {
  constexpr size_t kLongest = 4096;
  if (ShowsNothing(words)) return InvalidArgument(what + " must not be empty");
  if (words.size() > kLongest) return InvalidArgument(what + " is longer than " + std::to_string(kLongest) + " bytes");
  return Status::Ok();
}

Status CheckAsk(std::string_view question, const AskOptions& options) {
  LV_RETURN_IF_ERROR(CheckWords(question, "the question"));
  if (options.focus_frames < 1 || options.focus_frames > 4096) {
    return InvalidArgument("focus on " + std::to_string(options.focus_frames) + " frames: not in 1..4096");
  }
  if (options.max_tokens < 1) return InvalidArgument("an answer of at most 0 tokens cannot be given");
  if (options.at && !(options.at->start >= 0.0 && options.at->end >= options.at->start)) {
    return InvalidArgument("the time span ends before it starts");
  }
  return Status::Ok();
}

namespace {

// A moment that fits an event this much worse than the best one, in share of the best score, is no answer to "when".
constexpr double kNearlyAsGood = 0.85;

// An answer that was found rather than written by the decoder.
Result<Answer> Say(Answer answer, Clock::time_point ready, const std::function<void(std::string_view)>& on_text) {
  answer.time.first_token_s = SecondsSince(ready);
  if (on_text) on_text(answer.text);
  return answer;
}

Result<std::vector<Moment>> FindEvent(const Session& session, const std::string& event, const AskOptions& options,
                                      const JobContext& job, ThreadPool* pool) {
  SearchOptions search;
  search.limit = 3;
  search.at = options.at;
  LV_ASSIGN_OR_RETURN(SearchResult found, SearchIn(session, event, search, job, pool));
  return std::move(found.moments);
}

// "At 12:40.": the moment that fits the event best; others nearly as good are evidence beside it.
Status AnswerWhen(const Session& session, const QuestionPlan& plan, const AskOptions& options, const JobContext& job,
                  ThreadPool* pool, Answer* answer) {
  LV_ASSIGN_OR_RETURN(const std::vector<Moment> moments, FindEvent(session, plan.event, options, job, pool));
  const Moment& best = moments.front();
  answer->text = "At " + FormatTime(best.start) + ".";
  answer->in_footage = std::clamp(best.score, 0.0, 1.0);
  for (const Moment& moment : moments) {
    if (moment.score < kNearlyAsGood * best.score) break;
    answer->evidence.push_back({moment.video, moment.start, moment.end, std::clamp(moment.score, 0.0, 1.0)});
  }
  return Status::Ok();
}

// The frames of the shot before or after the moment that the plan names; empty where there is none. Nearest to it
// first where they are more than a question looks at; in order of time.
Result<std::vector<size_t>> NeighbourFrames(const Session& session, const QuestionPlan& plan, const AskOptions& options,
                                            const JobContext& job, ThreadPool* pool) {
  size_t reference = 0;
  if (const std::optional<TimeSpan> time = TimeInQuestion("at " + plan.event)) {
    LV_RETURN_IF_ERROR(CheckNamed(session, *time));
    reference = session.FramesNear(time->start, 1).front();
  } else {
    LV_ASSIGN_OR_RETURN(const std::vector<Moment> moments, FindEvent(session, plan.event, options, job, pool));
    const auto& frames = session.frames();
    reference = static_cast<size_t>(std::find_if(frames.begin(), frames.end(),
                                                 [&](const SessionFrame& frame) {
                                                   return session.videos()[frame.video].name == moments.front().video &&
                                                          frame.start == moments.front().start;
                                                 }) -
                                    frames.begin());
    if (reference == frames.size()) return InternalError("a moment found is no kept frame");
  }
  const SessionFrame& at = session.frames()[reference];
  const bool before = plan.kind == QuestionPlan::Kind::kBefore;
  if (before && at.shot == 0) return std::vector<size_t>{};
  const uint32_t shot = before ? at.shot - 1 : at.shot + 1;
  std::vector<size_t> found;
  for (size_t i = 0; i < session.frames().size(); ++i) {
    if (session.frames()[i].video == at.video && session.frames()[i].shot == shot) found.push_back(i);
  }
  const auto most = static_cast<size_t>(options.focus_frames);
  if (found.size() > most) {
    if (before) {
      found.erase(found.begin(), found.end() - static_cast<ptrdiff_t>(most));
    } else {
      found.resize(most);
    }
  }
  return found;
}

// A frame to describe, and the span of time that its description stands for.
struct Glimpse {
  size_t frame = 0;
  double start = 0.0;
  double end = 0.0;
};

// The middle frame of each shot of `frames`; where there are more shots than sentences that one would read, or one shot
// of minutes, frames spread evenly over them.
std::vector<Glimpse> Glimpses(const Session& session, std::span<const size_t> frames) {
  constexpr size_t kMost = 6;
  constexpr double kLong_s = 60.0;
  const std::vector<SessionFrame>& all = session.frames();
  std::vector<std::pair<size_t, size_t>> shots;  // [first, last) in `frames`
  double length = 0.0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const SessionFrame& frame = all[frames[i]];
    length += std::max(0.0, frame.end - frame.start);
    if (i == 0 || frame.video != all[frames[i - 1]].video || frame.shot != all[frames[i - 1]].shot) {
      shots.push_back({i, i});
    }
    shots.back().second = i + 1;
  }
  std::vector<Glimpse> glimpses;
  const auto wanted = static_cast<size_t>(std::min(std::ceil(length / kLong_s), static_cast<double>(kMost)));
  if (shots.size() <= kMost && shots.size() >= wanted) {
    for (const auto& [first, last] : shots) {
      glimpses.push_back({frames[first + (last - first) / 2], all[frames[first]].start, all[frames[last - 1]].end});
    }
    return glimpses;
  }
  const size_t count = std::min(kMost, frames.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t frame = frames[(2 * i + 1) * frames.size() / (2 * count)];
    glimpses.push_back({frame, all[frame].start, all[frame].end});
  }
  return glimpses;
}

// The captions of `frames`' moments one after another, each sentence once; its moments are the evidence.
Status AnswerByCaptions(const Session& session, std::span<const size_t> frames, const AskOptions& options,
                        const JobContext& job, Answer* answer) {
  const std::vector<Glimpse> glimpses = Glimpses(session, frames);
  const double weight = 1.0 / static_cast<double>(glimpses.size());
  std::vector<std::string> told;
  for (const Glimpse& glimpse : glimpses) {
    LV_ASSIGN_OR_RETURN(std::string text, session.Describe(std::span(&glimpse.frame, 1),
                                                           static_cast<size_t>(options.max_tokens), job.stop));
    const std::string& video = session.videos()[session.frames()[glimpse.frame].video].name;
    const double end = std::max(glimpse.end, glimpse.start + kShortest);
    answer->evidence.push_back({video, glimpse.start, end, weight});
    answer->looked.push_back(answer->evidence.back());
    if (std::find(told.begin(), told.end(), text) != told.end()) continue;
    if (!told.empty()) answer->text += ' ';
    answer->text += text;
    told.push_back(std::move(text));
  }
  answer->in_footage = 1.0;
  return Status::Ok();
}

}  // namespace

Result<Answer> AnswerFrom(const Session& session, std::string_view question, const AskOptions& options,
                          Clock::time_point ready, const JobContext& job,
                          const std::function<void(std::string_view)>& on_text, ThreadPool* pool) {
  LV_RETURN_IF_ERROR(CheckAsk(question, options));
  Answer answer;
  answer.cache = session.Stats();
  for (size_t i = 0; i < session.videos().size(); ++i) {
    const VideoIndex& index = *session.videos()[i].index;
    const double until = index.info(index.frames() - 1).end_s;
    answer.read_until_s = i == 0 ? until : std::min(answer.read_until_s, until);
  }
  const QuestionPlan plan = PlanQuestion(question);
  std::vector<size_t> frames;
  std::optional<TimeSpan> named = options.at ? options.at : TimeInQuestion(question);
  if (plan.kind == QuestionPlan::Kind::kWhen) {
    LV_RETURN_IF_ERROR(AnswerWhen(session, plan, options, job, pool, &answer));
    return Say(std::move(answer), ready, on_text);
  }
  if (plan.kind != QuestionPlan::Kind::kPlain) {
    LV_ASSIGN_OR_RETURN(frames, NeighbourFrames(session, plan, options, job, pool));
    if (frames.empty()) {
      answer.text =
          plan.kind == QuestionPlan::Kind::kBefore ? "Nothing comes before that." : "Nothing comes after that.";
      return Say(std::move(answer), ready, on_text);
    }
    const SessionFrame& middle = session.frames()[frames[frames.size() / 2]];
    named = TimeSpan{middle.start, middle.end};
  } else if (named && !options.at) {
    LV_RETURN_IF_ERROR(CheckNamed(session, *named));
  }
  if (plan.general && session.bridge().caption_head) {
    if (frames.empty()) {
      LV_ASSIGN_OR_RETURN(frames, FramesAsked(session, options.at));
      if (!options.at && named) frames = NamedFrames(session, *named, 1, std::move(frames));
    }
    LV_RETURN_IF_ERROR(AnswerByCaptions(session, frames, options, job, &answer));
    return Say(std::move(answer), ready, on_text);
  }
  LV_ASSIGN_OR_RETURN(const ChatPrompt prompt, PromptFor(session.text(), plan.prompt, options, true));
  const double question_time_s = named ? MiddleOf(*named) : 0.0;
  PromptReading reading;
  Candidates candidates{std::move(frames), {}, {}};
  if (candidates.frames.empty()) {
    LV_ASSIGN_OR_RETURN(candidates, FindCandidates(session, plan.prompt, prompt, options, named, question_time_s,
                                                   &reading, pool, job.stop));
  }
  LV_ASSIGN_OR_RETURN(Choice choice, ChooseAmong(session, plan.prompt, prompt, candidates.frames, question_time_s,
                                                 &reading, pool, job.stop));
  if (choice.absent) {
    answer.text = kAbsent;
    answer.in_footage = choice.shown[choice.index];
    Attribute(session, candidates, choice, options.at, &answer);
    return Say(std::move(answer), ready, on_text);
  }
  LV_ASSIGN_OR_RETURN(const auto cross,
                      session.Attend(std::span(&candidates.frames[choice.index], 1), question_time_s, pool));
  LV_RETURN_IF_ERROR(Write(session.text(), prompt, &reading, cross.get(), options, ready, job, on_text, pool, &answer));
  if (choice.shown.empty()) choice.shown = {answer.in_footage};
  Attribute(session, candidates, choice, options.at, &answer);
  return answer;
}

Result<Answer> AnswerPlain(const TextPart& text, std::string_view question, const AskOptions& options,
                           Clock::time_point ready, const JobContext& job,
                           const std::function<void(std::string_view)>& on_text, ThreadPool* pool) {
  LV_RETURN_IF_ERROR(CheckAsk(question, options));
  Answer answer;
  answer.cache = {options.cache.mode, options.cache.store, std::max(0, options.cache.latent), 0, 0};
  LV_ASSIGN_OR_RETURN(const ChatPrompt prompt, PromptFor(text, question, options, false));
  PromptReading reading;
  LV_RETURN_IF_ERROR(Write(text, prompt, &reading, nullptr, options, ready, job, on_text, pool, &answer));
  return answer;
}

Result<SearchResult> SearchIn(const Session& session, std::string_view words, const SearchOptions& options,
                              const JobContext& job, ThreadPool* pool) {
  LV_RETURN_IF_ERROR(CheckWords(words, "what to look for"));
  if (options.limit < 1) return InvalidArgument("a search for at most 0 moments finds none");
  LV_ASSIGN_OR_RETURN(const std::vector<size_t> frames, FramesAsked(session, options.at));
  LV_ASSIGN_OR_RETURN(const ChatPrompt prompt, MakeQuestionPrompt(*session.text().tokenizer, words, true));
  PromptReading reading;
  LV_ASSIGN_OR_RETURN(std::vector<double> scores, ScoreFrames(session, prompt, frames, 0.0, &reading, pool, job.stop));
  LV_ASSIGN_OR_RETURN(const std::vector<size_t> order, Rank(session, words, frames, job.stop, pool, &scores));

  SearchResult result;
  result.trained_heads = session.bridge().config.retrieval.has_value();
  for (const size_t i : Apart(session, frames, order, static_cast<size_t>(options.limit))) {
    const SessionFrame& frame = session.frames()[frames[i]];
    const TimeSpan shown = Within(options.at, {frame.start, std::max(frame.end, frame.start + kShortest)});
    result.moments.push_back({session.videos()[frame.video].name, shown.start, shown.end, scores[i]});
  }
  return result;
}

}  // namespace longview
