// The library's housekeeping.
#include "app/engine/library_upkeep.h"

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "app/engine/video_index.h"
#include "attention/mla/cache_file.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

constexpr char kIndexExtension[] = ".lvidx";
constexpr char kLeftoverEnding[] = ".lvidx.new";

Result<std::vector<fs::path>> IndexFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  if (!fs::exists(folder, error)) return files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() == kIndexExtension && it->is_regular_file(ignored)) files.push_back(it->path());
  }
  if (error) return IoError(folder.string() + ": cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

// What the file itself says; the database's names are added by the caller.
LibraryEntry ReadEntry(const fs::path& file) {
  LibraryEntry entry;
  entry.index.file = file;
  std::error_code ignored;
  entry.index.bytes = fs::file_size(file, ignored);
  entry.index.state = IndexState::kDamaged;
  const auto reader = CacheFileReader::Open(file, std::nullopt);
  if (!reader.ok()) return entry;
  const auto key = ParseIndexKey(reader->header().key, &entry.index.sampling);
  if (!key.ok() || key->FileName() != file.filename()) return entry;
  entry.fingerprint = key->fingerprint;
  entry.model = key->model;
  entry.index.state = reader->complete() ? IndexState::kComplete : IndexState::kPartial;
  entry.index.frames = reader->frames();
  entry.index.tokens = reader->tokens();
  if (reader->frames() > 0) entry.index.until_s = reader->info(reader->frames() - 1).end_s;
  return entry;
}

// False where somebody is writing it: then it stays, and so does its row.
Result<bool> Remove(const LibraryEntry& entry, Library* library) {
  LV_ASSIGN_OR_RETURN(const bool removed, RemoveCacheFile(entry.index.file));
  if (!removed) return false;
  if (library == nullptr || entry.fingerprint.empty()) return true;
  // "<fingerprint>-<model>-<settings>": none of them holds a '-'. A writer that began anew meanwhile puts its row back
  // when it is done.
  const std::string stem = entry.index.file.stem().string();
  LV_RETURN_IF_ERROR(library->RemoveIndex({entry.fingerprint, entry.model, stem.substr(stem.rfind('-') + 1)}));
  return true;
}

// What writers that were killed before they put their new file in place left behind.
Status RemoveLeftovers(const fs::path& folder) {
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().ends_with(kLeftoverEnding)) leftovers.push_back(it->path());
  }
  for (const fs::path& leftover : leftovers) LV_RETURN_IF_ERROR(RemoveCacheFile(leftover).status());
  return Status::Ok();
}

}  // namespace

Result<std::vector<LibraryEntry>> ListIndexes(const fs::path& folder, Library* library) {
  LV_ASSIGN_OR_RETURN(const std::vector<fs::path> files, IndexFiles(folder));
  std::map<std::string, LibraryEntry> known;
  if (library != nullptr) {
    LV_ASSIGN_OR_RETURN(std::vector<LibraryEntry> rows, library->Entries());
    for (LibraryEntry& row : rows) known.emplace(row.index.file.filename().string(), std::move(row));
  }
  std::vector<LibraryEntry> entries;
  for (const fs::path& file : files) {
    LibraryEntry entry = ReadEntry(file);
    if (const auto row = known.find(file.filename().string()); row != known.end()) {
      entry.last_path = row->second.last_path;
      entry.duration_s = row->second.duration_s;
      entry.used_unix_s = row->second.used_unix_s;
    }
    entries.push_back(std::move(entry));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.used_unix_s > b.used_unix_s; });
  return entries;
}

Result<std::vector<LibraryEntry>> DamagedIndexes(const fs::path& folder, Library* library, const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const std::vector<LibraryEntry> entries, ListIndexes(folder, library));
  std::vector<LibraryEntry> found;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (job.stop.stop_requested()) return Cancelled();
    if (job.progress) job.progress({static_cast<double>(i), static_cast<double>(entries.size())});
    bool damaged = entries[i].index.state == IndexState::kDamaged;
    if (!damaged) {
      const auto reader = CacheFileReader::Open(entries[i].index.file, std::nullopt);
      damaged = !reader.ok() || !reader->VerifyAll().ok();
    }
    std::error_code gone;
    if (damaged && fs::exists(entries[i].index.file, gone)) found.push_back(entries[i]);
  }
  return found;
}

Result<std::vector<std::string>> RepairIndexes(const fs::path& folder, Library* library, const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const std::vector<LibraryEntry> damaged, DamagedIndexes(folder, library, job));
  std::vector<std::string> removed;
  for (const LibraryEntry& entry : damaged) {
    LV_ASSIGN_OR_RETURN(const bool gone, Remove(entry, library));
    if (gone) removed.push_back(entry.index.file.string());
  }
  LV_RETURN_IF_ERROR(RemoveLeftovers(folder));
  if (library == nullptr) return removed;
  LV_ASSIGN_OR_RETURN(const std::vector<LibraryEntry> rows, library->Entries());
  for (const LibraryEntry& row : rows) {
    LibraryEntry in_folder = row;
    in_folder.index.file = folder / row.index.file;
    std::error_code error;
    if (!fs::exists(in_folder.index.file, error)) LV_RETURN_IF_ERROR(Remove(in_folder, library).status());
  }
  return removed;
}

Result<uint64_t> PruneIndexes(const fs::path& folder, Library* library, uint64_t max_bytes) {
  LV_ASSIGN_OR_RETURN(const std::vector<LibraryEntry> entries, ListIndexes(folder, library));
  uint64_t kept = 0;
  uint64_t freed = 0;
  for (const LibraryEntry& entry : entries) {
    const bool fits = kept <= max_bytes && entry.index.bytes <= max_bytes - kept;
    if (!fits) {
      LV_ASSIGN_OR_RETURN(const bool removed, Remove(entry, library));
      if (removed) {
        freed += entry.index.bytes;
        continue;
      }
    }
    kept += entry.index.bytes;
  }
  return freed;
}

}  // namespace longview
