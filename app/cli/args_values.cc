// Values that several commands take.
#include "app/cli/args_values.h"

#include <cstdint>

#include "app/engine/time_format.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

constexpr std::string_view kLiteral = "\x01longview-literal:";

}  // namespace

std::string MarkLiteral(const std::string& word) {
  const bool in_brackets = word.size() > 1 && word.front() == '[' && word.back() == ']';
  return in_brackets ? std::string(kLiteral) + word : word;
}

std::string WithoutMark(const std::string& word) {
  return word.starts_with(kLiteral) ? word.substr(kLiteral.size()) : word;
}

Result<std::vector<std::string>> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t from = 0;;) {
    const size_t comma = text.find(',', from);
    parts.emplace_back(text.substr(from, comma == std::string_view::npos ? comma : comma - from));
    if (comma == std::string_view::npos) return parts;
    from = comma + 1;
  }
}

std::function<Result<int>(std::string_view)> IntegerIn(int min, int max) {
  return [min, max](std::string_view text) -> Result<int> {
    const Result<uint64_t> value = ParseCount(text, static_cast<uint64_t>(max));
    if (!value.ok() || *value < static_cast<uint64_t>(min)) {
      return InvalidArgument("'" + PrintableText(text) + "' is not a whole number from " + std::to_string(min) +
                             " to " + std::to_string(max));
    }
    return static_cast<int>(*value);
  };
}

Result<std::string> ParseFolder(std::string_view text) {
  if (text.empty()) return InvalidArgument("the folder's name is empty");
  return std::string(text);
}

}  // namespace longview::cli
