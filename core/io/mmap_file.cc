// MmapFile over POSIX open, fstat and mmap.
#include "core/io/mmap_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace longview {
namespace {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

Status OpenError(const std::string& name, int error) {
  const StatusReason reason = ReasonOfErrno(error);
  Status status = reason == StatusReason::kNoSuchFile ? NotFound(name + ": there is no such file")
                  : reason == StatusReason::kNoRight  ? IoError(name + ": no right to read it")
                                                      : IoError(name + ": cannot be opened: " + ErrnoText(error));
  return std::move(status).About(name, reason);
}

}  // namespace

Result<MmapFile> MmapFile::Open(const std::filesystem::path& path) {
  const std::string name = path.string();
  MmapFile file;
  file.path_ = path;
  // Without O_NONBLOCK a pipe that nobody writes to would be waited for.
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd_ < 0) return OpenError(name, errno);
  struct stat info {};
  if (::fstat(file.fd_, &info) != 0) return IoError(name + ": cannot be examined: " + ErrnoText(errno));
  if (S_ISDIR(info.st_mode)) return InvalidArgument(name + ": is a folder, not a file");
  if (!S_ISREG(info.st_mode)) return InvalidArgument(name + ": is not a regular file");
  if (info.st_size == 0) return Damaged(name + ": is empty; bring it again");
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd_, 0);
  if (data == MAP_FAILED) return IoError(name + ": cannot be mapped: " + ErrnoText(errno));
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  return file;
}

MmapFile::MmapFile(MmapFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::exchange(other.fd_, -1)) {}

MmapFile& MmapFile::operator=(MmapFile&& other) noexcept {
  if (this != &other) {
    MmapFile old(std::move(*this));
    path_ = std::move(other.path_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

MmapFile::~MmapFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) ::close(fd_);
}

Status MmapFile::CheckStillWhole() const {
  struct stat info {};
  if (fd_ < 0) return InternalError("no file is mapped");
  if (::fstat(fd_, &info) != 0) return IoError(path_.string() + ": cannot be examined: " + ErrnoText(errno));
  if (static_cast<size_t>(info.st_size) < size_) {
    return Damaged(path_.string() + ": was cut short while in use; bring it again");
  }
  return Status::Ok();
}

}  // namespace longview
