// MmapFile: a whole file, read-only, mapped into memory.
#ifndef LONGVIEW_CORE_IO_MMAP_FILE_H_
#define LONGVIEW_CORE_IO_MMAP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/base/status.h"

namespace longview {

// Move-only. The mapping begins at a page, so a file offset's alignment is the address's.
class MmapFile {
 public:
  // Maps `path`. kNotFound: it is missing; kInvalidArgument: a folder, a pipe, a device (never waited for); kDamaged:
  // it is empty; kIo: no right to read it, or the system refused. Messages name the file.
  static Result<MmapFile> Open(const std::filesystem::path& path);

  MmapFile() = default;
  MmapFile(MmapFile&& other) noexcept;
  MmapFile& operator=(MmapFile&& other) noexcept;
  ~MmapFile();

  // The file as it was when it was opened; valid as long as this object.
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  // kDamaged where the file has since become shorter than the mapping: reading the lost part would end the process, so
  // long users of the mapping ask first.
  Status CheckStillWhole() const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_IO_MMAP_FILE_H_
