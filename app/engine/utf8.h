// Text from file names and models, made safe to print, to put into JSON and to cut.
#ifndef LONGVIEW_APP_ENGINE_UTF8_H_
#define LONGVIEW_APP_ENGINE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longview {

// One step through text that may be anything.
struct Utf8Step {
  uint32_t code_point = 0;  // U+FFFD where the byte is no part of a well-formed sequence
  size_t bytes = 0;         // bytes used: 1..4; 0 at the end
  bool valid = false;
};

// The character at `at` (at <= text.size()). Overlong forms, surrogates and values above U+10FFFF are not valid
// (Unicode 15, table 3-7).
Utf8Step NextCharacter(std::string_view text, size_t at);

// `bytes` as well-formed UTF-8: every byte that is no part of a well-formed sequence becomes U+FFFD. This is how names
// that are no UTF-8 appear in JSON and in messages.
std::string ValidUtf8(std::string_view bytes);

// `text` on one line that cannot steer a terminal: ValidUtf8, and control characters (C0, DEL, C1, line and paragraph
// separators) are written as \n, \t, \r or \x1b.
std::string PrintableText(std::string_view text);

// The longest beginning of `text` of at most `max_bytes` bytes that does not end inside a character (a byte that is no
// UTF-8 counts as a character).
std::string_view Utf8Prefix(std::string_view text, size_t max_bytes);

// Whether there is nothing to see in `text`: blanks of Unicode, line ends, zero-width characters and controls alone, or
// nothing at all.
bool ShowsNothing(std::string_view text);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_UTF8_H_
