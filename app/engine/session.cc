// From indexes to caches in memory.
#include "app/engine/session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention/bridge/caption_head.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

// More tokens than the cross blocks on the decoder's device are for are mirrored; fewer are attended to sooner by the
// processor than by way of a mirror: expected, for each layer then takes it some ten microseconds.
constexpr size_t kMirrorTokens = GpuCrossBlocks::kMostTokens + 1;

}  // namespace

double AwayFrom(const SessionFrame& frame, double time_s) {
  if (time_s < frame.start) return frame.start - time_s;
  if (time_s < frame.end || time_s == frame.start) return 0.0;
  return std::max(time_s - frame.end, 1e-9);
}

Result<std::shared_ptr<const Session>> Session::Load(Parts parts, std::vector<SessionVideo> videos,
                                                     const CacheOptions& options, const std::stop_token& stop) {
  LV_ASSIGN_OR_RETURN(CachePlan plan, PlanCache(*parts.bridge, videos, options, stop));
  return Load(std::move(parts), std::move(videos), std::move(plan), stop);
}

Result<std::shared_ptr<const Session>> Session::Load(Parts parts, std::vector<SessionVideo> videos, CachePlan plan,
                                                     const std::stop_token& stop) {
  std::shared_ptr<Session> session(new Session());
  session->parts_ = std::move(parts);
  session->plan_ = std::move(plan);
  const BridgeConfig& bridge = session->parts_.bridge->config;
  const TextDecoderConfig& decoder = session->parts_.text.decoder->config();
  if (decoder.width != bridge.width || bridge.cross_layers.back() >= static_cast<int>(decoder.layers)) {
    return Damaged("the model's bridge does not fit its text decoder: width " + std::to_string(bridge.width) +
                   " against " + std::to_string(decoder.width) + ", or a cross layer beyond the last");
  }
  if (const auto& head = session->parts_.bridge->caption_head; head) {
    const int32_t last = *std::max_element(head->tokens.begin(), head->tokens.end());
    if (static_cast<size_t>(last) >= decoder.vocabulary) {
      return Damaged("the model's caption head does not fit its text decoder: token " + std::to_string(last) + " of " +
                     std::to_string(decoder.vocabulary));
    }
  }
  LV_ASSIGN_OR_RETURN(CacheBuilder builder, CacheBuilder::Make(session->parts_.bridge, session->plan_.form));
  session->videos_ = std::move(videos);
  const bool on_demand = session->parts_.rows == SessionRows::kOnDemand;
  if (on_demand && session->plan_.form.mode == CacheMode::kStates) {
    return Unsupported("cache mode states is made of the whole video and cannot be read frame by frame");
  }
  for (uint32_t i = 0; i < session->videos_.size(); ++i) {
    if (!on_demand) LV_RETURN_IF_ERROR(session->LoadVideo(&builder, i, stop));
    session->ListFrames(i);
  }
  session->parts_.pool = nullptr;
  session->parts_.states = {};
  return std::shared_ptr<const Session>(std::move(session));
}

Status Session::AppendFrame(uint32_t video, size_t index, const float* states, CacheBuilder* builder, FrameCache* cache,
                            ThreadPool* pool) const {
  const VideoIndex& of_video = *videos_[video].index;
  LV_ASSIGN_OR_RETURN(const CacheFileFrame frame, of_video.Frame(index));
  IndexedFrame rows;
  rows.time_s = frame.time_s;
  rows.end_s = frame.end_s;
  rows.tokens = frame.tokens;
  rows.latents = frame.latents.data();
  rows.stride = of_video.latent();
  rows.keys = frame.keys.data();
  rows.states = states;
  if (!plan_.numbers.empty()) rows.numbers = plan_.numbers[video][index];
  const Status status = builder->Append(rows, cache, pool);
  // The rows are in the cache now: held once, not twice.
  of_video.Release(index);
  return status;
}

