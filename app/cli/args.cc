// CLI11 splits the words; every value is read by our own parsers, which know nothing of the locale and say what they
// want.
#include "app/cli/args.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "app/cli/args_caption.h"
#include "app/cli/args_values.h"
#include "app/engine/answerer.h"
#include "app/engine/time_format.h"
#include "app/engine/time_text.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

constexpr int kMaxThreads = 1024;

// A list of what `parse` reads one of.
template <Result<double> (*parse)(std::string_view)>
Result<std::vector<double>> ParseListOf(std::string_view text) {
  std::vector<double> values;
  LV_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitList(text));
  for (const std::string& part : parts) {
    LV_ASSIGN_OR_RETURN(const double value, parse(part));
    values.push_back(value);
  }
  return values;
}

Result<double> ParseFps(std::string_view text) {
  SamplingSettings probe;
  LV_ASSIGN_OR_RETURN(probe.fps, ParseNumber(text));
  LV_RETURN_IF_ERROR(CheckSampling(probe));
  return probe.fps;
}

Result<std::string> ParseModeName(std::string_view text) {
  CacheOptions probe;
  probe.mode = std::string(text);
  LV_RETURN_IF_ERROR(CheckCache(probe));
  return probe.mode;
}

Result<std::string> ParseStoreName(std::string_view text) {
  CacheOptions probe;
  probe.store = std::string(text);
  LV_RETURN_IF_ERROR(CheckCache(probe));
  return probe.store;
}

// What an index keeps is of one size.
Result<int> ParseFixedLatent(std::string_view text) {
  const Result<int> latent = ParseLatent(text);
  if (latent.ok() && *latent != kLatentAuto) return latent;
  return InvalidArgument("latent '" + PrintableText(text) + "' is none of 32, 64, 128, long, balanced, quality");
}

Result<std::string> ParseDevice(std::string_view text) {
  if (text == "auto" || text == "cpu" || text == "cuda") return std::string(text);
  if (text.starts_with("cuda:") && ParseCount(text.substr(5), 1023).ok()) return std::string(text);
  return InvalidArgument("device '" + PrintableText(text) + "' is none of auto, cpu, cuda, cuda:N");
}

// CLI11's usage line names each positional once; ours says what the last of them is and how many there may be. What
// excludes what is said by the descriptions.
class UsageFormatter : public CLI::Formatter {
 public:
  void Set(const CLI::App* app, const std::string& usage) { usage_[app] = usage; }
  std::string make_usage(const CLI::App* app, std::string /*name*/) const override {
    const auto found = usage_.find(app);
    return "Usage: longview " + (found == usage_.end() ? std::string("COMMAND [OPTIONS]") : found->second) + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string value = option->get_type_size() == 0 ? std::string() : option->get_type_name();
    return value.empty() ? value : " " + value;
  }

 private:
  std::map<const CLI::App*, std::string> usage_;
};

// Holds what CLI11 writes into, and builds the commands.
class Parser {
 public:
  ParseOutcome Parse(const std::vector<std::string>& words);

 private:
  // `usage` is the command's name and what follows it.
  CLI::App* AddCommand(Command command, const std::string& usage, const std::string& description,
                       const std::string& examples);
  void AddPaths(CLI::App* app, const std::string& name, const std::string& description);
  void AddEverywhere(CLI::App* app);
  void AddSampling(CLI::App* app);
  void AddLatent(CLI::App* app, std::function<Result<int>(std::string_view)> parse, const std::string& value_name,
                 const std::string& description);
  void AddCache(CLI::App* app);
  void AddBudget(CLI::App* app);
  void AddAt(CLI::App* app, const std::string& description);
  void AddAsk();
  void AddSearch();
  void AddCaption();
  void AddIndex();
  void AddCompare();
  void AddSelfTest();
  void AddFrames();
  void AddManifest();
  void AddOthers();
  // Empty where all is well, else what is wrong with values that are each right but not together.
  std::string CheckTogether();
  // What is wrong where words were left over or no command was found.
  std::string ExplainExtras(const std::vector<std::string>& words) const;
  ParseOutcome UsageError(const std::string& message) const;

