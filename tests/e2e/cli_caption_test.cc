// `longview caption` on folders of files: formats, names, resuming, stopping, sharing the work.
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "app/engine/utf8.h"
#include "tests/e2e/cli_fixture.h"
#include "tests/support/test_clip.h"

namespace longview::test {
namespace {

namespace fs = std::filesystem;

// After a signal: two seconds, and room for a machine with more to do than it can.
constexpr double kStopsWithin_s = 15.0;

class CliCaption : public CliTest {
 protected:
  // Films of different content, 1 to 3 s long.
  void MakeBatch(const fs::path& folder, int count) {
    fs::create_directories(folder);
    for (int i = 0; i < count; ++i) {
      RunFfmpeg({"-f", "lavfi", "-i",
                 "life=s=96x64:r=10:seed=" + std::to_string(i + 1) +
                     ":life_color=red:death_color=blue:mold=10,trim=duration=" + std::to_string(1 + i % 3),
                 "-c:v", "libx264", "-preset", "veryfast", "-threads", "1", "-pix_fmt", "yuv420p",
                 (folder / ("clip" + std::to_string(i) + ".mp4")).string()});
    }
  }
  static nlohmann::json Manifest(const fs::path& folder) {
    nlohmann::json newest;
    std::string name;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string candidate = entry.path().filename().string();
      if (candidate.starts_with("longview-manifest-") && candidate > name) name = candidate;
    }
    EXPECT_FALSE(name.empty()) << folder;
    return name.empty() ? newest : nlohmann::json::parse(Read(folder / name));
  }
  static void ExpectSameOutputs(const fs::path& a, const fs::path& b) {
    ASSERT_EQ(Outputs(a), Outputs(b));
    for (const std::string& name : Outputs(a)) EXPECT_EQ(Read(a / name), Read(b / name)) << name;
  }
  static void ExpectNoTemporaries(const fs::path& folder) {
    for (const std::string& name : AllFiles(folder)) EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
  }
};

TEST_F(CliCaption, EveryFormatOnce) {
  const std::string clip = CopyClip("film.mp4").string();
  const RunOutcome outcome = Run({"caption", clip, "--format", "srt,vtt,jsonl,txt"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(Outputs(folder_.path()), (std::vector<std::string>{"film.visual.en.jsonl", "film.visual.en.srt",
                                                               "film.visual.en.txt", "film.visual.en.vtt"}));
  const std::string jsonl = Read(folder_ / "film.visual.en.jsonl");
  const auto line = nlohmann::json::parse(jsonl.substr(0, jsonl.find('\n')));
  EXPECT_EQ(KeysOf(line), (std::vector<std::string>{"end", "start", "text", "video"}));
  EXPECT_EQ(line["video"], clip);
  EXPECT_EQ(line["start"], 0.0);
  EXPECT_NE(line["text"], "");
  const std::string srt = Read(folder_ / "film.visual.en.srt");
  EXPECT_TRUE(srt.starts_with("1\n00:00:00,000 --> 00:00:0")) << srt;
  for (const char* extension : {"srt", "vtt"}) {
    const auto probe = RunProcess({"ffprobe", "-v", "error", "-show_entries", "packet=pts_time", "-of", "csv=p=0",
                                   (folder_ / (std::string("film.visual.en.") + extension)).string()});
    EXPECT_EQ(LineCount(probe.out), LineCount(jsonl)) << probe.err;
  }
  const nlohmann::json manifest = Manifest(folder_.path());
  EXPECT_EQ(manifest["format"], "longview-manifest");
  EXPECT_EQ(manifest["done"], 1);
  EXPECT_EQ(manifest["cancelled"], false);
  EXPECT_EQ(manifest["inputs"][0]["video"], clip);
  EXPECT_EQ(manifest["inputs"][0]["outputs"].size(), 4u);
  EXPECT_EQ(manifest["inputs"][0]["captions"].get<size_t>(), LineCount(jsonl));
}

// All formats in one pass; the film's own sidecar keeps what it held.
TEST_F(CliCaption, MarkersSidecarAndDigest) {
  const std::string clip = CopyClip("film.mp4").string();
  folder_.Write("film.xmp",
                "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
                "<rdf:Description rdf:about='' xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmp:Rating='5'/></rdf:RDF>"
                "</x:xmpmeta>");
  folder_.Write("film.en.srt", "speech\n");
  ASSERT_EQ(Run({"caption", clip, "--format", "all"}).exit_code, 0);
  EXPECT_EQ(Outputs(folder_.path()),
            (std::vector<std::string>{"film.visual.en.chapters.vtt", "film.visual.en.csv", "film.visual.en.edl",
                                      "film.visual.en.fcpxml", "film.visual.en.jsonl", "film.visual.en.srt",
                                      "film.visual.en.summary.json", "film.visual.en.txt", "film.visual.en.vtt"}));
  EXPECT_EQ(Read(folder_ / "film.en.srt"), "speech\n");
  const auto digest = nlohmann::json::parse(Read(folder_ / "film.visual.en.summary.json"));
  EXPECT_EQ(KeysOf(digest), (std::vector<std::string>{"chapters", "summary", "video"}));
  EXPECT_EQ(digest["chapters"][0]["start"], 0.0);
  const std::string xmp = Read(folder_ / "film.xmp");
  EXPECT_NE(xmp.find("xmp:Rating=\"5\""), std::string::npos) << xmp;
  EXPECT_NE(xmp.find("<rdf:li xml:lang=\"x-default\">"), std::string::npos) << xmp;
  EXPECT_NE(Read(folder_ / "film.visual.en.edl").find("* FROM CLIP NAME: film.mp4\n"), std::string::npos);
  EXPECT_NE(Read(folder_ / "film.visual.en.fcpxml").find("frameDuration=\"1/10s\""), std::string::npos);
  // Finished, the sidecar too; and another program's change to the sidecar does not make it ours to write again.
  EXPECT_EQ(RunJson({"caption", clip, "--format", "all"})["skipped"], 1);
  std::string rated = xmp;
  rated.replace(rated.find("Rating=\"5\""), 10, "Rating=\"3\"");
  folder_.Write("film.xmp", rated);
  EXPECT_EQ(RunJson({"caption", clip, "--format", "all"})["skipped"], 1);
  EXPECT_EQ(Read(folder_ / "film.xmp"), rated);
  // The same bytes from anew.
  const std::string edl = Read(folder_ / "film.visual.en.edl");
  ASSERT_EQ(Run({"caption", clip, "--format", "all", "--overwrite"}).exit_code, 0);
  EXPECT_EQ(Read(folder_ / "film.visual.en.edl"), edl);
  EXPECT_EQ(Read(folder_ / "film.xmp"), rated);
  folder_.Write("film.xmp", "no xml");
  const RunOutcome refused = Run({"caption", clip, "--format", "xmp"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("film.xmp: "), std::string::npos) << refused.err;
  EXPECT_EQ(Read(folder_ / "film.xmp"), "no xml");
}

TEST_F(CliCaption, DryRunListsLogsAndMerges) {
  const fs::path batch = folder_ / "batch";
  MakeBatch(batch, 3);
  folder_.Write("batch/broken.mp4", "no film");
  folder_.Write("list", (batch / "clip0.mp4").string() + "\n" + (batch / "clip1.mp4").string() + "\n");
  const std::string out = (folder_ / "out").string();
  const nlohmann::json dry = RunJson({"caption", batch.string(), "--out", out, "--dry-run", "--format", "srt,csv"}, 1);
  EXPECT_EQ(dry["to_do"], 3);
  EXPECT_EQ(dry["failed"], 1);
  EXPECT_GT(dry["seconds"].get<double>(), 0.0);
  EXPECT_GT(dry["index_bytes"].get<double>(), 0.0);
  EXPECT_EQ(dry["inputs"].size(), 4u);
  EXPECT_FALSE(fs::exists(out));

  const RunOutcome listed = Run({"caption", "--files-from", (folder_ / "list").string(), "--out", out, "--log-json"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  std::vector<std::string> events;
  std::istringstream lines(listed.err);
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(event.is_object()) << line;
    events.push_back(event["event"]);
  }
  EXPECT_EQ(events.front(), "start");
  EXPECT_EQ(events.back(), "end");
  EXPECT_EQ(std::count(events.begin(), events.end(), "file"), 2);
  EXPECT_GE(std::count(events.begin(), events.end(), "progress"), 1);
  EXPECT_EQ(Outputs(out).size(), 2u);

  const std::string pattern = (batch / "*.mp4").string();
  EXPECT_EQ(RunJson({"caption", pattern, "--exclude", "clip0*", "--out", out}, 1)["skipped"], 1);
  const std::string merged = (folder_ / "all.json").string();
  const RunOutcome merge = Run({"manifest", "merge", out, "--out", merged});
  EXPECT_EQ(merge.exit_code, 1);  // the broken one
  EXPECT_NE(merge.out.find("3 done"), std::string::npos) << merge.out;
  EXPECT_NE(merge.err.find("broken.mp4"), std::string::npos) << merge.err;
  const auto object = nlohmann::json::parse(Read(merged));
  EXPECT_EQ(object["inputs"].size(), 4u);
  EXPECT_EQ(object["repeated"], 0);
  EXPECT_EQ(RunJson({"caption", (batch / "clip0.mp4").string(), "--out", out, "--prompt", "Is it red?"})["done"], 1);
}

TEST_F(CliCaption, StillsAndSteps) {
  RunFfmpeg({"-i", CliEnvironment::ShortClip().string(), "-frames:v", "1", (folder_ / "still.png").string()});
  ASSERT_EQ(Run({"caption", (folder_ / "still.png").string()}).exit_code, 0);
  EXPECT_TRUE(Read(folder_ / "still.visual.en.srt").starts_with("1\n00:00:00,000 --> 00:00:01,000\n"));
  // No cue after the film, also where the sound goes on; none overlaps.
  ASSERT_EQ(Run({"caption", CliEnvironment::Clip().string(), "--every", "900ms", "--fps", "3", "--format", "jsonl",
                 "--out", folder_.path().string()})
                .exit_code,
            0);
  double last_end = 0.0;
  std::istringstream lines(Read(folder_ / "clip.visual.en.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto cue = nlohmann::json::parse(line);
    EXPECT_GE(cue["start"].get<double>(), last_end);
    EXPECT_GT(cue["end"].get<double>(), cue["start"].get<double>());
    last_end = cue["end"].get<double>();
  }
  EXPECT_GT(last_end, 3.0);
  EXPECT_LE(last_end, 4.001);
}

// Case 27: bad files in a folder cost a line each, never the others.
TEST_F(CliCaption, ABatchGoesOnPastBadFiles) {
  const fs::path bad = folder_ / "bad";
  CopyClip("bad/a_good.mp4");
  CopyClip("bad/z_good.mp4");
  const std::string whole = Read(CliEnvironment::Clip());
  folder_.Write("bad/moovless.mp4", whole.substr(0, whole.find("moov") - 4));
  folder_.Write("bad/zero.mp4", "");
  folder_.Write("bad/text.mp4", "this is not a film\n");
  folder_.Write("bad/notes.txt", "not a candidate");
  fs::create_directories(bad / "dir.mp4");
  ASSERT_EQ(mkfifo((bad / "pipe.mkv").c_str(), 0600), 0);
  const RunOutcome outcome = Run({"caption", bad.string()});
  EXPECT_EQ(outcome.exit_code, 1);
  for (const char* name : {"moovless.mp4", "zero.mp4", "text.mp4", "dir.mp4", "pipe.mkv"}) {
    EXPECT_NE(outcome.err.find(name), std::string::npos) << name << "\n" << outcome.err;
  }
  EXPECT_EQ(LineCount(outcome.err), 6u) << outcome.err;
  EXPECT_NE(outcome.err.find("5 of 7 inputs failed"), std::string::npos) << outcome.err;
  EXPECT_EQ(Outputs(bad), (std::vector<std::string>{"a_good.visual.en.srt", "z_good.visual.en.srt"}));
  const nlohmann::json manifest = Manifest(bad);
  EXPECT_EQ(manifest["done"], 2);
  EXPECT_EQ(manifest["failed"], 5);
}

// What could not be decoded stands in the manifest, also where the index was made by an earlier run.
TEST_F(CliCaption, DamageInsideAFilmIsOnRecord) {
  const fs::path film = folder_ / "film.mp4";
  RunFfmpeg({"-f", "lavfi", "-i", "life=s=96x64:r=10:seed=1:mold=10,trim=duration=8", "-c:v", "libx264", "-crf", "14",
             "-g", "10", "-keyint_min", "10", "-bf", "0", "-threads", "1", "-pix_fmt", "yuv420p", film.string()});
  std::string bytes = Read(film);
  std::mt19937 random(3);
  // The middle third of what lies between the headers: whole groups of pictures.
  for (size_t i = bytes.size() / 3; i < bytes.size() / 2; ++i) bytes[i] = static_cast<char>(random() & 0xFF);
  std::ofstream(film, std::ios::binary) << bytes;
  for (const char* format : {"srt", "vtt"}) {
    const nlohmann::json manifest = RunJson({"caption", film.string(), "--format", format});
    ASSERT_EQ(manifest["done"], 1) << manifest.dump();
    EXPECT_NE(manifest["inputs"][0].value("warning", "").find("could not be decoded: "), std::string::npos)
        << manifest.dump();
  }
}

// Cases 29, 30, 31: each output is named exactly after its input, fits the file system, and is nobody else's.
TEST_F(CliCaption, Names) {
  std::string long_name;
  for (int i = 0; i < 80; ++i) long_name += "\u3042";
  const std::vector<std::string> stems = {"\u0432\u0438\u0434\u0435\u043e \U0001f3ac caf\u00e9",
                                          "two  spaces ",
                                          "100%d done %s %%20 %1",
                                          "q'u\"o&t<e>s$(x)",
                                          "line\nbreak",
                                          std::string("bad\xff\xfe") + "bytes"};
  for (const std::string& stem : stems) CopyClip("names/" + stem + ".mp4");
  CopyClip("names/" + long_name + ".mp4");
  CopyClip("names/a.mp4");
  CopyClip("names/a.mkv");
  CopyClip("names/sub/a.mp4");
  const fs::path names = folder_ / "names";
  const RunOutcome outcome = Run({"caption", names.string(), "-r", "--format", "srt,jsonl"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string& stem : stems) EXPECT_TRUE(fs::exists(names / (stem + ".visual.en.srt"))) << stem;
  EXPECT_TRUE(fs::exists(names / (long_name + ".visual.en.srt")));
  for (const char* name : {"a.mp4.visual.en.srt", "a.mkv.visual.en.srt", "sub/a.visual.en.srt"})
    EXPECT_TRUE(fs::exists(names / name)) << name;
  const std::vector<std::string> found = Outputs(names);
  EXPECT_EQ(found.size(), 2 * (stems.size() + 3));
  for (const std::string& name : found) {
    if (name.find("bytes") == std::string::npos) {
      EXPECT_EQ(ValidUtf8(name), name);
    }
    if (!name.ends_with(".jsonl")) continue;
    const std::string text = Read(names / name);
    for (size_t from = 0; from < text.size(); from = text.find('\n', from) + 1) {
      EXPECT_TRUE(nlohmann::json::parse(text.substr(from, text.find('\n', from) - from), nullptr, false).is_object())
          << text;
    }
  }
  Manifest(names);  // parses as JSON whatever the names
  // One folder for all: still one output each.
  const fs::path out = folder_ / "out";
  ASSERT_EQ(Run({"caption", (names / "a.mp4").string(), (names / "a.mkv").string(), (names / "sub" / "a.mp4").string(),
                 "--out", out.string()})
                .exit_code,
            0);
  EXPECT_EQ(Outputs(out).size(), 3u);
}

// Films of one stem, captioned one by one, in any order: neither's outputs take the other's place.
TEST_F(CliCaption, FilmsOfOneStemKeepApartFromCallToCall) {
  const fs::path mp4 = CopyClip("both/a.mp4"), mkv = CopyClip("both/a.mkv");
  for (const fs::path& film : {mp4, mkv}) ASSERT_EQ(Run({"caption", film.string()}).exit_code, 0);
  EXPECT_EQ(Outputs(folder_ / "both"), (std::vector<std::string>{"a.mkv.visual.en.srt", "a.mp4.visual.en.srt"}));
  EXPECT_EQ(RunJson({"caption", (folder_ / "both").string()})["skipped"], 2);
  // One that had the stem for itself keeps it.
  const fs::path first = CopyClip("later/a.mp4");
  ASSERT_EQ(Run({"caption", first.string()}).exit_code, 0);
  CopyClip("later/a.mkv");
  const nlohmann::json both = RunJson({"caption", (folder_ / "later").string()});
  EXPECT_EQ(both["skipped"], 1);
  EXPECT_EQ(Outputs(folder_ / "later"), (std::vector<std::string>{"a.mkv.visual.en.srt", "a.visual.en.srt"}));
}

TEST_F(CliCaption, FoldersAreMirroredAndLinksToFilesFollowed) {
  CopyClip("in/top.mp4");
  CopyClip("in/sub/deep/low.mp4");
  CopyClip("elsewhere/x.mp4");
  fs::create_symlink(folder_ / "elsewhere" / "x.mp4", folder_ / "in" / "link.mp4");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "in" / "folder");
  const fs::path out = folder_ / "out";
  ASSERT_EQ(Run({"caption", (folder_ / "in").string(), "-r", "--out", out.string()}).exit_code, 0);
  EXPECT_EQ(Outputs(out), (std::vector<std::string>{"link.visual.en.srt", "top.visual.en.srt"}));
  EXPECT_EQ(Outputs(out / "sub" / "deep"), std::vector<std::string>{"low.visual.en.srt"});
  EXPECT_FALSE(fs::exists(out / "folder"));
  EXPECT_TRUE(Outputs(folder_ / "in").empty());
}

// Cases 34 and 38: finished work is skipped; another film, other settings, torn files are not.
TEST_F(CliCaption, ResumesByContent) {
  const fs::path film = CopyClip("film.mp4");
  const fs::path srt = folder_ / "film.visual.en.srt";
  const auto run = [&](std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"caption", film.string()};
    words.insert(words.end(), more.begin(), more.end());
    return RunJson(words);
  };
  EXPECT_EQ(run()["done"], 1);
  const std::string first = Read(srt);
  EXPECT_EQ(run()["skipped"], 1);
  EXPECT_EQ(run({"--no-resume"})["done"], 1);
  EXPECT_EQ(Read(srt), first);
  EXPECT_EQ(run({"--overwrite"})["done"], 1);
  EXPECT_EQ(run({"--fps", "2"})["done"], 1);
  EXPECT_EQ(run({"--every", "700ms"})["done"], 1);
  EXPECT_EQ(run()["done"], 1);  // back to the first settings
  EXPECT_EQ(Read(srt), first);
  fs::resize_file(srt, fs::file_size(srt) - 7);
  EXPECT_EQ(run()["done"], 1);
  EXPECT_EQ(Read(srt), first);
  // Short like one that was cut off, but a person's.
  std::ofstream(srt) << "1\n00:00:00,000 --> 00:00:01,000\nMine";
  (void)run();
  EXPECT_TRUE(Read(srt).ends_with("Mine")) << Read(srt);
  EXPECT_EQ(run({"--overwrite"})["done"], 1);
  EXPECT_EQ(run({"--format", "srt,vtt"})["done"], 1);  // only the new one is made
  // Another film under the name.
  fs::copy_file(CliEnvironment::Clip(), film, fs::copy_options::overwrite_existing);
  EXPECT_EQ(run()["done"], 1);
  EXPECT_NE(Read(srt).find("00:00:04,000"), std::string::npos) << Read(srt);
}

TEST_F(CliCaption, NeverOverwritesWhatIsNotItsOwn) {
  const std::string film = CopyClip("film.mp4").string();
  const fs::path srt = folder_.Write("film.visual.en.srt", "my own words\n");
  const RunOutcome refused = Run({"caption", film});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("--overwrite"), std::string::npos) << refused.err;
  EXPECT_EQ(Read(srt), "my own words\n");
  ASSERT_EQ(Run({"caption", film, "--overwrite"}).exit_code, 0);
  const std::string made = Read(srt);
  EXPECT_NE(made, "my own words\n");
  // Corrected by hand: kept, and said.
  folder_.Write("film.visual.en.srt", made + "mended\n");
  const RunOutcome kept = Run({"caption", film, "--fps", "2"});
  EXPECT_EQ(kept.exit_code, 0);
  EXPECT_NE(kept.err.find("changed since"), std::string::npos) << kept.err;
  EXPECT_EQ(Read(srt), made + "mended\n");
}

// Case 39 and the contract: within two seconds, nothing half-written, 130; the next run goes on.
TEST_F(CliCaption, StopsOnSignalsAndGoesOnAfter) {
  const fs::path batch = folder_ / "batch";
  MakeBatch(batch, 5);
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const fs::path out = folder_ / ("out" + std::to_string(signal_number));
    RunOptions options;
    options.environment = {{"LONGVIEW_LIBRARY", (folder_ / ("library" + std::to_string(signal_number))).string()}};
    options.wait_for = " caption";
    options.on_started = [signal_number](int pid) { kill(pid, signal_number); };
    const RunOutcome stopped = Run({"caption", batch.string(), "--out", out.string()}, options);
    EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
    EXPECT_LT(stopped.seconds_after_start_call, kStopsWithin_s);
    const size_t finished = Outputs(out).size();
    EXPECT_GE(finished, 1u);
    EXPECT_LT(finished, 5u);
    ExpectNoTemporaries(out);
    options.on_started = nullptr;
    const nlohmann::json rest = RunJson({"caption", batch.string(), "--out", out.string()}, 0, options);
    EXPECT_EQ(rest["skipped"].get<size_t>(), finished);
    EXPECT_EQ(rest["done"].get<size_t>(), 5 - finished);
  }
  ExpectSameOutputs(folder_ / ("out" + std::to_string(SIGINT)), folder_ / ("out" + std::to_string(SIGTERM)));
}

TEST_F(CliCaption, StopsWhileAsking) {
  RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=320x240:r=10:d=120", "-c:v", "libx264", "-preset", "ultrafast",
             (folder_ / "long.mp4").string()});
  RunOptions options;
  options.environment = {{"LONGVIEW_LIBRARY", (folder_ / "library").string()}};
  options.on_started = [](int pid) {
    std::this_thread::sleep_for(std::chrono::seconds(4));
    kill(pid, SIGINT);
  };
  const RunOutcome stopped =
      Run({"ask", (folder_ / "long.mp4").string(), "What is this?", "--fps", "10", "--json"}, options);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_EQ(stopped.out, "");
  EXPECT_LT(stopped.seconds_after_start_call, kStopsWithin_s);
}

// Killed without warning: what was finished counts, the rest is made, and all is as if nothing had happened.
TEST_F(CliCaption, KillAndResume) {
  const fs::path batch = folder_ / "batch";
  MakeBatch(batch, 3);
  RunOptions options;
  options.wait_for = " caption";
  options.on_started = [](int pid) { kill(pid, SIGKILL); };
  const fs::path out = folder_ / "out";
  EXPECT_EQ(Run({"caption", batch.string(), "--out", out.string(), "--format", "srt,jsonl"}, options).exit_code, 137);
  // What it said was done is in its manifest.
  std::vector<nlohmann::json> manifests;
  for (const auto& entry : fs::directory_iterator(out)) {
    if (entry.path().extension() == ".json") manifests.push_back(nlohmann::json::parse(Read(entry.path())));
  }
  ASSERT_EQ(manifests.size(), 1u);
  EXPECT_GE(manifests[0]["done"].get<int>(), 1);
  EXPECT_EQ(manifests[0]["finished"], "");
  const nlohmann::json rest = RunJson({"caption", batch.string(), "--out", out.string(), "--format", "srt,jsonl"});
  EXPECT_GE(rest["skipped"].get<int>(), 1);
  EXPECT_EQ(rest["done"].get<int>() + rest["skipped"].get<int>(), 3);
  const fs::path single = folder_ / "single";
  ASSERT_EQ(Run({"caption", batch.string(), "--out", single.string(), "--format", "srt,jsonl"}).exit_code, 0);
  ExpectSameOutputs(out, single);
}

TEST_F(CliCaption, JobsShardsAndTwoRunsAtOnceGiveTheSame) {
  const fs::path batch = folder_ / "batch";
  MakeBatch(batch, 5);
  const fs::path single = folder_ / "single";
  ASSERT_EQ(Run({"caption", batch.string(), "--out", single.string()}).exit_code, 0);
  const fs::path jobs = folder_ / "jobs";
  ASSERT_EQ(Run({"caption", batch.string(), "--out", jobs.string(), "--jobs", "3"}).exit_code, 0);
  ExpectSameOutputs(single, jobs);

  const fs::path shards = folder_ / "shards";
  int done = 0;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    done += RunJson({"caption", batch.string(), "--out", shards.string(), "--shard", shard})["done"].get<int>();
  }
  EXPECT_EQ(done, 5);
  ExpectSameOutputs(single, shards);
  EXPECT_EQ(RunJson({"caption", batch.string(), "--out", shards.string()})["skipped"], 5);

