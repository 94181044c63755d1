// LatentCache: the latents and time keys of one video in memory, frame by frame, as the kernels read them.
//
// Tokens lie in blocks of whole frames that never move. Within a block: latents [tokens, d_c], then time keys [tokens,
// d_r], then (int8) fp32 scales [tokens], without gaps from a 64-byte border on; every byte comes from the arena that
// the cache is given.
#ifndef LONGVIEW_ATTENTION_MLA_LATENT_CACHE_H_
#define LONGVIEW_ATTENTION_MLA_LATENT_CACHE_H_

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

struct LatentCacheShape {
  size_t d_c = 128;  // 8..1024, a multiple of 8; 32, 64 and 128 are the cuts of longview-s
  size_t d_r = 32;   // 0..256, a multiple of 8
  CacheStore store = CacheStore::kBF16;
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
  const void* latents = nullptr;       // [tokens, latent_stride], the first d_c numbers of each row are kept
  size_t latent_stride = 0;
  const void* keys = nullptr;  // [tokens, d_r] dense, turned
};

// Which frame of which cache a run of a view is.
struct ViewFrame {
  uint32_t source = 0;  // order of the caches joined into the view
  uint32_t frame = 0;   // index within that cache
  double time_s = 0.0;
  double end_s = 0.0;
};

// The part of one or several caches that a question attends to: what the kernels take. It points into the caches'
// blocks, stays valid while they live and are only appended to, and may be read from several threads.
struct CacheView {
  size_t d_c = 0;
  size_t d_r = 0;
  CacheStore store = CacheStore::kBF16;
  uint32_t sources = 0;
  size_t tokens = 0;
  std::vector<CrossAttnRun> runs;  // one a frame
  std::vector<ViewFrame> frames;   // frames[i] is runs[i]

  // Adds another cache's view behind this one's (several videos); its frames get the following source numbers. An empty
  // view takes the other's shape; otherwise kInvalidArgument where shape or store differ.
  Status Append(const CacheView& other);
};

// One thread appends at a time, and makes views; views already made may be read meanwhile.
class LatentCache {
 public:
  // `arena` must outlive the cache. kInvalidArgument for a shape out of range.
  static Result<LatentCache> Make(const LatentCacheShape& shape, Arena* arena);
  LatentCache(LatentCache&&) noexcept;
  LatentCache& operator=(LatentCache&&) noexcept;
  ~LatentCache();

  const LatentCacheShape& shape() const;
  size_t frames() const;
  size_t tokens() const;
  const CachedFrame& frame(size_t index) const;

  // The next blocks are made for this many more tokens, so that nothing is left over. Without it blocks grow with the
  // cache, never beyond 1/128 of what it holds (at least one frame).
  void ExpectTokens(size_t tokens);

  // Adds a frame behind the others; frames come in order of time (equal times are allowed). kInvalidArgument for times
  // that are not finite, go back or end before they begin, or rows that do not fit; kResource where the arena has no
  // more. A failure leaves the cache as it was.
  Status Append(const FrameRows& rows);

  // Every frame; those that are shown at some time within [from_s, to_s]; those listed (indices in any order, each <
  // frames(), else kOutOfRange).
  CacheView View() const;
  CacheView ViewBetween(double from_s, double to_s) const;
  Result<CacheView> ViewOf(std::span<const uint32_t> frames) const;

  // Allocated for tokens by this cache, and what CacheBytesPerToken says they cost: they agree within 1 % (from 128
  // frames, or any number that was announced by ExpectTokens).
  size_t bytes() const;
  size_t predicted_bytes() const;

 private:
  struct Impl;
  explicit LatentCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_MLA_LATENT_CACHE_H_
