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

// Verifies every file; removes the damaged ones with their rows, and rows without a file. Returns what was removed.
Result<std::vector<std::string>> RepairIndexes(const std::filesystem::path& folder, Library* library,
                                               const JobContext& job);

// Removes the least recently used until at most `max_bytes` remain. A program that has one open keeps reading it.
Result<uint64_t> PruneIndexes(const std::filesystem::path& folder, Library* library, uint64_t max_bytes);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_LIBRARY_UPKEEP_H_
