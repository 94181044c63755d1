// What every command's options share: one way to add an option whose text one of our own parsers reads.
#ifndef LONGVIEW_APP_CLI_ARGS_VALUES_H_
#define LONGVIEW_APP_CLI_ARGS_VALUES_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview::cli {

inline const char* const kEverywhere = "Everywhere";
inline const char* const kReading = "Reading the video";

// CLI11 takes a word in brackets for a list, wherever several words may stand. Such words travel with a mark in front.
std::string MarkLiteral(const std::string& word);
std::string WithoutMark(const std::string& word);

// Adds an option whose text `parse` turns into *target. A text that it refuses is a usage error with its message. Given
// twice, the last one counts.
template <typename T>
CLI::Option* AddParsed(CLI::App* app, const std::string& name, T* target,
                       std::function<Result<T>(std::string_view)> parse, const std::string& value_name,
                       const std::string& description) {
  return app
      ->add_option_function<std::string>(
          name, [target, parse](const std::string& text) { *target = parse(WithoutMark(text)).value(); }, description)
      ->check([parse](const std::string& text) {
        const Result<T> result = parse(WithoutMark(text));
        return result.ok() ? std::string() : result.status().message();
      })
      ->type_name(value_name)
      ->take_last();
}

// The parts of a text between its commas.
Result<std::vector<std::string>> SplitList(std::string_view text);
// A parser of whole numbers from `min` to `max`.
std::function<Result<int>(std::string_view)> IntegerIn(int min, int max);
// A name that is not empty.
Result<std::string> ParseFolder(std::string_view text);

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_ARGS_VALUES_H_
