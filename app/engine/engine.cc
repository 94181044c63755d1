// The facade: options, lazily made parts, and the order in which a question's work is done.
#include "app/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/engine/answerer.h"
#include "app/engine/engine_impl.h"
#include "app/engine/fingerprint.h"
#include "app/engine/library_upkeep.h"
#include "app/engine/memory_report.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "vision/av/clip_cutter.h"
#include "vision/av/video_reader.h"
#include "vision/picture_io.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

Result<WeightStore> ParseWeights(const std::string& text) {
  if (text == "stored") return WeightStore::kAsStored;
  if (text == "bf16") return WeightStore::kBF16;
  if (text == "fp32") return WeightStore::kF32;
  return InvalidArgument("weights '" + text + "' is none of stored, bf16, fp32");
}

// The kinds of work whose speed the library remembers.
constexpr char kIndexWork[] = "index a frame";
constexpr char kCaptionWork[] = "caption a segment";

MediaInfo ToMediaInfo(const VideoInfo& info, const DamageReport& damage) {
  MediaInfo out;
  out.path = info.path;
  out.duration_s = info.duration_s;
  out.first_time_s = info.first_time_s;
  out.width = info.width;
  out.height = info.height;
  out.rotation = info.rotation;
  out.fps_avg = info.fps_avg;
  out.vfr = info.vfr;
  out.video_codec = info.video_codec;
  out.pix_fmt = info.pix_fmt;
  out.hdr = info.hdr;
  out.audio = info.audio;
  out.still = info.still;
  out.timecode = info.timecode;
  if (!damage.message.empty()) out.warnings.push_back(damage.message);
  return out;
}

}  // namespace

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::Create(const EngineOptions& options) {
  LV_ASSIGN_OR_RETURN(ComputeDevice device, ChooseDevice(options.device));
  LogInfo("computing on " + device.name + ": " + device.reason);
  LV_ASSIGN_OR_RETURN(const WeightStore store, ParseWeights(options.weights));
  if (options.threads < 0 || options.threads > 1024) {
    return InvalidArgument("threads " + std::to_string(options.threads) + " is not in 0..1024");
  }
  return std::unique_ptr<Engine>(new Engine(std::make_unique<Impl>(options, store, std::move(device))));
}

const fs::path& Engine::library_dir() const { return impl_->library_folder; }
const fs::path& Engine::assets_dir() const { return impl_->folders.assets; }
const fs::path& Engine::models_dir() const { return impl_->folders.parts; }
int Engine::threads() const { return impl_->pool.threads(); }
const ComputeDevice& Engine::device() const { return impl_->device; }

std::vector<PartStatus> Engine::ModelStatus(const JobContext& job) { return impl_->model.Check(job); }

Status Engine::LoadModel(const JobContext& job) {
  LV_RETURN_IF_ERROR(impl_->model.Vit(job).status());
  LV_RETURN_IF_ERROR(impl_->model.Text(job).status());
  return impl_->model.Bridge(job).status();
}

Result<std::string> Engine::ModelName() {
  LV_ASSIGN_OR_RETURN(const auto config, impl_->model.Config());
  return config->name + " " + WholeModelHash(*config);
}

Result<MediaInfo> Engine::Info(const fs::path& video, const SamplingSettings& sampling, const JobContext& job) {
  LV_RETURN_IF_ERROR(CheckSampling(sampling));
  LV_RETURN_IF_ERROR(StampFile(video).status());
  LV_ASSIGN_OR_RETURN(const auto reader, VideoReader::Open(video.string(), ReaderOptions(), job.stop));
  MediaInfo info = ToMediaInfo(reader->Info(), reader->Damage());
  info.path = video.string();
  // Without a model there is no index to speak of, and the rest is still worth telling.
  const auto key = impl_->indexer.KeyOf(video, sampling, job);
  if (key.ok()) {
    LV_ASSIGN_OR_RETURN(const IndexInfo index, impl_->indexer.Look(*key, sampling));
    if (index.state != IndexState::kNone) info.index = index;
  } else if (key.status().code() == StatusCode::kCancelled) {
    return key.status();
  }
  return info;
}

