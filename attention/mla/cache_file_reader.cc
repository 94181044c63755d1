// CacheFileReader: maps an index file's whole records, also while it grows.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <utility>

#include "attention/mla/cache_file.h"
#include "attention/mla/cache_file_format.h"

namespace longview {
namespace {

using internal::CacheFileIndex;
using internal::FileHandle;
using internal::SystemError;

// A mapped stretch of the file, unmapped on destruction.
class Mapping {
 public:
  Mapping(std::byte* data, size_t size) : data_(data), size_(size) {}
  Mapping(Mapping&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  const std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  size_t size_;
};

enum class ChunkState : uint8_t { kUnknown, kGood, kBad };

}  // namespace

struct CacheFileReader::Impl {
  std::filesystem::path path;
  FileHandle file;
  CacheFileIndex index;
  std::deque<Mapping> mappings;                 // never taken down while the reader lives: frames point into them
  std::vector<const std::byte*> payloads;       // of each chunk
  std::deque<std::atomic<ChunkState>> checked;  // of each chunk

  // Maps the chunks that a scan has found since the last call.
  Status MapNew() {
    const size_t first = payloads.size();
    if (first == index.chunks.size()) return Status::Ok();
    const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t from = index.chunks[first].payload_at / page * page;
    const size_t size = index.end - from;
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(from));
    if (data == MAP_FAILED) return SystemError(path, "cannot be mapped");
    mappings.emplace_back(static_cast<std::byte*>(data), size);
    for (size_t i = first; i < index.chunks.size(); ++i) {
      payloads.push_back(mappings.back().data() + (index.chunks[i].payload_at - from));
      checked.emplace_back(ChunkState::kUnknown);
    }
    return Status::Ok();
  }

  Status CheckChunk(size_t chunk) {
    ChunkState state = checked[chunk].load(std::memory_order_acquire);
    if (state == ChunkState::kUnknown) {
      // A file cut short by somebody else would end the process at the first touch of what is gone.
      LV_ASSIGN_OR_RETURN(const uint64_t size, internal::FileSize(file.get(), path));
      const internal::ChunkInfo& info = index.chunks[chunk];
      const bool good = size >= info.payload_at + info.layout.bytes &&
                        internal::HashBytes({payloads[chunk], info.layout.bytes}) == info.payload_hash;
      state = good ? ChunkState::kGood : ChunkState::kBad;
      checked[chunk].store(state, std::memory_order_release);
    }
    if (state == ChunkState::kGood) return Status::Ok();
    return Damaged(path.string() + ": the index is damaged (chunk " + std::to_string(chunk) +
                   " does not match its checksum); index the video again");
  }

  // The pages of a mapped file are dropped from the process and stay in the system's cache as long as that has room.
  void ReleaseChunk(size_t chunk) const {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(payloads[chunk]);
    const uintptr_t from = begin / page * page;
    // Only memory would be lost by a refusal, so there is nobody to tell.
    (void)::madvise(reinterpret_cast<void*>(from), begin - from + index.chunks[chunk].layout.bytes, MADV_DONTNEED);
  }
};

CacheFileReader::CacheFileReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CacheFileReader::CacheFileReader(CacheFileReader&&) noexcept = default;
CacheFileReader& CacheFileReader::operator=(CacheFileReader&&) noexcept = default;
CacheFileReader::~CacheFileReader() = default;

Result<CacheFileReader> CacheFileReader::Open(const std::filesystem::path& path,
                                              const std::optional<CacheFileHeader>& expected) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->file = FileHandle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (impl->file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound(path.string() + ": there is no index here");
    return SystemError(path, "cannot be opened");
  }
  LV_RETURN_IF_ERROR(internal::FileSize(impl->file.get(), path).status());
  LV_RETURN_IF_ERROR(internal::ReadHeader(impl->file.get(), path, &impl->index));
  if (expected && !(impl->index.header == *expected)) {
    const bool sizes = impl->index.header.key == expected->key;
    return NotFound(path.string() + ": the index is stale: its " +
                    (sizes ? "sizes differ" : "video, model or sampling differ") + " from what is asked for");
  }
  LV_RETURN_IF_ERROR(internal::ScanRecords(impl->file.get(), path, &impl->index));
  LV_RETURN_IF_ERROR(impl->MapNew());
  return CacheFileReader(std::move(impl));
}

const CacheFileHeader& CacheFileReader::header() const { return impl_->index.header; }
size_t CacheFileReader::frames() const { return impl_->index.frames.size(); }
uint64_t CacheFileReader::tokens() const { return impl_->index.tokens; }
uint64_t CacheFileReader::bytes() const { return impl_->index.end; }
bool CacheFileReader::complete() const { return impl_->index.complete; }
const std::string& CacheFileReader::totals() const { return impl_->index.totals; }
const CacheFileFrameInfo& CacheFileReader::info(size_t index) const { return impl_->index.frames[index].info; }

Result<CacheFileFrame> CacheFileReader::Frame(size_t index) const {
  const CacheFileIndex& file = impl_->index;
  if (index >= file.frames.size()) {
    return OutOfRange(impl_->path.string() + ": frame " + std::to_string(index) + " of an index of " +
                      std::to_string(file.frames.size()));
  }
  const internal::FrameEntry& entry = file.frames[index];
  LV_RETURN_IF_ERROR(impl_->CheckChunk(entry.chunk));
  const internal::ChunkInfo& chunk = file.chunks[entry.chunk];
  const std::byte* payload = impl_->payloads[entry.chunk];
  const uint64_t d_c = file.header.d_c, d_r = file.header.d_r, width = file.header.retrieval_width;
  CacheFileFrame frame;
  frame.time_s = entry.info.time_s;
  frame.end_s = entry.info.end_s;
  frame.flags = entry.info.flags;
  frame.tokens = entry.info.tokens;
  frame.latents = {reinterpret_cast<const uint16_t*>(payload + chunk.layout.latents_at) + entry.first_token * d_c,
                   entry.info.tokens * d_c};
  frame.keys = {reinterpret_cast<const uint16_t*>(payload + chunk.layout.keys_at) + entry.first_token * d_r,
                entry.info.tokens * d_r};
  frame.retrieval = {
      reinterpret_cast<const float*>(payload + chunk.layout.retrieval_at) + (index - chunk.first_frame) * width, width};
  frame.thumbnail = {payload + chunk.layout.thumbnails_at + entry.thumbnail_at, entry.thumbnail_bytes};
  return frame;
}

Status CacheFileReader::VerifyAll() const {
  for (size_t i = 0; i < impl_->index.chunks.size(); ++i) {
    const Status status = impl_->CheckChunk(i);
    impl_->ReleaseChunk(i);
    LV_RETURN_IF_ERROR(status);
  }
  return Status::Ok();
}

void CacheFileReader::Release(size_t index) const { impl_->ReleaseChunk(impl_->index.frames[index].chunk); }

Result<bool> CacheFileReader::Refresh() {
  const uint64_t before = impl_->index.end;
  LV_RETURN_IF_ERROR(internal::ScanRecords(impl_->file.get(), impl_->path, &impl_->index));
  LV_RETURN_IF_ERROR(impl_->MapNew());
  return impl_->index.end != before;
}

}  // namespace longview
