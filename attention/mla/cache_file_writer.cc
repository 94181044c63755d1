// CacheFileWriter: appends to an index file under a lock.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "attention/mla/cache_file.h"
#include "attention/mla/cache_file_format.h"

namespace longview {
namespace {

using internal::CacheFileIndex;
using internal::FileHandle;
using internal::kCacheFileAlign;
using internal::SystemError;

Status WriteAt(int fd, const std::filesystem::path& path, uint64_t offset, std::span<const std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return SystemError(path, "cannot be written");
    done += static_cast<size_t>(wrote);
  }
  return Status::Ok();
}

Status SyncFile(int fd, const std::filesystem::path& path) {
  return ::fdatasync(fd) == 0 ? Status::Ok() : SystemError(path, "cannot be put on the disk");
}

// Whether `path` still names the file that `fd` has open.
bool StillNamed(int fd, const std::filesystem::path& path) {
  struct stat mine {
  }, named{};
  return ::fstat(fd, &mine) == 0 && ::stat(path.c_str(), &named) == 0 && mine.st_dev == named.st_dev &&
         mine.st_ino == named.st_ino;
}

enum class Locked { kYes, kMissing, kMoved };

// Opens and locks `path`. kMissing: there is none (and `create` is false); kMoved: it was replaced meanwhile, try
// again.
Result<Locked> OpenLocked(const std::filesystem::path& path, bool create, FileHandle* file) {
  const int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | (create ? O_CREAT : 0);
  FileHandle opened(::open(path.c_str(), flags, 0644));
  if (opened.get() < 0) {
    if (errno == ENOENT && !create) return Locked::kMissing;
    return SystemError(path, "cannot be opened for writing");
  }
  LV_RETURN_IF_ERROR(internal::FileSize(opened.get(), path).status());
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return ResourceError(path.string() + ": another Longview is writing this index");
    return SystemError(path, "cannot be locked");
  }
  if (!StillNamed(opened.get(), path)) return Locked::kMoved;
  *file = std::move(opened);
  return Locked::kYes;
}

// Drops everything from the first chunk on whose payload is not what was written.
Status DropDamagedChunks(int fd, const std::filesystem::path& path, CacheFileIndex* index) {
  std::vector<std::byte> payload;
  for (size_t i = 0; i < index->chunks.size(); ++i) {
    const internal::ChunkInfo& chunk = index->chunks[i];
    payload.resize(chunk.layout.bytes);
    LV_ASSIGN_OR_RETURN(const bool there, internal::ReadAt(fd, path, chunk.payload_at, payload));
    if (there && internal::HashBytes(payload) == chunk.payload_hash) continue;
    index->end = chunk.payload_at - kCacheFileAlign;
    index->frames.resize(chunk.first_frame);
    index->chunks.resize(i);
    index->complete = false;
    index->totals.clear();
    index->tokens = 0;
    for (const auto& frame : index->frames) index->tokens += frame.info.tokens;
    break;
  }
  return Status::Ok();
}

}  // namespace

struct CacheFileWriter::Impl {
  std::filesystem::path path;
  FileHandle file;
  CacheFileSync sync = CacheFileSync::kNever;
  CacheFileIndex index;

  // Goes on with the locked file: true where its header is the wanted one.
  Result<bool> Adopt(const CacheFileHeader& header) {
    CacheFileIndex found;
    const Status status = internal::ReadHeader(file.get(), path, &found);
    if (status.code() == StatusCode::kIo) return status;
    if (!status.ok() || !(found.header == header)) return false;
    LV_RETURN_IF_ERROR(internal::ScanRecords(file.get(), path, &found));
    LV_RETURN_IF_ERROR(DropDamagedChunks(file.get(), path, &found));
    LV_ASSIGN_OR_RETURN(const uint64_t size, internal::FileSize(file.get(), path));
    if (size > found.end && ::ftruncate(file.get(), static_cast<off_t>(found.end)) != 0) {
      return SystemError(path, "its torn end cannot be cut off");
    }
    index = std::move(found);
    return true;
  }

  // Puts a new file with nothing but a header under `path`. `replacing`: this writer holds the lock of what is there.
  // kMoved: somebody else did so meanwhile.
  Result<Locked> PutNew(const CacheFileHeader& header, bool replacing) {
    std::filesystem::path fresh_path = path;
    fresh_path += ".new";
    FileHandle fresh;
    LV_ASSIGN_OR_RETURN(const Locked locked, OpenLocked(fresh_path, true, &fresh));
    if (locked != Locked::kYes) return Locked::kMoved;
    // Whoever holds the lock of the new name is the only one who may rename it.
    if (!replacing && ::access(path.c_str(), F_OK) == 0) {
      ::unlink(fresh_path.c_str());
      return Locked::kMoved;
    }
    const std::vector<std::byte> bytes = internal::EncodeHeader(header);
    Status status = ::ftruncate(fresh.get(), 0) == 0 ? Status::Ok() : SystemError(fresh_path, "cannot be emptied");
    if (status.ok()) status = WriteAt(fresh.get(), fresh_path, 0, bytes);
    if (status.ok() && sync != CacheFileSync::kNever) status = SyncFile(fresh.get(), fresh_path);
    if (status.ok() && ::rename(fresh_path.c_str(), path.c_str()) != 0)
      status = SystemError(path, "cannot be replaced");
    if (!status.ok()) {
      ::unlink(fresh_path.c_str());
      return status;
    }
    file = std::move(fresh);
    index = CacheFileIndex();
    LV_RETURN_IF_ERROR(internal::ReadHeader(file.get(), path, &index));
    return Locked::kYes;
  }

