// Times as people write them: parsing, printing, and finding them in a question.
#ifndef LONGVIEW_APP_ENGINE_TIME_TEXT_H_
#define LONGVIEW_APP_ENGINE_TIME_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "app/engine/settings.h"
#include "core/base/status.h"

namespace longview {

// "12.5", "MM:SS[.mmm]" or "H:MM:SS[.mmm]" in seconds; a trailing "s" is allowed after a plain number ("10s"). Minutes
// and seconds after a colon have two digits and are below 60. kInvalidArgument quotes the text and shows the forms.
Result<double> ParseTime(std::string_view text);

// "A-B", "A-" or "A": two times, start < end. A single time gives start == end.
Result<TimeSpan> ParseTimeRange(std::string_view text);

// "M:SS.mmm" or "H:MM:SS.mmm" with `decimals` (0..3) digits of the second, rounded; never "60" seconds.
std::string FormatTime(double seconds, int decimals = 0);

// The time that a question names: "at 12:40", "1:02:03", "after 90 seconds", "at 5 minutes 10 seconds", "minute 5",
// "1h20m", "half an hour in". A range ("between 1:00 and 2:00", "from 3 to 5 minutes") gives both ends; a single time
// has start == end. Nothing where no time is named; "3 seconds long" and clock forms with no colon ("7 dogs") are none.
std::optional<TimeSpan> TimeInQuestion(std::string_view question);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_TIME_TEXT_H_
