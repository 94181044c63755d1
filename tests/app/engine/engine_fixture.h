// What the end-to-end tests of the engine share: a random model, a clip, a library of their own.
#ifndef LONGVIEW_TESTS_APP_ENGINE_ENGINE_FIXTURE_H_
#define LONGVIEW_TESTS_APP_ENGINE_ENGINE_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/engine.h"
#include "tests/support/model_parts.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_clip.h"
#include "tests/support/tiny_model.h"

namespace longview::test {

class EngineFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path vit = ModelPart(kVitPart);
    ModelPart(kTextPart);
    if (HasFailure()) GTEST_SKIP() << "without the model parts nothing can be asked";
    parts_ = vit.parent_path();
    WriteTinyModel(folder_ / "model", parts_);
    clip_ = folder_ / "clip.mp4";
    MakeThreeShots(clip_, 18);
    ASSERT_FALSE(HasFatalFailure());
  }

  EngineOptions Options(const std::filesystem::path& library) {
    EngineOptions options;
    options.library = library;
    options.assets = folder_ / "model";
    options.models = parts_;
    options.threads = 2;
    options.on_warning = [this](const std::string& text) { warnings_.push_back(text); };
    return options;
  }
  std::unique_ptr<Engine> MakeEngine(const std::string& library = "library") {
    auto engine = Engine::Create(Options(folder_ / library));
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return std::move(engine).value();
  }
  // Whether a warning held this text.
  bool Warned(const std::string& text) const {
    for (const std::string& warning : warnings_) {
      if (warning.find(text) != std::string::npos) return true;
    }
    return false;
  }

  TempFolder folder_;
  std::filesystem::path parts_;
  std::filesystem::path clip_;
  std::vector<std::string> warnings_;
};

inline std::string ReadBytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// The index files of a library folder.
inline std::vector<std::filesystem::path> IndexFiles(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".lvidx") files.push_back(entry.path());
  }
  return files;
}

// Runs `body` in a child process; its return value is the exit code. The caller must have no threads of its own.
inline pid_t Fork(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return child;
}

inline int WaitFor(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_APP_ENGINE_ENGINE_FIXTURE_H_
