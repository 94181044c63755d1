// The manifest of a `caption` run: what was to be done, with which settings, and what became of each input.
#ifndef LONGVIEW_APP_CLI_CAPTION_MANIFEST_H_
#define LONGVIEW_APP_CLI_CAPTION_MANIFEST_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview::cli {

enum class CaptionState { kNotDone, kDone, kSkipped, kFailed };

// What became of one input.
struct CaptionOutcome {
  std::string video;
  CaptionState state = CaptionState::kNotDone;
  std::string fingerprint;           // of the content; empty where it could not be read
  std::vector<std::string> outputs;  // paths, of this run or found finished
  uint64_t captions = 0;
  double seconds = 0.0;
  std::string error;
  std::string key;      // below the folder given, or its name: the same on every machine
  uint64_t frames = 0;  // kept frames
};

struct CaptionManifest {
  std::string run;    // NewRunName()
  std::string model;  // Engine::ModelName()
  nlohmann::ordered_json settings;
  std::string shard;  // "I/N"
  std::string started;
  std::string finished;
  bool cancelled = false;
  std::vector<CaptionOutcome> outcomes;
};

// One of them as it stands among "inputs".
nlohmann::ordered_json OutcomeJson(const CaptionOutcome& outcome);

// How many outcomes are in that state.
size_t CountState(const CaptionManifest& manifest, CaptionState state);

// {"format", "version", "run", "longview", "model", "settings", "shard", "started", "finished", "cancelled", "done",
// "skipped", "failed", "not_done", "inputs": [{"video", "state", "fingerprint", "outputs", "captions", "frames",
// "seconds", "id", "error"}]}; "id" is the hash of the input's path below the folder given, or of its name.
nlohmann::ordered_json ManifestJson(const CaptionManifest& manifest);

inline constexpr std::string_view kManifestPrefix = "longview-manifest-";

// Writes longview-manifest-<run>.json into `folder` and returns its path.
Result<std::filesystem::path> WriteManifest(const CaptionManifest& manifest, const std::filesystem::path& folder);

// A manifest as read from a file, with its name for messages.
struct NamedManifest {
  std::string name;
  nlohmann::json object;
};
// One manifest for all inputs of several (parts of one batch, repeated runs, merged ones): of an input that several
// name (equal "id" and "video", or "id" and "fingerprint") "done" counts before "skipped" before "failed" before
// "not_done", and a later run before an earlier. "runs" lists them all; "repeated" counts inputs that were captioned
// more than once. Equal manifests give equal bytes, in any order. kDamaged: no manifest; kInvalidArgument: other
// settings or another model.
Result<nlohmann::ordered_json> MergeManifests(std::vector<NamedManifest> manifests);
// Reads a manifest, or all that lie in a folder. kNotFound, kDamaged, kIo.
Result<std::vector<NamedManifest>> ReadManifests(const std::vector<std::string>& paths);

// A name for a run that sorts by time and that no other run has, also on another machine: 20260131T235959Z-1a2b3c4d.
std::string NewRunName();
// Now, in UTC: 2026-01-31T23:59:59Z.
std::string UtcNow();

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_CAPTION_MANIFEST_H_
