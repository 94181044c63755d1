// POSIX calls throughout: only they give fsync, and a reason for every failure.
#include "app/engine/output_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <system_error>
#include <utility>

#include "app/engine/utf8.h"
#include "core/io/replace_file.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryPrefix = ".longview-";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr time_t kStaleAfterSeconds = 3600;

std::string Reason(int error) { return std::generic_category().message(error); }

Status WriteError(const fs::path& path, int error) {
  std::string hint;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) hint = "; make room or choose another folder";
  if (error == EACCES || error == EROFS || error == EPERM) hint = "; choose another folder";
  return IoError(path.string() + ": cannot be written: " + Reason(error) + hint)
      .About(path.string(), ReasonOfErrno(error));
}

// A file descriptor that is closed once.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // 0, or the errno of close(), by which network file systems report a failed write.
  int Close() {
    if (fd_ < 0) return 0;
    const int result = close(std::exchange(fd_, -1));
    return result == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

// 0 or errno.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// A name that no other process and no other thread of this one uses.
fs::path TemporaryPath(const fs::path& folder) {
  static std::atomic<uint64_t> counter{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string key = std::to_string(now) + "/" + std::to_string(counter.fetch_add(1));
  std::string name(kTemporaryPrefix);
  name += std::to_string(getpid()) + "-" + HashText(key) + std::string(kTemporarySuffix);
  return folder / name;
}

fs::path FolderOf(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// Writes and flushes a new file; removes it again where that fails. 0 or errno.
int WriteNewFile(const fs::path& path, std::string_view bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return errno;
  int error = WriteAll(file.get(), bytes);
  if (error == 0 && fsync(file.get()) != 0 && errno != EINVAL && errno != ENOTSUP) error = errno;
  const int close_error = file.Close();
  if (error == 0) error = close_error;
  if (error != 0) unlink(path.c_str());
  return error;
}

// Renames a finished file to a name that nothing has. 0 or errno; EEXIST where something has it.
int RenameNew(const fs::path& made, const fs::path& path) {
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
  // File systems that cannot: a link is as sure, and where there are none a look before has to do.
  if (link(made.c_str(), path.c_str()) == 0) return unlink(made.c_str()) == 0 ? 0 : errno;
  if (errno == EEXIST) return EEXIST;
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) return EEXIST;
  return std::rename(made.c_str(), path.c_str()) == 0 ? 0 : errno;
}

// A rename is only sure to survive a power cut once the folder is flushed; file systems that cannot do that say EINVAL.
void FlushFolder(const fs::path& folder) {
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() >= 0) (void)fsync(descriptor.get());
}

std::string ShortHash(std::string_view bytes) { return HashText(bytes).substr(0, 8); }

// The candidates of an input for its base, from the wanted one to the one that is always its own.
std::string BaseCandidate(const fs::path& input, int level) {
  if (level == 0) return input.stem().string();
  if (level == 1) return input.filename().string();
  std::error_code ignored;
  const fs::path absolute = fs::absolute(input, ignored).lexically_normal();
  return input.filename().string() + "~" + ShortHash(absolute.string());
}

}  // namespace

std::vector<OutputBase> PlanOutputBases(const std::vector<fs::path>& inputs, const std::vector<fs::path>& folders,
                                        const std::function<NameOwner(size_t, const std::string&)>& owner) {
  constexpr int kLastLevel = 2;
  const auto owner_of = [&](size_t i, int level) {
    return owner ? owner(i, BaseCandidate(inputs[i], level)) : NameOwner::kNobody;
  };
  // The first from `level` on that is not another's.
  const auto free_from = [&](size_t i, int level) {
    while (level < kLastLevel && owner_of(i, level) == NameOwner::kOther) ++level;
    return level;
  };
  const auto key = [&](size_t i, const std::string& base) {
    return std::pair(folders[i].lexically_normal().string(), base);
  };
  std::map<std::pair<std::string, std::string>, size_t> wanting;  // a stem that several want is nobody's
  for (size_t i = 0; i < inputs.size(); ++i) ++wanting[key(i, BaseCandidate(inputs[i], 0))];
  std::vector<int> level(inputs.size(), 0);
  std::vector<bool> settled(inputs.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int own = 0; own <= kLastLevel && !settled[i]; ++own) {
      settled[i] = owner_of(i, own) == NameOwner::kThis;
      level[i] = own;
    }
    if (!settled[i]) level[i] = free_from(i, wanting[key(i, BaseCandidate(inputs[i], 0))] > 1 ? 1 : 0);
  }
  std::vector<std::string> base(inputs.size());
  for (bool again = true; std::exchange(again, false);) {
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> users;
    for (size_t i = 0; i < inputs.size(); ++i) {
      base[i] = BaseCandidate(inputs[i], level[i]);
      users[key(i, base[i])].push_back(i);
    }
    for (const auto& [name, sharing] : users) {
      if (sharing.size() < 2) continue;
      for (const size_t i : sharing) {
        if (settled[i] || level[i] == kLastLevel) continue;
        level[i] = free_from(i, level[i] + 1);
        again = true;
      }
    }
  }
  std::vector<OutputBase> out;
  out.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) out.push_back({folders[i], std::move(base[i])});
  return out;
}

