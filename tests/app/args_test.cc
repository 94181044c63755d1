// The command line: what is understood, and that every misuse is one line with a hint and exit code 2.
#include "app/cli/args.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/cli/terminal.h"
#include "tests/support/temp_folder.h"

namespace longview::cli {
namespace {

Args Parsed(const std::vector<std::string>& words) {
  const ParseOutcome outcome = ParseCommandLine(words);
  EXPECT_FALSE(outcome.exit_code.has_value()) << outcome.err << outcome.out;
  return outcome.args;
}

// The message of a usage error, without the program's name and the hint.
std::string Fault(const std::vector<std::string>& words) {
  const ParseOutcome outcome = ParseCommandLine(words);
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
  EXPECT_NE(outcome.err.find("\nTry 'longview"), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("longview"));
  return outcome.err.substr(0, outcome.err.find('\n'));
}

TEST(ArgsTest, AskTakesVideosAndTheQuestionLast) {
  const Args args = Parsed({"ask", "a.mp4", "b.mkv", "What is this?"});
  EXPECT_EQ(args.command, Command::kAsk);
  EXPECT_EQ(args.paths, (std::vector<std::string>{"a.mp4", "b.mkv"}));
  EXPECT_EQ(args.text, "What is this?");
  EXPECT_FALSE(args.json);
  EXPECT_EQ(args.scope, Scope::kFocus);
  EXPECT_EQ(args.cache.mode, "mla");
  EXPECT_EQ(args.cache.latent, 128);
  EXPECT_DOUBLE_EQ(args.sampling.fps, 1.0);
  EXPECT_FALSE(args.at.has_value());
}

TEST(ArgsTest, OptionsStandBeforeOrAfterThePaths) {
  const std::vector<std::vector<std::string>> orders = {
      {"ask", "--at", "1:20:00-1:35:00", "--scope=all", "--json", "--fps", "0.5", "a.mp4", "Q?"},
      {"ask", "a.mp4", "--at", "1:20:00-1:35:00", "--json", "--fps", "0.5", "Q?", "--scope", "all"},
      {"--json", "ask", "a.mp4", "Q?", "--scope", "all", "--at=1:20:00-1:35:00", "--fps=0.5"}};
  for (const auto& words : orders) {
    const Args args = Parsed(words);
    EXPECT_EQ(args.paths, std::vector<std::string>{"a.mp4"});
    EXPECT_EQ(args.text, "Q?");
    EXPECT_EQ(args.scope, Scope::kAll);
    EXPECT_TRUE(args.json);
    EXPECT_DOUBLE_EQ(args.sampling.fps, 0.5);
    ASSERT_TRUE(args.at.has_value());
    EXPECT_DOUBLE_EQ(args.at->start, 4800.0);
    EXPECT_DOUBLE_EQ(args.at->end, 5700.0);
  }
}

TEST(ArgsTest, FormsOfTheCache) {
  const Args args = Parsed({"ask", "a.mp4", "Q?", "--cache", "states", "--store", "fp16", "--latent", "long"});
  EXPECT_EQ(args.cache.mode, "states");
  EXPECT_EQ(args.cache.store, "fp16");
  EXPECT_EQ(args.cache.latent, 32);
  EXPECT_EQ(Parsed({"ask", "a.mp4", "Q?", "--latent", "auto"}).cache.latent, kLatentAuto);
  EXPECT_EQ(Parsed({"index", "a.mp4", "--latent", "balanced"}).cache.latent, 64);
  Fault({"ask", "a.mp4", "Q?", "--latent", "auto", "--cache", "mha"});
  Fault({"index", "a.mp4", "--latent", "auto"});
  Fault({"search", "a.mp4", "Q?", "--cache", "mla"});
}

TEST(ArgsTest, CompareAndBench) {
  Args args = Parsed({"compare", "a.mp4", "--all", "--json", "--groups", "3"});
  EXPECT_EQ(args.command, Command::kCompare);
  EXPECT_TRUE(args.compare.all);
  EXPECT_EQ(args.compare.groups, 3);
  EXPECT_EQ(Parsed({"bench", "--threads", "1"}).command, Command::kBench);
  Fault({"compare"});
  Fault({"compare", "a.mp4", "b.mp4"});
  Fault({"compare", "a.mp4", "--groups", "0"});
  Fault({"bench", "a.mp4"});
}

TEST(ArgsTest, ABudgetNeedsALength) {
  for (const char* command : {"index", "compare", "caption"}) {
    const Args args = Parsed({command, "a.mp4", "--budget", "4GB", "--for", "12h"});
    ASSERT_TRUE(args.budget.has_value()) << command;
    EXPECT_EQ(args.budget->bytes, 4000000000u);
    EXPECT_DOUBLE_EQ(args.budget->seconds, 43200.0);
    EXPECT_FALSE(args.budget->fps_given);
  }
  const Args given =
      Parsed({"ask", "a", "Q", "--budget=1GiB", "--for=1h", "--fps", "2", "--latent", "64", "--store", "int8"});
  ASSERT_TRUE(given.budget.has_value());
  EXPECT_TRUE(given.budget->fps_given && given.budget->latent_given && given.budget->store_given);
  EXPECT_FALSE(Parsed({"ask", "a", "Q"}).budget.has_value());
  EXPECT_TRUE(Parsed({"search", "a", "Q", "--budget", "1GB", "--for", "1h"}).budget.has_value());
  Fault({"ask", "a", "Q", "--budget", "4GB"});
  Fault({"ask", "a", "Q", "--for", "4h"});
  Fault({"ask", "a", "Q", "--budget", "0", "--for", "4h"});
  Fault({"ask", "a", "Q", "--budget", "4GB", "--for", "4h", "--cache", "mha"});
  Fault({"ask", "a", "Q", "--budget", "4GB", "--for", "4h", "--latent", "auto"});
  Fault({"frames", "a", "--at", "1", "--budget", "4GB", "--for", "4h"});
}

// Words that a parser might take for something else.
TEST(ArgsTest, OddWordsArriveUnchanged) {
  const std::vector<std::string> odd = {"[a,b].mp4",   "[x]",    "a b  c", "100%d %s.mp4", "line\nbreak",
                                        "bad\xff\xfe", "search", "a=b",    "{}",           "'q'",
                                        "\"q\"",       "\\",     "\u202e?"};
  for (const std::string& word : odd) {
    EXPECT_EQ(Parsed({"ask", word, "Q"}).paths, std::vector<std::string>{word});
    EXPECT_EQ(Parsed({"ask", "v", word}).text, word);
    EXPECT_EQ(Parsed({"info", word}).paths, std::vector<std::string>{word});
    EXPECT_EQ(Parsed({"caption", "v", "--out", word}).caption.out, word);
  }
  const Args dashed = Parsed({"ask", "--json", "v", "--", "-5 degrees?"});
  EXPECT_EQ(dashed.text, "-5 degrees?");
  EXPECT_TRUE(dashed.json);
  EXPECT_EQ(Parsed({"info", "--", "--json"}).paths, std::vector<std::string>{"--json"});
}

TEST(ArgsTest, CaptionOptions) {
  const Args args = Parsed({"caption", "dir", "-r", "--every", "10s", "--format", "srt,jsonl,srt", "--out", "o",
                            "--overwrite", "--no-resume", "--jobs", "3", "--shard", "2/8"});
  EXPECT_TRUE(args.caption.recursive);
  EXPECT_DOUBLE_EQ(args.caption.every_s, 10.0);
  EXPECT_EQ(args.caption.formats, (std::vector<CaptionFormat>{CaptionFormat::kSrt, CaptionFormat::kJsonl}));
  EXPECT_EQ(args.caption.out, "o");
  EXPECT_TRUE(args.caption.overwrite);
  EXPECT_FALSE(args.caption.resume);
  EXPECT_EQ(args.caption.jobs, 3);
  EXPECT_EQ(args.caption.shard.index, 2u);
  EXPECT_EQ(args.caption.shard.count, 8u);
  const Args plain = Parsed({"caption", "dir"});
  EXPECT_EQ(plain.caption.formats, std::vector<CaptionFormat>{CaptionFormat::kSrt});
  EXPECT_TRUE(plain.caption.resume);
  EXPECT_DOUBLE_EQ(plain.caption.every_s, 0.0);
}

TEST(ArgsTest, CaptionBatchOptions) {
  const Args args =
      Parsed({"caption", "--files-from", "-", "--include", "*.mp4", "--include", "[a].mkv", "--exclude", "x*",
              "--dry-run", "--log-json", "--prompt", "Is there a dog?", "--format", "all", "--resume"});
  EXPECT_TRUE(args.paths.empty());
  EXPECT_EQ(args.caption.files_from, "-");
  EXPECT_EQ(args.caption.include, (std::vector<std::string>{"*.mp4", "[a].mkv"}));
  EXPECT_EQ(args.caption.exclude, std::vector<std::string>{"x*"});
  EXPECT_TRUE(args.caption.dry_run);
  EXPECT_TRUE(args.caption.log_json);
  EXPECT_TRUE(args.caption.resume);
  EXPECT_EQ(args.caption.prompt, "Is there a dog?");
  EXPECT_EQ(args.caption.formats.size(), CaptionFormats().size());
  // A pattern takes one word: what follows is a path.
  EXPECT_EQ(Parsed({"caption", "--exclude", "x", "a.mp4"}).paths, std::vector<std::string>{"a.mp4"});
  // Captions closer than the samples: the film is sampled as often, unless --fps says otherwise.
  EXPECT_DOUBLE_EQ(Parsed({"caption", "d", "--every", "500ms"}).sampling.fps, 2.0);
  EXPECT_DOUBLE_EQ(Parsed({"caption", "d", "--every", "500ms", "--fps", "1"}).sampling.fps, 1.0);
  EXPECT_DOUBLE_EQ(Parsed({"caption", "d", "--every", "10s"}).sampling.fps, 1.0);
  EXPECT_NE(Fault({"caption"}).find("needs a video"), std::string::npos);
  EXPECT_NE(Fault({"caption", "d", "--prompt", " "}).find("prompt"), std::string::npos);
  Fault({"caption", "d", "--resume", "--no-resume"});
  const Args merge = Parsed({"manifest", "merge", "a.json", "b.json", "--out", "c.json"});
  EXPECT_EQ(merge.command, Command::kManifest);
  EXPECT_EQ(merge.paths, (std::vector<std::string>{"a.json", "b.json"}));
  EXPECT_EQ(merge.manifest.out, "c.json");
  Fault({"manifest", "split", "a.json"});
  Fault({"manifest", "merge"});
  EXPECT_TRUE(Parsed({"library", "--check"}).library.check);
  Fault({"library", "--check", "--repair"});
}

TEST(ArgsTest, FramesLibraryAndCommonOptions) {
  const Args frames = Parsed({"frames", "v", "--at", "12.5,1:20,1:00:00.250"});
  EXPECT_EQ(frames.frames.times_s, (std::vector<double>{12.5, 80.0, 3600.25}));
  EXPECT_EQ(frames.frames.out, ".");
  EXPECT_DOUBLE_EQ(Parsed({"frames", "v", "--every", "500ms"}).frames.every_s, 0.5);
  EXPECT_EQ(Parsed({"library", "--prune", "20GB"}).library.prune_to_bytes, 20000000000ULL);
  EXPECT_FALSE(Parsed({"library"}).library.prune_to_bytes.has_value());
  const Args common = Parsed({"doctor", "--library", "lib", "--threads", "2", "--device", "cpu"});
  EXPECT_EQ(common.engine.library, "lib");
  EXPECT_EQ(common.engine.threads, 2);
  EXPECT_EQ(common.engine.device, "cpu");
  EXPECT_EQ(Parsed({"gui"}).command, Command::kGui);
}

TEST(ArgsTest, MisuseIsOneLineWithAHint) {
  EXPECT_NE(Fault({}).find("needs a command"), std::string::npos);
  EXPECT_NE(Fault({"brew"}).find("'brew' is not a command"), std::string::npos);
  EXPECT_NE(Fault({"--zap", "ask"}).find("'--zap'"), std::string::npos);
  EXPECT_NE(Fault({"ask"}).find("needs at least one video"), std::string::npos);
  EXPECT_NE(Fault({"ask", "only.mp4"}).find("question last"), std::string::npos);
  EXPECT_NE(Fault({"ask", "v", " \t"}).find("must not be empty"), std::string::npos);
  EXPECT_NE(Fault({"search", "v", ""}).find("must not be empty"), std::string::npos);
  EXPECT_NE(Fault({"ask", "v", "q", "--zap"}).find("'--zap' is not an option"), std::string::npos);
  EXPECT_NE(Fault({"ask", "", "q"}).find("empty"), std::string::npos);
  EXPECT_NE(Fault({"info"}).find("needs a video"), std::string::npos);
  EXPECT_NE(Fault({"info", "a", "b"}).find("'b'"), std::string::npos);
  EXPECT_NE(Fault({"models", "a"}).find("'a'"), std::string::npos);
  EXPECT_NE(Fault({"frames", "v"}).find("--at"), std::string::npos);
  Fault({"frames", "v", "--at", "1", "--every", "1s"});
  Fault({"caption", "v", "--scenes", "--every", "1s"});
  Fault({"library", "--repair", "--prune", "1GB"});
  Fault({"ask", "v", "q", "--fps"});
}

TEST(ArgsTest, BadValuesNameTheOptionAndTheValue) {
  const std::vector<std::vector<std::string>> cases = {
      {"--fps", "0"},       {"--fps", "0,5"},       {"--fps", "-1"},        {"--fps", "nan"},   {"--fps", "1e3"},
      {"--at", "x"},        {"--at", "2:00-1:00"},  {"--scope", "some"},    {"--cache", "big"}, {"--latent", "33"},
      {"--latent", "half"}, {"--store", "fp8"},     {"--decode", "slow"},   {"--threads", "0"}, {"--threads", "x"},
      {"--device", "gpu"},  {"--device", "cuda:x"}, {"--max-frames", "-3"}, {"--library", ""}};
  for (const auto& option : cases) {
    const std::string fault = Fault({"ask", "v", "q", option[0] + "=" + option[1]});
    EXPECT_NE(fault.find(option[0]), std::string::npos) << fault;
    // Numbers may be said another way; words are quoted.
    if (!option[1].empty() && option[0] != "--fps") {
      EXPECT_NE(fault.find(option[1]), std::string::npos) << fault;
    }
  }
  for (const char* shard : {"0/4", "5/4", "1", "1/0", "a/b", "-1/4", "1/4/2"}) {
    EXPECT_NE(Fault({"caption", "v", "--shard", shard}).find("part"), std::string::npos);
  }
  EXPECT_NE(Fault({"caption", "v", "--format", "srt,doc"}).find("'doc'"), std::string::npos);
  EXPECT_NE(Fault({"caption", "v", "--format", ""}).find("srt, vtt, jsonl, txt"), std::string::npos);
  EXPECT_NE(Fault({"caption", "v", "--every", "0s"}).find("--every"), std::string::npos);
  // A value cannot steer the terminal.
  EXPECT_EQ(Fault({"ask", "v", "q", "--scope=\x1b[31m"}).find('\x1b'), std::string::npos);
}

TEST(ArgsTest, AForgottenQuestionIsNoticed) {
  const TempFolder folder;
  const std::string file = folder.Write("b.mp4", "x").string();
  EXPECT_NE(Fault({"ask", "a.mp4", file}).find("is a file"), std::string::npos);
}

TEST(ArgsTest, SelfTest) {
  const Args args =
      Parsed({"selftest", "a.mp4", "--length", "10m,1h", "--depths", "4", "--needles", "pictures", "--png", "map.png"});
  EXPECT_EQ(args.command, Command::kSelfTest);
  EXPECT_EQ(args.selftest.lengths_s, (std::vector<double>{600.0, 3600.0}));
  EXPECT_EQ(args.selftest.depths, 4);
  EXPECT_EQ(args.selftest.needles, "pictures");
  EXPECT_EQ(args.selftest.png, "map.png");
  EXPECT_TRUE(Parsed({"selftest", "--synthetic", "--store", "int8"}).selftest.synthetic);
  Fault({"selftest"});
  Fault({"selftest", "a.mp4", "--synthetic"});
  Fault({"selftest", "a.mp4", "b.mp4"});
  Fault({"selftest", "a.mp4", "--length", "soon"});
  Fault({"selftest", "a.mp4", "--depths", "0"});
}

TEST(ArgsTest, HelpAndVersion) {
  const ParseOutcome help = ParseCommandLine({"--help"});
  EXPECT_EQ(help.exit_code, kExitDone);
  EXPECT_EQ(help.err, "");
  for (const char* command : {"ask", "search", "caption", "index", "compare", "frames", "info", "models", "library",
                              "doctor", "bench", "selftest", "manifest", "gui"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + command + " "), std::string::npos) << command;
    const ParseOutcome one = ParseCommandLine({command, "--help"});
    EXPECT_EQ(one.exit_code, kExitDone);
    EXPECT_NE(one.out.find(std::string("longview ") + command), std::string::npos) << one.out;
    EXPECT_NE(one.out.find("Examples:"), std::string::npos) << command;
    EXPECT_NE(one.out.find("--json"), std::string::npos) << command;
    EXPECT_EQ(one.out.find("Excludes"), std::string::npos) << one.out;
  }
  EXPECT_EQ(ParseCommandLine({"--version"}).exit_code, kExitDone);
}

TEST(ProgressLineTest, FitsAndNeverDividesByZero) {
  EXPECT_EQ(ProgressLine("Reading a.mp4", {0.0, 0.0}, 1.0, 80), "Reading a.mp4");
  EXPECT_EQ(ProgressLine("Reading", {65.0, 0.0}, 1.0, 80), "Reading 1:05");
  EXPECT_EQ(ProgressLine("R", {5.0, 10.0}, 10.0, 80), "R [##########..........] 50 %, 10 s left");
  EXPECT_EQ(ProgressLine("R", {20.0, 10.0}, 10.0, 80), "R [####################] 100 %");
  EXPECT_EQ(ProgressLine("a\n\x1b[31m", {0.0, 0.0}, 1.0, 80), "a\\n\\x1b[31m");
  for (size_t width = 0; width < 60; ++width) {
    EXPECT_LE(ProgressLine("A name that is long enough", {5.0, 10.0}, 10.0, width).size(), width);
  }
}

}  // namespace
}  // namespace longview::cli
