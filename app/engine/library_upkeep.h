// Listing, checking and pruning the index files of a library folder. The files are the truth; the database adds names.
#ifndef LONGVIEW_APP_ENGINE_LIBRARY_UPKEEP_H_
#define LONGVIEW_APP_ENGINE_LIBRARY_UPKEEP_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/engine/events.h"
#include "app/engine/library.h"
#include "core/base/progress.h"
#include "core/base/status.h"

namespace longview {

// Every index file of `folder`, most recently used first; none where the folder is missing. `library` may be null.
Result<std::vector<LibraryEntry>> ListIndexes(const std::filesystem::path& folder, Library* library);

// Reads every file in full and returns those that are damaged. Changes nothing.
Result<std::vector<LibraryEntry>> DamagedIndexes(const std::filesystem::path& folder, Library* library,
                                                 const JobContext& job);

// Removes damaged files with their rows, rows without a file, and what killed writers left. What somebody is writing
// stays. Returns the index files that were removed.
Result<std::vector<std::string>> RepairIndexes(const std::filesystem::path& folder, Library* library,
                                               const JobContext& job);

// Removes the least recently used until at most `max_bytes` remain; returns the bytes freed. One that somebody is
// writing stays and counts, so more may remain. A program that has one open keeps reading it.
Result<uint64_t> PruneIndexes(const std::filesystem::path& folder, Library* library, uint64_t max_bytes);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_LIBRARY_UPKEEP_H_
