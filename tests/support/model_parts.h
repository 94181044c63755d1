// Where tests find the model parts that set-up brings, golden files, and data that may be absent.
#ifndef LONGVIEW_TESTS_SUPPORT_MODEL_PARTS_H_
#define LONGVIEW_TESTS_SUPPORT_MODEL_PARTS_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace longview {

inline constexpr std::string_view kVitPart = "vit_s_focus.onnx";
inline constexpr std::string_view kTextPart = "SmolLM2-135M-Instruct.Q4_1.gguf";

// An environment variable, or empty.
inline std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The model part of that name in $LONGVIEW_MODELS, $XDG_DATA_HOME/longview/models or ~/.local/share/longview/models.
// Where it is missing the test fails: set-up brings it, so its absence is no reason to pass.
inline std::filesystem::path ModelPart(std::string_view name) {
  std::filesystem::path folder = Environment("LONGVIEW_MODELS");
  if (folder.empty()) {
    const std::filesystem::path data = Environment("XDG_DATA_HOME");
    folder =
        (data.is_absolute() ? data : std::filesystem::path(Environment("HOME")) / ".local/share") / "longview/models";
  }
  const std::filesystem::path path = folder / name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    ADD_FAILURE() << "the model part " << path << " is missing: run tools/quickstart or tools/test, which bring it";
  }
  return path;
}

// A file of tests/golden. Targets that use it define LV_TEST_SOURCE_DIR.
#ifdef LV_TEST_SOURCE_DIR
inline std::filesystem::path GoldenFile(std::string_view name) {
  return std::filesystem::path(LV_TEST_SOURCE_DIR) / "tests/golden" / name;
}

// A file of the shared data ($LONGVIEW_DATA, or shared/data beside the repository); empty where it is not there.
inline std::filesystem::path SharedData(std::string_view name) {
  std::filesystem::path folder = Environment("LONGVIEW_DATA");
  if (folder.empty()) folder = std::filesystem::path(LV_TEST_SOURCE_DIR) / "../shared/data";
  std::error_code error;
  const std::filesystem::path path = folder / name;
  return std::filesystem::exists(path, error) ? path : std::filesystem::path();
}
#endif

}  // namespace longview

#endif  // LONGVIEW_TESTS_SUPPORT_MODEL_PARTS_H_
