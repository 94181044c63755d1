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

// Of the manifests that are written and read.
inline constexpr int kManifestVersion = 1;

enum class CaptionState { kNotDone, kDone, kSkipped, kFailed };

// Now, in UTC: 2026-01-31T23:59:59Z.
std::string UtcNow();

// What became of one input.
struct CaptionOutcome {
  std::string video;
  CaptionState state = CaptionState::kNotDone;
  std::string fingerprint;           // of the content; empty where it could not be read
  std::vector<std::string> outputs;  // paths, of this run or found finished
  uint64_t captions = 0;
  double seconds = 0.0;
  std::string error;
  std::string key;                 // below the folder given, or its name: the same on every machine
  uint64_t frames = 0;             // kept frames
  std::string checked = UtcNow();  // when the run turned to the input; while it is not done, when the run began
  std::string warning = {};        // what is wrong with a file that could be captioned
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
// "seconds", "id", "checked", "error", "warning"}]}; "id" is the hash of the input's path below the folder given, or of
// its name.
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
// name (equal "id" and "video", or else "id" and "fingerprint") the record that was "checked" last counts. "not_done"
// says nothing of an input, and what was found finished ("skipped") after it was "done" from the same content is "done"
// still. Inputs of one manifest stay apart, whatever they hold. "runs" lists all runs; "repeated" counts inputs that
// were captioned more than once. Equal manifests give equal bytes, in any order. kDamaged: no manifest; kUnsupported:
// one of another version; kInvalidArgument: other settings or another model.
Result<nlohmann::ordered_json> MergeManifests(std::vector<NamedManifest> manifests);
// Reads a manifest, or all that lie in a folder. kNotFound, kDamaged, kUnsupported, kIo.
Result<std::vector<NamedManifest>> ReadManifests(const std::vector<std::string>& paths);
// Whether a merged manifest may be written as `path`: kInvalidArgument where something else than one is there.
Status CheckMergeTarget(const std::filesystem::path& path);

// A name for a run that sorts by time and that no other run has, also on another machine: 20260131T235959Z-1a2b3c4d.
std::string NewRunName();
}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_CAPTION_MANIFEST_H_
