// Manifests of parts into one of the whole.
#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "app/cli/caption_manifest.h"
#include "app/engine/output_files.h"
#include "core/io/json.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kMaxManifestBytes = uint64_t{4} << 30;

std::string TextAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool IsInput(const json& input) {
  if (!input.is_object() || !input.contains("video") || !input.contains("state")) return false;
  for (const char* key : {"video", "state", "fingerprint", "id", "checked", "error", "warning"}) {
    if (input.contains(key) && !input[key].is_string()) return false;
  }
  constexpr std::array<std::string_view, 4> kStates = {"done", "skipped", "failed", "not_done"};
  return std::find(kStates.begin(), kStates.end(), TextAt(input, "state")) != kStates.end();
}

Status CheckManifest(const NamedManifest& manifest) {
  const json& object = manifest.object;
  const bool named = object.is_object() && TextAt(object, "format") == "longview-manifest";
  const json version = named ? object.value("version", json()) : json();
  if (version.is_number_integer() && version != kManifestVersion) {
    const std::string writer = TextAt(object, "longview");
    return Unsupported(manifest.name + ": is a manifest of version " + version.dump() + ", and this Longview knows " +
                       std::to_string(kManifestVersion) + "; merge it with the Longview that wrote it" +
                       (writer.empty() ? "" : ", " + writer));
  }
  const bool sound = version == kManifestVersion && object.contains("inputs") && object["inputs"].is_array() &&
                     std::all_of(object["inputs"].begin(), object["inputs"].end(), IsInput);
  return sound ? Status::Ok() : Damaged(manifest.name + ": is no manifest of longview caption");
}

// When a run ended; of one that was killed, when it began.
std::string TimeOf(const json& manifest) {
  std::string finished = TextAt(manifest, "finished");
  return finished.empty() ? TextAt(manifest, "started") : finished;
}

// The inputs of several manifests, one record each.
class Inputs {
 public:
  // Names before contents: copies of one film are told apart wherever a name tells them.
  void Add(const json& manifest) {
    const json& inputs = manifest["inputs"];
    std::vector<size_t> at(inputs.size(), kNone);
    std::set<size_t> taken;
    for (const auto key : {&NameKey, &ContentKey}) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (at[i] == kNone) at[i] = Known(key(inputs[i]), taken);
        if (at[i] != kNone) taken.insert(at[i]);
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      json input = inputs[i];
      // Of an earlier version.
      if (TextAt(input, "checked").empty()) input["checked"] = TimeOf(manifest);
      const bool is_new = at[i] == kNone;
      if (is_new) at[i] = records_.size();
      for (const std::string& key : {NameKey(input), ContentKey(input)}) {
        if (!key.empty()) known_[key].insert(at[i]);
      }
      const int done = TextAt(input, "state") == "done" ? 1 : 0;
      if (is_new) {
        records_.push_back({std::move(input), done});
      } else {
        records_[at[i]].times_done += done;
        Keep(std::move(input), &records_[at[i]].input);
      }
    }
  }

  json Take() {
    std::sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return std::pair(TextAt(a.input, "video"), a.input.dump()) < std::pair(TextAt(b.input, "video"), b.input.dump());
    });
    json list = json::array();
    for (Record& record : records_) list.push_back(std::move(record.input));
    return list;
  }
  size_t Count(std::string_view state) const {
    return static_cast<size_t>(std::count_if(records_.begin(), records_.end(), [state](const Record& record) {
      return TextAt(record.input, "state") == state;
    }));
  }
  size_t Repeated() const {
    return static_cast<size_t>(
        std::count_if(records_.begin(), records_.end(), [](const Record& record) { return record.times_done > 1; }));
  }

 private:
  struct Record {
    json input;
    int times_done = 0;
  };
  static constexpr size_t kNone = SIZE_MAX;

  static std::string NameKey(const json& input) { return TextAt(input, "id") + "\nname " + TextAt(input, "video"); }
  static std::string ContentKey(const json& input) {
    const std::string print = TextAt(input, "fingerprint");
    return print.empty() ? print : TextAt(input, "id") + "\ncontent " + print;
  }

  // A record of that key that no other input of the same manifest has.
  size_t Known(const std::string& key, const std::set<size_t>& taken) const {
    const auto found = known_.find(key);
    if (found == known_.end()) return kNone;
    const auto free = std::find_if(found->second.begin(), found->second.end(),
                                   [&taken](size_t record) { return !taken.contains(record); });
    return free == found->second.end() ? kNone : *free;
  }

  // Leaves in `kept` what the two say together.
  static void Keep(json input, json* kept) {
    if (TextAt(input, "checked") < TextAt(*kept, "checked")) std::swap(input, *kept);
    const std::string earlier = TextAt(*kept, "state");
    const std::string later = TextAt(input, "state");
    const bool same_content = TextAt(input, "fingerprint") == TextAt(*kept, "fingerprint");
    if (later == "not_done" && earlier != "not_done") return;
    if (later == "skipped" && earlier == "done" && same_content) {
      (*kept)["checked"] = input["checked"];
    } else {
      *kept = std::move(input);
    }
  }

  std::vector<Record> records_;
  std::map<std::string, std::set<size_t>> known_;
};

