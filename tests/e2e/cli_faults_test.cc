// Bad input, missing models, folders that cannot be written, full disks: one clear line, the right exit code, no hang.
#include <sys/stat.h>

#include <fstream>

#include "tests/e2e/cli_fixture.h"
#include "tests/support/test_clip.h"

namespace longview::test {
namespace {

namespace fs = std::filesystem;

class CliFaults : public CliTest {
 protected:
  // Every way in which a file can be no video, made in folder_; the names are part of what must be printed.
  std::vector<std::string> BadFiles() {
    std::vector<std::string> bad = {(folder_ / "missing.mp4").string()};
    const auto add = [&](const std::string& name, const std::string& bytes) {
      bad.push_back(folder_.Write(name, bytes).string());
    };
    fs::create_directories(folder_ / "folder.mp4");
    bad.push_back((folder_ / "folder.mp4").string());
    add("empty.mp4", "");
    add("text.mp4", "this is not a film\n");
    std::string noise;
    for (uint32_t i = 0, x = 7; i < 20000; ++i) noise += static_cast<char>((x = x * 1664525u + 1013904223u) >> 24);
    add("garbage.mp4", noise);
    const std::string whole = Read(CliEnvironment::Clip());
    add("cut.mp4", whole.substr(0, whole.find("moov") - 4));
    EXPECT_EQ(mkfifo((folder_ / "pipe.mp4").c_str(), 0600), 0);
    bad.push_back((folder_ / "pipe.mp4").string());
    RunFfmpeg({"-f", "lavfi", "-i", "sine=f=440:d=1:r=8000", (folder_ / "sound.wav").string()});
    bad.push_back((folder_ / "sound.wav").string());
    return bad;
  }
};

TEST_F(CliFaults, EveryCommandNamesEveryKindOfBadFile) {
  const std::string out = (folder_ / "out").string();
  for (const std::string& path : BadFiles()) {
    const std::string name = fs::path(path).filename().string();
    const std::vector<std::vector<std::string>> commands = {{"info", path, "--json"},
                                                            {"frames", path, "--at", "0.5", "--out", out, "--json"},
                                                            {"ask", path, "What is this?", "--json"},
                                                            {"search", path, "words", "--json"},
                                                            {"index", path}};
    for (const auto& words : commands) {
      RunOptions options;
      options.timeout_s = 120.0;
      const RunOutcome outcome = Run(words, options);
      EXPECT_EQ(outcome.exit_code, 3) << words[0] << " " << name << ": " << outcome.err;
      EXPECT_EQ(outcome.out, "") << words[0] << " " << name;
      EXPECT_EQ(LineCount(outcome.err), 1u) << words[0] << " " << name << ": " << outcome.err;
      EXPECT_NE(outcome.err.find(name), std::string::npos) << words[0] << ": " << outcome.err;
    }
    const RunOutcome caption = Run({"caption", path, "--out", out});
    EXPECT_EQ(caption.exit_code, 1) << name << ": " << caption.err;
    EXPECT_NE(caption.err.find(name), std::string::npos) << caption.err;
    EXPECT_NE(caption.err.find("1 of 1 inputs failed"), std::string::npos) << caption.err;
    EXPECT_TRUE(Outputs(out).empty()) << name;
  }
}

TEST_F(CliFaults, AMissingModelPartIsNamed) {
  const std::string clip = CliEnvironment::ShortClip().string();
  RunOptions options;
  const std::string empty = (folder_ / "models").string();
  fs::create_directories(empty);
  options.environment = {{"LONGVIEW_MODELS", empty}, {"LONGVIEW_LIBRARY", (folder_ / "library").string()}};
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"ask", clip, "q?"},
                                             {"search", clip, "w"},
                                             {"index", clip},
                                             {"caption", clip, "--out", (folder_ / "out").string()},
                                             {"ask", clip, CliEnvironment::Clip().string() + "x", "q?"}}) {
    const RunOutcome outcome = Run(words, options);
    EXPECT_EQ(outcome.exit_code, 3) << words[0] << ": " << outcome.err;
    EXPECT_TRUE(outcome.err.find(".onnx") != std::string::npos || outcome.err.find(".gguf") != std::string::npos)
        << outcome.err;
  }
  const nlohmann::json models = RunJson({"models"}, 3, options);
  size_t missing = 0;
  for (const auto& part : models["parts"]) missing += part["state"] == "missing" ? 1 : 0;
  EXPECT_EQ(missing, 2u);
  EXPECT_EQ(RunJson({"doctor"}, 3, options)["ok"], false);
  // What needs no model still works.
  EXPECT_EQ(Run({"info", clip}, options).exit_code, 0);
  EXPECT_EQ(Run({"frames", clip, "--at", "1", "--out", (folder_ / "f").string()}, options).exit_code, 0);
}

