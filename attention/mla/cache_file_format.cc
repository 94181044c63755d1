// The bytes of an index file: headers and records to and from memory, and their checks.
#include "attention/mla/cache_file_format.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/base/check.h"

namespace longview::internal {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the index file is little-endian and written as it lies in memory");

constexpr char kMagic[8] = {'L', 'V', 'I', 'N', 'D', 'E', 'X', '\n'};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kRecordMagic = 0x44524356;  // "VCRD"
constexpr uint32_t kKindChunk = 1;
constexpr uint32_t kKindComplete = 2;

struct FileHeaderBytes {
  char magic[8];
  uint32_t version;
  uint32_t key_bytes;
  uint32_t d_c;
  uint32_t d_r;
  uint32_t retrieval_width;
  uint32_t reserved0;
  uint64_t reserved1[3];
  uint64_t hash;  // of these 64 bytes with 0 here, and of the key with its padding
};
static_assert(sizeof(FileHeaderBytes) == kCacheFileAlign);

struct RecordHeaderBytes {
  uint32_t magic;
  uint32_t kind;
  uint64_t payload_bytes;
  uint64_t first_frame;
  uint32_t frames;
  uint32_t text_bytes;  // kKindComplete
  uint64_t tokens;
  uint64_t table_hash;  // of the frame table or the text alone, so that a reader need not read all to trust the times
  uint64_t payload_hash;
  uint64_t hash;  // of the bytes before, seeded by offset and file
};
static_assert(sizeof(RecordHeaderBytes) == kCacheFileAlign);

struct FrameBytes {
  double time_s;
  double end_s;
  uint32_t flags;
  uint32_t tokens;
  uint64_t thumbnail_at;
  uint32_t thumbnail_bytes;
  uint32_t reserved;
};
static_assert(sizeof(FrameBytes) == 40);

uint64_t Align(uint64_t n) { return (n + kCacheFileAlign - 1) / kCacheFileAlign * kCacheFileAlign; }

uint64_t HeaderHash(FileHeaderBytes header, std::span<const std::byte> padded_key) {
  header.hash = 0;
  // The hash of the parts' hashes: both are short.
  const uint64_t parts[2] = {XXH3_64bits(&header, sizeof(header)), XXH3_64bits(padded_key.data(), padded_key.size())};
  return XXH3_64bits(parts, sizeof(parts));
}

uint64_t RecordHash(const RecordHeaderBytes& record, uint64_t offset, uint64_t file_hash) {
  return XXH3_64bits_withSeed(&record, offsetof(RecordHeaderBytes, hash), offset ^ file_hash);
}

// Sizes were limited before: at most 4096 x 65536 tokens of 1024 numbers, far from 64 bits.
ChunkLayout LayoutOf(const CacheFileHeader& header, uint64_t frames, uint64_t tokens, uint64_t thumbnail_bytes) {
  ChunkLayout layout;
  layout.latents_at = Align(frames * sizeof(FrameBytes));
  layout.keys_at = layout.latents_at + Align(tokens * header.d_c * sizeof(uint16_t));
  layout.retrieval_at = layout.keys_at + Align(tokens * header.d_r * sizeof(uint16_t));
  layout.thumbnails_at = layout.retrieval_at + Align(frames * header.retrieval_width * sizeof(float));
  layout.bytes = layout.thumbnails_at + Align(thumbnail_bytes);
  return layout;
}

std::vector<std::byte> FinishRecord(const CacheFileIndex& index, RecordHeaderBytes record, std::vector<std::byte> bytes,
                                    size_t table_bytes) {
  const std::span<const std::byte> payload(bytes.data() + kCacheFileAlign, bytes.size() - kCacheFileAlign);
  record.magic = kRecordMagic;
  record.payload_bytes = payload.size();
  record.first_frame = index.frames.size();
  record.table_hash = HashBytes(payload.first(table_bytes));
  record.payload_hash = HashBytes(payload);
  record.hash = RecordHash(record, index.end, index.header_hash);
  std::memcpy(bytes.data(), &record, sizeof(record));
  return bytes;
}

Status CheckFrame(const CacheFileHeader& header, const CacheFileFrame& frame, double after_s) {
  if (!std::isfinite(frame.time_s) || !std::isfinite(frame.end_s) || frame.end_s < frame.time_s ||
      frame.time_s < after_s) {
    return InvalidArgument("its times " + std::to_string(frame.time_s) + " to " + std::to_string(frame.end_s) +
                           " s do not follow");
  }
  if (frame.tokens == 0 || frame.tokens > kMaxFrameTokens ||
      frame.latents.size() != uint64_t{frame.tokens} * header.d_c ||
      frame.keys.size() != uint64_t{frame.tokens} * header.d_r || frame.retrieval.size() != header.retrieval_width ||
      frame.thumbnail.size() > kMaxThumbnailBytes) {
    return InvalidArgument("its rows do not fit: " + std::to_string(frame.tokens) + " tokens, " +
                           std::to_string(frame.latents.size()) + " latent, " + std::to_string(frame.keys.size()) +
                           " time key and " + std::to_string(frame.retrieval.size()) +
                           " retrieval numbers, thumbnail of " + std::to_string(frame.thumbnail.size()) + " bytes");
  }
  return Status::Ok();
}

// Checks a chunk's table against its header; false where they do not fit.
bool TakeChunk(const RecordHeaderBytes& record, std::span<const std::byte> table, CacheFileIndex* index) {
  std::vector<FrameEntry> frames;
  uint64_t tokens = 0, thumbnails = 0;
  double after_s = index->frames.empty() ? -HUGE_VAL : index->frames.back().info.time_s;
  for (size_t i = 0; i < record.frames; ++i) {
    FrameBytes raw;
    std::memcpy(&raw, table.data() + i * sizeof(raw), sizeof(raw));
    if (!std::isfinite(raw.time_s) || !std::isfinite(raw.end_s) || raw.end_s < raw.time_s || raw.time_s < after_s ||
        raw.tokens == 0 || raw.tokens > kMaxFrameTokens || raw.thumbnail_bytes > kMaxThumbnailBytes ||
        raw.thumbnail_at != thumbnails) {
      return false;
    }
    FrameEntry entry;
    entry.info = {raw.time_s, raw.end_s, raw.flags, raw.tokens};
    entry.chunk = static_cast<uint32_t>(index->chunks.size());
    entry.first_token = tokens;
    entry.thumbnail_at = thumbnails;
    entry.thumbnail_bytes = raw.thumbnail_bytes;
    frames.push_back(entry);
    tokens += raw.tokens;
    thumbnails += raw.thumbnail_bytes;
    after_s = raw.time_s;
  }
  ChunkInfo chunk;
  chunk.layout = LayoutOf(index->header, record.frames, tokens, thumbnails);
  if (tokens != record.tokens || chunk.layout.bytes != record.payload_bytes) return false;
  chunk.payload_at = index->end + kCacheFileAlign;
  chunk.payload_hash = record.payload_hash;
  chunk.first_frame = static_cast<uint32_t>(index->frames.size());
  chunk.frames = record.frames;
  index->chunks.push_back(chunk);
  index->frames.insert(index->frames.end(), frames.begin(), frames.end());
  index->tokens += tokens;
  return true;
}

// Reads one record at index->end. False where it is not whole.
Result<bool> TakeRecord(int fd, const std::filesystem::path& path, uint64_t file_size, CacheFileIndex* index) {
  RecordHeaderBytes record;
  LV_ASSIGN_OR_RETURN(bool there, ReadAt(fd, path, index->end, std::as_writable_bytes(std::span(&record, 1))));
  if (!there || record.magic != kRecordMagic || record.hash != RecordHash(record, index->end, index->header_hash)) {
    return false;
  }
  if (record.payload_bytes % kCacheFileAlign != 0 || record.payload_bytes > file_size - index->end - kCacheFileAlign ||
      record.first_frame != index->frames.size()) {
    return false;
  }
  const bool chunk = record.kind == kKindChunk && record.frames >= 1 && record.frames <= kMaxChunkFrames;
  const bool complete = record.kind == kKindComplete && record.frames == 0 && record.text_bytes <= kMaxTextBytes;
  if (!chunk && !complete) return false;
  const uint64_t table_bytes = chunk ? record.frames * sizeof(FrameBytes) : record.text_bytes;
  if (table_bytes > record.payload_bytes) return false;
  std::vector<std::byte> table(table_bytes);
  LV_ASSIGN_OR_RETURN(there, ReadAt(fd, path, index->end + kCacheFileAlign, table));
  if (!there || HashBytes(table) != record.table_hash) return false;
  if (chunk) {
    if (!TakeChunk(record, table, index)) return false;
  } else {
    index->totals.assign(reinterpret_cast<const char*>(table.data()), table.size());
    index->complete = true;
  }
  index->end += kCacheFileAlign + record.payload_bytes;
  return true;
}

}  // namespace

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileHandle::~FileHandle() {
  if (fd_ >= 0) ::close(fd_);
}

