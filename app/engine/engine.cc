// The facade: options, lazily made parts, and the order in which a question's work is done.
#include "app/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "app/engine/answerer.h"
#include "app/engine/captioner.h"
#include "app/engine/comparer.h"
#include "app/engine/fingerprint.h"
#include "app/engine/indexer.h"
#include "app/engine/library.h"
#include "app/engine/library_upkeep.h"
#include "app/engine/memory_report.h"
#include "app/engine/model.h"
#include "app/engine/paths.h"
#include "app/engine/session.h"
#include "core/base/arena.h"
#include "core/base/log.h"
#include "core/base/thread_pool.h"
#include "vision/av/clip_cutter.h"
#include "vision/av/video_reader.h"
#include "vision/picture_io.h"

namespace longview {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

Result<WeightStore> ParseWeights(const std::string& text) {
  if (text == "stored") return WeightStore::kAsStored;
  if (text == "bf16") return WeightStore::kBF16;
  if (text == "fp32") return WeightStore::kF32;
  return InvalidArgument("weights '" + text + "' is none of stored, bf16, fp32");
}

Status CheckDevice(const std::string& device) {
  if (device == "auto" || device == "cpu") return Status::Ok();
  if (device == "cuda" || device.rfind("cuda:", 0) == 0) {
    return Unsupported("device '" + device + "': this build has no CUDA; use --device cpu");
  }
  return InvalidArgument("device '" + device + "' is none of auto, cpu, cuda[:N]");
}

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
  if (!damage.message.empty()) out.warnings.push_back(damage.message);
  return out;
}

// The frame tokens of one video, read from it once and kept for the other storage types where they fit.
class StatesMemory {
 public:
  StatesMemory(std::shared_ptr<const VideoIndex> index, size_t d_v, std::function<Status(const StatesSink&)> read)
      : index_(std::move(index)), d_v_(d_v), read_(std::move(read)) {}

  Status Read(const StatesSink& sink) {
    if (!kept_.empty()) {
      const float* states = kept_.data();
      for (size_t i = 0; i < index_->frames(); ++i) {
        LV_RETURN_IF_ERROR(sink(i, states));
        states += index_->info(i).tokens * d_v_;
      }
      return Status::Ok();
    }
    constexpr uint64_t kMostBytes = uint64_t{1} << 30;
    const uint64_t bytes = index_->tokens() * d_v_ * sizeof(float);
    const bool keep = bytes <= std::min(kMostBytes, AvailableMemory() / 4);
    if (keep) kept_.reserve(index_->tokens() * d_v_);
    const Status status = read_([&](size_t frame, const float* states) {
      if (keep) kept_.insert(kept_.end(), states, states + index_->info(frame).tokens * d_v_);
      return sink(frame, states);
    });
    if (!status.ok()) kept_.clear();
    return status;
  }

 private:
  std::shared_ptr<const VideoIndex> index_;
  size_t d_v_;
  std::function<Status(const StatesSink&)> read_;
  std::vector<float> kept_;
};

}  // namespace

struct Engine::Impl {
  Impl(const EngineOptions& given, WeightStore store)
      : options(given),
        library_folder(LibraryFolder(given.library)),
        folders{AssetsFolder(given.assets), PartsFolder(given.models)},
        pool(given.threads),
        model(folders, store, [this] { return library(); }),
        indexer({library_folder, &model, [this] { return library(); }, &pool,
                 [this](const std::string& text) { Warn(text); }}) {}

  void Warn(const std::string& text) {
    if (options.on_warning) {
      options.on_warning(text);
    } else {
      LogWarning(text);
    }
  }