Result<IndexReport> Engine::Index(const fs::path& video, const IndexOptions& options, const JobContext& job) {
  LV_RETURN_IF_ERROR(CheckSampling(options.sampling));
  LV_RETURN_IF_ERROR(StampFile(video).status());
  (void)impl_->library();
  {
    const std::scoped_lock lock(impl_->library_mutex);
    LV_RETURN_IF_ERROR(impl_->library_status);
  }
  IndexRequest request;
  request.video = video;
  request.sampling = options.sampling;
  if (options.latent_needed != 0) {
    CacheOptions cache;
    cache.latent = options.latent_needed;
    LV_ASSIGN_OR_RETURN(request.sampling, impl_->SamplingOf(video, options.sampling, cache, job));
  }
  request.rebuild = options.rebuild;
  LV_ASSIGN_OR_RETURN(const IndexOutcome outcome, impl_->indexer.Ensure(request, job));
  return outcome.report;
}

Result<Answer> Engine::Ask(const std::vector<fs::path>& videos, std::string_view question, const AskOptions& options,
                           const JobContext& job, const AskCallbacks& callbacks) {
  const Clock::time_point called = Clock::now();
  LV_RETURN_IF_ERROR(CheckAsk(question, options));
  LV_RETURN_IF_ERROR(CheckSampling(options.sampling));
  LV_RETURN_IF_ERROR(CheckCache(options.cache));
  Answer answer;
  std::vector<std::string> fingerprints;
  if (videos.empty()) {
    if (callbacks.on_stage) callbacks.on_stage({Stage::kLoadModel, ""});
    LV_ASSIGN_OR_RETURN(const TextPart text, impl_->model.Text(job));
    if (callbacks.on_stage) callbacks.on_stage({Stage::kAnswer, ""});
    LV_ASSIGN_OR_RETURN(answer,
                        AnswerPlain(text, question, options, Clock::now(), job, callbacks.on_text, &impl_->pool));
  } else {
    LV_ASSIGN_OR_RETURN(const Impl::Loaded loaded,
                        impl_->Prepare(videos, options.sampling, options.cache, options.unread, SessionRows::kAll, job,
                                       callbacks.on_stage));
    if (callbacks.on_stage) callbacks.on_stage({Stage::kAnswer, ""});
    LV_ASSIGN_OR_RETURN(
        answer, AnswerFrom(*loaded.session, question, options, loaded.ready, job, callbacks.on_text, &impl_->pool));
    answer.time.index_s = loaded.index_s;
    answer.left_out = loaded.left_out;
    for (const IndexKey& key : loaded.keys) fingerprints.push_back(key.fingerprint);
  }
  answer.time.total_s = SecondsSince(options.started.value_or(called));
  if (Library* library = impl_->library(); library != nullptr) {
    const Status kept = library->AddAnswer(question, answer, fingerprints);
    if (!kept.ok()) impl_->Warn("the answer was not kept in the library: " + kept.message());
  }
  return answer;
}

Result<SearchResult> Engine::Search(const std::vector<fs::path>& videos, std::string_view words,
                                    const SearchOptions& options, const JobContext& job) {
  if (videos.empty()) return InvalidArgument("a search needs at least one video");
  LV_RETURN_IF_ERROR(CheckSampling(options.sampling));
  LV_RETURN_IF_ERROR(CheckCache(options.cache));
  LV_ASSIGN_OR_RETURN(const Impl::Loaded loaded, impl_->Prepare(videos, options.sampling, options.cache, options.unread,
                                                                SessionRows::kAll, job, {}));
  LV_ASSIGN_OR_RETURN(SearchResult result, SearchIn(*loaded.session, words, options, job, &impl_->pool));
  result.index_s = loaded.index_s;
  result.left_out = loaded.left_out;
  return result;
}

