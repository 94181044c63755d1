// Parsing by hand and std::from_chars, printing by std::to_chars: both are free of the locale, unlike strtod and
// printf.
#include "app/engine/time_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "app/engine/time_text.h"
#include "app/engine/utf8.h"

namespace longview {
namespace {

constexpr size_t kMaxNumberLength = 24;  // longer digit strings are no time or size that a person means

std::string Quoted(std::string_view text) { return "'" + PrintableText(text.substr(0, 60)) + "'"; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool AllDigits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit); }

// digits[.digits], or nothing where the text is anything else.
std::optional<double> Decimal(std::string_view text) {
  if (text.size() > kMaxNumberLength) return std::nullopt;
  const size_t dot = text.find('.');
  if (!AllDigits(text.substr(0, dot))) return std::nullopt;
  if (dot != std::string_view::npos && !AllDigits(text.substr(dot + 1))) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string Padded(int64_t value, size_t width) {
  std::string digits = std::to_string(value);
  return digits.size() >= width ? digits : std::string(width - digits.size(), '0') + digits;
}

// Seconds in a unit of duration and its rank (larger units first), or rank -1.
struct DurationUnit {
  std::string_view name;
  double seconds;
  int rank;
};
constexpr std::array<DurationUnit, 6> kDurationUnits = {
    {{"d", 86400.0, 5}, {"h", 3600.0, 4}, {"min", 60.0, 3}, {"m", 60.0, 3}, {"s", 1.0, 2}, {"ms", 0.001, 1}}};

// Numbers with units from large to small, as 1h30m.
std::optional<double> UnitDuration(std::string_view text) {
  double total = 0.0;
  int last_rank = std::numeric_limits<int>::max();
  while (!text.empty()) {
    const size_t number_end = text.find_first_not_of("0123456789.");
    if (number_end == std::string_view::npos) return std::nullopt;
    const size_t unit_end = std::min(text.find_first_of("0123456789.", number_end), text.size());
    const std::optional<double> number = Decimal(text.substr(0, number_end));
    const std::string_view name = text.substr(number_end, unit_end - number_end);
    const auto unit = std::find_if(kDurationUnits.begin(), kDurationUnits.end(),
                                   [name](const DurationUnit& candidate) { return candidate.name == name; });
    if (!number || unit == kDurationUnits.end() || unit->rank >= last_rank) return std::nullopt;
    total += *number * unit->seconds;
    last_rank = unit->rank;
    text.remove_prefix(unit_end);
  }
  return total;
}

}  // namespace

Result<double> ParseDuration(std::string_view text) {
  std::optional<double> seconds = UnitDuration(text);
  if (!seconds || text.empty()) {
    const Result<double> clock = ParseTime(text);
    if (!clock.ok())
      return InvalidArgument(Quoted(text) + " is not a length of time: write 10s, 500ms, 2m, 1h30m or 1:30");
    seconds = clock.value();
  }
  if (*seconds <= 0.0) return InvalidArgument(Quoted(text) + " is not a length of time above 0");
  return *seconds;
}

Result<uint64_t> ParseSize(std::string_view text) {
  const Status bad = InvalidArgument(Quoted(text) + " is not a size: write 4GB, 512MiB or a number of bytes");
  const size_t number_end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> number = Decimal(text.substr(0, number_end));
  if (!number) return bad;
  const std::string unit = Lower(text.substr(number_end));
  double scale = 1.0;
  if (!unit.empty() && unit != "b") {
    const size_t power = std::string_view("kmgt").find(unit[0]);
    const std::string rest = unit.substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return bad;
    scale = std::pow(rest == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  const double bytes = std::round(*number * scale);
  if (bytes < 1.0 || bytes >= 9.2e18) return bad;
  return static_cast<uint64_t>(bytes);
}

Result<double> ParseNumber(std::string_view text) {
  const std::optional<double> value = Decimal(text);
  if (!value) return InvalidArgument(Quoted(text) + " is not a number: write 0.5 or 2");
  return *value;
}

Result<uint64_t> ParseCount(std::string_view text, uint64_t max) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!AllDigits(text) || error != std::errc() || end != text.data() + text.size() || value > max) {
    return InvalidArgument(Quoted(text) + " is not a whole number from 0 to " + std::to_string(max));
  }
  return value;
}

int64_t ToMilliseconds(double seconds) {
  constexpr double kMax = 9.0e15;  // ms that a double still holds exactly
  if (!std::isfinite(seconds) || seconds <= 0.0) return 0;
  return std::llround(std::min(seconds * 1000.0, kMax));
}

std::string FormatTimestamp(int64_t milliseconds, char separator) {
  return Padded(milliseconds / 3600000, 2) + ":" + Padded(milliseconds / 60000 % 60, 2) + ":" +
         Padded(milliseconds / 1000 % 60, 2) + separator + Padded(milliseconds % 1000, 3);
}

std::string FormatNumber(double value, int decimals) {
  std::array<char, 400> buffer;  // the longest double in fixed notation has 309 digits before the dot
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
  return error == std::errc() ? std::string(buffer.data(), end) : std::string("?");
}

std::string FormatDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0.0) return "?";
  if (seconds < 9.95) return FormatNumber(seconds, 1) + " s";
  const int64_t whole = std::llround(std::min(seconds, 1e12));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + Padded(whole % 60, 2) + " s";
  return std::to_string(whole / 3600) + " h " + Padded(whole / 60 % 60, 2) + " min";
}

std::string FormatSize(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {" kB", " MB", " GB", " TB", " PB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000.0;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return FormatNumber(value, decimals) + kUnits[unit];
}

}  // namespace longview