  // The library, or one in memory where the folder cannot be used (with one warning); null only without memory.
  Library* library() {
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

  // A session over these videos, the last one again where nothing changed.
  Result<std::shared_ptr<const Session>> Load(std::vector<SessionVideo> videos, const std::vector<std::string>& keys,
                                              const SamplingSettings& sampling, const CacheOptions& cache,
                                              const JobContext& job) {
    std::string name =
        cache.mode + " " + cache.store + " " + LatentName(cache.latent) + " " + std::to_string(cache.groups);
    for (size_t i = 0; i < videos.size(); ++i) {
      // A partial index is another one as it grows; one in memory has no name that lasts.
      name += "\n" + videos[i].name + "\t" + keys[i] + "\t" + std::to_string(videos[i].index->frames());
      if (videos[i].index->in_memory())
        name += "\t" + std::to_string(reinterpret_cast<uintptr_t>(videos[i].index.get()));
    }
    const std::scoped_lock lock(session_mutex);
    if (session != nullptr && session_name == name) return session;
    session.reset();
    Session::Parts parts;
    LV_ASSIGN_OR_RETURN(parts.bridge, model.Bridge(job));
    LV_ASSIGN_OR_RETURN(parts.text, model.Text(job));
    parts.arena = &arena;
    parts.pool = &pool;
    parts.states = [&, list = videos](size_t video, const StatesSink& sink) {
      return indexer.EncodeStates(list[video].name, sampling, *list[video].index, job, sink);
    };
    LV_ASSIGN_OR_RETURN(session, Session::Load(std::move(parts), std::move(videos), cache, job.stop));
    session_name = std::move(name);
    return session;
  }

  // What a question's index is looked for under: where it needs fewer numbers of a latent than the model has, an index
  // that keeps only so many serves as well as a whole one, if it is there and the whole one is not.
  Result<SamplingSettings> SamplingOf(const fs::path& video, SamplingSettings sampling, const CacheOptions& cache,
                                      const JobContext& job) {
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

  struct Loaded {
    std::shared_ptr<const Session> session;
    std::vector<IndexKey> keys;
    double index_s = 0.0;
    Clock::time_point ready;  // when the indexes stood
  };
  // Indexes what needs it and loads the caches.
  Result<Loaded> Prepare(const std::vector<fs::path>& videos, const SamplingSettings& sampling,
                         const CacheOptions& cache, bool allow_partial, const JobContext& job,
                         const std::function<void(const StageEvent&)>& on_stage) {
    for (const fs::path& video : videos) {
      LV_RETURN_IF_ERROR(StampFile(video).status());
    }
    const auto tell = [&](Stage stage, const std::string& video) {
      if (on_stage) on_stage({stage, video});
    };
    tell(Stage::kLoadModel, "");
    LV_RETURN_IF_ERROR(model.Text(job).status());
    LV_RETURN_IF_ERROR(model.Bridge(job).status());
    Loaded loaded;
    std::vector<SessionVideo> session_videos;
    std::vector<std::string> names;
    for (const fs::path& video : videos) {
      tell(Stage::kIndex, video.string());
      IndexRequest request;
      request.video = video;
      LV_ASSIGN_OR_RETURN(request.sampling, SamplingOf(video, sampling, cache, job));
      request.memory_fallback = true;
      request.allow_partial = allow_partial;
      LV_ASSIGN_OR_RETURN(IndexOutcome outcome, indexer.Ensure(request, job));
      loaded.index_s += outcome.report.seconds;
      loaded.keys.push_back(outcome.key);
      names.push_back(outcome.key.FileName());
      session_videos.push_back({video.string(), std::move(outcome.index)});
    }
    loaded.ready = Clock::now();
    tell(Stage::kLoadCache, "");
    LV_ASSIGN_OR_RETURN(loaded.session, Load(std::move(session_videos), names, sampling, cache, job));
    return loaded;
  }

  const EngineOptions options;
  const fs::path library_folder;
  const ModelFolders folders;
  ThreadPool pool;
  Arena arena;  // of the latent caches

  std::mutex library_mutex;
  bool library_opened = false;
  std::unique_ptr<Library> library_db;
  Status library_status;  // why the folder's own database is not in use

  Model model;
  Indexer indexer;

  std::mutex session_mutex;
  std::string session_name;
  std::shared_ptr<const Session> session;
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::Create(const EngineOptions& options) {
  LV_RETURN_IF_ERROR(CheckDevice(options.device));
  LV_ASSIGN_OR_RETURN(const WeightStore store, ParseWeights(options.weights));
  if (options.threads < 0 || options.threads > 1024) {
    return InvalidArgument("threads " + std::to_string(options.threads) + " is not in 0..1024");
  }
  return std::unique_ptr<Engine>(new Engine(std::make_unique<Impl>(options, store)));
}

const fs::path& Engine::library_dir() const { return impl_->library_folder; }
const fs::path& Engine::assets_dir() const { return impl_->folders.assets; }
const fs::path& Engine::models_dir() const { return impl_->folders.parts; }
int Engine::threads() const { return impl_->pool.threads(); }

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
    LV_ASSIGN_OR_RETURN(const Impl::Loaded loaded, impl_->Prepare(videos, options.sampling, options.cache,
                                                                  options.allow_partial, job, callbacks.on_stage));
    if (callbacks.on_stage) callbacks.on_stage({Stage::kAnswer, ""});
    LV_ASSIGN_OR_RETURN(
        answer, AnswerFrom(*loaded.session, question, options, loaded.ready, job, callbacks.on_text, &impl_->pool));
    answer.time.index_s = loaded.index_s;
    for (const IndexKey& key : loaded.keys) fingerprints.push_back(key.fingerprint);
  }
  answer.time.total_s = Seconds(options.started.value_or(called));
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
  LV_ASSIGN_OR_RETURN(const Impl::Loaded loaded,
                      impl_->Prepare(videos, options.sampling, options.cache, options.allow_partial, job, {}));
  LV_ASSIGN_OR_RETURN(SearchResult result, SearchIn(*loaded.session, words, options, job, &impl_->pool));
  result.index_s = loaded.index_s;
  return result;
}

Result<CompareReport> Engine::Compare(const fs::path& video, const CompareOptions& options, const JobContext& job,
                                      const CompareRowSink& on_row) {
  const Clock::time_point called = Clock::now();
  LV_RETURN_IF_ERROR(CheckSampling(options.sampling));
  LV_RETURN_IF_ERROR(StampFile(video).status());
  {
    // The memory of an earlier question's cache counts for the rows.
    const std::scoped_lock lock(impl_->session_mutex);
    impl_->session.reset();
  }
  Session::Parts parts;
  LV_ASSIGN_OR_RETURN(parts.bridge, impl_->model.Bridge(job));
  LV_ASSIGN_OR_RETURN(parts.text, impl_->model.Text(job));
  parts.arena = &impl_->arena;
  parts.pool = &impl_->pool;
  IndexRequest request;
  request.video = video;
  request.sampling = options.sampling;
  request.sampling.latent = 0;
  request.memory_fallback = true;
  LV_ASSIGN_OR_RETURN(const IndexOutcome outcome, impl_->indexer.Ensure(request, {job.stop, {}}));
  StatesMemory states(outcome.index, parts.bridge->config.d_v, [&](const StatesSink& sink) {
    return impl_->indexer.EncodeStates(video, request.sampling, *outcome.index, {job.stop, {}}, sink);
  });
  parts.states = [&states](size_t, const StatesSink& sink) { return states.Read(sink); };
  LV_ASSIGN_OR_RETURN(CompareReport report, CompareModes(parts, {video.string(), outcome.index}, options, job, on_row));
  report.index_s = outcome.report.seconds;
  report.total_s = Seconds(called);
  return report;
}

Result<BenchReport> Engine::Bench(const JobContext& job) {
  BenchParts parts;
  LV_ASSIGN_OR_RETURN(parts.vit, impl_->model.LoadVit(WeightStore::kBF16, job));
  LV_ASSIGN_OR_RETURN(const TextPart text, impl_->model.Text(job));
  parts.decoder = text.decoder;
  return RunBench(parts, &impl_->pool, job);
}

Result<BudgetPlan> Engine::PlanBudget(const BudgetRequest& request) {
  LV_ASSIGN_OR_RETURN(const auto config, impl_->model.Config());
  BudgetModel model;
  model.tokens_per_frame = static_cast<int>(config->bridge_shape.tokens_per_frame());
  model.d_r = static_cast<int>(config->bridge_shape.d_r);
  model.cuts.assign(config->bridge_shape.cuts.begin(), config->bridge_shape.cuts.end());
  return SolveBudget(request, model);
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
  LV_ASSIGN_OR_RETURN(const Impl::Loaded loaded, impl_->Prepare({video}, options.sampling, {}, false, half(0.0), {}));
  LV_ASSIGN_OR_RETURN(const auto config, impl_->model.Config());
  const std::string prompt = options.prompt.empty() ? config->caption_prompt : options.prompt;
  std::vector<CaptionSegment> segments = CutSegments(loaded.session->frames(), options);
  if (loaded.session->videos().front().index->totals().still && !segments.empty()) {
    segments.resize(1);
    segments[0].start = 0.0;
    segments[0].end = 1.0;
  }
  std::vector<CaptionRow> rows;
  const auto keep = [&](const CaptionEvent& event) {
    rows.push_back({event.start, event.end, event.text});
    return on_caption(event);
  };
  LV_ASSIGN_OR_RETURN(CaptionReport report, CaptionSegments(*loaded.session, segments, prompt, options,
                                                            impl_->pool.threads(), half(1.0), keep));
  if (Library* library = impl_->library(); library != nullptr) {
    const Status kept = library->PutCaptions(loaded.keys[0], CaptionVariant(options, prompt), rows);
    if (!kept.ok()) impl_->Warn("the captions were not kept in the library: " + kept.message());
  }
  report.index_s = loaded.index_s;
  report.total_s = Seconds(called);
  return report;
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
  if (index->frames() == 0) return NotFound(video.string() + ": nothing of it was read yet");
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