TEST_F(CliFaults, ADamagedModelPartIsNamed) {
  const std::string clip = CliEnvironment::ShortClip().string();
  RunOptions options;
  options.environment = {{"LONGVIEW_ASSETS", (folder_ / "assets").string()},
                         {"LONGVIEW_LIBRARY", (folder_ / "library").string()}};
  const RunOutcome none = Run({"ask", clip, "q?"}, options);
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.err.find("config.json"), std::string::npos) << none.err;
  fs::copy(CliEnvironment::Assets(), folder_ / "assets");
  fs::resize_file(folder_ / "assets" / "bridge.safetensors", 1 << 20);
  const RunOutcome cut = Run({"ask", clip, "q?"}, options);
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_NE(cut.err.find("bridge.safetensors"), std::string::npos) << cut.err;
  folder_.Write("assets/config.json", "{\"format\":");
  const RunOutcome config = Run({"caption", clip, "--out", (folder_ / "o").string()}, options);
  EXPECT_EQ(config.exit_code, 3);
  EXPECT_NE(config.err.find("config.json"), std::string::npos) << config.err;
}

TEST_F(CliFaults, ALibraryThatCannotBeWrittenCostsOnlyTheMemory) {
  const std::string clip = CliEnvironment::ShortClip().string();
  folder_.Write("file", "x");
  RunOptions options;
  options.environment = {{"LONGVIEW_LIBRARY", (folder_ / "file" / "library").string()}};
  const RunOutcome ask = Run({"ask", clip, "What is this?", "--json"}, options);
  EXPECT_EQ(ask.exit_code, 0) << ask.err;
  EXPECT_TRUE(nlohmann::json::parse(ask.out, nullptr, false).is_object());
  EXPECT_NE(ask.err.find("file/library"), std::string::npos) << ask.err;
  const RunOutcome index = Run({"index", clip}, options);
  EXPECT_EQ(index.exit_code, 3) << index.err;
  EXPECT_NE(index.err.find("file/library"), std::string::npos) << index.err;
  EXPECT_EQ(Run({"doctor"}, options).exit_code, 3);
}

// Case 35: RLIMIT_FSIZE stands for a full disk.
TEST_F(CliFaults, AFullDiskLeavesNothingBehind) {
  const std::string clip = CliEnvironment::ShortClip().string();
  const fs::path out = folder_ / "out";
  RunOptions full;
  full.file_size_limit = 0;
  const RunOutcome caption = Run({"caption", clip, "--out", out.string()}, full);
  EXPECT_EQ(caption.exit_code, 3) << caption.err;
  EXPECT_NE(caption.err.find(out.string()), std::string::npos) << caption.err;
  EXPECT_TRUE(AllFiles(out).empty());
  const RunOutcome frames = Run({"frames", clip, "--at", "1", "--out", out.string()}, full);
  EXPECT_EQ(frames.exit_code, 3) << frames.err;
  EXPECT_TRUE(AllFiles(out).empty());
  // Room for the probe but not for the picture.
  full.file_size_limit = 100;
  EXPECT_EQ(Run({"frames", clip, "--at", "1", "--out", out.string()}, full).exit_code, 3);
  EXPECT_TRUE(AllFiles(out).empty());
  // A library that fills up: an answer or a message, and the next run is right.
  full.file_size_limit = 4096;
  full.environment = {{"LONGVIEW_LIBRARY", (folder_ / "library").string()}};
  const RunOutcome cut = Run({"caption", clip, "--out", out.string()}, full);
  EXPECT_TRUE(cut.exit_code == 0 || !cut.err.empty()) << cut.exit_code;
  EXPECT_LT(cut.exit_code, 4);
  RunOptions roomy;
  roomy.environment = full.environment;
  ASSERT_EQ(Run({"caption", clip, "--out", (folder_ / "next").string()}, roomy).exit_code, 0);
  ASSERT_EQ(Run({"caption", clip, "--out", (folder_ / "other").string()}).exit_code, 0);
  EXPECT_EQ(Read(folder_ / "next" / "short.visual.en.srt"), Read(folder_ / "other" / "short.visual.en.srt"));
}

TEST_F(CliFaults, AnOutputFolderThatCannotBeIsRefusedBeforeAnyWork) {
  folder_.Write("file", "x");
  RunOptions options;
  options.environment = {{"LONGVIEW_LIBRARY", (folder_ / "library").string()}};
  const RunOutcome outcome =
      Run({"caption", CliEnvironment::Clip().string(), "--out", (folder_ / "file" / "o").string()}, options);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("file/o"), std::string::npos) << outcome.err;
  for (const std::string& name :
       fs::exists(folder_ / "library") ? AllFiles(folder_ / "library") : std::vector<std::string>()) {
    EXPECT_EQ(name.find(".lvidx"), std::string::npos) << "a frame was decoded: " << name;
  }
}

}  // namespace
}  // namespace longview::test