Status Session::LoadVideo(CacheBuilder* builder, uint32_t number, const std::stop_token& stop) {
  LV_ASSIGN_OR_RETURN(FrameCache cache, FrameCache::Make(builder->shape(), parts_.arena));
  cache.ExpectBytes(plan_.video_bytes[number]);
  const auto append = [&](size_t i, const float* states) -> Status {
    if (stop.stop_requested()) return Cancelled();
    return AppendFrame(number, i, states, builder, &cache, parts_.pool);
  };
  if (plan_.form.mode == CacheMode::kStates) {
    if (!parts_.states) return Unsupported("cache mode states needs the video itself, which is not at hand here");
    LV_RETURN_IF_ERROR(parts_.states(number, append));
  } else {
    for (size_t i = 0; i < videos_[number].index->frames(); ++i) LV_RETURN_IF_ERROR(append(i, nullptr));
  }
  caches_.push_back(std::move(cache));
  return Status::Ok();
}

void Session::ListFrames(uint32_t number) {
  const VideoIndex& index = *videos_[number].index;
  const std::vector<uint32_t> shots = index.ShotNumbers();
  for (size_t i = 0; i < index.frames(); ++i) {
    const CacheFileFrameInfo& info = index.info(i);
    const bool shot_start = i == 0 || shots[i] != shots[i - 1];
    frames_.push_back({number, static_cast<uint32_t>(i), info.time_s, info.end_s, shots[i], shot_start});
  }
}

CacheStats Session::Stats() const {
  CacheStats stats;
  stats.mode = plan_.options.mode;
  stats.store = plan_.options.store;
  stats.latent = plan_.options.latent;
  for (const FrameCache& cache : caches_) {
    stats.tokens += cache.tokens();
    stats.bytes += cache.bytes();
  }
  if (stats.latent == kLatentAuto) {
    // The mean over tokens, which is what a size is to be compared with.
    uint64_t numbers = 0;
    for (size_t v = 0; v < videos_.size(); ++v) {
      for (size_t i = 0; i < plan_.numbers[v].size(); ++i) {
        numbers += uint64_t{plan_.numbers[v][i]} * videos_[v].index->info(i).tokens;
      }
    }
    stats.latent = stats.tokens == 0 ? 0 : static_cast<int>((numbers + stats.tokens / 2) / stats.tokens);
  }
  return stats;
}

std::vector<size_t> Session::FramesIn(const TimeSpan& span) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < frames_.size(); ++i) {
    // What begins as the span ends is not of it; a span without length is a moment.
    const bool begun = frames_[i].start < span.end || frames_[i].start <= span.start;
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
    order.push_back({AwayFrom(frames_[i], time_s), i});
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(count, order.size()));
  std::vector<size_t> found;
  found.reserve(order.size());
  for (const auto& [distance, index] : order) found.push_back(index);
  std::sort(found.begin(), found.end());
  return found;
}

Result<CacheView> Session::ViewOf(uint32_t video, const std::vector<uint32_t>& frames) const {
  if (parts_.rows == SessionRows::kAll) return caches_[video].ViewOf(frames);
  LV_ASSIGN_OR_RETURN(CacheBuilder builder, CacheBuilder::Make(parts_.bridge, plan_.form));
  LV_ASSIGN_OR_RETURN(FrameCache made, FrameCache::Make(builder.shape(), parts_.arena));
  size_t bytes = 0;
  for (const uint32_t frame : frames) {
    bytes += builder.shape().FrameBytes(videos_[video].index->info(frame).tokens,
                                        plan_.numbers.empty() ? 0 : plan_.numbers[video][frame]);
  }
  made.ExpectBytes(bytes);
  for (const uint32_t frame : frames) {
    LV_RETURN_IF_ERROR(AppendFrame(video, frame, nullptr, &builder, &made, nullptr));
  }
  const auto cache = std::make_shared<const FrameCache>(std::move(made));
  CacheView view = cache->View();
  view.owned.push_back(cache);
  return view;
}

Result<std::unique_ptr<CrossBlocks>> Session::Attend(std::span<const size_t> frames, double question_time_s,
                                                     ThreadPool* pool) const {
  CrossBlocksOptions options;
  options.question_time_s = question_time_s;
  options.collect_evidence = false;
  return Attend(frames, std::move(options), pool);
}

