// From indexes to caches in memory.
#include "app/engine/session.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace longview {

Result<std::shared_ptr<const Session>> Session::Load(Parts parts, std::vector<SessionVideo> videos,
                                                     const CacheOptions& options, const std::stop_token& stop) {
  LV_RETURN_IF_ERROR(CheckCache(options));
  std::shared_ptr<Session> session(new Session());
  session->parts_ = std::move(parts);
  session->options_ = options;
  LV_ASSIGN_OR_RETURN(session->mode_, ParseCacheMode(options.mode));
  LV_ASSIGN_OR_RETURN(session->store_, ParseCacheStore(options.store));
  const BridgeConfig& bridge = session->parts_.bridge->config;
  const TextDecoderConfig& decoder = session->parts_.text.decoder->config();
  if (decoder.width != bridge.width || bridge.cross_layers.back() >= static_cast<int>(decoder.layers)) {
    return Damaged("the model's bridge does not fit its text decoder: width " + std::to_string(bridge.width) +
                   " against " + std::to_string(decoder.width) + ", or a cross layer beyond the last");
  }
  const std::vector<size_t>& cuts = bridge.cuts;
  if (std::find(cuts.begin(), cuts.end(), static_cast<size_t>(options.latent)) == cuts.end()) {
    return InvalidArgument("latent " + std::to_string(options.latent) + " is no size that this model was trained for");
  }
  session->videos_ = std::move(videos);
  for (size_t i = 0; i < session->videos_.size(); ++i) {
    LV_RETURN_IF_ERROR(session->LoadVideo(session->videos_[i], static_cast<uint32_t>(i), stop));
  }
  return std::shared_ptr<const Session>(std::move(session));
}

Status Session::LoadVideo(const SessionVideo& video, uint32_t number, const std::stop_token& stop) {
  const BridgeConfig& config = parts_.bridge->config;
  LatentCacheShape shape;
  shape.d_c = static_cast<size_t>(options_.latent);
  shape.d_r = config.d_r;
  shape.store = store_;
  LV_ASSIGN_OR_RETURN(LatentCache cache, LatentCache::Make(shape, parts_.arena));
  cache.ExpectTokens(video.index->tokens());
  const std::vector<uint32_t> shots = video.index->ShotNumbers();
  for (size_t i = 0; i < video.index->frames(); ++i) {
    if (stop.stop_requested()) return Cancelled();
    LV_ASSIGN_OR_RETURN(const CacheFileFrame frame, video.index->Frame(i));
    FrameRows rows;
    rows.time_s = frame.time_s;
    rows.end_s = frame.end_s;
    rows.tokens = frame.tokens;
    rows.type = CacheStore::kBF16;
    rows.latents = frame.latents.data();
    rows.latent_stride = config.d_c;
    rows.keys = frame.keys.data();
    LV_RETURN_IF_ERROR(cache.Append(rows));
    const bool shot_start = i == 0 || shots[i] != shots[i - 1];
    frames_.push_back({number, static_cast<uint32_t>(i), frame.time_s, frame.end_s, shots[i], shot_start});
  }
  caches_.push_back(std::move(cache));
  return Status::Ok();
}

CacheStats Session::Stats() const {
  CacheStats stats;
  stats.mode = options_.mode;
  stats.store = options_.store;
  stats.latent = options_.latent;
  for (const LatentCache& cache : caches_) {
    stats.tokens += cache.tokens();
    stats.bytes += cache.bytes();
  }
  return stats;
}

std::vector<size_t> Session::FramesIn(const TimeSpan& span) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < frames_.size(); ++i) {
    const bool begun = frames_[i].start <= span.end;
    // A frame without length (a still, the last picture) is there at its own time.
    const bool lasting = frames_[i].end > span.start || frames_[i].start >= span.start;
    if (begun && lasting) found.push_back(i);
  }
  return found;
}

std::vector<size_t> Session::FramesNear(double time_s, size_t count) const {
  std::vector<std::pair<double, size_t>> order;
  order.reserve(frames_.size());
  for (size_t i = 0; i < frames_.size(); ++i) {
    const double before = frames_[i].start - time_s;
    const double after = time_s - frames_[i].end;
    order.push_back({std::max({before, after, 0.0}), i});
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(count, order.size()));
  std::vector<size_t> found;
  for (const auto& [distance, index] : order) found.push_back(index);
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::unique_ptr<CrossBlocks>> Session::Attend(std::span<const size_t> frames, double question_time_s,
                                                     ThreadPool* pool) const {
  CacheView view;
  std::vector<uint32_t> of_video;
  for (size_t v = 0, at = 0; v < caches_.size(); ++v) {
    of_video.clear();
    for (; at < frames.size() && frames_[frames[at]].video == v; ++at) of_video.push_back(frames_[frames[at]].index);
    // Also videos without a chosen frame, so that a view's source number is the video's.
    LV_ASSIGN_OR_RETURN(const CacheView part, caches_[v].ViewOf(of_video));
    LV_RETURN_IF_ERROR(view.Append(part));
  }
  CrossBlocksOptions options;
  options.mode = mode_;
  options.question_time_s = question_time_s;
  return CrossBlocks::Make(parts_.bridge, std::move(view), options, pool);
}

}  // namespace longview
