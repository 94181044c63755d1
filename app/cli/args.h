// The command line: words in, one plain struct out. Pure, so that tests need no process.
#ifndef LONGVIEW_APP_CLI_ARGS_H_
#define LONGVIEW_APP_CLI_ARGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/engine.h"
#include "app/engine/export_captions.h"
#include "app/engine/settings.h"

namespace longview::cli {

// Exit codes (design.md §4). 130 is what a shell reports for a program ended by SIGINT.
inline constexpr int kExitDone = 0;
inline constexpr int kExitSomeFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNothingDone = 3;
inline constexpr int kExitCancelled = 130;

enum class Command {
  kAsk,
  kSearch,
  kCaption,
  kIndex,
  kCompare,
  kSelfTest,
  kFrames,
  kInfo,
  kModels,
  kLibrary,
  kManifest,
  kDoctor,
  kBench,
  kGui
};

// Part `index` (1..count) of `count`.
struct CaptionShard {
  uint32_t index = 1;
  uint32_t count = 1;
};

// What only `caption` takes.
struct CaptionArgs {
  bool recursive = false;
  std::string files_from;            // a file of paths, "-" for stdin; empty: none
  std::vector<std::string> include;  // patterns; empty: every media file
  std::vector<std::string> exclude;
  double every_s = 0.0;  // 0: by scenes
  std::string prompt;    // empty: the model's own
  std::vector<CaptionFormat> formats = {CaptionFormat::kSrt};
  std::string out;  // empty: beside each input
  bool overwrite = false;
  bool resume = true;
  bool dry_run = false;
  bool log_json = false;
  int jobs = 1;
  CaptionShard shard;
};

// What only `manifest` takes.
struct ManifestArgs {
  std::string out;  // empty: nothing is written
};

// What only `frames` takes: times or a step, never both.
struct FramesArgs {
  std::vector<double> times_s;
  double every_s = 0.0;
  std::string out = ".";
};

// What only `library` takes.
struct LibraryArgs {
  bool check = false;
  bool repair = false;
  std::optional<uint64_t> prune_to_bytes;
};

// What only `selftest` takes.
struct SelfTestArgs {
  bool synthetic = false;         // the demo clip as footage
  std::string needles;            // a folder with captions.tsv; empty: the demo clips
  std::vector<double> lengths_s;  // empty: the engine's
  int depths = 10;
  std::string png;  // where the heat map goes; empty: nowhere
};

// What only `compare` takes.
struct CompareArgs {
  bool all = false;
  int groups = 0;  // 0: the model's
};

// --budget SIZE --for TIME, and which of the settings it may not choose because they were given.
struct BudgetArgs {
  uint64_t bytes = 0;
  double seconds = 0.0;
  bool fps_given = false;
  bool latent_given = false;
  bool store_given = false;
};

struct Args {
  Command command = Command::kDoctor;
  std::vector<std::string> paths;  // bytes of the system
  std::string text;                // the question of `ask`, the words of `search`
  bool json = false;
  EngineOptions engine;
  SamplingSettings sampling;
  CacheOptions cache;
  Scope scope = Scope::kFocus;
  std::optional<TimeSpan> at;
  int limit = 10;        // search
  bool rebuild = false;  // index
  CaptionArgs caption;
  ManifestArgs manifest;
  FramesArgs frames;
  LibraryArgs library;
  CompareArgs compare;
  SelfTestArgs selftest;
  std::optional<BudgetArgs> budget;
};

// What `caption` asks the engine for.
CaptionOptions EngineOptionsOf(const Args& args);

// Either `args` to run, or an exit code with what to print first (help on stdout; one line and a hint on stderr).
struct ParseOutcome {
  std::optional<int> exit_code;
  std::string out;
  std::string err;
  Args args;
};

// `words` is the command line without the program's name.
ParseOutcome ParseCommandLine(const std::vector<std::string>& words);

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_ARGS_H_
