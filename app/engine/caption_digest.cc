// Words of captions, weighted by how long they are on the screen.
#include "app/engine/caption_digest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "app/engine/caption_merge.h"
#include "app/engine/utf8.h"

namespace longview {
namespace {

constexpr size_t kMaxSentences = 3;
constexpr double kWorthASentence = 0.15;  // of what the first sentence tells
constexpr double kShortestChapter = 10.0;
constexpr double kMostChapters = 50.0;
constexpr size_t kMaxTitleBytes = 80;

// Sorted: what tells nothing of a picture.
constexpr std::array<std::string_view, 46> kFunctionWords = {
    "a",   "an",    "and", "are",  "as",   "at",    "be",    "being", "but",  "by",    "for",  "from",
    "has", "have",  "he",  "her",  "his",  "in",    "into",  "is",    "it",   "its",   "of",   "on",
    "or",  "over",  "she", "some", "that", "the",   "their", "them",  "then", "there", "they", "this",
    "to",  "under", "up",  "was",  "were", "while", "who",   "with",  "you",  "your"};

using WordTimes = std::map<std::string, double, std::less<>>;  // seconds

std::vector<std::string> Words(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  const auto flush = [&] {
    if (!word.empty() && !std::binary_search(kFunctionWords.begin(), kFunctionWords.end(), word)) words.insert(word);
    word.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) {
      word.push_back(c);
    } else if (c >= 'A' && c <= 'Z') {
      word.push_back(static_cast<char>(c - 'A' + 'a'));
    } else {
      flush();
    }
  }
  flush();
  return {words.begin(), words.end()};
}

// A caption with its words.
struct Described {
  double start_s = 0.0;
  double end_s = 0.0;
  std::string text;
  std::vector<std::string> words;
};

std::vector<Described> Describe(std::span<const Cue> cues, double film_end_s) {
  std::vector<Described> out;
  for (const TimedCue& cue : ArrangeCues(cues, film_end_s)) {
    std::string text = OneLine(ValidUtf8(cue.text));
    std::vector<std::string> words = Words(text);
    out.push_back({static_cast<double>(cue.start_ms) / 1000.0, static_cast<double>(cue.end_ms) / 1000.0,
                   std::move(text), std::move(words)});
  }
  return out;
}

WordTimes TimesOf(std::span<const Described> captions) {
  WordTimes times;
  for (const Described& caption : captions) {
    for (const std::string& word : caption.words) times[word] += caption.end_s - caption.start_s;
  }
  return times;
}

// What a caption tells: the time of its words, long captions not for their length.
double Telling(const Described& caption, const WordTimes& times) {
  double sum = 0.0;
  for (const std::string& word : caption.words) {
    if (const auto found = times.find(word); found != times.end()) sum += found->second;
  }
  return sum / std::sqrt(static_cast<double>(std::max<size_t>(caption.words.size(), 1)));
}

// The caption that tells most, the earlier of two alike.
size_t MostTelling(std::span<const Described> captions, const WordTimes& times, double* telling) {
  size_t best = 0;
  *telling = -1.0;
  for (size_t i = 0; i < captions.size(); ++i) {
    const double now = Telling(captions[i], times);
    if (now > *telling) {
      *telling = now;
      best = i;
    }
  }
  return best;
}

std::string Summary(std::span<const Described> captions) {
  WordTimes times = TimesOf(captions);
  std::set<size_t> chosen;
  double first = 0.0;
  while (!captions.empty() && chosen.size() < kMaxSentences) {
    double telling = 0.0;
    const size_t best = MostTelling(captions, times, &telling);
    if (!chosen.empty() && (telling <= 0.0 || telling < kWorthASentence * first)) break;
    if (chosen.empty()) first = telling;
    if (!chosen.insert(best).second) break;
    for (const std::string& word : captions[best].words) times.erase(word);
  }
  std::string summary;
  for (const size_t i : chosen) {
    if (!summary.empty()) summary += ' ';
    summary += captions[i].text;
    if (std::string_view(".!?").find(captions[i].text.back()) == std::string_view::npos) summary += '.';
  }
  return summary;
}

std::string Title(std::string_view text) {
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() <= kMaxTitleBytes) return std::string(text);
  std::string_view cut = Utf8Prefix(text, kMaxTitleBytes);
  if (const size_t blank = cut.rfind(' '); blank != std::string_view::npos && blank > 0) cut = cut.substr(0, blank);
  return std::string(cut) + "\xE2\x80\xA6";
}

