// CachePlan: how the frames of some indexes will be kept in memory, measured and sized before a byte is allocated.
#ifndef LONGVIEW_APP_ENGINE_CACHE_PLAN_H_
#define LONGVIEW_APP_ENGINE_CACHE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "app/engine/settings.h"
#include "app/engine/video_index.h"
#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/cache_form.h"
#include "core/base/status.h"

namespace longview {

struct SessionVideo {
  std::string name;  // as the caller gave it
  std::shared_ptr<const VideoIndex> index;
};

struct CachePlan {
  CacheOptions options;
  CacheForm form;
  // latent auto: numbers kept of each frame's latents, [video][frame]; empty otherwise.
  std::vector<std::vector<uint32_t>> numbers;
  uint64_t tokens = 0;
  uint64_t bytes = 0;                 // that the caches of all videos will take
  std::vector<uint64_t> video_bytes;  // of each
};

// Reads what has to be measured: every frame's latents where each keeps its own numbers (latent auto: all frames
// together lose as much of their keys and values as with the middle size, spent where it saves most), a sample of them
// where each layer does (mla_layers). kInvalidArgument for options that do not fit the model or an index that keeps too
// little; kDamaged names an index file; kCancelled.
Result<CachePlan> PlanCache(const BridgeWeights& bridge, const std::vector<SessionVideo>& videos,
                            const CacheOptions& options, const std::stop_token& stop);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_CACHE_PLAN_H_
