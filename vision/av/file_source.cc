// FileSource: one detached thread per open file does the system calls; see the header.
#include "vision/av/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace longview::av {
namespace {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

// What `mode` is, for the message; empty for a regular file.
const char* NotAFile(mode_t mode) {
  if (S_ISREG(mode)) return "";
  if (S_ISDIR(mode)) return "is a folder, not a file";
  if (S_ISFIFO(mode)) return "is a named pipe; copy its bytes into a file first";
  if (S_ISSOCK(mode)) return "is a socket, not a file";
  return "is a device, not a file";
}

}  // namespace

// Shared by the source and its thread; whichever ends last frees it. One request at a time.
struct FileSource::Worker {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::string path;
  bool quit = false;
  bool asked = false;  // a request is set and not yet answered
  int64_t offset = 0;
  size_t want = 0;
  std::vector<uint8_t> bytes;  // the answer
  int error = 0;               // errno of the last answer
  std::string refusal;         // why Open cannot take the file
  int64_t size = -1;
  int fd = -1;

  ~Worker() {
    if (fd >= 0) close(fd);
  }

  // The open, on the worker's thread. O_NONBLOCK: a pipe without a writer must not hold us (it is refused below).
  void OpenFile() {
    struct stat info = {};
    int handle = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int failure = handle < 0 ? errno : 0;
    if (failure == 0 && fstat(handle, &info) != 0) failure = errno;
    std::lock_guard<std::mutex> lock(mutex);
    fd = handle;
    error = failure;
    if (failure == 0) refusal = NotAFile(info.st_mode);
    size = failure == 0 ? info.st_size : 0;
    asked = false;
  }

  void Answer(std::unique_lock<std::mutex>& lock) {
    std::vector<uint8_t> buffer = std::move(bytes);
    const int64_t from = offset;
    buffer.resize(want);
    lock.unlock();
    ssize_t got = 0;
    do {
      got = pread(fd, buffer.data(), buffer.size(), from);
    } while (got < 0 && errno == EINTR);
    const int failure = got < 0 ? errno : 0;
    lock.lock();
    buffer.resize(got < 0 ? 0 : static_cast<size_t>(got));
    bytes = std::move(buffer);
    error = failure;
    asked = false;
  }

  void Run() {
    OpenFile();
    wake.notify_all();
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return quit || asked; });
      if (quit) return;
      Answer(lock);
      wake.notify_all();
    }
  }
};

FileSource::FileSource(std::string path, std::shared_ptr<Worker> worker, std::stop_token stop)
    : path_(std::move(path)), worker_(std::move(worker)), stop_(std::move(stop)) {}

FileSource::~FileSource() {
  {
    std::lock_guard<std::mutex> lock(worker_->mutex);
    worker_->quit = true;
  }
  worker_->wake.notify_all();
}

Result<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path, std::stop_token stop) {
  if (path.empty()) return InvalidArgument("an empty file name was given");
  auto worker = std::make_shared<Worker>();
  worker->path = path;
  worker->asked = true;
  try {
    std::thread([worker] { worker->Run(); }).detach();
  } catch (const std::system_error& e) {
    return ResourceError(path + ": no thread to read it with (" + e.what() + ")");
  }
  std::unique_ptr<FileSource> source(new FileSource(path, worker, std::move(stop)));
  std::unique_lock<std::mutex> lock(worker->mutex);
  if (!worker->wake.wait(lock, source->stop_, [&] { return !worker->asked; })) return Cancelled();
  const StatusReason reason = ReasonOfErrno(worker->error);
  if (reason == StatusReason::kNoSuchFile) return NotFound(path + ": no such file").About(path, reason);
  // A socket, or a device without a driver.
  if (worker->error == ENXIO) return InvalidArgument(path + ": is not a regular file");
  if (worker->error != 0) {
    return IoError(path + ": cannot be opened: " + ErrnoText(worker->error)).About(path, reason);
  }
  if (!worker->refusal.empty()) return InvalidArgument(path + ": " + worker->refusal);
  source->size_ = worker->size;
  lock.unlock();
  return source;
}

Result<size_t> FileSource::ReadAt(int64_t offset, uint8_t* out, size_t size) {
  if (stop_.stop_requested()) return Cancelled();
  std::unique_lock<std::mutex> lock(worker_->mutex);
  worker_->offset = offset;
  worker_->want = size;
  worker_->asked = true;
  worker_->wake.notify_all();
  if (!worker_->wake.wait(lock, stop_, [this] { return !worker_->asked; })) return Cancelled();
  if (worker_->error != 0) {
    return IoError(path_ + ": cannot be read: " + ErrnoText(worker_->error))
        .About(path_, ReasonOfErrno(worker_->error));
  }
  const size_t got = worker_->bytes.size();
  if (got > 0) std::memcpy(out, worker_->bytes.data(), got);
  if (got == 0 && size > 0 && offset < size_) shortened_ = true;
  return got;
}

}  // namespace longview::av
