// Every command on a good clip: exit codes, the shapes of --json, and what a person reads.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "tests/e2e/cli_fixture.h"

namespace longview::test {
namespace {

namespace fs = std::filesystem;
using CliCommands = CliTest;
using Keys = std::vector<std::string>;

TEST_F(CliCommands, UsageErrorsAreOneLineAndAHint) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"brew"},
                                             {"ask"},
                                             {"ask", "a.mp4"},
                                             {"info"},
                                             {"frames", "a.mp4"},
                                             {"ask", "a.mp4", "q", "--fps=x", "--json"},
                                             {"caption"}}) {
    const RunOutcome outcome = Run(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(LineCount(outcome.err), 2u) << outcome.err;
    EXPECT_NE(outcome.err.find("--help"), std::string::npos);
  }
  // Without CUDA in the build 2, without such a GPU in the machine 3.
  EXPECT_GE(Run({"info", CliEnvironment::Clip().string(), "--device", "cuda:99"}).exit_code, 2);
  EXPECT_EQ(Run({"--help"}).exit_code, 0);
  EXPECT_EQ(Run({"ask", "--help"}).exit_code, 0);
}

TEST_F(CliCommands, AWindowThatCannotOpenSaysWhy) {
  RunOptions options;
  options.unset = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"};
  const RunOutcome gui = Run({"gui"}, options);
  const bool built = fs::exists(fs::path(LONGVIEW_PROGRAM).parent_path() / "longview-gui");
  EXPECT_EQ(gui.exit_code, built ? 3 : 2);
  EXPECT_NE(gui.err.find(built ? "no display" : "no window"), std::string::npos) << gui.err;
}

TEST_F(CliCommands, Info) {
  const std::string clip = CopyClip("film.mp4").string();
  const nlohmann::json info = RunJson({"info", clip});
  EXPECT_EQ(KeysOf(info), (Keys{"audio", "duration_s", "first_time_s", "fps_avg", "hdr", "height", "index", "path",
                                "pix_fmt", "rotation", "vfr", "video_codec", "width"}));
  EXPECT_EQ(info["path"], clip);
  EXPECT_NEAR(info["duration_s"].get<double>(), 2.0, 0.001);
  EXPECT_EQ(info["first_time_s"], 0.0);
  EXPECT_EQ(info["width"], 160);
  EXPECT_EQ(info["height"], 96);
  EXPECT_EQ(info["video_codec"], "h264");
  EXPECT_EQ(info["pix_fmt"], "yuv420p");
  EXPECT_EQ(info["audio"], false);
  EXPECT_EQ(info["vfr"], false);
  EXPECT_EQ(RunJson({"info", CliEnvironment::Clip().string()})["audio"], true);
  const RunOutcome text = Run({"info", clip});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("160 x 96"), std::string::npos) << text.out;
  EXPECT_EQ(text.err, "");
}

TEST_F(CliCommands, IndexOnceAndFindItAgain) {
  const std::string library = (folder_ / "library").string();
  const std::string clip = CliEnvironment::Clip().string();
  const nlohmann::json none = RunJson({"info", clip, "--library", library});
  EXPECT_TRUE(none["index"].is_null());
  const nlohmann::json first = RunJson({"index", clip, "--library", library});
  ASSERT_EQ(first["videos"].size(), 1u);
  EXPECT_EQ(first["videos"][0]["was_complete"], false);
  EXPECT_EQ(first["videos"][0]["index"]["state"], "complete");
  EXPECT_GE(first["videos"][0]["index"]["frames"].get<int>(), 2);
  EXPECT_EQ(first["videos"][0]["index"]["tokens"].get<int>(), 65 * first["videos"][0]["index"]["frames"].get<int>());
  const nlohmann::json again = RunJson({"--library", library, "index", clip});
  EXPECT_EQ(again["videos"][0]["was_complete"], true);
  const nlohmann::json rebuilt = RunJson({"index", clip, "--library", library, "--rebuild"});
  EXPECT_EQ(rebuilt["videos"][0]["was_complete"], false);
  const nlohmann::json info = RunJson({"info", clip, "--library", library});
  EXPECT_EQ(KeysOf(info["index"]), (Keys{"bytes", "file", "frames", "sampling", "state", "tokens", "until_s"}));
  EXPECT_EQ(info["index"]["state"], "complete");
  const nlohmann::json list = RunJson({"library", "--library", library});
  ASSERT_EQ(list["videos"].size(), 1u);
  EXPECT_EQ(list["videos"][0]["video"], clip);
  EXPECT_EQ(RunJson({"library", "--repair", "--library", library})["removed"].size(), 0u);
  EXPECT_GT(RunJson({"library", "--prune", "1B", "--library", library})["freed_bytes"].get<uint64_t>(), 0u);
  EXPECT_EQ(RunJson({"library", "--library", library})["videos"].size(), 0u);
}

