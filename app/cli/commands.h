// The commands: each takes what the person asked for and an engine, prints, and returns the exit code.
#ifndef LONGVIEW_APP_CLI_COMMANDS_H_
#define LONGVIEW_APP_CLI_COMMANDS_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/args.h"
#include "app/cli/terminal.h"
#include "app/engine/engine.h"

namespace longview::cli {

// What every command works with; all of it outlives the command.
struct Context {
  const Args& args;
  Engine& engine;
  Terminal& terminal;
  std::stop_token stop;

  // For a long call: the stop token, and a progress line with this label.
  JobContext Job(std::string label) const;
};

// One command per cmd_<name>.cc.
int RunAsk(const Context& context);
int RunSearch(const Context& context);
int RunCaption(const Context& context);
int RunIndex(const Context& context);
int RunCompare(const Context& context);
int RunBench(const Context& context);
int RunFrames(const Context& context);
int RunInfo(const Context& context);
int RunModels(const Context& context);
int RunLibrary(const Context& context);
int RunDoctor(const Context& context);
// Becomes the window's own program, which lies beside this one; returns only where that cannot be.
int RunGui(const Context& context);

// Prints the failure and returns its exit code: 130 for a stop, else 3.
int Fail(const Context& context, const Status& status);

// Prints an object on stdout, indented, in the order its keys were given, and a line break. Strings must be valid UTF-8
// (ValidUtf8).
void PrintJson(const Context& context, const nlohmann::ordered_json& object);

// Seconds and shares for JSON: to a millionth, so that 0.1 + 0.2 prints as 0.3.
double Rounded(double value);

// The last part of a path, for progress lines and lists.
std::string ShortName(const std::filesystem::path& path);

// The state of an index as JSON has it: "none", "partial", "complete", "damaged".
std::string_view IndexStateName(IndexState state);
nlohmann::ordered_json IndexJson(const IndexInfo& index);

// Which of the videos asked about can be used.
struct UsableVideos {
  std::vector<std::filesystem::path> paths;
  bool some_failed = false;  // each was named on stderr
  double index_s = 0.0;      // spent on indexing here
  Status fatal;              // the model is missing, or the user stopped it: nothing can be answered
};
// One video is passed on as it is: the question's own call says what is wrong with it. Of several, each is indexed
// first, so that a bad one costs its own answer only. A name given twice counts once.
UsableVideos PrepareVideos(const Context& context);

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_COMMANDS_H_
