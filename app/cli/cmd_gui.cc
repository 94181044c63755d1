// `longview gui`: the window. It is a program of its own beside this one, so that no other command loads Qt.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/stop_signal.h"

namespace longview::cli {

int RunGui(const Context& context) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path window = self.parent_path() / "longview-gui";
  if (error || !std::filesystem::exists(window, error)) {
    context.terminal.Message("this build has no window; use ask, search or caption");
    return kExitUsage;
  }
  const EngineOptions& options = context.args.engine;
  std::vector<std::string> words = {window.string()};
  if (!options.library.empty()) words.insert(words.end(), {"--library", options.library.string()});
  if (options.threads > 0) words.insert(words.end(), {"--threads", std::to_string(options.threads)});
  if (options.device != "auto") words.insert(words.end(), {"--device", options.device});
  words.emplace_back("--");
  words.insert(words.end(), context.args.paths.begin(), context.args.paths.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  UnblockStopSignals();
  execv(window.c_str(), pointers.data());
  context.terminal.Message(window.string() + ": cannot be started: " + std::strerror(errno));
  return kExitNothingDone;
}

}  // namespace longview::cli
