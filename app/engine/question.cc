// Reading what a question asks of time: a scan over its words, lower-cased.
#include "app/engine/question.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "app/engine/question_words.h"
#include "app/engine/time_text.h"

namespace longview {
namespace {

// The caption prompt that the bridge knows best.
constexpr std::string_view kWhatHappens = "What is happening?";

// "What happens?", "What do you see?": words that ask about nothing in particular.
constexpr std::array<std::string_view, 16> kHappening = {"happens", "happened", "is",   "happening", "was", "going",
                                                         "on",      "do",       "does", "we",        "you", "i",
                                                         "see",     "can",      "be",   "seen"};
// And those that name the footage itself: "Describe what is shown in this video."
constexpr std::array<std::string_view, 24> kFootage = {"in",      "the",       "this",  "video",   "clip",  "film",
                                                       "footage", "recording", "scene", "picture", "image", "photo",
                                                       "moment",  "here",      "there", "shown",   "about", "whole",
                                                       "it",      "what",      "me",    "briefly", "a",     "please"};

using Word = QuestionWord;

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

template <size_t N>
bool IsOneOf(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool StartsWith(const std::vector<Word>& words, std::initializer_list<std::string_view> phrase) {
  if (words.size() < phrase.size()) return false;
  return std::equal(phrase.begin(), phrase.end(), words.begin(),
                    [](std::string_view expected, const Word& word) { return word.lower == expected; });
}

// The question's own text from word `from` on, without its question mark.
std::string Rest(std::string_view question, const std::vector<Word>& words, size_t from) {
  if (from >= words.size()) return {};
  std::string_view rest = question.substr(words[from].begin);
  while (!rest.empty() && (IsSpace(rest.back()) || rest.back() == '?' || rest.back() == '.' || rest.back() == '!')) {
    rest.remove_suffix(1);
  }
  return std::string(rest);
}

// Where the event of a when-question begins; 0 where it is none.
size_t EventOfWhen(const std::vector<Word>& words) {
  constexpr std::array<std::string_view, 10> kAuxiliary = {"does", "do",   "did",  "is",  "are",
                                                           "was",  "were", "will", "has", "have"};
  constexpr std::array<std::string_view, 4> kWho = {"we", "you", "i", "one"};
  size_t at = 0;
  if (StartsWith(words, {"when"})) at = 1;
  for (const std::string_view noun : {"time", "moment", "point"}) {
    if (StartsWith(words, {"at", "what", noun}) || StartsWith(words, {"at", "which", noun})) at = 3;
    if (StartsWith(words, {"what", noun})) at = 2;
  }
  for (const std::string_view noun : {"video", "footage", "film", "clip", "recording"}) {
    if (StartsWith(words, {"where", "in", "the", noun})) at = 4;
  }
  if (at == 0 || at >= words.size()) return 0;
  // "When can we see a dog?", "When do you see ...": the event is what is seen.
  if (at + 2 < words.size() && IsOneOf(words[at + 1].lower, kWho) && words[at + 2].lower == "see") {
    return at + 3 < words.size() ? at + 3 : 0;
  }
  // Without an auxiliary it is another kind of sentence ("When you look at the dog, what ...").
  if (!IsOneOf(words[at].lower, kAuxiliary)) return 0;
  ++at;
  if (at < words.size() && words[at].lower == "there") ++at;
  return at < words.size() ? at : 0;
}

// Where the event of "what came before ..." begins, and which side is asked for; 0 where it is neither.
size_t EventOfNeighbour(const std::vector<Word>& words, QuestionPlan::Kind* kind) {
  constexpr std::array<std::string_view, 14> kOfOrder = {"came",    "comes",       "come",     "happen", "right",
                                                         "just",    "there",       "shown",    "did",    "next",
                                                         "appears", "immediately", "directly", "shortly"};
  if (!StartsWith(words, {"what"})) return 0;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& word = words[i].lower;
    if (word == "before" || word == "after") {
      *kind = word == "before" ? QuestionPlan::Kind::kBefore : QuestionPlan::Kind::kAfter;
      return i + 1;
    }
    if (word == "follows" && i == 1) {
      *kind = QuestionPlan::Kind::kAfter;
      return i + 1;
    }
    if (!IsOneOf(word, kHappening) && !IsOneOf(word, kOfOrder)) return 0;
  }
  return 0;
}

bool IsTimeWord(const std::string& word) {
  constexpr std::array<std::string_view, 20> kUnits = {"hour", "hours",  "h",       "minute", "minutes", "min", "mins",
                                                       "m",    "second", "seconds", "sec",    "secs",    "s",   "and",
                                                       "to",   "the",    "mark",    "half",   "an",      "in"};
  if (!word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0) return true;
  return IsOneOf(word, kUnits);
}

// The end of the phrase of time that begins at word `from` ("at 12:40", "between 1:00 and 2:00"); `from` where none
// does.
size_t EndOfTime(const std::vector<Word>& words, std::string_view question, size_t from) {
  constexpr std::array<std::string_view, 7> kBefore = {"at", "around", "about", "near", "between", "from", "after"};
  if (!IsOneOf(words[from].lower, kBefore)) return from;
  size_t end = from + 1;
  while (end < words.size() && IsTimeWord(words[end].lower)) ++end;
  const size_t stop = end < words.size() ? words[end].begin : question.size();
  return TimeInQuestion(question.substr(words[from].begin, stop - words[from].begin)) ? end : from;
}

// The question without the time that it names at its end or at its beginning, which reaches the attention as a number:
// the bridge learned its questions so. Empty where nothing else is left.
std::string WithoutTime(const std::vector<Word>& words, std::string_view question) {
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t end = EndOfTime(words, question, i);
    if (end == i) continue;
    if (end == words.size()) {
      std::string_view kept = question.substr(0, words[i].begin);
      while (!kept.empty() && (IsSpace(kept.back()) || kept.back() == ',')) kept.remove_suffix(1);
      return kept.empty() ? std::string() : std::string(kept) + "?";
    }
    if (i == 0) {
      std::string kept(question.substr(words[end].begin));
      if (kept.front() >= 'a' && kept.front() <= 'z') kept.front() = static_cast<char>(kept.front() - 'a' + 'A');
      return kept;
    }
  }
  return std::string(question);
}

// "What is happening in the video?", "Can you describe this scene?", "Tell me what you see."
bool AsksWhatHappens(std::vector<Word> words) {
  constexpr std::array<std::string_view, 5> kTell = {"describe", "summarize", "summarise", "caption", "tell"};
  constexpr std::array<std::string_view, 4> kPolite = {"please", "can", "could", "you"};
  for (Word& word : words) {
    while (!word.lower.empty() && (word.lower.back() == '.' || word.lower.back() == '!')) word.lower.pop_back();
  }
  size_t at = 0;
  while (at < words.size() && IsOneOf(words[at].lower, kPolite)) ++at;
  if (at == words.size()) return false;
  const bool tell = IsOneOf(words[at].lower, kTell);
  if (!tell && (words[at].lower != "what" || at + 1 == words.size())) return false;
  return std::all_of(words.begin() + static_cast<ptrdiff_t>(at) + 1, words.end(), [&](const Word& word) {
    return IsOneOf(word.lower, kHappening) || IsOneOf(word.lower, kFootage);
  });
}

}  // namespace

QuestionPlan PlanQuestion(std::string_view question) {
  QuestionPlan plan;
  plan.prompt = std::string(question);
  const std::vector<Word> words = WordsOf(question);
  if (const size_t event = EventOfWhen(words); event > 0) {
    plan.kind = QuestionPlan::Kind::kWhen;
    plan.event = Rest(question, words, event);
    return plan;
  }
  QuestionPlan::Kind side = QuestionPlan::Kind::kPlain;
  if (const size_t event = EventOfNeighbour(words, &side); event > 0) {
    plan.kind = side;
    plan.event = Rest(question, words, event);
    plan.prompt = kWhatHappens;
    plan.general = true;
    return plan;
  }
  if (TimeInQuestion(question)) {
    const std::string rest = WithoutTime(words, question);
    if (!rest.empty()) plan.prompt = rest;
  }
  plan.general = AsksWhatHappens(WordsOf(plan.prompt));
  plan.prompt = plan.general ? std::string(kWhatHappens) : InTrainedWords(plan.prompt);
  return plan;
}

}  // namespace longview