Result<CaptionReport> Engine::Caption(const fs::path& video, const CaptionOptions& options, const JobContext& job,
                                      const std::function<Status(const CaptionEvent&)>& on_caption) {
  const Clock::time_point called = Clock::now();
  LV_RETURN_IF_ERROR(CheckCaption(options));
  LV_RETURN_IF_ERROR(CheckSampling(options.sampling));
  const auto half = [&](double offset) {
    JobContext part = job;
    if (job.progress) {
      part.progress = [&job, offset](const Progress& p) { job.progress({offset * p.total + p.done, 2.0 * p.total}); };
    }
    return part;
  };
  // A segment looks at its own frames only: a film of many hours needs no more memory than a short one.
  LV_ASSIGN_OR_RETURN(const Impl::Loaded loaded, impl_->Prepare({video}, options.sampling, {}, options.unread,
                                                                SessionRows::kOnDemand, half(0.0), {}));
  LV_ASSIGN_OR_RETURN(const auto config, impl_->model.Config());
  const std::string prompt = options.prompt.empty() ? config->caption_prompt : options.prompt;
  std::vector<CaptionSegment> segments = CutSegments(loaded.session->frames(), options);
  const VideoIndex& index = *loaded.session->videos().front().index;
  if (index.totals().still && !segments.empty()) {
    segments.resize(1);
    segments[0].start = 0.0;
    segments[0].end = 1.0;
  }
  const std::string variant = CaptionVariant(options, UsesCaptionHead(*loaded.session, options) ? "" : prompt);
  const CaptionDrafts drafts = impl_->LoadDrafts(loaded.keys[0], *config, variant, segments, options.resume);
  const Clock::time_point ready = Clock::now();
  std::vector<CaptionRow> rows;
  const auto keep = [&](const CaptionEvent& event) {
    rows.push_back({event.start, event.end, event.text});
    return on_caption(event);
  };
  LV_ASSIGN_OR_RETURN(CaptionReport report, CaptionSegments(*loaded.session, segments, prompt, options,
                                                            impl_->pool.threads(), drafts, half(1.0), keep));
  // Those of a part would stand for the whole film.
  if (Library* library = impl_->library(); library != nullptr && index.complete()) {
    Status kept = library->PutCaptions(loaded.keys[0], variant, rows);
    if (kept.ok()) kept = library->ClearDrafts(loaded.keys[0], DraftVariant(*config, variant));
    if (!kept.ok()) impl_->Warn("the captions were not kept in the library: " + kept.message());
    const double written = static_cast<double>(report.segments - std::min(report.segments, report.resumed));
    if (kept.ok() && written > 0.0) kept = library->AddRate(kCaptionWork, {written, SecondsSince(ready)});
    const double frames = static_cast<double>(loaded.session->frames().size());
    if (kept.ok() && loaded.index_s > 0.0) kept = library->AddRate(kIndexWork, {frames, loaded.index_s});
  }
  if (!index.complete() && !loaded.session->frames().empty()) {
    report.read_until_s = index.info(index.frames() - 1).end_s;
  }
  report.frames = loaded.session->frames().size();
  report.damage = index.totals().damage;
  report.index_s = loaded.index_s;
  report.total_s = SecondsSince(called);
  return report;
}

CaptionEstimate Engine::EstimateCaption(double duration_s, const CaptionOptions& options, bool indexed) {
  // Guesses for a machine on which nothing was captioned yet.
  constexpr double kFrameSeconds = 0.15;
  constexpr double kCaptionSeconds = 0.05;
  constexpr double kShotSeconds = 8.0;  // one scene change in so many seconds
  constexpr double kFrameBytes = 65.0 * 320.0 + 6000.0;
  CaptionEstimate estimate;
  const double length = std::max(duration_s, 1.0);
  const double shots = options.sampling.scene_changes ? length / kShotSeconds : 0.0;
  double frames = std::max(1.0, length * options.sampling.fps + shots);
  if (options.sampling.max_frames > 0) frames = std::min(frames, static_cast<double>(options.sampling.max_frames));
  const double captions = options.every_s > 0.0 ? std::ceil(length / options.every_s) : std::max(1.0, shots);
  Library::Rate index{1.0, kFrameSeconds};
  Library::Rate caption{1.0, kCaptionSeconds};
  if (Library* library = impl_->library(); library != nullptr) {
    const auto known_index = library->GetRate(kIndexWork);
    const auto known_caption = library->GetRate(kCaptionWork);
    if (known_index.ok() && known_index->units > 0.0) index = *known_index;
    if (known_caption.ok() && known_caption->units > 0.0) {
      caption = *known_caption;
      estimate.measured = indexed || (known_index.ok() && known_index->units > 0.0);
    }
  }
  estimate.frames = static_cast<uint64_t>(frames);
  estimate.captions = static_cast<uint64_t>(captions);
  estimate.index_bytes = indexed ? 0 : static_cast<uint64_t>(frames * kFrameBytes);
  estimate.seconds =
      (indexed ? 0.0 : frames * index.seconds / index.units) + captions * caption.seconds / caption.units;
  return estimate;
}

Result<std::vector<CaptionEvent>> Engine::FindCaptions(std::string_view words, int limit) {
  std::vector<CaptionEvent> events;
  Library* library = impl_->library();
  if (library == nullptr) return events;
  LV_ASSIGN_OR_RETURN(const std::vector<CaptionHit> hits, library->FindCaptions(words, limit));
  for (const CaptionHit& hit : hits) {
    events.push_back({hit.path.string(), hit.caption.start, hit.caption.end, hit.caption.text});
  }
  return events;
}