  // Payload first, then the header that makes it whole; a failure leaves the file as it was.
  Status WriteRecord(std::span<const std::byte> record, bool put_on_disk) {
    Status status = WriteAt(file.get(), path, index.end + kCacheFileAlign, record.subspan(kCacheFileAlign));
    if (status.ok() && put_on_disk) status = SyncFile(file.get(), path);
    if (status.ok()) status = WriteAt(file.get(), path, index.end, record.first(kCacheFileAlign));
    if (status.ok() && put_on_disk) status = SyncFile(file.get(), path);
    if (!status.ok()) {
      if (::ftruncate(file.get(), static_cast<off_t>(index.end)) != 0) {
        return status.WithContext("its torn end could not be cut off either");
      }
      return status;
    }
    const uint64_t end = index.end + record.size();
    LV_RETURN_IF_ERROR(internal::ScanRecords(file.get(), path, &index));
    if (index.end != end)
      return IoError(path.string() + ": what was written cannot be read back; is the disk failing?");
    return Status::Ok();
  }
};

CacheFileWriter::CacheFileWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CacheFileWriter::CacheFileWriter(CacheFileWriter&&) noexcept = default;
CacheFileWriter& CacheFileWriter::operator=(CacheFileWriter&&) noexcept = default;
CacheFileWriter::~CacheFileWriter() = default;

Result<CacheFileWriter> CacheFileWriter::Open(const std::filesystem::path& path, const CacheFileHeader& header,
                                              CacheFileSync sync, bool fresh) {
  LV_RETURN_IF_ERROR(internal::CheckHeader(header));
  // Each turn is lost only to another process that put a new file in place at this very moment.
  for (int attempt = 0; attempt < 16; ++attempt) {
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->sync = sync;
    LV_ASSIGN_OR_RETURN(const Locked locked, OpenLocked(path, false, &impl->file));
    if (locked == Locked::kMoved) continue;
    if (locked == Locked::kYes && !fresh) {
      LV_ASSIGN_OR_RETURN(const bool adopted, impl->Adopt(header));
      if (adopted) return CacheFileWriter(std::move(impl));
    }
    // The old file's lock is held until the new one is in place: PutNew moves it out of `file` only then.
    LV_ASSIGN_OR_RETURN(const Locked put, impl->PutNew(header, locked == Locked::kYes));
    if (put == Locked::kYes) return CacheFileWriter(std::move(impl));
  }
  return ResourceError(path.string() + ": other processes keep replacing this index");
}

Result<bool> RemoveCacheFile(const std::filesystem::path& path) {
  FileHandle file;
  const Result<Locked> locked = OpenLocked(path, false, &file);
  if (!locked.ok()) {
    if (locked.status().code() == StatusCode::kResource) return false;
    // One that cannot be opened for writing has no writer of ours; the folder's rights decide.
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError(path, "cannot be removed");
    return true;
  }
  if (*locked == Locked::kMissing) return true;
  if (*locked == Locked::kMoved) return false;  // replaced at this very moment: somebody's new one
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError(path, "cannot be removed");
  return true;
}

uint64_t CacheFileWriter::frames() const { return impl_->index.frames.size(); }
uint64_t CacheFileWriter::tokens() const { return impl_->index.tokens; }
double CacheFileWriter::last_time_s() const {
  return impl_->index.frames.empty() ? 0.0 : impl_->index.frames.back().info.time_s;
}
double CacheFileWriter::last_end_s() const {
  return impl_->index.frames.empty() ? 0.0 : impl_->index.frames.back().info.end_s;
}
bool CacheFileWriter::complete() const { return impl_->index.complete; }
const std::string& CacheFileWriter::totals() const { return impl_->index.totals; }

Status CacheFileWriter::Append(std::span<const CacheFileFrame> frames) {
  if (complete()) return InvalidArgument(impl_->path.string() + ": the index is complete; nothing can be added");
  LV_ASSIGN_OR_RETURN(const std::vector<std::byte> record, internal::EncodeChunk(impl_->index, frames));
  return impl_->WriteRecord(record, impl_->sync == CacheFileSync::kEveryChunk);
}

Status CacheFileWriter::Complete(const std::string& totals_json) {
  if (complete()) return InvalidArgument(impl_->path.string() + ": the index is complete already");
  if (totals_json.size() > internal::kMaxTextBytes) {
    return InvalidArgument("totals of " + std::to_string(totals_json.size()) + " bytes are too long for an index");
  }
  return impl_->WriteRecord(internal::EncodeComplete(impl_->index, totals_json), impl_->sync != CacheFileSync::kNever);
}

Status CacheFileWriter::Sync() { return SyncFile(impl_->file.get(), impl_->path); }

}  // namespace longview
