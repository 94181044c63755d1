// The engine's shared parts: made when first needed, indexes and sessions found again.
#include "app/engine/engine_impl.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "app/engine/fingerprint.h"
#include "core/base/clock.h"
#include "core/base/log.h"

namespace longview {

namespace fs = std::filesystem;

std::string DraftVariant(const ModelConfig& config, const std::string& variant) {
  return "model=" + WholeModelHash(config) + " version=" + std::to_string(kCaptionVersion) + " " + variant;
}

void Engine::Impl::Warn(const std::string& text) {
  if (options.on_warning) {
    options.on_warning(text);
  } else {
    LogWarning(text);
  }
}

Library* Engine::Impl::library() {
  const std::scoped_lock lock(library_mutex);
  if (library_opened) return library_db.get();
  library_opened = true;
  auto opened = Library::Open(library_folder, [this](const std::string& text) { Warn(text); });
  if (!opened.ok()) {
    library_status = opened.status();
    Warn(opened.status().message() + "; nothing is remembered beyond this run");
    opened = Library::OpenInMemory();
  }
  if (opened.ok()) library_db = std::move(opened).value();
  return library_db.get();
}

Result<Session::Parts> Engine::Impl::Parts(const JobContext& job) {
  Session::Parts parts;
  LV_ASSIGN_OR_RETURN(parts.bridge, model.Bridge(job));
  LV_ASSIGN_OR_RETURN(parts.text, model.Text(job));
  parts.arena = &arena;
  parts.pool = &pool;
  parts.mirrors = mirrors;
  LV_ASSIGN_OR_RETURN(parts.cross, model.CrossOnDevice(job));
  return parts;
}

Result<std::shared_ptr<const Session>> Engine::Impl::Load(std::vector<SessionVideo> videos,
                                                          const std::vector<std::string>& keys,
                                                          const SamplingSettings& sampling, const CacheOptions& cache,
                                                          SessionRows rows, const JobContext& job) {
  std::string name =
      cache.mode + " " + cache.store + " " + LatentName(cache.latent) + " " + std::to_string(cache.groups);
  bool lasts = true;
  for (size_t i = 0; i < videos.size(); ++i) {
    // A partial index is another one as it grows; one in memory has no name that lasts.
    name += "\n" + videos[i].name + "\t" + keys[i] + "\t" + std::to_string(videos[i].index->frames());
    lasts = lasts && !videos[i].index->in_memory();
    if (videos[i].index->in_memory()) name += "\t" + std::to_string(reinterpret_cast<uintptr_t>(videos[i].index.get()));
  }
  std::unique_lock lock(session_mutex);
  if (session != nullptr && session_name == name) return session;
  LV_ASSIGN_OR_RETURN(Session::Parts parts, Parts(job));
  if (lasts) parts.name = name;
  if (rows == SessionRows::kOnDemand) {
    lock.unlock();
    parts.rows = rows;
    return Session::Load(std::move(parts), std::move(videos), cache, job.stop);
  }
  session.reset();
  parts.states = [&, list = videos](size_t video, const StatesSink& sink) {
    return indexer.EncodeStates(list[video].name, sampling, *list[video].index, job, sink);
  };
  LV_ASSIGN_OR_RETURN(session, Session::Load(std::move(parts), std::move(videos), cache, job.stop));
  session_name = std::move(name);
  return session;
}

Result<SamplingSettings> Engine::Impl::SamplingOf(const fs::path& video, SamplingSettings sampling,
                                                  const CacheOptions& cache, const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const auto config, model.Config());
  const int wanted = cache.latent == kLatentAuto ? static_cast<int>(config->bridge_shape.d_c) : cache.latent;
  if (sampling.latent != 0) return sampling;
  const std::vector<size_t>& cuts = config->bridge_shape.cuts;
  for (size_t i = cuts.size(); i > 0 && static_cast<int>(cuts[i - 1]) >= wanted; --i) {
    SamplingSettings leaner = sampling;
    leaner.latent = static_cast<int>(cuts[i - 1]);
    if (i == cuts.size() && static_cast<int>(cuts.back()) == wanted) break;  // no other will do
    LV_ASSIGN_OR_RETURN(const IndexKey key, indexer.KeyOf(video, leaner, job));
    LV_ASSIGN_OR_RETURN(const IndexInfo info, indexer.Look(key, leaner));
    if (info.state == IndexState::kComplete) return leaner;
  }
  return sampling;
}