TEST_F(CliCommands, Frames) {
  const std::string clip = CopyClip("film 100%d.mp4").string();
  const fs::path out = folder_ / "pictures" / "deep";
  const nlohmann::json frames = RunJson({"frames", clip, "--at", "1.5,0,0.0004", "--out", out.string()});
  ASSERT_EQ(frames["frames"].size(), 3u);
  EXPECT_EQ(frames["frames"][0]["time"], 0.0);
  EXPECT_EQ(frames["frames"][2]["time"], 1.5);
  EXPECT_NEAR(frames["frames"][2]["picture_time"].get<double>(), 1.5, 1e-6);
  EXPECT_EQ(AllFiles(out),
            (Keys{"film 100%d.00-00-00.000.png", "film 100%d.00-00-00.000400.png", "film 100%d.00-00-01.500.png"}));
  for (const auto& frame : frames["frames"]) {
    const std::string bytes = Read(frame["file"].get<std::string>());
    EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
    EXPECT_EQ(frame["width"], 160);
    EXPECT_EQ(frame["height"], 96);
  }
  const fs::path steps = folder_ / "steps";
  EXPECT_EQ(Run({"frames", clip, "--every", "500ms", "--out", steps.string()}).exit_code, 0);
  EXPECT_EQ(AllFiles(steps).size(), 4u);
  // Past the end: never another picture; the others are saved.
  const fs::path late = folder_ / "late";
  const RunOutcome some = Run({"frames", clip, "--at", "0.5,99", "--out", late.string()});
  EXPECT_EQ(some.exit_code, 1) << some.err;
  EXPECT_EQ(LineCount(some.err), 1u) << some.err;
  EXPECT_EQ(AllFiles(late), Keys{"film 100%d.00-00-00.500.png"});
  const RunOutcome all = Run({"frames", clip, "--at", "99", "--out", late.string()});
  EXPECT_EQ(all.exit_code, 3);
}