// Captions [first, last) that are one chapter so far.
struct Part {
  size_t first = 0;
  size_t last = 0;
  double start_s = 0.0;
  double end_s = 0.0;
  WordTimes times;
  size_t before = 0;  // neighbours among the parts that are left; itself at the ends
  size_t after = 0;
};

double Difference(const WordTimes& a, const WordTimes& b) {
  double dot = 0.0;
  double aa = 0.0;
  double bb = 0.0;
  for (const auto& [word, time] : a) {
    aa += time * time;
    if (const auto found = b.find(word); found != b.end()) dot += time * found->second;
  }
  for (const auto& [word, time] : b) bb += time * time;
  if (aa == 0.0 || bb == 0.0) return 0.0;  // captions without words belong to any neighbour
  return std::max(0.0, 1.0 - dot / std::sqrt(aa * bb));
}

// Joins neighbouring parts, cheapest first; a joined pair lives on in its earlier part.
class ChapterBuilder {
 public:
  explicit ChapterBuilder(const std::vector<Described>& captions, double film_end_s) {
    for (size_t i = 0; i < captions.size(); ++i) {
      const double end = i + 1 < captions.size() ? captions[i + 1].start_s : std::max(film_end_s, captions[i].end_s);
      parts_.push_back({i, i + 1, i == 0 ? 0.0 : captions[i].start_s, end, TimesOf(std::span(captions).subspan(i, 1)),
                        i == 0 ? 0 : i - 1, std::min(i + 1, captions.size() - 1)});
    }
    left_ = parts_.size();
    for (size_t i = 0; i + 1 < parts_.size(); ++i) queue_.insert({Cost(i), i});
  }

  void JoinUntil(size_t most) {
    while (!queue_.empty()) {
      const auto [cost, i] = *queue_.begin();
      const bool short_one = std::min(Length(i), Length(parts_[i].after)) < kShortestChapter || cost <= 0.0;
      if (left_ <= most && !short_one) break;
      Join(i);
    }
  }

  std::vector<Part> Take() const {
    std::vector<Part> out;
    for (size_t i = 0; i < parts_.size(); i = parts_[i].after) {
      out.push_back(parts_[i]);
      if (parts_[i].after == i) break;
    }
    return out;
  }

 private:
  double Length(size_t i) const { return parts_[i].end_s - parts_[i].start_s; }
  // Of joining part i with the one after it. Parts below the shortest chapter come before all others.
  double Cost(size_t i) const {
    const double a = Length(i);
    const double b = Length(parts_[i].after);
    const double difference = Difference(parts_[i].times, parts_[parts_[i].after].times);
    if (std::min(a, b) < kShortestChapter) return difference - 2.0;
    return difference * (a * b / (a + b));
  }
  void Join(size_t i) {
    const size_t gone = parts_[i].after;
    Part& part = parts_[i];
    Remove(i);
    Remove(gone);
    if (part.before != i) Remove(part.before);
    for (const auto& [word, time] : parts_[gone].times) part.times[word] += time;
    part.last = parts_[gone].last;
    part.end_s = parts_[gone].end_s;
    part.after = parts_[gone].after == gone ? i : parts_[gone].after;
    if (part.after != i) parts_[part.after].before = i;
    --left_;
    if (part.after != i) queue_.insert({Cost(i), i});
    if (part.before != i) queue_.insert({Cost(part.before), part.before});
  }
  // Takes the pair that begins with part i out of the queue, by the cost that it was put in with.
  void Remove(size_t i) {
    if (parts_[i].after != i) queue_.erase({Cost(i), i});
  }

  std::vector<Part> parts_;
  size_t left_ = 0;
  std::set<std::pair<double, size_t>> queue_;
};

}  // namespace

CaptionDigest DigestCaptions(std::span<const Cue> cues, double film_end_s) {
  CaptionDigest digest;
  const std::vector<Described> captions = Describe(cues, film_end_s);
  if (captions.empty()) return digest;
  digest.summary = Summary(captions);
  const double end = std::max(film_end_s, captions.back().end_s);
  ChapterBuilder builder(captions, end);
  builder.JoinUntil(static_cast<size_t>(std::min(2.0 * std::sqrt(end / 60.0) + 1.0, kMostChapters)));
  for (const Part& part : builder.Take()) {
    const auto own = std::span(captions).subspan(part.first, part.last - part.first);
    double telling = 0.0;
    const size_t best = MostTelling(own, part.times, &telling);
    digest.chapters.push_back({part.start_s, part.end_s, Title(own[best].text)});
  }
  return digest;
}

}  // namespace longview