  const fs::path both = folder_ / "both";
  RunOptions options;
  options.environment = {{"LONGVIEW_LIBRARY", (folder_ / "library").string()}};
  RunOutcome first;
  std::thread other([&] { first = Run({"caption", batch.string(), "--out", both.string()}, options); });
  const RunOutcome second = Run({"caption", batch.string(), "--out", both.string()}, options);
  other.join();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(second.exit_code, 0) << second.err;
  ExpectSameOutputs(single, both);
  ExpectNoTemporaries(both);
}

// Case 32: a film that is still being written is not taken for whole.
TEST_F(CliCaption, AFileThatGrowsIsNotFinal) {
  RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=160x96:r=10:d=6", "-c:v", "libx264", "-preset", "veryfast", "-g", "10",
             (folder_ / "growing.ts").string()});
  const std::string whole = Read(folder_ / "growing.ts");
  const fs::path live = folder_.Write("live.ts", whole.substr(0, whole.size() / 3));
  RunOptions options;
  options.on_started = [&](int) {
    for (int i = 0; i < 200; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::ofstream(live, std::ios::app | std::ios::binary) << '\0';
    }
    std::ofstream(live, std::ios::binary) << whole;
  };
  const RunOutcome during = Run({"caption", live.string()}, options);
  EXPECT_TRUE(during.exit_code == 0 || during.exit_code == 1) << during.exit_code;
  EXPECT_EQ(during.exit_code == 1, Outputs(folder_.path()).empty()) << during.err;
  ASSERT_EQ(Run({"caption", live.string()}).exit_code, 0);
  const std::string srt = Read(folder_ / "live.visual.en.srt");
  EXPECT_NE(srt.find("--> 00:00:06,000"), std::string::npos) << srt;
}

}  // namespace
}  // namespace longview::test
