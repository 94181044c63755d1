// Private to attention/mla: the bytes of an index file (cache_file.h), shared by its reader and its writer.
#ifndef LONGVIEW_ATTENTION_MLA_CACHE_FILE_FORMAT_H_
#define LONGVIEW_ATTENTION_MLA_CACHE_FILE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attention/mla/cache_file.h"
#include "core/base/status.h"

namespace longview::internal {

inline constexpr size_t kCacheFileAlign = 64;
inline constexpr size_t kMaxChunkFrames = 4096;
inline constexpr size_t kMaxFrameTokens = 65536;
inline constexpr size_t kMaxThumbnailBytes = size_t{16} << 20;
inline constexpr size_t kMaxTextBytes = size_t{64} << 10;  // of the key and of the totals

// An open file; closed on destruction, which also gives up its lock.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle();
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// Where the parts of a chunk lie, in bytes from the payload's beginning.
struct ChunkLayout {
  uint64_t latents_at = 0;
  uint64_t keys_at = 0;
  uint64_t retrieval_at = 0;
  uint64_t thumbnails_at = 0;
  uint64_t bytes = 0;
};

// One whole chunk of a file.
struct ChunkInfo {
  uint64_t payload_at = 0;  // in the file
  uint64_t payload_hash = 0;
  uint32_t first_frame = 0;
  uint32_t frames = 0;
  ChunkLayout layout;
};

// What is known of a frame from its chunk's table.
struct FrameEntry {
  CacheFileFrameInfo info;
  uint32_t chunk = 0;
  uint64_t first_token = 0;   // within the chunk
  uint64_t thumbnail_at = 0;  // within the chunk's thumbnails
  uint32_t thumbnail_bytes = 0;
};

// A file's whole records, in order. Scan goes on from `end`.
struct CacheFileIndex {
  CacheFileHeader header;
  uint64_t header_hash = 0;  // seeds the records' checksums: a record of another file does not pass
  uint64_t end = 0;          // bytes of the header and of whole records
  uint64_t tokens = 0;
  std::vector<ChunkInfo> chunks;
  std::vector<FrameEntry> frames;
  bool complete = false;
  std::string totals;
};

// kInvalidArgument where the sizes are out of range or the key is too long.
Status CheckHeader(const CacheFileHeader& header);
// The bytes that a file begins with.
std::vector<std::byte> EncodeHeader(const CacheFileHeader& header);
// Reads and checks them; index->end is then where the first record begins. kDamaged, kUnsupported, kIo.
Status ReadHeader(int fd, const std::filesystem::path& path, CacheFileIndex* index);
// Takes in the whole records from index->end on. What is not whole ends the scan and is no error. kIo.
Status ScanRecords(int fd, const std::filesystem::path& path, CacheFileIndex* index);

// A record, header and payload, for the end of the file that `index` describes. The header is its first kCacheFileAlign
// bytes. kInvalidArgument names the frame that does not fit.
Result<std::vector<std::byte>> EncodeChunk(const CacheFileIndex& index, std::span<const CacheFileFrame> frames);
std::vector<std::byte> EncodeComplete(const CacheFileIndex& index, const std::string& totals);

// XXH3 of a payload.
uint64_t HashBytes(std::span<const std::byte> bytes);

// "path: what: reason" of errno.
Status SystemError(const std::filesystem::path& path, const std::string& what);
// Reads exactly out.size() bytes at `offset`; false at the end of the file, kIo where the system fails.
Result<bool> ReadAt(int fd, const std::filesystem::path& path, uint64_t offset, std::span<std::byte> out);
Result<uint64_t> FileSize(int fd, const std::filesystem::path& path);

}  // namespace longview::internal

#endif  // LONGVIEW_ATTENTION_MLA_CACHE_FILE_FORMAT_H_