Result<std::unique_ptr<CrossBlocks>> Session::Attend(std::span<const size_t> frames, CrossBlocksOptions options,
                                                     ThreadPool* pool) const {
  CacheView view;
  std::vector<uint32_t> of_video;
  size_t at = 0;
  for (uint32_t v = 0; v < videos_.size(); ++v) {
    of_video.clear();
    for (; at < frames.size() && frames_[frames[at]].video == v; ++at) of_video.push_back(frames_[frames[at]].index);
    // Also videos without a chosen frame, so that a view's source number is the video's.
    LV_ASSIGN_OR_RETURN(const CacheView part, ViewOf(v, of_video));
    LV_RETURN_IF_ERROR(view.Append(part));
  }
  std::vector<size_t> layer_cuts = std::move(options.form.layer_cuts);
  options.form = plan_.form;
  if (!layer_cuts.empty()) options.form.layer_cuts = std::move(layer_cuts);
  options.device = parts_.cross;
  if (view.tokens >= kMirrorTokens) {
    options.mirrors = parts_.mirrors;
    if (!parts_.name.empty()) {
      options.mirror_key = parts_.name + "\n";
      options.mirror_key.append(reinterpret_cast<const char*>(frames.data()), frames.size_bytes());
    }
  }
  return CrossBlocks::Make(parts_.bridge, std::move(view), options, pool);
}

Status Session::AppendLatents(size_t frame, std::vector<float>* to) const {
  const size_t d_c = parts_.bridge->config.d_c;
  const VideoIndex& index = *videos_[frames_[frame].video].index;
  LV_ASSIGN_OR_RETURN(const CacheFileFrame rows, index.Frame(frames_[frame].index));
  const size_t before = to->size(), kept = index.latent();
  to->resize(before + rows.tokens * d_c, 0.0f);
  for (size_t token = 0; token < rows.tokens; ++token) {
    const auto row = rows.latents.begin() + static_cast<ptrdiff_t>(token * kept);
    std::transform(row, row + static_cast<ptrdiff_t>(kept), to->begin() + static_cast<ptrdiff_t>(before + token * d_c),
                   BF16ToFloat);
  }
  index.Release(frames_[frame].index);
  return Status::Ok();
}

Result<std::string> Session::Describe(std::span<const size_t> frames, size_t max_tokens,
                                      const std::stop_token& stop) const {
  std::vector<float> latents;
  for (const size_t frame : frames) LV_RETURN_IF_ERROR(AppendLatents(frame, &latents));
  LV_ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, DescribeLatents(*parts_.bridge, latents, max_tokens, stop));
  std::string text = parts_.text.tokenizer->Decode(tokens);
  // A caption's first token begins with the space that stands before a word.
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

Result<std::vector<double>> Session::Fit(std::string_view words, std::span<const size_t> frames, ThreadPool* pool,
                                         const std::stop_token& stop) const {
  // As the captions of its training begin.
  std::string caption(words.substr(std::min(words.find_first_not_of(' '), words.size())));
  if (!caption.empty() && caption[0] >= 'a' && caption[0] <= 'z')
    caption[0] = static_cast<char>(caption[0] - 'a' + 'A');
  const std::vector<int32_t> tokens = parts_.text.tokenizer->Encode(caption);
  std::vector<double> fits(frames.size());
  std::vector<Status> failed(frames.size());
  const auto score = [&](size_t first, size_t last, int) {
    for (size_t i = first; i < last; ++i) {
      std::vector<float> latents;
      failed[i] = stop.stop_requested() ? Cancelled() : AppendLatents(frames[i], &latents);
      if (!failed[i].ok()) continue;
      const Result<double> fit = ScoreCaption(*parts_.bridge, latents, tokens);
      failed[i] = fit.status();
      if (fit.ok()) fits[i] = *fit;
    }
  };
  if (pool != nullptr) {
    pool->ParallelFor(frames.size(), score);
  } else {
    score(0, frames.size(), 0);
  }
  for (const Status& status : failed) LV_RETURN_IF_ERROR(status);
  return fits;
}

}  // namespace longview
