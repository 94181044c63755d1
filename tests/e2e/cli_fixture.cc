// The shared set-up, and small readers of what a run left.
#include "tests/e2e/cli_fixture.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/support/model_parts.h"
#include "tests/support/test_clip.h"
#include "tests/support/tiny_model.h"

namespace longview::test {

namespace fs = std::filesystem;

std::unique_ptr<TempFolder> CliEnvironment::root_;

void CliEnvironment::SetUp() {
  root_ = std::make_unique<TempFolder>();
  WriteTinyModel(Assets(), ModelPart(kVitPart).parent_path());
  const std::vector<std::string> coding = {"-c:v", "libx264",  "-preset", "veryfast", "-g",
                                           "10",   "-pix_fmt", "yuv420p", "-threads", "1"};
  std::vector<std::string> words = {
      "-f",
      "lavfi",
      "-i",
      "testsrc2=s=160x96:r=10:d=2",
      "-f",
      "lavfi",
      "-i",
      "life=s=160x96:r=10:seed=7:mold=10:life_color=red:death_color=blue:ratio=0.3,trim=duration=2",
      "-f",
      "lavfi",
      "-i",
      "sine=f=440:d=4",
      "-filter_complex",
      "[0:v]format=yuv420p[a];[1:v]format=yuv420p[b];[a][b]concat=n=2[v]",
      "-map",
      "[v]",
      "-map",
      "2:a",
      "-c:a",
      "aac"};
  words.insert(words.end(), coding.begin(), coding.end());
  words.push_back(Clip().string());
  RunFfmpeg(words);
  words = {"-f", "lavfi", "-i", "testsrc2=s=160x96:r=10:d=2"};
  words.insert(words.end(), coding.begin(), coding.end());
  words.push_back(ShortClip().string());
  RunFfmpeg(words);
}

void CliEnvironment::TearDown() { root_.reset(); }

RunOutcome CliTest::Run(const std::vector<std::string>& words, RunOptions options) {
  std::vector<std::string> command = {LONGVIEW_PROGRAM};
  command.insert(command.end(), words.begin(), words.end());
  // One thread: on a busy machine two that wait for each other take many times as long.
  const bool computes =
      !words.empty() && (words[0] == "ask" || words[0] == "search" || words[0] == "caption" || words[0] == "index");
  if (computes && words.size() > 1) command.insert(command.begin() + 2, {"--threads", "1"});
  const std::vector<std::pair<std::string, std::string>> wanted = {
      {"LONGVIEW_ASSETS", CliEnvironment::Assets().string()}, {"LONGVIEW_LIBRARY", CliEnvironment::Library().string()}};
  for (const auto& [name, value] : wanted) {
    const bool given = std::any_of(options.environment.begin(), options.environment.end(),
                                   [&name = name](const auto& entry) { return entry.first == name; });
    if (!given) options.environment.emplace_back(name, value);
  }
  RunOutcome outcome = RunProcess(command, options);
  EXPECT_FALSE(outcome.timed_out) << outcome.err;
  return outcome;
}

nlohmann::json CliTest::RunJson(const std::vector<std::string>& words, int exit_code, const RunOptions& options) {
  std::vector<std::string> with_json = words;
  with_json.push_back("--json");
  const RunOutcome outcome = Run(with_json, options);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  nlohmann::json object = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << "stdout: " << outcome.out << "stderr: " << outcome.err;
  return object;
}

std::vector<std::string> CliTest::Outputs(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".visual.en.") != std::string::npos) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> CliTest::AllFiles(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string CliTest::Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

size_t CliTest::LineCount(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::vector<std::string> CliTest::KeysOf(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

fs::path CliTest::CopyClip(const std::string& name) {
  const fs::path path = folder_ / name;
  fs::create_directories(path.parent_path());
  fs::copy_file(CliEnvironment::ShortClip(), path, fs::copy_options::overwrite_existing);
  return path;
}

}  // namespace longview::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new longview::test::CliEnvironment);
  return RUN_ALL_TESTS();
}
