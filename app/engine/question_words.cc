// Recognising the common ways to ask what the bridge was taught to answer.
#include "app/engine/question_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

namespace longview {
namespace {

using Phrase = std::span<const std::string>;

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What shows things: "in the video", "in this clip".
bool IsFootage(std::string_view word) {
  return IsOneOf(word, {"video", "videos", "clip", "film", "footage", "recording", "movie", "scene", "picture", "image",
                        "photo", "photograph", "frame"});
}

// "what's" as two words and British colour as the captions spell it: where either was found, `respelt` is set.
std::vector<std::string> Plain(std::string_view question, bool* respelt) {
  std::vector<std::string> words;
  for (QuestionWord& word : WordsOf(question)) {
    std::string& text = word.lower;
    while (!text.empty() && (text.back() == '.' || text.back() == '!' || text.back() == '?')) text.pop_back();
    if (text.empty()) continue;
    const bool contracted = IsOneOf(text, {"what's", "who's", "where's", "there's"});
    if (contracted) text.resize(text.size() - 2);
    const bool british = text == "colour";
    if (british) text = "color";
    *respelt = *respelt || british || contracted;
    words.push_back(std::move(text));
    if (contracted) words.emplace_back("is");
  }
  return words;
}

// Cuts a phrase that names the footage off the end ("in this video", "here"), and tells whether there was one.
bool CutFootage(std::vector<std::string>* words) {
  const size_t n = words->size();
  if (n > 1 && IsOneOf(words->back(), {"here", "anywhere", "visible", "shown"})) {
    words->pop_back();
    CutFootage(words);
    return true;
  }
  if (n < 3 || !IsFootage(words->back())) return false;
  const bool determined = IsOneOf((*words)[n - 2], {"the", "this", "that", "my"});
  if (!determined || !IsOneOf((*words)[n - 3], {"in", "on", "of"})) return false;
  words->resize(n - 3);
  return true;
}

bool Begins(Phrase words, std::initializer_list<std::string_view> with) {
  return words.size() >= with.size() && std::equal(with.begin(), with.end(), words.begin());
}

std::string Joined(Phrase words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// One of what a plural names; empty where the word does not look like one.
std::string Singular(const std::string& word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOdd = {{{"men", "man"},
                                                                                  {"women", "woman"},
                                                                                  {"children", "child"},
                                                                                  {"people", "person"},
                                                                                  {"buses", "bus"},
                                                                                  {"benches", "bench"}}};
  for (const auto& [many, one] : kOdd) {
    if (word == many) return std::string(one);
  }
  if (word.size() > 4 && word.ends_with("ies")) return word.substr(0, word.size() - 3) + "y";
  if (word.size() > 3 && word.ends_with("s") && !word.ends_with("ss")) return word.substr(0, word.size() - 1);
  return {};
}

std::string WithArticle(const std::string& noun) {
  const bool vowel = IsOneOf(noun.substr(0, 1), {"a", "e", "i", "o", "u"});
  return (vowel ? "an " : "a ") + noun;
}

// "a dog", "any dogs", "snow": what there may be.
std::string Whether(Phrase thing) {
  // Where or beside what it stands is a question of its own.
  const auto relates = [](const std::string& word) {
    return IsOneOf(word, {"in", "on", "at", "with", "by", "near", "behind", "under", "before", "after", "between"});
  };
  if (thing.empty() || std::any_of(thing.begin(), thing.end(), relates)) return {};
  std::string named = Joined(thing);
  const bool any = IsOneOf(thing.front(), {"any", "some"});
  if (any) {
    if (thing.size() == 1) return {};
    const std::string one = Singular(thing.back());
    named = Joined(thing.subspan(1));
    if (!one.empty()) named = WithArticle(named.substr(0, named.size() - thing.back().size()) + one);
  }
  return "Is there " + named + " in the picture?";
}

// What a question about presence asks for: "is there a dog", "can you see a dog", "does the video show a dog".
std::optional<Phrase> Presence(Phrase words) {
  if (words.size() > 2 && IsOneOf(words[0], {"is", "are"}) && words[1] == "there") return words.subspan(2);
  const bool asks = words.size() > 3 && IsOneOf(words[0], {"do", "can", "could"});
  if (asks && IsOneOf(words[1], {"you", "we", "i"}) && words[2] == "see") return words.subspan(3);
  if (words.size() > 4 && words[0] == "does" && IsOneOf(words[1], {"the", "this"}) && IsFootage(words[2]) &&
      IsOneOf(words[3], {"show", "contain", "have", "include"})) {
    return words.subspan(4);
  }
  return std::nullopt;
}

// "how many dogs", whatever stands behind it only says that they are seen.
std::string HowMany(Phrase words) {
  size_t end = 2;
  const auto about_seeing = [](const std::string& word) {
    return IsOneOf(word, {"are", "is", "there", "can", "do", "you", "we", "i", "see", "be", "seen", "appear"});
  };
  while (end < words.size() && !about_seeing(words[end])) ++end;
  if (end == 2 || end > 4 || !std::all_of(words.begin() + static_cast<std::ptrdiff_t>(end), words.end(), about_seeing))
    return {};
  return "How many " + Joined(words.subspan(2, end - 2)) + " are there?";
}

bool AsksWho(Phrase words, bool footage) {
  if (!Begins(words, {"who"})) return false;
  const std::string rest = Joined(words.subspan(1));
  return IsOneOf(rest, {"is there", "is it", "is this", "do you see", "can you see", "appears", "or what is"}) ||
         (footage && IsOneOf(rest, {"is", "are", "appears", "is shown", "is seen"}));
}

bool AsksWhere(Phrase words) {
  if (!Begins(words, {"where"})) return false;
  return IsOneOf(Joined(words.subspan(1)),
                 {"is this", "is it", "are we", "is that", "was this filmed", "was it filmed", "is this filmed",
                  "was this taken", "does this happen", "does it happen", "is this happening", "is this taking place",
                  "does this take place", "does it take place"});
}

}  // namespace

std::vector<QuestionWord> WordsOf(std::string_view question) {
  std::vector<QuestionWord> words;
  for (size_t i = 0; i < question.size();) {
    while (i < question.size() && IsSpace(question[i])) ++i;
    const size_t begin = i;
    while (i < question.size() && !IsSpace(question[i])) ++i;
    if (i == begin) break;
    QuestionWord word{std::string(question.substr(begin, i - begin)), begin};
    for (char& c : word.lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    while (!word.lower.empty() && (word.lower.back() == '?' || word.lower.back() == ',')) word.lower.pop_back();
    words.push_back(std::move(word));
  }
  return words;
}

std::string InTrainedWords(std::string_view question) {
  bool respelt = false;
  std::vector<std::string> words = Plain(question, &respelt);
  const bool footage = CutFootage(&words);
  std::string told;
  if (const std::optional<Phrase> thing = Presence(words)) {
    told = Whether(*thing);
  } else if (Begins(words, {"how", "many"})) {
    told = HowMany(words);
  } else if (AsksWho(words, footage)) {
    told = "Who or what is in the picture?";
  } else if (AsksWhere(words)) {
    told = "Where is this?";
  } else if (footage && words.size() == 3 && IsOneOf(words[0], {"is", "are"})) {
    if (words[1] == "the") words[1] = "a";
    told = Whether(std::span(words).subspan(1));
  } else if (words.size() > 2 && (footage || respelt) &&
             IsOneOf(words[0], {"what", "where", "who", "which", "is", "are"})) {
    told = Joined(words) + "?";
    told.front() = static_cast<char>(told.front() - 'a' + 'A');
  }
  return told.empty() ? std::string(question) : told;
}

bool AsksOnly(std::string_view lower) {
  return IsFootage(lower) ||
         IsOneOf(lower,
                 {"what", "who",  "whose", "which", "where", "when", "how", "many", "much",  "color",     "colour",
                  "is",   "are",  "was",   "were",  "do",    "does", "did", "can",  "could", "there",     "any",
                  "this", "that", "a",     "an",    "the",   "in",   "of",  "or",   "doing", "happening", "see",
                  "seen", "show", "shown", "you",   "we",    "it",   "?",   ",",    ".",     ""});
}

std::string PresenceQuestion(std::string_view prompt) {
  bool respelt = false;
  std::vector<std::string> words = Plain(prompt, &respelt);
  if (words.size() < 5 || !Begins(words, {"how", "many"}) || HowMany(words) != prompt) return {};
  std::vector<std::string> thing(words.begin() + 2, words.end() - 2);
  const std::string one = Singular(thing.back());
  if (one.empty()) return {};
  thing.back() = one;
  return Whether(std::vector<std::string>{WithArticle(Joined(thing))});
}

}  // namespace longview