Result<Picture> Engine::FrameAt(const fs::path& video, double time_s, const JobContext& job) {
  LV_RETURN_IF_ERROR(StampFile(video).status());
  LV_ASSIGN_OR_RETURN(const auto reader, VideoReader::Open(video.string(), ReaderOptions(), job.stop));
  return reader->PictureAt(time_s);
}

Status Engine::FramesAt(const fs::path& video, const std::vector<double>& times_s, const JobContext& job,
                        const std::function<Status(double time_s, Result<Picture> picture)>& on_picture) {
  LV_RETURN_IF_ERROR(StampFile(video).status());
  LV_ASSIGN_OR_RETURN(const auto reader, VideoReader::Open(video.string(), ReaderOptions(), job.stop));
  for (size_t i = 0; i < times_s.size(); ++i) {
    if (job.stop.stop_requested()) return Cancelled();
    auto picture = reader->PictureAt(times_s[i]);
    if (!picture.ok() && picture.status().code() == StatusCode::kCancelled) return picture.status();
    LV_RETURN_IF_ERROR(on_picture(times_s[i], std::move(picture)));
    if (job.progress) job.progress({static_cast<double>(i + 1), static_cast<double>(times_s.size())});
  }
  return Status::Ok();
}

Result<std::vector<KeptFrame>> Engine::KeptFrames(const fs::path& video, const SamplingSettings& sampling,
                                                  const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const auto index, impl_->indexer.Find(video, sampling, job));
  std::vector<KeptFrame> frames(index->frames());
  for (size_t i = 0; i < frames.size(); ++i) {
    const CacheFileFrameInfo& info = index->info(i);
    frames[i] = {info.time_s, info.end_s, (info.flags & kFrameShotStart) != 0};
  }
  return frames;
}

Result<std::vector<FramePicture>> Engine::Thumbnails(const fs::path& video, const SamplingSettings& sampling,
                                                     const std::vector<double>& times_s, const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const auto index, impl_->indexer.Find(video, sampling, job));
  std::vector<FramePicture> thumbnails;
  if (index->frames() == 0) {
    return NotFound(video.string() + ": nothing of it was read yet").About(video.string(), StatusReason::kNotReadYet);
  }
  for (const double time : times_s) {
    size_t low = 0;  // the last frame with start <= time, or the first
    for (size_t high = index->frames(); high - low > 1;) {
      const size_t middle = low + (high - low) / 2;
      (index->info(middle).time_s <= time ? low : high) = middle;
    }
    LV_ASSIGN_OR_RETURN(const CacheFileFrame frame, index->Frame(low));
    const auto* bytes = reinterpret_cast<const uint8_t*>(frame.thumbnail.data());
    thumbnails.push_back({frame.time_s, frame.end_s, {bytes, bytes + frame.thumbnail.size()}});
  }
  return thumbnails;
}

Status Engine::CutClip(const fs::path& video, const TimeSpan& span, const fs::path& out, const JobContext& job) {
  LV_RETURN_IF_ERROR(StampFile(video).status());
  return CopyClip(video.string(), span.start, span.end, out.string(), job);
}

Result<std::vector<LibraryEntry>> Engine::LibraryEntries() {
  return ListIndexes(impl_->library_folder, impl_->library());
}

Result<std::vector<std::string>> Engine::CheckLibrary(const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const auto damaged, DamagedIndexes(impl_->library_folder, impl_->library(), job));
  std::vector<std::string> names;
  names.reserve(damaged.size());
  for (const LibraryEntry& entry : damaged) names.push_back(entry.index.file.string());
  return names;
}

Result<std::vector<std::string>> Engine::RepairLibrary(const JobContext& job) {
  return RepairIndexes(impl_->library_folder, impl_->library(), job);
}

Result<uint64_t> Engine::PruneLibrary(uint64_t max_bytes) {
  return PruneIndexes(impl_->library_folder, impl_->library(), max_bytes);
}

MemoryReport Engine::Memory() const { return MakeMemoryReport({&impl_->arena, &Arena::Process()}); }

Status SavePng(const Picture& picture, const fs::path& path) {
  if (path.extension() != ".png") return InvalidArgument(path.string() + ": a PNG's name ends in .png");
  return WritePicture(picture, path.string());
}

}  // namespace longview