TEST_F(CliCommands, Ask) {
  const std::string clip = CliEnvironment::Clip().string();
  const nlohmann::json answer = RunJson({"ask", clip, "What is shown?"});
  EXPECT_EQ(KeysOf(answer), (Keys{"answer", "cache", "evidence", "in_footage", "time"}));
  EXPECT_EQ(KeysOf(answer["cache"]), (Keys{"bytes", "latent", "mode", "store", "tokens"}));
  EXPECT_EQ(KeysOf(answer["time"]), (Keys{"first_token_s", "index_s", "total_s"}));
  EXPECT_TRUE(answer["answer"].is_string());
  EXPECT_GE(answer["in_footage"].get<double>(), 0.0);
  EXPECT_LE(answer["in_footage"].get<double>(), 1.0);
  EXPECT_EQ(answer["cache"]["mode"], "mla");
  EXPECT_EQ(answer["cache"]["store"], "bf16");
  EXPECT_EQ(answer["cache"]["latent"], 128);
  EXPECT_LE(answer["evidence"].size(), 8u);
  for (const auto& moment : answer["evidence"]) {
    EXPECT_EQ(KeysOf(moment), (Keys{"end", "start", "video", "weight"}));
    EXPECT_EQ(moment["video"], clip);
    EXPECT_GT(moment["end"].get<double>(), moment["start"].get<double>());
    EXPECT_LE(moment["end"].get<double>(), 4.001);
  }
  EXPECT_GE(answer["time"]["total_s"].get<double>(), answer["time"]["first_token_s"].get<double>());
  // The same words, read by a person; then another cache.
  const RunOutcome text = Run({"ask", "--scope", "focus", clip, "What is shown?"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.err, "");
  EXPECT_TRUE(text.out.starts_with(answer["answer"].get<std::string>().substr(0, 20))) << text.out;
  EXPECT_NE(text.out.find(answer["evidence"].empty() ? "No moment stood out." : "From these moments:"),
            std::string::npos)
      << text.out;
  const nlohmann::json other = RunJson({"ask", clip, "What is shown?", "--cache", "mla", "--latent", "32", "--store",
                                        "int8", "--scope", "all", "--at", "0-1.5"});
  EXPECT_EQ(other["cache"]["latent"], 32);
  EXPECT_EQ(other["cache"]["store"], "int8");
  EXPECT_EQ(other["time"]["index_s"], 0.0);
  for (const auto& moment : other["evidence"]) EXPECT_LE(moment["end"].get<double>(), 2.001);
}

TEST_F(CliCommands, OneBadVideoOfSeveralCostsOnlyItself) {
  const std::string clip = CliEnvironment::Clip().string();
  const nlohmann::json answer = RunJson({"ask", "/nowhere/missing.mp4", clip, "What is shown?"}, 1);
  for (const auto& moment : answer["evidence"]) EXPECT_EQ(moment["video"], clip);
  const RunOutcome outcome = Run({"search", clip, "/nowhere/missing.mp4", "a pattern"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(LineCount(outcome.err), 1u) << outcome.err;
  EXPECT_NE(outcome.err.find("/nowhere/missing.mp4"), std::string::npos);
  EXPECT_EQ(Run({"ask", "/nowhere/a.mp4", "/nowhere/b.mp4", "q?"}).exit_code, 3);
}

TEST_F(CliCommands, Search) {
  const std::string clip = CliEnvironment::Clip().string();
  const nlohmann::json found =
      RunJson({"search", clip, CliEnvironment::ShortClip().string(), "a red pattern", "--limit", "3"});
  EXPECT_EQ(KeysOf(found), Keys{"moments"});
  ASSERT_GE(found["moments"].size(), 1u);
  EXPECT_LE(found["moments"].size(), 3u);
  double last = 1e9;
  for (const auto& moment : found["moments"]) {
    EXPECT_EQ(KeysOf(moment), (Keys{"end", "score", "start", "video"}));
    EXPECT_LE(moment["score"].get<double>(), last);
    last = moment["score"].get<double>();
    const double start = moment["start"].get<double>();
    const double end = moment["end"].get<double>();
    EXPECT_GT(end, start);
    EXPECT_TRUE(end <= 2.001 || start >= 1.999) << start << " " << end;  // never more than one shot
  }
  EXPECT_EQ(Run({"search", clip, "a red pattern"}).exit_code, 0);
}

TEST_F(CliCommands, ModelsAndDoctor) {
  const nlohmann::json models = RunJson({"models"});
  EXPECT_EQ(KeysOf(models), (Keys{"assets", "model", "models", "parts"}));
  EXPECT_EQ(models["parts"].size(), 4u);
  for (const auto& part : models["parts"]) {
    EXPECT_EQ(KeysOf(part), (Keys{"bytes", "detail", "expected", "name", "path", "sha256", "state"}));
    EXPECT_EQ(part["state"], "ok") << part;
  }
  const nlohmann::json doctor = RunJson({"doctor"});
  EXPECT_EQ(doctor["ok"], true);
  std::set<std::string> names;
  for (const auto& check : doctor["checks"]) {
    EXPECT_EQ(check["ok"], true) << check;
    EXPECT_NE(check["value"], "") << check;
    names.insert(check["name"].get<std::string>());
  }
  for (const char* name : {"machine", "cpu level", "cuda", "device", "ffmpeg", "decoding", "library", "model vit",
                           "model text", "model bridge"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_NE(Run({"doctor"}).out.find("All is well."), std::string::npos);
}

// Names that break tools, through a command that shows them and one that puts them into JSON.
TEST_F(CliCommands, OddNames) {
  const std::vector<std::string> names = {"\u0432\u0438\u0434\u0435\u043e \u89c6\u9891 \U0001f3ac caf\u00e9.mp4",
                                          "two  spaces .mp4",
                                          "100%d done %s %%20 %1.mp4",
                                          "q'u\"o&t<e>s$(x).mp4",
                                          "line\nbreak.mp4",
                                          std::string("bad\xff\xfe").append("bytes.mp4"),
                                          "[list,of].mp4",
                                          "\x1b[31mred.mp4",
                                          "-dash.mp4"};
  for (const std::string& name : names) {
    const std::string path = CopyClip(name).string();
    const nlohmann::json info = RunJson({"info", path});
    if (name.find('\xff') == std::string::npos) {
      EXPECT_EQ(info["path"], path);
    }
    EXPECT_EQ(info["width"], 160);
    const RunOutcome text = Run({"info", path});
    EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.out.find('\xff'), std::string::npos);
    RunOptions here;
    here.working_folder = folder_.path().string();
    EXPECT_EQ(Run({"info", "--", name}, here).exit_code, 0) << name;
  }
}

// Case 44: a locale with decimal commas changes no byte.
TEST_F(CliCommands, LocaleDoesNotMatter) {
  const auto made = RunProcess({"localedef", "-i", "de_DE", "-f", "UTF-8", (folder_ / "de_DE.UTF-8").string()});
  ASSERT_EQ(made.exit_code, 0) << made.err << " (package locales, which tools/test installs)";
  RunOptions german;
  german.environment = {{"LC_ALL", "de_DE.UTF-8"}, {"LANG", "de_DE.UTF-8"}, {"LOCPATH", folder_.path().string()}};
  const std::string clip = CliEnvironment::Clip().string();
  EXPECT_EQ(Run({"info", clip, "--json", "--library", (folder_ / "l").string()}, german).out,
            Run({"info", clip, "--json", "--library", (folder_ / "l").string()}).out);
  const std::string a = (folder_ / "a").string();
  const std::string b = (folder_ / "b").string();
  ASSERT_EQ(
      Run({"caption", clip, "--fps", "0.5", "--every", "1.5s", "--format", "srt,vtt,jsonl,txt", "--out", a}, german)
          .exit_code,
      0);
  ASSERT_EQ(
      Run({"caption", clip, "--fps", "0.5", "--every", "1.5s", "--format", "srt,vtt,jsonl,txt", "--out", b}).exit_code,
      0);
  ASSERT_EQ(Outputs(a).size(), 4u);
  for (const std::string& name : Outputs(a)) EXPECT_EQ(Read(fs::path(a) / name), Read(fs::path(b) / name)) << name;
}

TEST_F(CliCommands, FullStdoutIsAnError) {
  RunOptions full;
  full.stdout_path = "/dev/full";
  const RunOutcome outcome = Run({"info", CliEnvironment::Clip().string(), "--json"}, full);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("stdout"), std::string::npos) << outcome.err;
}

// What is no file is not replaced by one, and a link stays a link.
TEST_F(CliCommands, OutputsReplaceNothingButFiles) {
  const std::string clip = CopyClip("film.mp4").string();
  ASSERT_EQ(Run({"caption", clip, "--out", (folder_ / "made").string()}).exit_code, 0);
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const RunOutcome refused = Run({"manifest", "merge", (folder_ / "made").string(), "--out", pipe});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("no regular file"), std::string::npos) << refused.err;
  EXPECT_TRUE(fs::is_fifo(pipe));
  // A person's own file stays, also behind a link; an earlier merge is replaced, and the link to it stays one.
  const fs::path real = folder_ / "real.json", link = folder_ / "link.json";
  folder_.Write("real.json", "old");
  fs::create_symlink("real.json", link);
  const auto merge_to = [&](const fs::path& out) {
    return Run({"manifest", "merge", (folder_ / "made").string(), "--out", out.string()}).exit_code;
  };
  EXPECT_EQ(merge_to(link), 3);
  EXPECT_EQ(Read(real), "old");
  fs::remove(real);
  ASSERT_EQ(merge_to(real), 0);
  const std::string first = Read(real);
  EXPECT_NE(first.find("longview-manifest"), std::string::npos);
  EXPECT_EQ(merge_to(link), 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(Read(real), first);
}

TEST_F(CliCommands, ManifestsThatAreNoneAreRefused) {
  const std::string head = R"({"format":"longview-manifest","version":1,"run":"r","model":"m","settings":)";
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  folder_.Write("deep.json", head + deep + R"(,"inputs":[]})");
  const RunOutcome nested = Run({"manifest", "merge", (folder_ / "deep.json").string()});
  EXPECT_EQ(nested.exit_code, 3);
  EXPECT_NE(nested.err.find("nested deeper"), std::string::npos) << nested.err;
  folder_.Write("odd.json", head + R"(1,"inputs":[{"video":"a","state":"weird"}]})");
  EXPECT_EQ(Run({"manifest", "merge", (folder_ / "odd.json").string()}).exit_code, 3);
}

// Closed descriptors: what is opened later must not take their place.
TEST_F(CliCommands, ClosedStreamsAreNobodyElses) {
  const std::string clip = CopyClip("film.mp4").string();
  const std::string command = std::string(LONGVIEW_PROGRAM) + " caption missing.mp4 " + clip + " --out " +
                              (folder_ / "out").string() + " <&- >&- 2>&-";
  RunOptions options;
  options.environment = {{"LONGVIEW_ASSETS", CliEnvironment::Assets().string()},
                         {"LONGVIEW_LIBRARY", CliEnvironment::Library().string()}};
  EXPECT_NE(RunProcess({"sh", "-c", command}, options).exit_code, 130);
  EXPECT_EQ(Outputs(folder_ / "out"), (std::vector<std::string>{"film.visual.en.srt"}));
  const std::string ask = std::string(LONGVIEW_PROGRAM) + " info " + clip + " <&- >&-";
  const RunOutcome lost = RunProcess({"sh", "-c", ask}, options);
  EXPECT_EQ(lost.exit_code, 3);
  EXPECT_NE(lost.err.find("stdout"), std::string::npos) << lost.err;
}

// The clip is cut at 2 s; a picture that begins where the stretch ends is not of it, and no moment leaves the stretch.
TEST_F(CliCommands, AStretchIsHalfOpenAndHoldsItsMoments) {
  const std::string clip = CliEnvironment::Clip().string();
  const auto inside = [](const nlohmann::json& moments, double start, double end) {
    for (const auto& moment : moments) {
      EXPECT_GE(moment["start"].get<double>(), start) << moment;
      EXPECT_LE(moment["end"].get<double>(), end) << moment;
    }
  };
  inside(RunJson({"ask", clip, "What is the man doing?", "--at", "1.5-2"})["evidence"], 1.5, 2.0);
  inside(RunJson({"search", clip, "a dog", "--at", "0.5-2"})["moments"], 0.5, 2.0);
  EXPECT_EQ(RunJson({"ask", clip, "What is the man doing?", "--at", "2-2"})["evidence"],
            RunJson({"ask", clip, "What is the man doing?", "--at", "2"})["evidence"]);
  const RunOutcome beyond = Run({"ask", clip, "What is this?", "--at", "10-20"});
  EXPECT_EQ(beyond.exit_code, 3);
  EXPECT_NE(beyond.err.find("clip.mp4"), std::string::npos) << beyond.err;
}

TEST_F(CliCommands, AFileNamedTwiceIsOneVideo) {
  const std::string clip = CopyClip("film.mp4").string();
  fs::create_symlink("film.mp4", folder_ / "link.mp4");
  const auto once = RunJson({"search", clip, "a dog"});
  const auto thrice =
      RunJson({"search", clip, (folder_ / "." / "film.mp4").string(), (folder_ / "link.mp4").string(), "a dog"});
  EXPECT_EQ(once["moments"].size(), thrice["moments"].size());
}

TEST_F(CliCommands, WordsThatSayNothingOrTooMuchAreWrongUsage) {
  const std::string clip = CliEnvironment::ShortClip().string();
  EXPECT_EQ(Run({"ask", clip, "\u3000\u200b"}).exit_code, 2);
  EXPECT_EQ(Run({"ask", clip, std::string(100000, 'a')}).exit_code, 2);
  EXPECT_EQ(Run({"search", clip, std::string(100000, 'a')}).exit_code, 2);
  EXPECT_EQ(Run({"caption", clip, "--every", "1ms", "--dry-run"}).exit_code, 2);
  const RunOutcome film = Run({"caption", "--files-from", clip});
  EXPECT_EQ(film.exit_code, 3);
  EXPECT_NE(film.err.find("no list of paths"), std::string::npos) << film.err;
}

// What cannot be read leaves no index behind, which would have no name.
TEST_F(CliCommands, AFailedFileIsNotInTheLibrary) {
  folder_.Write("text.mp4", "no film");
  RunOptions own;
  own.environment = {{"LONGVIEW_LIBRARY", (folder_ / "library").string()}};
  EXPECT_EQ(Run({"ask", (folder_ / "text.mp4").string(), "What?"}, own).exit_code, 3);
  EXPECT_TRUE(RunJson({"library"}, 0, own)["videos"].empty());
}

}  // namespace
}  // namespace longview::test
