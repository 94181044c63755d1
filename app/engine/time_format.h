// Durations, sizes and numbers as a person types and reads them, and the timestamps of subtitles. Moments of a film are
// in time_text.h. Nothing here looks at the process's locale.
#ifndef LONGVIEW_APP_ENGINE_TIME_FORMAT_H_
#define LONGVIEW_APP_ENGINE_TIME_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace longview {

// A length of time > 0 in seconds: `10s`, `500ms`, `2m` or `2min`, `1.5h`, `2d`, parts from large to small as
// `1h30m`, or a time as ParseTime takes it (`10`, `1:30`). InvalidArgument quotes the text.
Result<double> ParseDuration(std::string_view text);

// A size > 0 in bytes: `4GB` (10^9), `4GiB` or `4G` (2^30), likewise K, M, T, in either case; plain digits or B are
// bytes.
Result<uint64_t> ParseSize(std::string_view text);

// A finite decimal number >= 0 as `0.5` or `2`; no sign, exponent or comma.
Result<double> ParseNumber(std::string_view text);

// A decimal number of digits alone, at most `max`.
Result<uint64_t> ParseCount(std::string_view text, uint64_t max);

// Whole milliseconds, rounded once, so that 0.9995 is one second and never 0 seconds and 1000 ms. Values that are not
// finite or negative give 0.
int64_t ToMilliseconds(double seconds);

// `HH:MM:SS<separator>mmm`, as SRT (',') and VTT ('.') want it; hours take three digits from 100 hours on.
std::string FormatTimestamp(int64_t milliseconds, char separator);

// `value` with exactly `decimals` digits after a dot.
std::string FormatNumber(double value, int decimals);

// For people: `0.8 s`, `12 s`, `3 min 05 s`, `2 h 10 min`.
std::string FormatDuration(double seconds);

// For people, in powers of ten: `812 B`, `4.1 kB`, `2.50 GB`.
std::string FormatSize(uint64_t bytes);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_TIME_FORMAT_H_