  Args args_;
  std::string library_;
  std::vector<std::string> after_dashes_;  // CLI11 forgets "--" on its way back from a command
  TimeSpan at_;
  uint64_t prune_bytes_ = 0;
  BudgetArgs given_;  // becomes args_.budget where there is one
  CLI::App app_{"Longview answers questions about hours of video on this machine. Nothing leaves it.", "longview"};
  std::vector<std::pair<CLI::App*, Command>> commands_;
  std::shared_ptr<UsageFormatter> formatter_ = std::make_shared<UsageFormatter>();
};

CLI::App* Parser::AddCommand(Command command, const std::string& usage, const std::string& description,
                             const std::string& examples) {
  CLI::App* app = app_.add_subcommand(usage.substr(0, usage.find(' ')), description);
  formatter_->Set(app, usage);
  app->footer(examples);
  app->group("Commands");
  app->set_help_flag("-h,--help", "Print this help and exit")->group(kEverywhere);
  AddEverywhere(app);
  commands_.emplace_back(app, command);
  return app;
}

void Parser::AddPaths(CLI::App* app, const std::string& name, const std::string& description) {
  app->add_option(name, args_.paths, description)->type_name("");
}

void Parser::AddEverywhere(CLI::App* app) {
  AddParsed<std::string>(
      app, "--library", &library_, ParseFolder, "DIR",
      "Where indexes are kept (default: $LONGVIEW_LIBRARY, or longview/library under the XDG data home)")
      ->group(kEverywhere);
  AddParsed<int>(app, "--threads", &args_.engine.threads, IntegerIn(1, kMaxThreads), "N",
                 "Threads to compute with (default: all cores)")
      ->group(kEverywhere);
  AddParsed<std::string>(app, "--device", &args_.engine.device, ParseDevice, "auto|cpu|cuda[:N]",
                         "Where to compute (default: auto, a GPU that this build can use, else the processor)")
      ->group(kEverywhere);
  app->add_flag("--json", args_.json, "Print one JSON object on stdout and nothing else there")->group(kEverywhere);
}

void Parser::AddSampling(CLI::App* app) {
  AddParsed<double>(app, "--fps", &args_.sampling.fps, ParseFps, "N",
                    "Pictures looked at a second, besides each scene's first (default: 1)")
      ->each([this](const std::string&) { given_.fps_given = true; })
      ->group(kReading);
  AddParsed<uint64_t>(
      app, "--max-frames", &args_.sampling.max_frames,
      [](std::string_view text) { return ParseCount(text, uint64_t{1} << 40); }, "N",
      "Pictures kept at most, spread over the video (default: 0, no limit)")
      ->group(kReading);
  AddParsed<Decoding>(app, "--decode", &args_.sampling.decoding, ParseDecoding, "exact|fast|keyframe",
                      "Every picture; no loop filter and no unreferenced pictures; keyframes only (default: exact)")
      ->group(kReading);
}

void Parser::AddLatent(CLI::App* app, std::function<Result<int>(std::string_view)> parse, const std::string& value_name,
                       const std::string& description) {
  AddParsed<int>(app, "--latent", &args_.cache.latent, std::move(parse), value_name, description)
      ->each([this](const std::string&) { given_.latent_given = true; });
}

void Parser::AddBudget(CLI::App* app) {
  AddParsed<uint64_t>(app, "--budget", &given_.bytes, ParseSize, "SIZE",
                      "Choose pictures a second, latents and storage to fit this memory, as 4GB")
      ->group(kReading);
  AddParsed<double>(app, "--for", &given_.seconds, ParseDuration, "TIME", "The length of film for --budget, as 12h")
      ->group(kReading);
}

void Parser::AddAt(CLI::App* app, const std::string& description) {
  AddParsed<TimeSpan>(app, "--at", &at_, ParseTimeRange, "A-B", description)->each([this](const std::string&) {
    args_.at = TimeSpan();
  });
}

void Parser::AddCache(CLI::App* app) {
  AddParsed<std::string>(app, "--cache", &args_.cache.mode, ParseModeName, "mla|mla_layers|mha|gqa|mqa|states",
                         "What is kept for each token (default: mla); see 'longview compare'");
  AddLatent(app, ParseLatent, "32|64|128|auto",
            "Numbers of a latent that are used, or long, balanced, quality (default: 128)");
  AddParsed<std::string>(app, "--store", &args_.cache.store, ParseStoreName, "bf16|fp16|fp32|int8",
                         "How the numbers are stored (default: bf16)")
      ->each([this](const std::string&) { given_.store_given = true; });
}

