// Replacing a file by a finished new one, without harm to what is no file: devices, pipes, links.
#ifndef LONGVIEW_CORE_IO_REPLACE_FILE_H_
#define LONGVIEW_CORE_IO_REPLACE_FILE_H_

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "core/base/status.h"

namespace longview {

// A place where a new file may be put.
struct ReplaceTarget {
  std::filesystem::path path;  // without links; the new file has to be made in its folder
  std::optional<mode_t> mode;  // permissions of the file that is there now
};

// Where a file written to `path` belongs: links are followed, so that a link stays one. kIo where `path` is there and
// is no regular file (a rename would put a file in the place of a device or a pipe), or is a link that leads nowhere.
Result<ReplaceTarget> FindReplaceTarget(const std::filesystem::path& path);

// Renames the finished file `made`, of the same folder, over the target; it gets the permissions of what was there.
// kIo names the target and the system's reason, and `made` is removed then.
Status PutInPlace(const std::filesystem::path& made, const ReplaceTarget& target);

}  // namespace longview

#endif  // LONGVIEW_CORE_IO_REPLACE_FILE_H_
