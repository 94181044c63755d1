// The index file of one video and model (design §6): latents, time keys, retrieval vectors and thumbnails, appended in
// checksummed chunks while the video is read, mapped by readers even while it grows.
//
// Layout, little-endian, every part on a 64-byte border:
//   file header   magic, version, sizes, key text, XXH3 of all of it
//   record*       64-byte record header (kind, sizes, XXH3 of the payload, XXH3 of itself with its offset) and the
//   payload
//     chunk       frame table, latents bf16 [tokens, d_c], time keys bf16 [tokens, d_r], retrieval f32 [frames, width],
//     thumbnails complete    the totals as JSON; nothing follows it
// A record's header is written after its payload (and, by policy, after the payload is on the disk), so a record is
// whole or not there. What follows the last whole record is a torn tail: readers do not see it, the next writer cuts it
// off.
#ifndef LONGVIEW_ATTENTION_MLA_CACHE_FILE_H_
#define LONGVIEW_ATTENTION_MLA_CACHE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace longview {

// What a file was made from. A file whose `key` or sizes differ from the reader's is stale.
struct CacheFileHeader {
  std::string
      key;  // JSON text: content fingerprint, model hash, sampling settings. At most 64 KiB; compared byte by byte
  uint32_t d_c = 128;            // 8..1024
  uint32_t d_r = 32;             // 0..256
  uint32_t retrieval_width = 0;  // 0..4096 numbers a frame
  bool operator==(const CacheFileHeader&) const = default;
};

// One kept frame, in the caller's memory (writing) or in the mapping (reading).
struct CacheFileFrame {
  double time_s = 0.0;
  double end_s = 0.0;
  uint32_t flags = 0;                    // the caller's
  uint32_t tokens = 0;                   // 1..65536
  std::span<const uint16_t> latents;     // bf16 [tokens, d_c]
  std::span<const uint16_t> keys;        // bf16 [tokens, d_r]
  std::span<const float> retrieval;      // [retrieval_width]
  std::span<const std::byte> thumbnail;  // as the caller encodes it (PNG, JPEG); may be empty; at most 16 MiB
};

// How much of a frame is known before its rows are touched.
struct CacheFileFrameInfo {
  double time_s = 0.0;
  double end_s = 0.0;
  uint32_t flags = 0;
  uint32_t tokens = 0;
};

enum class CacheFileSync { kNever, kOnComplete, kEveryChunk };

// Move-only; one thread at a time. Holds an exclusive lock on the file: another writer, of this process or another, is
// told kResource. Destruction without Complete leaves a file that can be gone on with.
class CacheFileWriter {
 public:
  // Opens `path` to go on with it, cutting a torn tail, where its header equals `header`; otherwise (missing, stale,
  // damaged, or `fresh`) puts a new empty file in its place, so that readers of the old one keep theirs. Folders must
  // exist. kIo: no rights, no space; kResource: another writer has it.
  static Result<CacheFileWriter> Open(const std::filesystem::path& path, const CacheFileHeader& header,
                                      CacheFileSync sync, bool fresh = false);
  CacheFileWriter(CacheFileWriter&&) noexcept;
  CacheFileWriter& operator=(CacheFileWriter&&) noexcept;
  ~CacheFileWriter();

  // What the file held when it was opened and holds now.
  uint64_t frames() const;
  uint64_t tokens() const;
  // Of the last frame held; 0 where there is none.
  double last_time_s() const;
  double last_end_s() const;
  bool complete() const;
  // The JSON text given to Complete; empty before.
  const std::string& totals() const;

  // Appends one chunk of 1..4096 frames in order of time. All or nothing: after a failure (kIo: disk full;
  // kInvalidArgument: rows of the wrong size, times that go back, a complete file) the file is as before.
  Status Append(std::span<const CacheFileFrame> frames);
  // Writes the closing record. `totals_json`: duration and the like, at most 64 KiB.
  Status Complete(const std::string& totals_json);
  // Puts everything on the disk.
  Status Sync();

 private:
  struct Impl;
  explicit CacheFileWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Move-only. Frames may be read from several threads; Refresh is called by one thread while no other reads.
class CacheFileReader {
 public:
  // Maps the whole records. kNotFound: no such file, or a stale one (the message says "stale" and what differs) where
  // `expected` is given; kDamaged: not an index file, or its header is; kUnsupported: a newer version; kIo.
  static Result<CacheFileReader> Open(const std::filesystem::path& path,
                                      const std::optional<CacheFileHeader>& expected);
  CacheFileReader(CacheFileReader&&) noexcept;
  CacheFileReader& operator=(CacheFileReader&&) noexcept;
  ~CacheFileReader();

  const CacheFileHeader& header() const;
  size_t frames() const;
  uint64_t tokens() const;
  // Bytes of whole records and header.
  uint64_t bytes() const;
  bool complete() const;
  const std::string& totals() const;

  // Times, flags and token count of frame `index` < frames(): checked when the file was opened.
  const CacheFileFrameInfo& info(size_t index) const;
  // The rows, valid as long as the reader. A chunk's checksum is compared when it is first touched: kDamaged names the
  // file and says to index again. kOutOfRange for an index beyond the end.
  Result<CacheFileFrame> Frame(size_t index) const;
  // Checks every chunk now. What was read for it takes no memory in this process afterwards.
  Status VerifyAll() const;
  // Gives up the memory that the chunk of frame `index` < frames() takes in this process, for files larger than what is
  // to be held of them. Rows already handed out stay valid: what is touched again is read from the file again.
  void Release(size_t index) const;

  // Takes in what a writer has added since. True where there is something new.
  Result<bool> Refresh();

 private:
  struct Impl;
  explicit CacheFileReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Removes an index file unless a writer, of this process or another, has it: false then. True where it is gone. Readers
// keep what they mapped; a writer that waited for the file begins a new one. kIo.
Result<bool> RemoveCacheFile(const std::filesystem::path& path);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_MLA_CACHE_FILE_H_