void Parser::AddAsk() {
  CLI::App* app = AddCommand(Command::kAsk, "ask VIDEO... \"QUESTION\" [OPTIONS]",
                             "Answer a question about one or more videos or pictures",
                             "Examples:\n"
                             "  longview ask ride.mp4 \"What is on the road?\"\n"
                             "  longview ask a.mp4 b.mkv \"Where does the red car stop?\" --at 1:20:00-1:35:00\n"
                             "  longview ask ride.mp4 \"Is there a dog?\" --json\n"
                             "The last of the words is the question, in English; write -- before one that begins with "
                             "a dash. The percentage of a\n"
                             "moment is how surely it alone shows what was asked about; where the answer is a "
                             "description of several moments, each\n"
                             "has an equal share, and where it is a time, how well the moment fits. The model is "
                             "small and often wrong: look at the\n"
                             "moments. The first question under a --budget reads the video anew, at up to 4 "
                             "pictures a second.");
  AddPaths(app, "VIDEO", "Videos or pictures, and the question last");
  AddAt(app, "Look only at this part; times as 12.5 or [H:]MM:SS[.mmm]");
  AddParsed<Scope>(app, "--scope", &args_.scope, ParseScope, "focus|all",
                   "Look at the moments that fit the words, or at those that stand out of everything (default: focus)");
  AddCache(app);
  AddSampling(app);
  AddBudget(app);
}

void Parser::AddSearch() {
  CLI::App* app =
      AddCommand(Command::kSearch, "search VIDEO... \"WORDS\" [OPTIONS]",
                 "Find the moments that fit some words best, with times and scores",
                 "Examples:\n"
                 "  longview search ride.mp4 \"a bicycle\"\n"
                 "  longview search *.mp4 \"a red car\" --limit 3 --json\n"
                 "The last of the words is what to look for, in English. A score says how alike words and picture are "
                 "(-1 to 1), for the 64\n"
                 "best less by how much less likely the model finds the words here than where it finds them likeliest, "
                 "so that it may be\n"
                 "below 0. Its order counts, not its size. There is no 'not found': where nothing fits, the best of "
                 "what does not is listed.");
  AddPaths(app, "VIDEO", "Videos or pictures, and what to look for last");
  AddAt(app, "Look only at this part; times as 12.5 or [H:]MM:SS[.mmm]");
  AddParsed<int>(app, "--limit", &args_.limit, IntegerIn(1, 100000), "N", "Moments to print at most (default: 10)");
  AddSampling(app);
  AddBudget(app);
}

void Parser::AddCaption() {
  CLI::App* app = AddCommand(Command::kCaption, "caption PATH... [OPTIONS]",
                             "Describe what videos show, as subtitles, text or markers", CaptionFooter());
  AddPaths(app, "PATH", "Videos, pictures, folders of them, or patterns in quotes");
  AddCaptionOptions(app, &args_.caption);
  AddSampling(app);
  AddBudget(app);
}

void Parser::AddManifest() {
  CLI::App* app =
      AddCommand(Command::kManifest, "manifest merge FILE... [OPTIONS]",
                 "Merge the manifests that the parts of a `caption` run left",
                 "Examples:\n"
                 "  longview manifest merge Captions/longview-manifest-*.json --out all.json\n"
                 "  longview manifest merge Captions --json\n"
                 "FILE may be a folder: all manifests in it. Of an input named in several, what was finished "
                 "counts before what failed,\n"
                 "and that before what was not done. The exit code is 1 where anything failed or is not done.");
  AddPaths(app, "FILE", "The word merge, then manifests or folders of them");
  AddParsed<std::string>(app, "--out", &args_.manifest.out, ParseFolder, "FILE",
                         "Write the merged manifest here (default: standard output says the numbers only)");
}

void Parser::AddIndex() {
  CLI::App* app = AddCommand(Command::kIndex, "index VIDEO... [OPTIONS]",
                             "Build or refresh the index of videos, so that later questions start at once",
                             "Examples:\n"
                             "  longview index ride.mp4\n"
                             "  longview index *.mkv --fps 0.5\n"
                             "  longview index day.mp4 --budget 2GB --for 24h\n"
                             "What is indexed with --latent 32 is asked with --latent 32.");
  AddPaths(app, "VIDEO", "Videos or pictures");
  app->add_flag("--rebuild", args_.rebuild, "Throw away the index that is there");
  AddLatent(app, ParseFixedLatent, "32|64|128",
            "Numbers of a latent that the index keeps, or long, balanced, quality (default: 128)");
  AddSampling(app);
  AddBudget(app);
}

