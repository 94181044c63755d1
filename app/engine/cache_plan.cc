// Options to forms, and the measurements behind auto latents and the layers' cuts.
#include "app/engine/cache_plan.h"

#include <algorithm>
#include <utility>

#include "attention/bridge/latent_residual.h"

namespace longview {
namespace {

// Frames that the layers' cuts are measured on: enough for a mean, spread over the videos.
constexpr size_t kLayerSample = 64;

Result<CacheForm> FormOf(const CacheOptions& options, const BridgeConfig& bridge) {
  CacheForm form;
  LV_ASSIGN_OR_RETURN(form.mode, ParseCacheMode(options.mode));
  LV_ASSIGN_OR_RETURN(form.store, ParseCacheStore(options.store));
  form.latent = options.latent == kLatentAuto ? bridge.d_c : static_cast<size_t>(options.latent);
  form.groups = static_cast<size_t>(options.groups);
  LV_RETURN_IF_ERROR(CheckForm(bridge, form));
  return form;
}

// Each layer's cut, at most `latent`.
Result<std::vector<size_t>> MeasureLayerCuts(const BridgeWeights& bridge, const std::vector<SessionVideo>& videos,
                                             size_t latent) {
  const LatentResidual residual(bridge);
  const size_t d_c = bridge.config.d_c;
  std::vector<std::vector<double>> losses(residual.layers(), std::vector<double>(residual.cuts().size(), 0.0));
  size_t frames = 0;
  for (const SessionVideo& video : videos) frames += video.index->frames();
  const size_t step = std::max<size_t>(1, frames / kLayerSample);
  size_t at = 0;
  bool measured = false;
  for (const SessionVideo& video : videos) {
    for (size_t i = 0; i < video.index->frames(); ++i, ++at) {
      if (at % step != 0 || video.index->latent() < d_c) continue;
      LV_ASSIGN_OR_RETURN(const CacheFileFrame frame, video.index->Frame(i));
      const auto of_frame = residual.LayerLoss(frame.latents.data(), frame.tokens, d_c);
      for (size_t layer = 0; layer < losses.size(); ++layer) {
        for (size_t c = 0; c < losses[layer].size(); ++c) losses[layer][c] += of_frame[layer][c];
      }
      measured = true;
    }
  }
  if (!measured) return std::vector<size_t>(residual.layers(), latent);
  std::vector<size_t> cuts = ChooseCuts(losses, residual.cuts());
  for (size_t& cut : cuts) cut = std::min(cut, latent);
  return cuts;
}

// Each frame's numbers, over all videos together.
Result<std::vector<std::vector<uint32_t>>> MeasureFrameCuts(const BridgeWeights& bridge,
                                                            const std::vector<SessionVideo>& videos,
                                                            const std::stop_token& stop) {
  const LatentResidual residual(bridge);
  std::vector<std::vector<double>> losses;
  for (const SessionVideo& video : videos) {
    for (size_t i = 0; i < video.index->frames(); ++i) {
      if (stop.stop_requested()) return Cancelled();
      LV_ASSIGN_OR_RETURN(const CacheFileFrame frame, video.index->Frame(i));
      losses.push_back(residual.FrameLoss(frame.latents.data(), frame.tokens, bridge.config.d_c));
    }
  }
  const std::vector<size_t> cuts = ChooseCuts(losses, residual.cuts());
  std::vector<std::vector<uint32_t>> numbers;
  size_t at = 0;
  for (const SessionVideo& video : videos) {
    numbers.emplace_back();
    for (size_t i = 0; i < video.index->frames(); ++i) numbers.back().push_back(static_cast<uint32_t>(cuts[at++]));
  }
  return numbers;
}

}  // namespace

Result<CachePlan> PlanCache(const BridgeWeights& bridge, const std::vector<SessionVideo>& videos,
                            const CacheOptions& options, const std::stop_token& stop) {
  LV_RETURN_IF_ERROR(CheckCache(options));
  CachePlan plan;
  plan.options = options;
  LV_ASSIGN_OR_RETURN(plan.form, FormOf(options, bridge.config));
  for (const SessionVideo& video : videos) {
    if (video.index->latent() >= plan.form.latent) continue;
    return InvalidArgument("the index of " + video.name + " keeps " + std::to_string(video.index->latent()) +
                           " numbers of a latent, " + std::to_string(plan.form.latent) +
                           " are asked for: index it again, or ask with --latent " +
                           std::to_string(video.index->latent()));
  }
  if (plan.form.mode == CacheMode::kMlaLayers) {
    LV_ASSIGN_OR_RETURN(plan.form.layer_cuts, MeasureLayerCuts(bridge, videos, plan.form.latent));
  }
  if (options.latent == kLatentAuto) {
    LV_ASSIGN_OR_RETURN(plan.numbers, MeasureFrameCuts(bridge, videos, stop));
  }
  const FrameCacheShape shape = FormVectors(bridge.config, plan.form);
  for (size_t v = 0; v < videos.size(); ++v) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < videos[v].index->frames(); ++i) {
      const size_t tokens = videos[v].index->info(i).tokens;
      bytes += shape.FrameBytes(tokens, plan.numbers.empty() ? 0 : plan.numbers[v][i]);
      plan.tokens += tokens;
    }
    plan.bytes += bytes;
    plan.video_bytes.push_back(bytes);
  }
  return plan;
}

}  // namespace longview
