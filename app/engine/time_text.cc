// Reading and writing times. The grammar of a question is a scan over lower-cased words, no regular expressions:
// std::regex is slow and recurses with the input's length.
#include "app/engine/time_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <vector>

namespace longview {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A plain non-negative decimal, whole text; nothing else ("1e5", "-3", "nan" are none).
std::optional<double> PlainNumber(std::string_view text) {
  if (text.empty() || text.size() > 18 || !IsDigit(text.front()) || !IsDigit(text.back())) return std::nullopt;
  int dots = 0;
  for (const char c : text) {
    if (c == '.') {
      ++dots;
    } else if (!IsDigit(c)) {
      return std::nullopt;
    }
  }
  if (dots > 1) return std::nullopt;
  double value = 0.0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// "[H:]MM:SS[.mmm]"; minutes may have one digit where they lead.
std::optional<double> ClockNumber(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t from = 0;;) {
    const size_t colon = text.find(':', from);
    parts.push_back(text.substr(from, colon == std::string_view::npos ? colon : colon - from));
    if (colon == std::string_view::npos) break;
    from = colon + 1;
  }
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  double value = 0.0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    if (!last && parts[i].find('.') != std::string_view::npos) return std::nullopt;
    const std::string_view whole = parts[i].substr(0, parts[i].find('.'));
    const std::optional<double> number = PlainNumber(parts[i]);
    if (!number) return std::nullopt;
    if (i > 0 && (whole.size() != 2 || *number >= 60.0)) return std::nullopt;
    value = value * 60.0 + *number;
  }
  return value;
}

struct Word {
  std::string text;  // lower-cased; letters, or digits with '.' and ':' inside
  bool number = false;
};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; }

std::vector<Word> SplitWords(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::vector<Word> words;
  for (size_t i = 0; i < lower.size();) {
    size_t end = i;
    if (IsDigit(lower[i])) {
      // A '.' or ':' belongs to the number only between digits ("at 12:40." ends with a full stop).
      while (end < lower.size() && (IsDigit(lower[end]) || ((lower[end] == ':' || lower[end] == '.') &&
                                                            end + 1 < lower.size() && IsDigit(lower[end + 1])))) {
        ++end;
      }
      words.push_back({lower.substr(i, end - i), true});
    } else if (IsLetter(lower[i])) {
      while (end < lower.size() && IsLetter(lower[end])) ++end;
      words.push_back({lower.substr(i, end - i), false});
    } else {
      ++end;
    }
    i = end;
  }
  return words;
}

// Seconds in one of the unit; 0 where the word is no unit of time.
double UnitSeconds(const std::string& word) {
  for (const char* unit : {"h", "hr", "hrs", "hour", "hours"}) {
    if (word == unit) return 3600.0;
  }
  for (const char* unit : {"m", "min", "mins", "minute", "minutes"}) {
    if (word == unit) return 60.0;
  }
  for (const char* unit : {"s", "sec", "secs", "second", "seconds"}) {
    if (word == unit) return 1.0;
  }
  return 0.0;
}

std::optional<double> NumberWord(const Word& word) {
  if (word.number) return PlainNumber(word.text);
  constexpr std::array<const char*, 13> kNames = {"zero",  "one",   "two",  "three", "four",   "five",  "six",
                                                  "seven", "eight", "nine", "ten",   "eleven", "twelve"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (word.text == kNames[i]) return static_cast<double>(i);
  }
  if (word.text == "fifteen") return 15.0;
  if (word.text == "twenty") return 20.0;
  if (word.text == "thirty") return 30.0;
  if (word.text == "forty") return 40.0;
  if (word.text == "fifty") return 50.0;
  if (word.text == "sixty") return 60.0;
  if (word.text == "ninety") return 90.0;
  return std::nullopt;
}

bool IsOneOf(const std::vector<Word>& words, size_t i, std::initializer_list<const char*> choices) {
  if (i >= words.size()) return false;
  return std::any_of(choices.begin(), choices.end(), [&](const char* c) { return words[i].text == c; });
}

struct Found {
  double seconds = 0.0;
  size_t next = 0;        // first word after the time
  bool clock = false;     // written with a colon: a time wherever it stands
  bool unitless = false;  // a bare number, a time only as the first half of a range with a unit
  double unit = 0.0;      // the last unit used
};

// "half an hour", "half a minute", "half hour", "quarter of an hour".
std::optional<Found> HalfAt(const std::vector<Word>& words, size_t i) {
  double share = 0.0;
  if (IsOneOf(words, i, {"half"})) share = 0.5;
  if (IsOneOf(words, i, {"quarter"})) share = 0.25;
  if (share == 0.0) return std::nullopt;
  size_t next = i + 1;
  if (IsOneOf(words, next, {"of"})) ++next;
  if (IsOneOf(words, next, {"a", "an"})) ++next;
  if (next >= words.size()) return std::nullopt;
  const double unit = UnitSeconds(words[next].text);
  if (unit == 0.0 || words[next].text.size() < 3) return std::nullopt;
  return Found{share * unit, next + 1, false, false, unit};
}

