// The record is a convenience that must never lose anybody's work: where it says nothing, a file is somebody else's.
#include "app/cli/caption_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "app/engine/output_files.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecordPrefix = ".longview-captions";
constexpr std::string_view kRecordSuffix = ".jsonl";
constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxOutputBytes = uint64_t{1} << 30;

std::string StringAt(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

CaptionRecord::CaptionRecord(const fs::path& folder, uint32_t shard_index, uint32_t shard_count) : folder_(folder) {
  std::string own(kRecordPrefix);
  if (shard_count > 1) own += "." + std::to_string(shard_index) + "-of-" + std::to_string(shard_count);
  own_file_ = folder / (own + std::string(kRecordSuffix));
  ReadAll();
}

void CaptionRecord::ReadAll() {
  entries_.clear();
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(kRecordPrefix) && name.ends_with(kRecordSuffix)) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) ReadFile(file);
}

void CaptionRecord::ReadFile(const fs::path& path) {
  const Result<std::string> text = ReadWholeFile(path, kMaxRecordBytes);
  if (!text.ok()) return;
  for (size_t from = 0; from < text->size();) {
    const size_t end = std::min(text->find('\n', from), text->size());
    const nlohmann::json object =
        nlohmann::json::parse(text->begin() + static_cast<std::ptrdiff_t>(from),
                              text->begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    from = end + 1;
    if (!object.is_object()) continue;
    const auto bytes = object.find("bytes");
    if (bytes == object.end() || !bytes->is_number_unsigned()) continue;
    entries_[StringAt(object, "name_hash")].push_back(
        {StringAt(object, "settings"), StringAt(object, "input"), bytes->get<uint64_t>(), StringAt(object, "hash")});
  }
}

OutputState CaptionRecord::Assess(const std::string& name, const std::string& settings, const std::string& input) {
  const std::lock_guard lock(mutex_);
  const OutputState state = AssessLocked(name, settings, input);
  if (state != OutputState::kForeign && state != OutputState::kEdited) return state;
  ReadAll();
  return AssessLocked(name, settings, input);
}

OutputState CaptionRecord::AssessLocked(const std::string& name, const std::string& settings,
                                        const std::string& input) const {
  const fs::path path = folder_ / name;
  const Result<std::string> bytes = ReadWholeFile(path, kMaxOutputBytes);
  if (!bytes.ok()) return bytes.status().code() == StatusCode::kNotFound ? OutputState::kAbsent : OutputState::kForeign;
  const auto found = entries_.find(HashText(name));
  if (found == entries_.end()) return OutputState::kForeign;
  const std::string hash = HashText(*bytes);
  // The latest first: the same bytes may have been made twice, from different inputs.
  for (auto entry = found->second.rbegin(); entry != found->second.rend(); ++entry) {
    if (entry->hash != hash || entry->bytes != bytes->size()) continue;
    return entry->settings == settings && entry->input == input ? OutputState::kFinished : OutputState::kOutdated;
  }
  // All that is written ends in a line break; a shorter file that does not was cut off.
  const bool torn = bytes->empty() || (bytes->back() != '\n' && bytes->size() < found->second.back().bytes);
  return torn ? OutputState::kOutdated : OutputState::kEdited;
}

Status CaptionRecord::Write(const std::string& name, const std::string& settings, const std::string& input,
                            std::string_view bytes) {
  const Entry entry{settings, input, bytes.size(), HashText(bytes)};
  const nlohmann::ordered_json line = {{"name", ValidUtf8(name)}, {"name_hash", HashText(name)}, {"settings", settings},
                                       {"input", input},          {"bytes", entry.bytes},        {"hash", entry.hash}};
  {
    const std::lock_guard lock(mutex_);
    LV_RETURN_IF_ERROR(AppendLine(own_file_, line.dump()));
    entries_[HashText(name)].push_back(entry);
  }
  return WriteFileAtomically(folder_ / name, bytes);
}

}  // namespace longview::cli
