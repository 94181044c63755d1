// FileSource: the bytes of a regular file, read so that the caller can always be stopped. Private to vision/av.
//
// A read or an open on a share that no longer answers hangs inside the system and nothing can wake it. So the system
// calls are made on a thread of their own; whoever waits for it looks at the stop token, and on a stop leaves that
// thread behind (it holds only its own state, and ends when the system answers).
#ifndef LONGVIEW_VISION_AV_FILE_SOURCE_H_
#define LONGVIEW_VISION_AV_FILE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "core/base/status.h"

namespace longview::av {

class FileSource {
 public:
  // Errors: kNotFound, kInvalidArgument (a folder, a pipe, a device: named as such), kIo, kCancelled. Never waits for a
  // pipe.
  static Result<std::unique_ptr<FileSource>> Open(const std::string& path, std::stop_token stop);
  ~FileSource();
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  // Up to `size` bytes from `offset`; 0 at the end of the file. kIo, kCancelled.
  Result<size_t> ReadAt(int64_t offset, uint8_t* out, size_t size);

  // At the time of Open.
  int64_t size() const { return size_; }
  // True once a read inside size() met the end: the file became shorter meanwhile.
  bool shortened() const { return shortened_; }
  const std::string& path() const { return path_; }

 private:
  struct Worker;
  FileSource(std::string path, std::shared_ptr<Worker> worker, std::stop_token stop);

  std::string path_;
  std::shared_ptr<Worker> worker_;
  std::stop_token stop_;
  int64_t size_ = 0;
  bool shortened_ = false;
};

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_FILE_SOURCE_H_
