// stat and rename by POSIX: they give a reason for every failure.
#include "core/io/replace_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace longview {

namespace fs = std::filesystem;

Result<ReplaceTarget> FindReplaceTarget(const fs::path& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    // What keeps it from being looked at keeps it from being written, and is told then.
    return ReplaceTarget{path, std::nullopt};
  }
  ReplaceTarget target{path, std::nullopt};
  if (S_ISLNK(info.st_mode)) {
    std::error_code error;
    target.path = fs::canonical(path, error);
    if (error || stat(target.path.c_str(), &info) != 0) {
      return IoError(path.string() + ": is a link that leads nowhere; remove it or choose another name");
    }
  }
  if (!S_ISREG(info.st_mode)) {
    return IoError(path.string() + ": is there and is no regular file; choose another name");
  }
  target.mode = info.st_mode & 07777;
  return target;
}

Status PutInPlace(const fs::path& made, const ReplaceTarget& target) {
  // Files of another owner keep the new file's permissions; that is no reason to lose the work.
  if (target.mode) (void)chmod(made.c_str(), *target.mode);
  if (std::rename(made.c_str(), target.path.c_str()) == 0) return Status::Ok();
  const int error = errno;
  unlink(made.c_str());
  return IoError(target.path.string() + ": cannot be written: " + std::generic_category().message(error))
      .About(target.path.string(), ReasonOfErrno(error));
}

}  // namespace longview