uint64_t HashBytes(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Status SystemError(const std::filesystem::path& path, const std::string& what) {
  const int error = errno;
  return IoError(path.string() + ": " + what + ": " + std::generic_category().message(error))
      .About(path.string(), ReasonOfErrno(error));
}

Result<bool> ReadAt(int fd, const std::filesystem::path& path, uint64_t offset, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, "cannot be read");
    if (got == 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

Result<uint64_t> FileSize(int fd, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return SystemError(path, "cannot be examined");
  if (!S_ISREG(info.st_mode)) return IoError(path.string() + ": not a file");
  return static_cast<uint64_t>(info.st_size);
}

Status CheckHeader(const CacheFileHeader& header) {
  if (header.d_c < 8 || header.d_c > 1024 || header.d_r > 256 || header.retrieval_width > 4096 ||
      header.key.size() > kMaxTextBytes) {
    return InvalidArgument("an index of latents of " + std::to_string(header.d_c) + ", time keys of " +
                           std::to_string(header.d_r) + " and retrieval vectors of " +
                           std::to_string(header.retrieval_width) + " numbers with a key of " +
                           std::to_string(header.key.size()) + " bytes cannot be");
  }
  return Status::Ok();
}

std::vector<std::byte> EncodeHeader(const CacheFileHeader& header) {
  FileHeaderBytes raw{};
  std::memcpy(raw.magic, kMagic, sizeof(kMagic));
  raw.version = kVersion;
  raw.key_bytes = static_cast<uint32_t>(header.key.size());
  raw.d_c = header.d_c;
  raw.d_r = header.d_r;
  raw.retrieval_width = header.retrieval_width;
  std::vector<std::byte> bytes(kCacheFileAlign + Align(header.key.size()));
  std::memcpy(bytes.data() + kCacheFileAlign, header.key.data(), header.key.size());
  raw.hash = HeaderHash(raw, std::span(bytes).subspan(kCacheFileAlign));
  std::memcpy(bytes.data(), &raw, sizeof(raw));
  return bytes;
}

Status ReadHeader(int fd, const std::filesystem::path& path, CacheFileIndex* index) {
  FileHeaderBytes raw;
  LV_ASSIGN_OR_RETURN(const bool there, ReadAt(fd, path, 0, std::as_writable_bytes(std::span(&raw, 1))));
  if (!there || std::memcmp(raw.magic, kMagic, sizeof(kMagic)) != 0) {
    return Damaged(path.string() + ": not a Longview index; index the video again");
  }
  if (raw.version != kVersion) {
    return Unsupported(path.string() + ": made by another version of Longview (format " + std::to_string(raw.version) +
                       "); index the video again");
  }
  const Status damaged = Damaged(path.string() + ": the index's header is damaged; index the video again");
  if (raw.key_bytes > kMaxTextBytes) return damaged;
  std::vector<std::byte> key(Align(raw.key_bytes));
  LV_ASSIGN_OR_RETURN(const bool key_there, ReadAt(fd, path, kCacheFileAlign, key));
  if (!key_there || raw.hash != HeaderHash(raw, key)) return damaged;
  index->header.key.assign(reinterpret_cast<const char*>(key.data()), raw.key_bytes);
  index->header.d_c = raw.d_c;
  index->header.d_r = raw.d_r;
  index->header.retrieval_width = raw.retrieval_width;
  if (!CheckHeader(index->header).ok()) return damaged;
  index->header_hash = raw.hash;
  index->end = kCacheFileAlign + key.size();
  return Status::Ok();
}

Status ScanRecords(int fd, const std::filesystem::path& path, CacheFileIndex* index) {
  LV_ASSIGN_OR_RETURN(const uint64_t size, FileSize(fd, path));
  // Frame numbers are kept in 32 bits.
  while (!index->complete && size >= index->end + kCacheFileAlign && index->frames.size() < 0x7fffffff) {
    LV_ASSIGN_OR_RETURN(const bool whole, TakeRecord(fd, path, size, index));
    if (!whole) break;
  }
  return Status::Ok();
}

Result<std::vector<std::byte>> EncodeChunk(const CacheFileIndex& index, std::span<const CacheFileFrame> frames) {
  if (frames.empty() || frames.size() > kMaxChunkFrames) {
    return InvalidArgument("a chunk of " + std::to_string(frames.size()) + " frames cannot be written: 1 to " +
                           std::to_string(kMaxChunkFrames) + " are taken");
  }
  RecordHeaderBytes record{};
  record.kind = kKindChunk;
  record.frames = static_cast<uint32_t>(frames.size());
  double after_s = index.frames.empty() ? -HUGE_VAL : index.frames.back().info.time_s;
  uint64_t thumbnails = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    LV_RETURN_IF_ERROR(
        CheckFrame(index.header, frames[i], after_s).WithContext("frame " + std::to_string(i) + " of a chunk"));
    after_s = frames[i].time_s;
    record.tokens += frames[i].tokens;
    thumbnails += frames[i].thumbnail.size();
  }
  const ChunkLayout layout = LayoutOf(index.header, frames.size(), record.tokens, thumbnails);
  std::vector<std::byte> bytes(kCacheFileAlign + layout.bytes);
  std::byte* payload = bytes.data() + kCacheFileAlign;
  std::byte* table = payload;
  std::byte* latents = payload + layout.latents_at;
  std::byte* keys = payload + layout.keys_at;
  std::byte* retrieval = payload + layout.retrieval_at;
  std::byte* thumbnail = payload + layout.thumbnails_at;
  const auto put = [](std::byte** to, const void* from, size_t size) {
    if (size > 0) std::memcpy(*to, from, size);
    *to += size;
  };
  for (const CacheFileFrame& frame : frames) {
    FrameBytes raw{};
    raw.time_s = frame.time_s;
    raw.end_s = frame.end_s;
    raw.flags = frame.flags;
    raw.tokens = frame.tokens;
    raw.thumbnail_at = static_cast<uint64_t>(thumbnail - (payload + layout.thumbnails_at));
    raw.thumbnail_bytes = static_cast<uint32_t>(frame.thumbnail.size());
    put(&table, &raw, sizeof(raw));
    put(&latents, frame.latents.data(), frame.latents.size_bytes());
    put(&keys, frame.keys.data(), frame.keys.size_bytes());
    put(&retrieval, frame.retrieval.data(), frame.retrieval.size_bytes());
    put(&thumbnail, frame.thumbnail.data(), frame.thumbnail.size());
  }
  return FinishRecord(index, record, std::move(bytes), frames.size() * sizeof(FrameBytes));
}

std::vector<std::byte> EncodeComplete(const CacheFileIndex& index, const std::string& totals) {
  RecordHeaderBytes record{};
  record.kind = kKindComplete;
  record.text_bytes = static_cast<uint32_t>(totals.size());
  std::vector<std::byte> bytes(kCacheFileAlign + Align(totals.size()));
  std::memcpy(bytes.data() + kCacheFileAlign, totals.data(), totals.size());
  return FinishRecord(index, record, std::move(bytes), totals.size());
}

}  // namespace longview::internal