Result<Engine::Impl::Loaded> Engine::Impl::Prepare(const std::vector<fs::path>& videos,
                                                   const SamplingSettings& sampling, const CacheOptions& cache,
                                                   Unread unread, SessionRows rows, const JobContext& job,
                                                   const std::function<void(const StageEvent&)>& on_stage) {
  Loaded loaded;
  std::vector<fs::path> usable;
  for (const fs::path& video : videos) {
    const Status stamp = StampFile(video).status();
    if (!stamp.ok() && unread != Unread::kLeaveOut) return stamp;
    if (stamp.ok()) {
      usable.push_back(video);
    } else {
      loaded.left_out.push_back({video.string(), stamp, LeftOut::Cause::kGone});
    }
  }
  const auto tell = [&](Stage stage, const std::string& video) {
    if (on_stage) on_stage({stage, video});
  };
  tell(Stage::kLoadModel, "");
  LV_RETURN_IF_ERROR(model.Text(job).status());
  LV_RETURN_IF_ERROR(model.Bridge(job).status());
  const auto find = [&](const fs::path& video) -> Result<IndexOutcome> {
    IndexRequest request;
    request.video = video;
    LV_ASSIGN_OR_RETURN(request.sampling, SamplingOf(video, sampling, cache, job));
    request.memory_fallback = true;
    request.unread = unread;
    return indexer.Ensure(request, job);
  };
  std::vector<SessionVideo> session_videos;
  std::vector<std::string> names;
  for (const fs::path& video : usable) {
    tell(Stage::kIndex, video.string());
    Result<IndexOutcome> outcome = find(video);
    if (!outcome.ok()) {
      if (unread != Unread::kLeaveOut || outcome.status().code() == StatusCode::kCancelled) return outcome.status();
      const bool waits = outcome.status().reason() == StatusReason::kNotReadYet;
      loaded.left_out.push_back(
          {video.string(), outcome.status(), waits ? LeftOut::Cause::kUnread : LeftOut::Cause::kFailed});
      continue;
    }
    loaded.index_s += outcome->report.seconds;
    loaded.keys.push_back(outcome->key);
    names.push_back(outcome->key.FileName());
    session_videos.push_back({video.string(), std::move(outcome->index)});
  }
  if (session_videos.empty()) {
    // One that only has to be waited for, where there is any.
    const auto waits = std::find_if(loaded.left_out.begin(), loaded.left_out.end(),
                                    [](const LeftOut& video) { return video.cause == LeftOut::Cause::kUnread; });
    const Status& first = (waits != loaded.left_out.end() ? *waits : loaded.left_out.front()).why;
    return NotFound("none of these videos can be used: " + first.message()).About(first.file(), first.reason());
  }
  loaded.ready = Clock::now();
  tell(Stage::kLoadCache, "");
  LV_ASSIGN_OR_RETURN(loaded.session, Load(std::move(session_videos), names, sampling, cache, rows, job));
  return loaded;
}

CaptionDrafts Engine::Impl::LoadDrafts(const IndexKey& key, const ModelConfig& config, const std::string& variant,
                                       const std::vector<CaptionSegment>& segments, bool resume) {
  CaptionDrafts drafts;
  Library* const library_now = library();
  if (library_now == nullptr) return drafts;
  const std::string name = DraftVariant(config, variant);
  if (resume) {
    const auto found = library_now->Drafts(key, name);
    for (const CaptionDraft& draft : found.ok() ? *found : std::vector<CaptionDraft>()) {
      const bool fits = draft.segment < segments.size() && draft.start == segments[draft.segment].start &&
                        draft.end == segments[draft.segment].end;
      if (fits) drafts.known.emplace(draft.segment, draft.text);
    }
  } else {
    (void)library_now->ClearDrafts(key, name);
  }
  drafts.on_written = [library_now, key, name, &segments](size_t segment, const std::string& text) {
    // Work goes on without: a lost draft costs time only.
    (void)library_now->PutDraft(key, name, {segment, segments[segment].start, segments[segment].end, text});
  };
  return drafts;
}

}  // namespace longview
