// Manifests of parts into one of the whole.
#include <algorithm>
#include <map>
#include <optional>
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

// Of several records of one input the highest is kept. Nothing where there is no such state.
std::optional<int> Rank(const std::string& state) {
  if (state == "done") return 3;
  if (state == "skipped") return 2;
  if (state == "failed") return 1;
  if (state == "not_done") return 0;
  return std::nullopt;
}

bool IsInput(const json& input) {
  if (!input.is_object() || !input.contains("video") || !input.contains("state")) return false;
  for (const char* key : {"video", "state", "fingerprint", "id", "error"}) {
    if (input.contains(key) && !input[key].is_string()) return false;
  }
  return Rank(TextAt(input, "state")).has_value();
}

Status CheckManifest(const NamedManifest& manifest) {
  const json& object = manifest.object;
  const bool sound = object.is_object() && TextAt(object, "format") == "longview-manifest" &&
                     object.value("version", json()) == 1 && object.contains("inputs") && object["inputs"].is_array() &&
                     std::all_of(object["inputs"].begin(), object["inputs"].end(), IsInput);
  return sound ? Status::Ok() : Damaged(manifest.name + ": is no manifest of longview caption");
}

// The inputs of several manifests, one record each.
class Inputs {
 public:
  void Add(const json& input) {
    const std::string by_name = TextAt(input, "id") + "\n" + TextAt(input, "video");
    const std::string print = TextAt(input, "fingerprint");
    const std::string by_content = TextAt(input, "id") + "\n" + print;
    size_t at = records_.size();
    if (const auto found = by_name_.find(by_name); found != by_name_.end()) {
      at = found->second;
    } else if (const auto same = by_content_.find(by_content); !print.empty() && same != by_content_.end()) {
      at = same->second;
    }
    const bool is_done = TextAt(input, "state") == "done";
    if (at == records_.size()) {
      records_.push_back({input, is_done ? 1 : 0});
    } else {
      Record& record = records_[at];
      if (is_done) ++record.times_done;
      if (Rank(TextAt(input, "state")) >= Rank(TextAt(record.input, "state"))) record.input = input;
    }
    by_name_[by_name] = at;
    if (!print.empty()) by_content_[by_content] = at;
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
  std::vector<Record> records_;
  std::map<std::string, size_t> by_name_;
  std::map<std::string, size_t> by_content_;
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
    return std::pair(TextAt(a.object, "finished"), a.object.dump()) <
           std::pair(TextAt(b.object, "finished"), b.object.dump());
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
    for (const json& input : manifest.object["inputs"]) inputs.Add(input);
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
                                   {"version", 1},
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

}  // namespace longview::cli