// What was merged before, or the manifest itself.
void AddRuns(const json& object, std::map<std::string, json>* runs) {
  if (const auto merged = object.find("runs"); merged != object.end() && merged->is_array()) {
    for (const json& run : *merged) runs->emplace(TextAt(run, "run"), run);
    return;
  }
  runs->emplace(TextAt(object, "run"), json{{"run", TextAt(object, "run")},
                                            {"shard", TextAt(object, "shard")},
                                            {"started", TextAt(object, "started")},
                                            {"finished", TextAt(object, "finished")}});
}

Result<NamedManifest> ReadManifest(const fs::path& path) {
  LV_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxManifestBytes));
  // A deeper one would take more stack than there is when it is compared or written.
  LV_RETURN_IF_ERROR(Json::Parse(text, path.string(), {kMaxManifestBytes}).status());
  NamedManifest manifest{path.string(), json::parse(text, nullptr, false)};
  LV_RETURN_IF_ERROR(CheckManifest(manifest));
  return manifest;
}

}  // namespace

Result<nlohmann::ordered_json> MergeManifests(std::vector<NamedManifest> manifests) {
  if (manifests.empty()) return InvalidArgument("there is no manifest to merge");
  for (const NamedManifest& manifest : manifests) LV_RETURN_IF_ERROR(CheckManifest(manifest));
  // The order of runs, whatever the order of words; a manifest given twice counts once.
  std::sort(manifests.begin(), manifests.end(), [](const NamedManifest& a, const NamedManifest& b) {
    return std::pair(TimeOf(a.object), a.object.dump()) < std::pair(TimeOf(b.object), b.object.dump());
  });
  manifests.erase(std::unique(manifests.begin(), manifests.end(),
                              [](const NamedManifest& a, const NamedManifest& b) { return a.object == b.object; }),
                  manifests.end());
  const json& first = manifests[0].object;
  Inputs inputs;
  std::map<std::string, json> runs;
  for (const NamedManifest& manifest : manifests) {
    for (const char* key : {"model", "settings"}) {
      if (manifest.object.value(key, json()) == first.value(key, json())) continue;
      return InvalidArgument(manifest.name + ": its " + key + " differ from those of " + manifests[0].name +
                             "; only parts of one batch can be merged");
    }
    AddRuns(manifest.object, &runs);
    inputs.Add(manifest.object);
  }
  std::string names;
  std::string started;
  std::string finished;
  json run_list = json::array();
  for (const auto& [name, run] : runs) {
    names += name + "\n";
    const std::string from = TextAt(run, "started");
    if (started.empty() || (!from.empty() && from < started)) started = from;
    finished = std::max(finished, TextAt(run, "finished"));
    run_list.push_back(run);
  }
  const size_t not_done = inputs.Count("not_done");
  nlohmann::ordered_json merged = {{"format", "longview-manifest"},
                                   {"version", kManifestVersion},
                                   {"run", "merged-" + HashText(names)},
                                   {"longview", TextAt(first, "longview")},
                                   {"model", TextAt(first, "model")},
                                   {"settings", first.value("settings", json())},
                                   {"shard", "1/1"},
                                   {"started", started},
                                   {"finished", finished},
                                   {"cancelled", not_done > 0},
                                   {"done", inputs.Count("done")},
                                   {"skipped", inputs.Count("skipped")},
                                   {"failed", inputs.Count("failed")},
                                   {"not_done", not_done},
                                   {"repeated", inputs.Repeated()},
                                   {"runs", run_list}};
  merged["inputs"] = inputs.Take();
  return merged;
}

Result<std::vector<NamedManifest>> ReadManifests(const std::vector<std::string>& paths) {
  std::vector<NamedManifest> manifests;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      LV_ASSIGN_OR_RETURN(NamedManifest manifest, ReadManifest(path));
      manifests.push_back(std::move(manifest));
      continue;
    }
    std::set<fs::path> files;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with("longview-manifest-") && name.ends_with(".json")) files.insert(at->path());
    }
    if (error) return IoError(path + ": cannot be listed: " + error.message());
    if (files.empty()) return NotFound(path + ": holds no longview-manifest-*.json");
    for (const fs::path& file : files) {
      LV_ASSIGN_OR_RETURN(NamedManifest manifest, ReadManifest(file));
      manifests.push_back(std::move(manifest));
    }
  }
  return manifests;
}

Status CheckMergeTarget(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return Status::Ok();  // a new one, or what cannot be written at all
  // A film is not read to its end to find that it is no manifest.
  const bool may_be = std::ifstream(path).peek() == '{';
  const Result<NamedManifest> there = may_be ? ReadManifest(path) : Damaged("");
  if (there.ok() && there->object.contains("runs")) return Status::Ok();
  return InvalidArgument(path.string() + ": is there already and is no merged manifest; choose another name for --out");
}

}  // namespace longview::cli
