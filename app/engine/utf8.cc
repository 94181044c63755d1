// A reader of UTF-8 and what is built on it.
#include "app/engine/utf8.h"

namespace longview {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

unsigned char Byte(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

// Control characters, and the separators that many readers take for the end of a line.
bool IsControl(uint32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029; }

bool IsBlank(uint32_t c) {
  return c <= 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0x1680 || (c >= 0x2000 && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202F) || (c >= 0x205F && c <= 0x206F) || c == 0x3000 || c == 0xFEFF;
}

void AppendEscaped(uint32_t c, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    default:
      break;
  }
  *out += c < 0x100 ? "\\x" : "\\u";
  for (int shift = c < 0x100 ? 4 : 12; shift >= 0; shift -= 4) *out += kHex[(c >> shift) & 15];
}

}  // namespace

Utf8Step NextCharacter(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const unsigned char lead = Byte(text, at);
  if (lead < 0x80) return {lead, 1, true};
  const Utf8Step bad{0xFFFD, 1, false};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < length) return bad;
  uint32_t code = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const unsigned char next = Byte(text, at + i);
    if ((next & 0xC0) != 0x80) return bad;
    code = (code << 6) | (next & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return bad;
  return {code, length, true};
}

std::string ValidUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step step = NextCharacter(bytes, at);
    out += step.valid ? bytes.substr(at, step.bytes) : kReplacement;
    at += step.bytes;
  }
  return out;
}

std::string PrintableText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = NextCharacter(text, at);
    if (!step.valid) {
      out += kReplacement;
    } else if (IsControl(step.code_point)) {
      AppendEscaped(step.code_point, &out);
    } else {
      out += text.substr(at, step.bytes);
    }
    at += step.bytes;
  }
  return out;
}

std::string_view Utf8Prefix(std::string_view text, size_t max_bytes) {
  size_t end = 0;
  while (end < text.size()) {
    const size_t bytes = NextCharacter(text, end).bytes;
    if (end + bytes > max_bytes) break;
    end += bytes;
  }
  return text.substr(0, end);
}

bool ShowsNothing(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = NextCharacter(text, at);
    if (!IsBlank(step.code_point)) return false;
    at += step.bytes;
  }
  return true;
}

}  // namespace longview