// The time that begins at word i: a clock form, or numbers with units that grow smaller, or "minute 5".
std::optional<Found> TimeAt(const std::vector<Word>& words, size_t i) {
  if (i >= words.size()) return std::nullopt;
  if (words[i].number && words[i].text.find(':') != std::string::npos) {
    const std::optional<double> clock = ClockNumber(words[i].text);
    if (!clock) return std::nullopt;
    return Found{*clock, i + 1, true, false, 0.0};
  }
  if (const auto half = HalfAt(words, i)) return half;
  // "minute 5", "second 30", "hour 2"
  const double leading = UnitSeconds(words[i].text);
  if (leading != 0.0 && words[i].text.size() >= 3 && i + 1 < words.size() && words[i + 1].number) {
    const std::optional<double> number = PlainNumber(words[i + 1].text);
    if (number && UnitSeconds(i + 2 < words.size() ? words[i + 2].text : "") == 0.0) {
      return Found{*number * leading, i + 2, true, false, leading};
    }
  }
  Found found;
  size_t at = i;
  double smallest = 1e9;
  while (at < words.size()) {
    size_t number_at = at;
    if (at > i && IsOneOf(words, at, {"and"})) ++number_at;
    if (number_at >= words.size()) break;
    std::optional<double> number = NumberWord(words[number_at]);
    if (!number && IsOneOf(words, number_at, {"a", "an"})) number = 1.0;
    if (!number) break;
    const double unit = number_at + 1 < words.size() ? UnitSeconds(words[number_at + 1].text) : 0.0;
    if (unit == 0.0 || unit >= smallest) break;
    found.seconds += *number * unit;
    smallest = unit;
    found.unit = unit;
    at = number_at + 2;
  }
  if (at > i) {
    found.next = at;
    return found;
  }
  const std::optional<double> bare = NumberWord(words[i]);
  if (!bare) return std::nullopt;
  return Found{*bare, i + 1, false, true, 0.0};
}

// Words before a time that make "N units" a point in time rather than a length.
bool PointsAtTime(const std::vector<Word>& words, size_t i) {
  for (size_t back = 1; back <= 2 && back <= i; ++back) {
    if (IsOneOf(words, i - back,
                {"at", "after", "around", "about", "near", "by", "from", "before", "until", "till", "past", "since",
                 "between", "in", "within", "first", "t"})) {
      return true;
    }
    if (!IsOneOf(words, i - back, {"the", "about", "around", "time", "roughly", "exactly"})) return false;
  }
  return false;
}

bool FollowsAsTime(const std::vector<Word>& words, size_t next) {
  if (IsOneOf(words, next, {"in", "into", "mark"})) return true;
  return IsOneOf(words, next, {"from"}) &&
         (IsOneOf(words, next + 1, {"start", "beginning"}) || IsOneOf(words, next + 2, {"start", "beginning"}));
}

}  // namespace

Result<double> ParseTime(std::string_view text) {
  std::string_view body = text;
  if (body.size() > 1 && body.back() == 's' && body.find(':') == std::string_view::npos) body.remove_suffix(1);
  std::optional<double> value = PlainNumber(body);
  if (!value) value = ClockNumber(body);
  if (!value) {
    return InvalidArgument("'" + std::string(text) + "' is not a time; write 12.5, MM:SS or H:MM:SS.mmm");
  }
  return *value;
}

Result<TimeSpan> ParseTimeRange(std::string_view text) {
  const size_t dash = text.find('-', 1);  // not a minus, which no time has
  TimeSpan range;
  LV_ASSIGN_OR_RETURN(range.start, ParseTime(text.substr(0, dash)));
  if (dash == std::string_view::npos) {
    range.end = range.start;
    return range;
  }
  if (dash + 1 == text.size()) return range;
  LV_ASSIGN_OR_RETURN(range.end, ParseTime(text.substr(dash + 1)));
  if (range.end < range.start) {
    return InvalidArgument("'" + std::string(text) + "' ends before it starts; write the earlier time first");
  }
  return range;
}

std::string FormatTime(double seconds, int decimals) {
  decimals = std::clamp(decimals, 0, 3);
  const double scale = std::pow(10.0, decimals);
  const double bounded = std::isfinite(seconds) ? std::clamp(seconds, 0.0, 1e9) : 0.0;
  const auto ticks = static_cast<long long>(std::llround(bounded * scale));
  const auto per_second = static_cast<long long>(scale);
  const long long whole = ticks / per_second;
  std::array<char, 48> buffer{};
  if (whole >= 3600) {
    std::snprintf(buffer.data(), buffer.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%lld:%02lld", whole / 60, whole % 60);
  }
  std::string text = buffer.data();
  if (decimals > 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%0*lld", decimals, ticks % per_second);
    text += buffer.data();
  }
  return text;
}

std::optional<TimeSpan> TimeInQuestion(std::string_view question) {
  const std::vector<Word> words = SplitWords(question);
  for (size_t i = 0; i < words.size(); ++i) {
    std::optional<Found> first = TimeAt(words, i);
    if (!first) continue;
    // A range: "<time> to|and|until <time>"; "between 3 and 5 minutes" lends its unit to the first number.
    if (IsOneOf(words, first->next, {"to", "and", "until", "till", "through"})) {
      const std::optional<Found> second = TimeAt(words, first->next + 1);
      if (second && !second->unitless && (second->clock || second->unit != 0.0)) {
        double start = first->seconds;
        if (first->unitless) start *= second->unit;
        const bool introduced = second->clock || PointsAtTime(words, i);
        if (introduced && start < second->seconds) return TimeSpan{start, second->seconds};
      }
    }
    if (first->unitless) continue;
    if (first->clock || PointsAtTime(words, i) || FollowsAsTime(words, first->next)) {
      return TimeSpan{first->seconds, first->seconds};
    }
    i = first->next - 1;
  }
  return std::nullopt;
}

}  // namespace longview
