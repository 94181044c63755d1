// Fuzz target: the tokenizer: text to ids and back with a small vocabulary, and a vocabulary made of the input.
#include <string>
#include <string_view>
#include <vector>

#include "attention/decoder/tokenizer.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

// A character of GPT-2's printable alphabet for each byte (its table: printable bytes are themselves).
std::string Letter(int byte) {
  int code = byte;
  const auto printable = [](int b) { return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; };
  if (!printable(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
  }
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 63))};
}

longview::TokenizerSpec AllBytes() {
  longview::TokenizerSpec spec;
  spec.model = "gpt2";
  spec.pre = "smollm";
  for (int byte = 0; byte < 256; ++byte) spec.tokens.push_back(Letter(byte));
  spec.token_types.assign(256, 1);
  return spec;
}

// The input's lines as tokens and merges after those of single bytes.
longview::TokenizerSpec SpecOf(std::string_view text) {
  longview::TokenizerSpec spec = AllBytes();
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find(' ') != std::string::npos) {
      spec.merges.push_back(line);
    } else if (!line.empty()) {
      spec.token_types.push_back(line.starts_with("<|") ? 3 : 1);
      spec.tokens.push_back(line);
    }
  }
  return spec;
}

void RoundTrip(const longview::Tokenizer& tokenizer, std::string_view text) {
  const std::vector<int32_t> ids = tokenizer.Encode(text);
  const std::string back = tokenizer.Decode(ids);
  if (back != longview::RepairUtf8(text)) std::abort();
  longview::StreamDecoder stream(tokenizer);
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.Push(id);
  if (streamed + stream.Finish() != back) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto plain = longview::Tokenizer::Make(AllBytes(), "fuzz");
  if (!plain.ok()) std::abort();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  RoundTrip(**plain, text);
  const size_t half = text.find('\f') == std::string_view::npos ? size / 2 : text.find('\f');
  const auto made = longview::Tokenizer::Make(SpecOf(text.substr(0, half)), "fuzz");
  if (made.ok()) RoundTrip(**made, text.substr(half));
  return 0;
}
