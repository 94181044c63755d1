// Session: videos loaded for questions: what is kept of them in memory in the chosen form, and one table of all their
// frames.
#ifndef LONGVIEW_APP_ENGINE_SESSION_H_
#define LONGVIEW_APP_ENGINE_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/cache_plan.h"
#include "app/engine/events.h"
#include "app/engine/model.h"
#include "app/engine/settings.h"
#include "app/engine/video_index.h"
#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/cross_blocks.h"
#include "attention/kernels/cuda/mirror_shelf.h"
#include "attention/mla/frame_cache.h"
#include "core/base/arena.h"
#include "core/base/thread_pool.h"

namespace longview {

struct SessionFrame {
  uint32_t video = 0;
  uint32_t index = 0;  // within its video
  double start = 0.0;
  double end = 0.0;
  uint32_t shot = 0;        // within its video
  bool shot_start = false;  // first kept frame of its shot
};

// How far a frame is from being shown at a time, in seconds: 0 from its start up to its end, at which the next one is
// shown.
double AwayFrom(const SessionFrame& frame, double time_s);

// Gives every kept frame of a video, in order, its frame tokens [tokens, d_v]: what mode states keeps and no index
// holds.
using StatesSink = std::function<Status(size_t frame, const float* states)>;
using StatesSource = std::function<Status(size_t video, const StatesSink& sink)>;

// Which frames' rows a session holds.
enum class SessionRows {
  kAll,       // every frame's
  kOnDemand,  // none: a hook holds those of its own frames, so memory does not grow with the video. Not in mode states
};

// Immutable after Load; may be used by several threads at once.
class Session {
 public:
  struct Parts {
    std::shared_ptr<const BridgeWeights> bridge;
    TextPart text;
    Arena* arena = nullptr;      // of the caches; outlives the session
    ThreadPool* pool = nullptr;  // used while loading; may be null
    // Where latents are attended to if they are many; null: on the processor.
    std::shared_ptr<MirrorShelf> mirrors;
    // The cross blocks for few latents on the text decoder's device; null: on the processor.
    std::shared_ptr<const GpuCrossBlocks> cross;
    // What the session's rows depend on, so that mirrors are kept between sessions of one name; empty: for this one
    // alone.
    std::string name;
    StatesSource states;  // asked by mode states alone
    SessionRows rows = SessionRows::kAll;
  };

  // Fills one cache a video, or none where rows come on demand. kInvalidArgument for options that do not fit the model;
  // kDamaged names an index file; kResource where memory is short; kCancelled.
  static Result<std::shared_ptr<const Session>> Load(Parts parts, std::vector<SessionVideo> videos,
                                                     const CacheOptions& options, const std::stop_token& stop);
  // The same with a plan made of these videos by PlanCache.
  static Result<std::shared_ptr<const Session>> Load(Parts parts, std::vector<SessionVideo> videos, CachePlan plan,
                                                     const std::stop_token& stop);

  const std::vector<SessionVideo>& videos() const { return videos_; }
  // Every frame in order of (video, time).
  const std::vector<SessionFrame>& frames() const { return frames_; }
  const BridgeWeights& bridge() const { return *parts_.bridge; }
  const TextPart& text() const { return parts_.text; }
  // Of what is held.
  CacheStats Stats() const;

  // Indices of the frames shown at some time of the span. Times are each video's own.
  std::vector<size_t> FramesIn(const TimeSpan& span) const;
  // The `count` frames nearest to a time, in order; those of every video.
  std::vector<size_t> FramesNear(double time_s, size_t count) const;
  // A hook that attends to these frames (ascending indices), with the question's time; it collects no evidence. The
  // session must outlive it. On demand it reads their rows from the index: kDamaged names its file.
  Result<std::unique_ptr<CrossBlocks>> Attend(std::span<const size_t> frames, double question_time_s,
                                              ThreadPool* pool) const;
  // The same with more to choose. Of options.form the layers' cuts count alone; the rest is the session's.
  Result<std::unique_ptr<CrossBlocks>> Attend(std::span<const size_t> frames, CrossBlocksOptions options,
                                              ThreadPool* pool) const;
  // What the bridge's caption head says of these frames (ascending indices, not empty) together. kUnsupported where the
  // bridge has none; kDamaged names an index file; kCancelled.
  Result<std::string> Describe(std::span<const size_t> frames, size_t max_tokens, const std::stop_token& stop) const;
  // How well `words` fit each of these frames by the caption head: log-likelihoods, to be compared with each other.
  // Errors as Describe.
  Result<std::vector<double>> Fit(std::string_view words, std::span<const size_t> frames, ThreadPool* pool,
                                  const std::stop_token& stop) const;

 private:
  Session() = default;
  Status LoadVideo(CacheBuilder* builder, uint32_t number, const std::stop_token& stop);
  void ListFrames(uint32_t number);
  // One frame's rows from its index into a cache. `states` in mode states only.
  Status AppendFrame(uint32_t video, size_t index, const float* states, CacheBuilder* builder, FrameCache* cache,
                     ThreadPool* pool) const;
  // The frame's latents [tokens, d_c] after those in `to`; what the index did not keep is zero.
  Status AppendLatents(size_t frame, std::vector<float>* to) const;
  // What is attended to of one video, whose frames have these indices.
  Result<CacheView> ViewOf(uint32_t video, const std::vector<uint32_t>& frames) const;

  Parts parts_;
  CachePlan plan_;
  std::vector<SessionVideo> videos_;
  std::vector<SessionFrame> frames_;
  std::vector<FrameCache> caches_;  // one a video; none where rows come on demand
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_SESSION_H_
