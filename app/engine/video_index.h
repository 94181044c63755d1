// VideoIndex: what was kept of one video, for reading: from its file in the library, or from memory where the library
// cannot be written.
#ifndef LONGVIEW_APP_ENGINE_VIDEO_INDEX_H_
#define LONGVIEW_APP_ENGINE_VIDEO_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/engine/library.h"
#include "app/engine/model.h"
#include "app/engine/settings.h"
#include "attention/mla/cache_file.h"
#include "core/base/status.h"

namespace longview {

// Flags of a kept frame in the index.
inline constexpr uint32_t kFrameShotStart = 1;  // the first kept frame of a shot
inline constexpr uint32_t kFrameKey = 2;        // was coded as a keyframe

// The header of an index: its key text is the JSON of key and settings.
// `latent`: numbers of a latent that are kept; 0: the bridge's d_c.
CacheFileHeader MakeIndexHeader(const IndexKey& key, const std::string& sampling_text, const BridgeConfig& bridge,
                                size_t latent);
// The reverse of the key text, for a library that knows a file by its content only. kDamaged.
Result<IndexKey> ParseIndexKey(const std::string& key_text, std::string* sampling_text);

// What the closing record says of the whole video.
struct IndexTotals {
  double duration_s = 0.0;
  double first_time_s = 0.0;
  bool still = false;
  std::string damage;  // the spans that could not be decoded, as "3 s to 4 s, 9 s to 10 s"; empty where all could
  std::string ToJson() const;
  static Result<IndexTotals> FromJson(const std::string& text, const std::string& where);
};

// Frames made in this process and kept in memory, in the form of the index.
class MemoryFrames {
 public:
  explicit MemoryFrames(const CacheFileHeader& header) : header_(header) {}
  Status Append(std::span<const CacheFileFrame> frames);
  size_t frames() const { return infos_.size(); }
  const CacheFileHeader& header() const { return header_; }
  const CacheFileFrameInfo& info(size_t index) const { return infos_[index]; }
  CacheFileFrame Frame(size_t index) const;
  size_t bytes() const;

 private:
  struct Rows {
    std::vector<uint16_t> latents, keys;
    std::vector<float> retrieval;
    std::vector<std::byte> thumbnail;
  };
  CacheFileHeader header_;
  std::vector<CacheFileFrameInfo> infos_;
  std::vector<Rows> rows_;
};

// Immutable, except that the frames of a growing file are those that were there at opening. Thread-safe.
class VideoIndex {
 public:
  // Of whole records of `path`. Errors as CacheFileReader::Open, with `header` expected.
  static Result<std::shared_ptr<const VideoIndex>> Open(const std::filesystem::path& path,
                                                        const CacheFileHeader& header);
  static std::shared_ptr<const VideoIndex> FromMemory(std::shared_ptr<const MemoryFrames> frames,
                                                      const IndexTotals& totals);

  size_t frames() const;
  uint64_t tokens() const { return tokens_; }
  // Numbers kept of a latent.
  size_t latent() const;
  uint64_t bytes() const;
  bool complete() const { return complete_; }
  bool in_memory() const { return memory_ != nullptr; }
  // Defaults where not complete.
  const IndexTotals& totals() const { return totals_; }
  const CacheFileFrameInfo& info(size_t index) const;
  // kDamaged where the file's checksum does not hold.
  Result<CacheFileFrame> Frame(size_t index) const;
  Status Verify() const;
  // Gives up the memory that the file's rows around this frame take; those in memory stay. See CacheFileReader.
  void Release(size_t index) const;

  // The number of the shot of each frame, from 0.
  std::vector<uint32_t> ShotNumbers() const;

 private:
  VideoIndex() = default;
  std::shared_ptr<const CacheFileReader> reader_;
  std::shared_ptr<const MemoryFrames> memory_;
  IndexTotals totals_;
  uint64_t tokens_ = 0;
  bool complete_ = false;
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_VIDEO_INDEX_H_
