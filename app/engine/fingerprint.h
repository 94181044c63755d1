// What a file is by its content: the name of a video in the library, and the checks of model parts.
#ifndef LONGVIEW_APP_ENGINE_FINGERPRINT_H_
#define LONGVIEW_APP_ENGINE_FINGERPRINT_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/progress.h"
#include "core/base/status.h"

namespace longview {

// Size and time of last change: equal stamps mean that a file need not be read again.
struct FileStamp {
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// Stamp of a regular file with at least one byte, links followed. kNotFound: nothing there; kInvalidArgument: a folder,
// a device or a pipe (never opened, a pipe would block); kDamaged: empty; kIo: not readable.
Result<FileStamp> StampFile(const std::filesystem::path& path);

// 32 hex digits of XXH3-128 over size and content: the whole file up to 64 MiB, above that 256 blocks of 256 KiB spread
// evenly from the first byte to the last (design.md §6). Errors as StampFile, and kCancelled.
Result<std::string> Fingerprint(const std::filesystem::path& path, const JobContext& job = {});

// 64 hex digits of the SHA-256 of the whole file. Errors as StampFile, and kCancelled.
Result<std::string> Sha256OfFile(const std::filesystem::path& path, const JobContext& job = {});
std::string Sha256OfText(std::string_view text);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_FINGERPRINT_H_
