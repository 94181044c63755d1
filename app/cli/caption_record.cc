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
    entries_[StringAt(object, "name_hash")].push_back({StringAt(object, "settings"), StringAt(object, "input"),
                                                       StringAt(object, "source"), StringAt(object, "source_hash"),
                                                       bytes->get<uint64_t>(), StringAt(object, "hash")});
  }
}

OutputState CaptionRecord::Assess(const std::string& name, const OutputOrigin& origin) {
  const std::lock_guard lock(mutex_);
  return AssessAgain(name, origin);
}

OutputState CaptionRecord::AssessAgain(const std::string& name, const OutputOrigin& origin) {
  const OutputState state = AssessLocked(name, origin);
  if (state != OutputState::kForeign && state != OutputState::kEdited) return state;
  ReadAll();
  return AssessLocked(name, origin);
}

bool CaptionRecord::IsOthers(const Entry& entry, const std::string& source) const {
  if (entry.source_hash.empty() || entry.source_hash == HashText(source)) return false;
  std::error_code error;
  // A name that is no UTF-8 is not here in full, so that it cannot be looked for.
  return entry.source_hash != HashText(entry.source) || fs::exists(folder_ / entry.source, error) || error;
}

NameOwner CaptionRecord::OwnerOf(const std::string& name, const std::string& source) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(HashText(name));
  if (found == entries_.end()) return NameOwner::kNobody;
  if (found->second.back().source_hash == HashText(source)) return NameOwner::kThis;
  return IsOthers(found->second.back(), source) ? NameOwner::kOther : NameOwner::kNobody;
}

OutputState CaptionRecord::AssessLocked(const std::string& name, const OutputOrigin& origin) const {
  const fs::path path = folder_ / name;
  const Result<std::string> bytes = ReadWholeFile(path, kMaxOutputBytes);
  if (!bytes.ok()) return bytes.status().code() == StatusCode::kNotFound ? OutputState::kAbsent : OutputState::kForeign;
  const auto found = entries_.find(HashText(name));
  if (found == entries_.end()) return OutputState::kForeign;
  const std::string hash = HashText(*bytes);
  // The latest first: the same bytes may have been made twice, from different inputs.
  for (auto entry = found->second.rbegin(); entry != found->second.rend(); ++entry) {
    if (entry->hash != hash || entry->bytes != bytes->size()) continue;
    if (IsOthers(*entry, origin.source)) return OutputState::kOthers;
    return entry->settings == origin.settings && entry->input == origin.input ? OutputState::kFinished
                                                                              : OutputState::kOutdated;
  }
  // All that is written ends in a line break.
  const bool torn = bytes->empty() || (bytes->back() != '\n' && bytes->size() < found->second.back().bytes);
  return torn ? OutputState::kTorn : OutputState::kEdited;
}

Result<bool> CaptionRecord::Write(const std::string& name, const OutputOrigin& origin, std::string_view bytes,
                                  bool overwrite) {
  const std::string path = (folder_ / name).lexically_normal().string();
  const Entry entry{origin.settings,         origin.input, ValidUtf8(origin.source),
                    HashText(origin.source), bytes.size(), HashText(bytes)};
  const nlohmann::ordered_json line = {{"name", ValidUtf8(name)},    {"name_hash", HashText(name)},
                                       {"settings", entry.settings}, {"input", entry.input},
                                       {"source", entry.source},     {"source_hash", entry.source_hash},
                                       {"bytes", entry.bytes},       {"hash", entry.hash}};
  OutputState state = OutputState::kAbsent;
  {
    const std::lock_guard lock(mutex_);
    // Hours may have passed since it was looked at.
    state = AssessAgain(name, origin);
    if (state == OutputState::kTorn) {
      const Result<std::string> there = ReadWholeFile(path, kMaxOutputBytes);
      if (!there.ok() || !bytes.starts_with(*there)) state = OutputState::kEdited;
    }
    if (!overwrite && state == OutputState::kEdited) return false;
    if (!overwrite) LV_RETURN_IF_ERROR(InTheWay(path, state));
    LV_RETURN_IF_ERROR(AppendLine(own_file_, line.dump()));
    entries_[HashText(name)].push_back(entry);
  }
  if (state != OutputState::kAbsent || overwrite) {
    LV_RETURN_IF_ERROR(WriteFileAtomically(folder_ / name, bytes));
    return true;
  }
  LV_ASSIGN_OR_RETURN(const bool written, WriteNewFileAtomically(folder_ / name, bytes));
  if (written) return true;
  // Another run may have made the same.
  state = Assess(name, origin);
  if (state == OutputState::kEdited || state == OutputState::kTorn) return false;
  LV_RETURN_IF_ERROR(InTheWay(path, state));
  return true;
}

Status InTheWay(const std::string& path, OutputState state) {
  switch (state) {
    case OutputState::kForeign:
      return IoError(path + ": is there already and was not written by Longview; --overwrite replaces it");
    case OutputState::kOthers:
      return IoError(path + ": is there already, made from another file; --overwrite replaces it");
    case OutputState::kEdited:
      return IoError(path + ": was changed since Longview wrote it, and is kept; --overwrite replaces it");
    default:
      return Status::Ok();
  }
}

}  // namespace longview::cli
