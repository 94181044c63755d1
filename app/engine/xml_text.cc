// The characters that XML leaves out are few: most control characters and two that are none.
#include "app/engine/xml_text.h"

#include "app/engine/utf8.h"

namespace longview {

std::string XmlText(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = NextCharacter(text, at);
    const uint32_t c = step.code_point;
    const bool allowed = step.valid && (c >= 0x20 || c == '\t' || c == '\n' || c == '\r') && c != 0xFFFE && c != 0xFFFF;
    if (allowed) {
      out += text.substr(at, step.bytes);
    } else {
      out += "\xEF\xBF\xBD";
    }
    at += step.bytes;
  }
  return out;
}

}  // namespace longview
