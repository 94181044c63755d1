// FrameCache: what is kept of a video's frame tokens in memory, frame by frame, as the kernels read it, in any cache
// mode.
//
// Of each token a number of vectors is kept (one latent; or the keys and values of every layer and head) and one time
// key. Frames lie one behind the other in blocks that never move; within a frame: each vector's rows [tokens, width],
// then the time keys [tokens, d_r], then the vectors' fp32 scales [vectors, tokens] (int8, or where tokens have a
// factor). Every byte comes from the arena that the cache is given.
#ifndef LONGVIEW_ATTENTION_MLA_FRAME_CACHE_H_
#define LONGVIEW_ATTENTION_MLA_FRAME_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attention/kernels/params.h"
#include "attention/mla/cache_mode.h"
#include "core/base/status.h"

namespace longview {

class Arena;

struct FrameCacheShape {
  std::vector<size_t> vectors = {128};  // numbers of each vector kept of a token: 8..1024, multiples of 8; at most 4096
  size_t d_r = 32;                      // numbers of a time key: 0..256, a multiple of 8
  CacheStore store = CacheStore::kBF16;
  bool factors = false;  // each token has a factor that its vectors are multiplied by when read (mode states)

  bool operator==(const FrameCacheShape&) const = default;
  // Bytes of a frame; `numbers` > 0: only so many of the first vector are kept of its tokens.
  size_t FrameBytes(size_t tokens, size_t numbers = 0) const;
};

// One kept frame. Shown from `time_s` until before `end_s` (near-identical frames are kept once, with their span).
struct CachedFrame {
  double time_s = 0.0;
  double end_s = 0.0;
  uint32_t tokens = 0;
};

// One frame's rows to append, in any of f32, f16, bf16. Strides in numbers.
struct FrameRows {
  double time_s = 0.0;
  double end_s = 0.0;
  size_t tokens = 0;
  CacheStore type = CacheStore::kF32;  // of both pointers; kI8 is not taken
  const void* vectors = nullptr;       // [tokens, stride]: a token's vectors side by side, what is beyond is not read
  size_t stride = 0;
  const void* keys = nullptr;      // [tokens, d_r] dense, turned
  const float* factors = nullptr;  // [tokens], where the shape has them
  size_t numbers = 0;              // of the first vector that this frame keeps, a multiple of 8; 0: all. A cache of one
                                   // vector only
};

// One frame of a view.
struct ViewFrame {
  uint32_t source = 0;  // order of the caches joined into the view
  uint32_t frame = 0;   // index within that cache
  double time_s = 0.0;
  double end_s = 0.0;
  const std::byte* data = nullptr;  // its rows
  uint32_t tokens = 0;
  uint32_t numbers = 0;  // kept of the first vector
};

class FrameCache;

// The part of one or several caches that a question attends to. It points into the caches' blocks, stays valid while
// they live and are only appended to, and may be read from several threads.
struct CacheView {
  FrameCacheShape shape;
  uint32_t sources = 0;
  size_t tokens = 0;
  std::vector<ViewFrame> frames;
  // Caches that were made for this view alone and live as long as it and its copies; empty where others keep them.
  std::vector<std::shared_ptr<const FrameCache>> owned;

  // Adds another cache's view behind this one's (several videos); its frames get the following source numbers. An empty
  // view takes the other's shape; otherwise kInvalidArgument where the shapes differ.
  Status Append(const CacheView& other);

  // What the kernels take, one run a frame: vector `keys` of each token as its key, and vector `values` as its value;
  // the same index where one vector is both.
  std::vector<CrossAttnRun> Runs(size_t keys = 0, size_t values = 0) const;
};

// One thread appends at a time, and makes views; views already made may be read meanwhile.
class FrameCache {
 public:
  // `arena` must outlive the cache. kInvalidArgument for a shape out of range.
  static Result<FrameCache> Make(const FrameCacheShape& shape, Arena* arena);
  FrameCache(FrameCache&&) noexcept;
  FrameCache& operator=(FrameCache&&) noexcept;
  ~FrameCache();

  const FrameCacheShape& shape() const;
  size_t frames() const;
  size_t tokens() const;
  const CachedFrame& frame(size_t index) const;

  // The next blocks are made for this many more bytes of frames, so that nothing is left over. Without it blocks grow
  // with the cache, never beyond 1/128 of what it holds (at least one frame).
  void ExpectBytes(size_t bytes);

  // Adds a frame behind the others; frames come in order of time (equal times are allowed). kInvalidArgument for times
  // that are not finite, go back or end before they begin, or rows that do not fit; kResource where the arena has no
  // more. A failure leaves the cache as it was.
  Status Append(const FrameRows& rows);

  // Every frame; those that are shown at some time within [from_s, to_s]; those listed (indices in any order, each <
  // frames(), else kOutOfRange).
  CacheView View() const;
  CacheView ViewBetween(double from_s, double to_s) const;
  Result<CacheView> ViewOf(std::span<const uint32_t> frames) const;

  // Allocated for tokens by this cache: within 1 % of the frames' FrameBytes (from 128 frames on, or where they were
  // announced by ExpectBytes).
  size_t bytes() const;

 private:
  struct Impl;
  explicit FrameCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_MLA_FRAME_CACHE_H_