void Parser::AddCompare() {
  CLI::App* app = AddCommand(Command::kCompare, "compare VIDEO [OPTIONS]",
                             "Measure the cache modes side by side: memory, speed, and what each loses",
                             "Examples:\n"
                             "  longview compare ride.mp4\n"
                             "  longview compare ride.mp4 --all --json\n"
                             "Full attention in fp32 answers eight questions with 26 tokens each; then 19 forms of the "
                             "cache (36 with --all) are run\n"
                             "over those tokens, each attending to every picture. That takes minutes, the more the "
                             "longer the video is. What does not fit\n"
                             "into memory is predicted and marked so.");
  AddPaths(app, "VIDEO", "A video or a picture");
  app->add_flag("--all", args_.compare.all, "Every mode in every storage type");
  AddParsed<int>(app, "--groups", &args_.compare.groups, IntegerIn(1, 1024), "N",
                 "Key-value groups of gqa, a divisor of the heads (default: the model's)");
  AddSampling(app);
  AddBudget(app);
}

void Parser::AddSelfTest() {
  CLI::App* app =
      AddCommand(Command::kSelfTest, "selftest VIDEO | --synthetic [OPTIONS]",
                 "Plant pictures in hours of footage, find them again, draw depth by length",
                 "Examples:\n"
                 "  longview selftest ride.mp4\n"
                 "  longview selftest --synthetic --length 10m,1h --png needles.png\n"
                 "  longview selftest ride.mp4 --needles pictures\n"
                 "The footage is repeated to each length, and each picture is planted at each depth for five "
                 "seconds. A folder of\n"
                 "needles has captions.tsv, one line a picture: FILE<tab>CAPTION; without one the demo clips "
                 "are planted. The footage\n"
                 "and the needles are indexed, and stay in the library. At the default lengths it takes from minutes "
                 "to half an hour; the\n"
                 "bar shows how far it is.");
  AddPaths(app, "VIDEO", "The footage");
  SelfTestArgs* test = &args_.selftest;
  app->add_flag("--synthetic", test->synthetic,
                "The demo clip that tools/quickstart brings is the footage, instead of a VIDEO");
  AddParsed<std::string>(app, "--needles", &test->needles, ParseFolder, "DIR", "Pictures to plant");
  AddParsed<std::vector<double>>(app, "--length", &test->lengths_s, ParseListOf<ParseDuration>, "TIME[,TIME...]",
                                 "Lengths of footage (default: 10m,1h,3h)");
  AddParsed<int>(app, "--depths", &test->depths, IntegerIn(1, 100), "N", "Places along the footage (default: 10)");
  AddParsed<std::string>(app, "--png", &test->png, ParseFolder, "FILE", "Write the heat map here");
  AddSampling(app);
  AddCache(app);
}

void Parser::AddFrames() {
  CLI::App* app = AddCommand(Command::kFrames, "frames VIDEO --at T[,T...] | --every TIME [OPTIONS]",
                             "Save the pictures shown at given times as PNG",
                             "Examples:\n"
                             "  longview frames ride.mp4 --at 12.5,1:20 --out pictures\n"
                             "  longview frames ride.mp4 --every 1s --out pictures\n"
                             "The picture of film.mp4 at 1:20 is written to film.00-01-20.000.png, also over an older "
                             "one; its time is the one\n"
                             "asked for (with microseconds where it is no whole number of milliseconds).");
  AddPaths(app, "VIDEO", "A video or a picture");
  CLI::Option* every = AddParsed<double>(app, "--every", &args_.frames.every_s, ParseDuration, "TIME",
                                         "From the first picture to the last, in this step, as 1s or 500ms; not with "
                                         "--at");
  AddParsed<std::vector<double>>(app, "--at", &args_.frames.times_s, ParseListOf<ParseTime>, "T[,T...]",
                                 "Times as 12.5 or [H:]MM:SS[.mmm]")
      ->join(',')
      ->excludes(every);
  AddParsed<std::string>(app, "--out", &args_.frames.out, ParseFolder, "DIR",
                         "Folder to write to, made where missing (default: here)");
}

