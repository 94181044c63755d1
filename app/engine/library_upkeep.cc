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

Status Remove(const LibraryEntry& entry, Library* library) {
  std::error_code error;
  fs::remove(entry.index.file, error);
  if (error) return IoError(entry.index.file.string() + ": cannot be removed: " + error.message());
  if (library == nullptr || entry.fingerprint.empty()) return Status::Ok();
  // "<fingerprint>-<model>-<settings>": none of them holds a '-'.
  const std::string stem = entry.index.file.stem().string();
  return library->RemoveIndex({entry.fingerprint, entry.model, stem.substr(stem.rfind('-') + 1)});
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

Result<std::vector<std::string>> RepairIndexes(const fs::path& folder, Library* library, const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const std::vector<LibraryEntry> entries, ListIndexes(folder, library));
  std::vector<std::string> removed;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (job.stop.stop_requested()) return Cancelled();
    if (job.progress) job.progress({static_cast<double>(i), static_cast<double>(entries.size())});
    bool damaged = entries[i].index.state == IndexState::kDamaged;
    if (!damaged) {
      const auto reader = CacheFileReader::Open(entries[i].index.file, std::nullopt);
      damaged = !reader.ok() || !reader->VerifyAll().ok();
    }
    if (!damaged) continue;
    LV_RETURN_IF_ERROR(Remove(entries[i], library));
    removed.push_back(entries[i].index.file.string());
  }
  if (library == nullptr) return removed;
  LV_ASSIGN_OR_RETURN(const std::vector<LibraryEntry> rows, library->Entries());
  for (const LibraryEntry& row : rows) {
    LibraryEntry in_folder = row;
    in_folder.index.file = folder / row.index.file;
    std::error_code error;
    if (!fs::exists(in_folder.index.file, error)) LV_RETURN_IF_ERROR(Remove(in_folder, library));
  }
  return removed;
}

Result<uint64_t> PruneIndexes(const fs::path& folder, Library* library, uint64_t max_bytes) {
  LV_ASSIGN_OR_RETURN(const std::vector<LibraryEntry> entries, ListIndexes(folder, library));
  uint64_t kept = 0;
  uint64_t freed = 0;
  for (const LibraryEntry& entry : entries) {
    if (entry.index.bytes <= max_bytes - kept) {
      kept += entry.index.bytes;
      continue;
    }
    LV_RETURN_IF_ERROR(Remove(entry, library));
    freed += entry.index.bytes;
  }
  return freed;
}

}  // namespace longview
