// `longview`: reads the command line, makes the engine, runs one command.
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/args.h"
#include "app/cli/commands.h"
#include "app/cli/stop_signal.h"
#include "app/cli/terminal.h"
#include "app/engine/engine.h"

namespace longview::cli {
namespace {

int RunCommand(const Context& context) {
  switch (context.args.command) {
    case Command::kAsk:
      return RunAsk(context);
    case Command::kSearch:
      return RunSearch(context);
    case Command::kCaption:
      return RunCaption(context);
    case Command::kIndex:
      return RunIndex(context);
    case Command::kFrames:
      return RunFrames(context);
    case Command::kInfo:
      return RunInfo(context);
    case Command::kModels:
      return RunModels(context);
    case Command::kLibrary:
      return RunLibrary(context);
    case Command::kDoctor:
      return RunDoctor(context);
    case Command::kGui:
      return RunGui(context);
  }
  return kExitUsage;
}

int Run(ParseOutcome parsed, Terminal* terminal) {
  StopSignal stop;
  parsed.args.engine.on_warning = [terminal](const std::string& warning) { terminal->Message(warning); };
  Result<std::unique_ptr<Engine>> engine = Engine::Create(parsed.args.engine);
  if (!engine.ok()) {
    terminal->Message(engine.status().message());
    const StatusCode code = engine.status().code();
    const bool usage = code == StatusCode::kInvalidArgument || code == StatusCode::kUnsupported;
    return usage ? kExitUsage : kExitNothingDone;
  }
  return RunCommand({parsed.args, *engine.value(), *terminal, stop.token()});
}

int Main(int argc, char** argv) {
  // A reader that goes away and a file at its size limit are errors of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  ParseOutcome parsed = ParseCommandLine(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  Terminal terminal;
  if (parsed.exit_code) {
    terminal.Print(parsed.out);
    terminal.PrintError(parsed.err);
    return terminal.Finish().ok() ? *parsed.exit_code : kExitNothingDone;
  }
  const int exit_code = Run(std::move(parsed), &terminal);
  if (const Status status = terminal.Finish(); !status.ok()) {
    terminal.Message(status.message());
    return exit_code == kExitDone ? kExitNothingDone : exit_code;
  }
  return exit_code;
}

}  // namespace
}  // namespace longview::cli

int main(int argc, char** argv) { return longview::cli::Main(argc, argv); }
