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
#include "core/base/standard_streams.h"

namespace longview::cli {
namespace {

// Turns --budget into settings and says what was chosen; kExitDone where it could be.
int ApplyBudget(Engine& engine, Terminal* terminal, Args* args) {
  BudgetRequest request;
  request.bytes = args->budget->bytes;
  request.seconds = args->budget->seconds;
  if (args->budget->fps_given) request.fps = args->sampling.fps;
  if (args->budget->latent_given) request.latent = args->cache.latent;
  if (args->budget->store_given) request.store = args->cache.store;
  // Captions are always made from whole latents.
  if (args->command == Command::kCaption) {
    request.latent = args->cache.latent;
    request.store = args->cache.store;
  }
  const Result<BudgetPlan> plan = engine.PlanBudget(request);
  if (!plan.ok()) {
    terminal->Message(plan.status().message());
    const StatusCode code = plan.status().code();
    return code == StatusCode::kNotFound || code == StatusCode::kDamaged ? kExitNothingDone : kExitUsage;
  }
  ApplyPlan(*plan, &args->sampling, &args->cache);
  const bool on_disk = args->command == Command::kIndex && plan->store != "bf16";
  terminal->Message("budget: " + plan->text + (on_disk ? "; the index on disk keeps them in bf16" : ""));
  return kExitDone;
}

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
    case Command::kCompare:
      return RunCompare(context);
    case Command::kBench:
      return RunBench(context);
    case Command::kFrames:
      return RunFrames(context);
    case Command::kInfo:
      return RunInfo(context);
    case Command::kModels:
      return RunModels(context);
    case Command::kLibrary:
      return RunLibrary(context);
    case Command::kSelfTest:
      return RunSelfTest(context);
    case Command::kManifest:
      return RunManifest(context);
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
  if (parsed.args.budget) {
    const int code = ApplyBudget(*engine.value(), terminal, &parsed.args);
    if (code != kExitDone) return code;
  }
  return RunCommand({parsed.args, *engine.value(), *terminal, stop.token()});
}

int Main(int argc, char** argv) {
  OpenStandardStreams();
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
  const Command command = parsed.args.command;
  const int exit_code = Run(std::move(parsed), &terminal);
  if (const Status status = terminal.Finish(); !status.ok()) {
    terminal.Message(status.message());
    // What these make stands in files, whether or not it could be told.
    const bool made = command == Command::kCaption || command == Command::kIndex || command == Command::kFrames;
    if (exit_code != kExitDone) return exit_code;
    return made ? kExitSomeFailed : kExitNothingDone;
  }
  return exit_code;
}

}  // namespace
}  // namespace longview::cli

int main(int argc, char** argv) { return longview::cli::Main(argc, argv); }
