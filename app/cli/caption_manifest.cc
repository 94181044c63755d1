// Structs to JSON, and the name of a run.
#include "app/cli/caption_manifest.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "app/engine/output_files.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

std::string FormatUtc(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> buffer{};
  std::strftime(buffer.data(), buffer.size(), format, &parts);  // digits only: no part of the locale
  return buffer.data();
}

std::string_view StateName(CaptionState state) {
  switch (state) {
    case CaptionState::kNotDone:
      return "not_done";
    case CaptionState::kDone:
      return "done";
    case CaptionState::kSkipped:
      return "skipped";
    case CaptionState::kFailed:
      return "failed";
  }
  return "not_done";
}

}  // namespace

nlohmann::ordered_json OutcomeJson(const CaptionOutcome& outcome) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const std::string& path : outcome.outputs) outputs.push_back(ValidUtf8(path));
  nlohmann::ordered_json object = {{"video", ValidUtf8(outcome.video)},  {"state", StateName(outcome.state)},
                                   {"fingerprint", outcome.fingerprint}, {"outputs", outputs},
                                   {"captions", outcome.captions},       {"frames", outcome.frames},
                                   {"seconds", outcome.seconds},         {"id", HashText(outcome.key)},
                                   {"checked", outcome.checked}};
  if (!outcome.error.empty()) object["error"] = ValidUtf8(outcome.error);
  if (!outcome.warning.empty()) object["warning"] = ValidUtf8(outcome.warning);
  return object;
}

size_t CountState(const CaptionManifest& manifest, CaptionState state) {
  return static_cast<size_t>(std::count_if(manifest.outcomes.begin(), manifest.outcomes.end(),
                                           [state](const CaptionOutcome& outcome) { return outcome.state == state; }));
}

nlohmann::ordered_json ManifestJson(const CaptionManifest& manifest) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const CaptionOutcome& outcome : manifest.outcomes) inputs.push_back(OutcomeJson(outcome));
  return {{"format", "longview-manifest"},
          {"version", kManifestVersion},
          {"run", manifest.run},
          {"longview", LONGVIEW_VERSION},
          {"model", ValidUtf8(manifest.model)},
          {"settings", manifest.settings},
          {"shard", manifest.shard},
          {"started", manifest.started},
          {"finished", manifest.finished},
          {"cancelled", manifest.cancelled},
          {"done", CountState(manifest, CaptionState::kDone)},
          {"skipped", CountState(manifest, CaptionState::kSkipped)},
          {"failed", CountState(manifest, CaptionState::kFailed)},
          {"not_done", CountState(manifest, CaptionState::kNotDone)},
          {"inputs", inputs}};
}

Result<std::filesystem::path> WriteManifest(const CaptionManifest& manifest, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / (std::string(kManifestPrefix) + manifest.run + ".json");
  LV_RETURN_IF_ERROR(WriteFileAtomically(path, ManifestJson(manifest).dump(2) + "\n"));
  return path;
}

std::string NewRunName() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string key = std::string(host.data()) + "/" + std::to_string(getpid()) + "/" + std::to_string(ticks);
  return FormatUtc("%Y%m%dT%H%M%SZ") + "-" + HashText(key).substr(0, 8);
}

std::string UtcNow() { return FormatUtc("%Y-%m-%dT%H:%M:%SZ"); }

}  // namespace longview::cli