std::string OutputName(std::string_view base, std::string_view suffix, size_t max_bytes) {
  if (base.size() + suffix.size() <= max_bytes) return std::string(base) + std::string(suffix);
  const std::string mark = "~" + ShortHash(base);
  return std::string(Utf8Prefix(base, max_bytes - suffix.size() - mark.size())) + mark + std::string(suffix);
}

Status PrepareOutputFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder)) {
    return IoError(folder.string() + ": the folder cannot be made: " + error.message() + "; choose another folder");
  }
  const fs::path probe = TemporaryPath(folder);
  const int write_error = WriteNewFile(probe, "x");
  if (write_error != 0) return WriteError(folder, write_error);
  unlink(probe.c_str());
  return Status::Ok();
}

Status WriteFileAtomically(const fs::path& path, std::string_view bytes) {
  LV_ASSIGN_OR_RETURN(const ReplaceTarget target, FindReplaceTarget(path));
  const fs::path folder = FolderOf(target.path);
  const fs::path temporary = TemporaryPath(folder);
  if (const int error = WriteNewFile(temporary, bytes); error != 0) return WriteError(path, error);
  LV_RETURN_IF_ERROR(PutInPlace(temporary, target));
  FlushFolder(folder);
  return Status::Ok();
}

Result<bool> WriteNewFileAtomically(const fs::path& path, std::string_view bytes) {
  const fs::path folder = FolderOf(path);
  const fs::path temporary = TemporaryPath(folder);
  if (const int error = WriteNewFile(temporary, bytes); error != 0) return WriteError(path, error);
  const int error = RenameNew(temporary, path);
  if (error != 0) unlink(temporary.c_str());
  if (error == EEXIST) return false;
  if (error != 0) return WriteError(path, error);
  FlushFolder(folder);
  return true;
}

Status AppendLine(const fs::path& path, std::string_view line) {
  // An archive from elsewhere may hold a link of that name, to any file of this machine.
  Descriptor file(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  struct stat info {};
  const int open_error = file.get() < 0 ? errno : 0;
  if (open_error == ELOOP || (open_error == 0 && fstat(file.get(), &info) == 0 && !S_ISREG(info.st_mode))) {
    return IoError(path.string() + ": is there and is no regular file; remove it");
  }
  if (open_error != 0) return WriteError(path, open_error);
  const off_t size = lseek(file.get(), 0, SEEK_END);
  std::string bytes;
  char last = '\n';
  if (size > 0 && pread(file.get(), &last, 1, size - 1) == 1 && last != '\n') bytes += '\n';
  bytes.append(line).append("\n");
  int error = WriteAll(file.get(), bytes);
  if (error == 0 && fsync(file.get()) != 0 && errno != EINVAL && errno != ENOTSUP) error = errno;
  const int close_error = file.Close();
  if (error == 0) error = close_error;
  return error == 0 ? Status::Ok() : WriteError(path, error);
}

Result<std::string> ReadWholeFile(const fs::path& path, uint64_t max_bytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto failure = [&path](int error) {
    const std::string message = path.string() + ": cannot be read: " + Reason(error);
    return error == ENOENT || error == ENOTDIR ? NotFound(message) : IoError(message);
  };
  if (file.get() < 0) return failure(errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return failure(errno);
  if (!S_ISREG(info.st_mode)) return IoError(path.string() + ": is not a regular file");
  std::string bytes;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(errno);
    if (got == 0) return bytes;
    bytes.append(buffer.data(), static_cast<size_t>(got));
    if (bytes.size() > max_bytes)
      return ResourceError(path.string() + ": is larger than " + std::to_string(max_bytes) + " bytes");
  }
}

void RemoveStaleTemporaries(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kTemporaryPrefix) || !name.ends_with(kTemporarySuffix)) continue;
    struct stat info {};
    if (lstat(at->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (time(nullptr) - info.st_mtime > kStaleAfterSeconds) unlink(at->path().c_str());
  }
}

std::string HashText(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(hash >> shift) & 15];
  return out;
}

}  // namespace longview