void Parser::AddOthers() {
  CLI::App* info = AddCommand(Command::kInfo, "info VIDEO [OPTIONS]",
                              "Say what a video is, measured rather than believed from its header",
                              "Examples:\n  longview info ride.mp4\n  longview info ride.mp4 --json");
  AddPaths(info, "VIDEO", "A video or a picture");
  AddCommand(Command::kModels, "models [OPTIONS]", "List the parts of the model and check them",
             "Examples:\n  longview models\n  longview models --json");
  CLI::App* library =
      AddCommand(Command::kLibrary, "library [OPTIONS]", "List what is indexed",
                 "Examples:\n  longview library\n  longview library --repair\n  longview library --prune 20GB\n"
                 "--check, --repair and --prune are given one at a time.");
  CLI::Option* check =
      library->add_flag("--check", args_.library.check, "Read every index in full and name the damaged ones");
  CLI::Option* repair =
      library->add_flag("--repair", args_.library.repair, "Read every index in full and remove damaged ones")
          ->excludes(check);
  AddParsed<uint64_t>(library, "--prune", &prune_bytes_, ParseSize, "SIZE",
                      "Remove the least recently used indexes until this much remains, as 20GB")
      ->each([this](const std::string&) { args_.library.prune_to_bytes = 0; })
      ->excludes(repair)
      ->excludes(check);
  AddCommand(Command::kBench, "bench [OPTIONS]", "Measure this machine and how near the kernels come to what it can do",
             "Examples:\n  longview bench\n  longview bench --threads 1 --json");
  AddCommand(Command::kDoctor, "doctor [OPTIONS]", "Check this machine and this installation",
             "Examples:\n  longview doctor\n  longview doctor --json");
  CLI::App* gui = AddCommand(Command::kGui, "gui [VIDEO] [OPTIONS]", "Open the desktop app",
                             "Examples:\n  longview gui\n  longview gui ride.mp4\n"
                             "More videos are dropped on the window, or opened in it. Without a VIDEO it opens the one "
                             "that was open last.");
  AddPaths(gui, "VIDEO", "The video to open");
}

