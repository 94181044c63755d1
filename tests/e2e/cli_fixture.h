// Runs the real `longview` on real small clips, with a model whose bridge is random numbers.
#ifndef LONGVIEW_TESTS_E2E_CLI_FIXTURE_H_
#define LONGVIEW_TESTS_E2E_CLI_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/run_process.h"
#include "tests/support/temp_folder.h"

namespace longview::test {

// One for the whole program: the model and the clips are made once.
class CliEnvironment : public ::testing::Environment {
 public:
  void SetUp() override;
  void TearDown() override;

  static std::filesystem::path Assets() { return root_->path() / "assets"; }
  // A film of 4 s in two shots, cut at 2 s: 160 x 96, 10 pictures a second, with sound.
  static std::filesystem::path Clip() { return root_->path() / "clip.mp4"; }
  // A film of 2 s in one shot.
  static std::filesystem::path ShortClip() { return root_->path() / "short.mp4"; }
  // Shared by the tests that do not look at it: what was checked and indexed once need not be again.
  static std::filesystem::path Library() { return root_->path() / "library"; }

 private:
  static std::unique_ptr<TempFolder> root_;
};

class CliTest : public ::testing::Test {
 protected:
  // Runs longview with these words.
  static RunOutcome Run(const std::vector<std::string>& words, RunOptions options = {});
  // The same; checks the exit code and that stdout is one JSON object, which it returns.
  static nlohmann::json RunJson(const std::vector<std::string>& words, int exit_code = 0,
                                const RunOptions& options = {});
  // The names in a folder, sorted, without the records and manifests of `caption`.
  static std::vector<std::string> Outputs(const std::filesystem::path& folder);
  // Every regular file below, to find what was left behind.
  static std::vector<std::string> AllFiles(const std::filesystem::path& folder);
  static std::string Read(const std::filesystem::path& path);
  static size_t LineCount(const std::string& text);
  static std::vector<std::string> KeysOf(const nlohmann::json& object);

  std::filesystem::path CopyClip(const std::string& name);  // ShortClip() as `name` in folder_
  TempFolder folder_;
};

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_E2E_CLI_FIXTURE_H_