std::string Parser::CheckTogether() {
  if (args_.command == Command::kAsk || args_.command == Command::kSearch) {
    const bool ask = args_.command == Command::kAsk;
    const std::string what = ask ? "the question" : "the words to look for";
    if (args_.paths.size() < 2) return "needs at least one video, and " + what + " last";
    args_.text = std::move(args_.paths.back());
    args_.paths.pop_back();
    if (const Status status = CheckWords(args_.text, what); !status.ok()) return status.message();
    struct stat info {};
    if (stat(args_.text.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      return "the last of the words is " + what + ", but '" + args_.text + "' is a file";
    }
  }
  if (args_.command == Command::kCaption) {
    if (std::string fault = CheckCaptionArgs(given_.fps_given, &args_); !fault.empty()) return fault;
  }
  if (args_.command == Command::kManifest) {
    if (args_.paths.empty() || args_.paths[0] != "merge") return "needs the word merge, then manifests";
    args_.paths.erase(args_.paths.begin());
    if (args_.paths.empty()) return "needs at least one manifest";
  }
  const bool takes_none = args_.command == Command::kModels || args_.command == Command::kLibrary ||
                          args_.command == Command::kDoctor || args_.command == Command::kBench;
  if (takes_none && !args_.paths.empty()) return "'" + args_.paths[0] + "' is one word too many";
  const bool may_be_none =
      args_.command == Command::kGui || args_.command == Command::kCaption || args_.command == Command::kSelfTest;
  if (args_.command == Command::kSelfTest && args_.paths.empty() != args_.selftest.synthetic) {
    return "needs either a video or --synthetic";
  }
  if (!takes_none && !may_be_none && args_.paths.empty()) return "needs a video";
  const bool takes_one = args_.command == Command::kInfo || args_.command == Command::kFrames ||
                         args_.command == Command::kCompare || args_.command == Command::kSelfTest ||
                         args_.command == Command::kGui;
  if (takes_one && args_.paths.size() > 1) return "takes one video, and '" + args_.paths[1] + "' is one more";
  for (const std::string& path : args_.paths) {
    if (path.empty()) return "the name of a file is empty";
  }
  if (args_.command == Command::kFrames && args_.frames.times_s.empty() && args_.frames.every_s <= 0.0) {
    return "needs --at T[,T...] or --every TIME";
  }
  if ((given_.bytes > 0) != (given_.seconds > 0.0)) return "--budget SIZE and --for TIME go together";
  if (given_.bytes > 0) args_.budget = given_;
  if (args_.budget && args_.cache.mode != "mla") return "--budget is for cache mode mla";
  if (args_.budget && args_.cache.latent == kLatentAuto) return "--budget has to know the size: not --latent auto";
  if (const Status status = CheckCache(args_.cache); !status.ok()) return status.message();
  return {};
}

std::string Parser::ExplainExtras(const std::vector<std::string>& words) const {
  const std::vector<std::string> left = app_.remaining(true);
  const auto option =
      std::find_if(left.begin(), left.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (option != left.end()) return "'" + *option + "' is not an option here";
  if (!app_.get_subcommands().empty())
    return "'" + (left.empty() ? std::string() : WithoutMark(left[0])) + "' is one word too many";
  if (words.empty() || left.empty()) return "needs a command, as ask, search, caption or info";
  return "'" + left[0] + "' is not a command";
}

ParseOutcome Parser::UsageError(const std::string& message) const {
  std::string name = "longview";
  for (const CLI::App* chosen : app_.get_subcommands()) name += " " + chosen->get_name();
  ParseOutcome outcome;
  outcome.exit_code = kExitUsage;
  outcome.err = name + ": " + PrintableText(message) + "\nTry '" + name + " --help'.\n";
  return outcome;
}

ParseOutcome Parser::Parse(const std::vector<std::string>& words) {
  formatter_->column_width(32);
  formatter_->label("REQUIRED", "");
  app_.formatter(formatter_);
  app_.require_subcommand(1);
  app_.set_help_flag("-h,--help", "Print this help and exit");
  app_.set_version_flag("--version", std::string("longview ") + LONGVIEW_VERSION)
      ->description("Print the version and exit");
  app_.footer(
      "Exit codes: 0 done; 1 at least one input failed; 2 wrong usage; 3 nothing could be done; 130 cancelled.\n"
      "'longview COMMAND --help' explains each command.");
  AddEverywhere(&app_);
  AddAsk();
  AddSearch();
  AddCaption();
  AddIndex();
  AddCompare();
  AddSelfTest();
  AddFrames();
  AddManifest();
  AddOthers();
  ParseOutcome outcome;
  try {
    std::vector<std::string> reversed;  // as CLI11 wants them
    const auto dashes = std::find(words.begin(), words.end(), "--");
    // CLI11 would take the next word for the value.
    const auto empty = std::find_if(words.begin(), dashes,
                                    [](const std::string& w) { return w.starts_with("--") && w.ends_with('='); });
    if (empty != dashes) return UsageError(*empty + " is followed by no value");
    std::transform(std::make_reverse_iterator(dashes), words.rend(), std::back_inserter(reversed), MarkLiteral);
    if (dashes != words.end()) after_dashes_.assign(dashes + 1, words.end());
    app_.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    outcome.exit_code = kExitDone;
    outcome.out = app_.help();
    return outcome;
  } catch (const CLI::CallForVersion&) {
    outcome.exit_code = kExitDone;
    outcome.out = app_.version() + "\n";
    return outcome;
  } catch (const CLI::ExtrasError&) {
    return UsageError(ExplainExtras(words));
  } catch (const CLI::ParseError& error) {
    return UsageError(app_.get_subcommands().empty() ? ExplainExtras(words) : error.what());
  }
  for (std::string& path : args_.paths) path = WithoutMark(path);
  args_.paths.insert(args_.paths.end(), after_dashes_.begin(), after_dashes_.end());
  for (const auto& [app, command] : commands_) {
    if (app->parsed()) args_.command = command;
  }
  args_.engine.library = library_;
  if (args_.at) args_.at = at_;
  if (args_.library.prune_to_bytes) args_.library.prune_to_bytes = prune_bytes_;
  if (const std::string fault = CheckTogether(); !fault.empty()) return UsageError(fault);
  outcome.args = std::move(args_);
  return outcome;
}

}  // namespace

ParseOutcome ParseCommandLine(const std::vector<std::string>& words) { return Parser().Parse(words); }

}  // namespace longview::cli
