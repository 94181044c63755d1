// From a video to its index.
#include "app/engine/indexer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "app/engine/fingerprint.h"
#include "core/base/clock.h"
#include "core/tensor/dtype.h"
#include "vision/ingest_pipeline.h"
#include "vision/picture_io.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

// Frames a chunk of the file and a batch of the ViT. A resumed run starts at a chunk's border, so its chunks are those
// of a run in one go.
constexpr int kChunkFrames = 8;
constexpr int kThumbnailSide = 160;
constexpr int kThumbnailQuality = 80;
constexpr auto kWriterPoll = std::chrono::milliseconds(200);

DecodeMode ToDecodeMode(Decoding decoding) {
  switch (decoding) {
    case Decoding::kExact:
      return DecodeMode::kExact;
    case Decoding::kFast:
      return DecodeMode::kFast;
    case Decoding::kKeyframe:
      return DecodeMode::kKeyframe;
  }
  return DecodeMode::kExact;
}

// The rows of one frame, owned.
struct OwnedFrame {
  std::vector<uint16_t> latents, keys;
  std::vector<float> retrieval;
  std::vector<uint8_t> thumbnail;
};

// One chunk, ready to be appended: `rows` point into `owned`, whose elements must not move.
struct Chunk {
  std::vector<OwnedFrame> owned;
  std::vector<CacheFileFrame> rows;
};

// The first `kept` of every `width` numbers, as bf16.
std::vector<uint16_t> FirstToBF16(const std::vector<float>& values, size_t width, size_t kept) {
  std::vector<uint16_t> out;
  out.reserve(values.size() / width * kept);
  for (size_t row = 0; row + width <= values.size(); row += width) {
    for (size_t j = 0; j < kept; ++j) out.push_back(FloatToBF16(values[row + j]));
  }
  return out;
}

// Encodes the frames of one batch.
class ChunkEncoder {
 public:
  ChunkEncoder(std::shared_ptr<const VitEncoder> vit, std::shared_ptr<const BridgeWeights> bridge,
               std::shared_ptr<const FrameEncoder> encoder, ThreadPool* pool)
      : vit_(std::move(vit)), bridge_(std::move(bridge)), encoder_(std::move(encoder)), pool_(pool) {}

  // Frame tokens [tokens_per_frame, d_v] of each frame, given to `sink` in order.
  Status EncodeStates(const std::vector<IngestFrame>& frames, const std::stop_token& stop,
                      const std::function<Status(const IngestFrame& frame, const float* states)>& sink) {
    LV_RETURN_IF_ERROR(EncodePictures(frames, HostTokens(frames.size()), stop));
    std::vector<float> states(bridge_->config.tokens_per_frame() * bridge_->config.d_v);
    for (size_t i = 0; i < frames.size(); ++i) {
      encoder_->FrameTokens(host_tokens_.data() + i * TokenNumbers(), states.data(), pool_);
      LV_RETURN_IF_ERROR(sink(frames[i], states.data()));
    }
    return Status::Ok();
  }

  // The chunk of an index that keeps `latent` numbers of each latent.
  Result<Chunk> Encode(const std::vector<IngestFrame>& frames, size_t latent, const std::stop_token& stop) {
    LV_ASSIGN_OR_RETURN(std::vector<EncodedFrame> all, EncodeFrames(frames, stop));
    Chunk chunk;
    chunk.owned.resize(frames.size());
    chunk.rows.resize(frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      EncodedFrame& encoded = all[i];
      OwnedFrame& own = chunk.owned[i];
      own.latents = FirstToBF16(encoded.latents, bridge_->config.d_c, latent);
      own.keys = FirstToBF16(encoded.keys, bridge_->config.d_r, bridge_->config.d_r);
      own.retrieval = std::move(encoded.retrieval);
      if (!frames[i].thumbnail.empty()) {
        LV_ASSIGN_OR_RETURN(own.thumbnail, EncodePicture(frames[i].thumbnail, PictureFormat::kJpeg, kThumbnailQuality));
      }
      CacheFileFrame& row = chunk.rows[i];
      row.time_s = frames[i].time_s;
      row.end_s = frames[i].end_s;
      row.flags = (frames[i].scene_start ? kFrameShotStart : 0) | (frames[i].key ? kFrameKey : 0);
      row.tokens = static_cast<uint32_t>(bridge_->config.tokens_per_frame());
      row.latents = own.latents;
      row.keys = own.keys;
      row.retrieval = own.retrieval;
      row.thumbnail = std::as_bytes(std::span(own.thumbnail));
    }
    return chunk;
  }

 private:
  // Of one picture.
  size_t TokenNumbers() const { return vit_->config().tokens() * vit_->config().out_width(); }

  VitTokens HostTokens(size_t frames) {
    host_tokens_.resize(frames * TokenNumbers());
    return {host_tokens_.data()};
  }
  // The GPU's, where both of its networks are there.
  Result<VitTokens> DeviceTokens(size_t frames) {
    const size_t numbers = frames * TokenNumbers();
    if (device_tokens_.bytes() < numbers * sizeof(float)) {
      LV_ASSIGN_OR_RETURN(device_tokens_, encoder_->Room(numbers));
    }
    return VitTokens{device_tokens_.As<float>(), true};
  }

  Status EncodePictures(const std::vector<IngestFrame>& frames, VitTokens to, const std::stop_token& stop) {
    const size_t image = vit_->config().image;
    const size_t picture = 3 * image * image;
    std::vector<VitPicture> pictures(frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      const GpuBuffer* device = frames[i].device_chw.get();
      const size_t numbers = device != nullptr ? device->bytes() / sizeof(float) : frames[i].chw.size();
      if (numbers != picture) return InternalError("a frame's pixels do not fit the ViT");
      pictures[i].on_device = device != nullptr;
      pictures[i].pixels = device != nullptr ? device->As<float>() : frames[i].chw.data();
    }
    return vit_->Encode(pictures, to, pool_, stop);
  }

  Result<std::vector<EncodedFrame>> EncodeAt(const std::vector<IngestFrame>& frames, VitTokens tokens,
                                             const std::stop_token& stop) {
    LV_RETURN_IF_ERROR(EncodePictures(frames, tokens, stop));
    std::vector<FrameInput> inputs(frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      inputs[i] = {tokens.numbers + i * TokenNumbers(), tokens.on_device, frames[i].time_s};
    }
    return encoder_->Encode(inputs, pool_);
  }

  // The ViT's tokens stay on the GPU where the frame encoder is there, too. Where that fails, the two have said so and
  // what of them is left goes the long way.
  Result<std::vector<EncodedFrame>> EncodeFrames(const std::vector<IngestFrame>& frames, const std::stop_token& stop) {
    if (vit_->on_device() && encoder_->on_device()) {
      const Result<VitTokens> tokens = DeviceTokens(frames.size());
      if (tokens.ok()) {
        auto encoded = EncodeAt(frames, *tokens, stop);
        if (encoded.ok() || encoded.status().code() == StatusCode::kCancelled) return encoded;
      }
    }
    return EncodeAt(frames, HostTokens(frames.size()), stop);
  }

  std::shared_ptr<const VitEncoder> vit_;
  std::shared_ptr<const BridgeWeights> bridge_;
  std::shared_ptr<const FrameEncoder> encoder_;
  ThreadPool* pool_;
  std::vector<float> host_tokens_;
  GpuBuffer device_tokens_;
};

IngestOptions ReadingOptions(const SamplingSettings& sampling, const PreprocessSpec& preprocess, int threads) {
  IngestOptions options;
  options.reader.decode = ToDecodeMode(sampling.decoding);
  options.reader.threads = std::max(1, threads);
  options.sampling.fps = sampling.fps;
  options.sampling.scenes = sampling.scene_changes;
  options.sampling.max_frames = static_cast<int64_t>(sampling.max_frames);
  options.preprocess = preprocess;
  options.batch = kChunkFrames;
  return options;
}

// Index files that this process writes or waits to write: their writers are not another program.
class OwnWriter {
 public:
  explicit OwnWriter(fs::path file) : file_(std::move(file)) {
    const std::scoped_lock lock(Mutex());
    ++Count()[file_];
  }
  ~OwnWriter() {
    const std::scoped_lock lock(Mutex());
    if (--Count()[file_] == 0) Count().erase(file_);
  }
  OwnWriter(const OwnWriter&) = delete;
  OwnWriter& operator=(const OwnWriter&) = delete;

  static bool Alone(const fs::path& file) {
    const std::scoped_lock lock(Mutex());
    return Count()[file] == 1;
  }

 private:
  static std::mutex& Mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static std::map<fs::path, int>& Count() {
    static std::map<fs::path, int> count;
    return count;
  }
  fs::path file_;
};

// Whether the video is still the one whose fingerprint was taken.
Status CheckUnchanged(const fs::path& video, const FileStamp& before) {
  LV_ASSIGN_OR_RETURN(const FileStamp after, StampFile(video));
  if (after == before) return Status::Ok();
  return Damaged(video.string() + ": changed while it was read; try again when it is whole");
}

IndexInfo InfoOf(const VideoIndex& index, const fs::path& file, const std::string& sampling) {
  IndexInfo info;
  info.state = index.complete() ? IndexState::kComplete : IndexState::kPartial;
  info.file = file;
  info.sampling = sampling;
  info.frames = index.frames();
  info.tokens = index.tokens();
  info.bytes = index.bytes();
  info.until_s = index.frames() == 0 ? 0.0 : index.info(index.frames() - 1).end_s;
  return info;
}

}  // namespace

Result<SamplingSettings> Indexer::Normal(SamplingSettings sampling) {
  LV_RETURN_IF_ERROR(CheckSampling(sampling));
  LV_ASSIGN_OR_RETURN(const auto config, parts_.model->Config());
  const std::vector<size_t>& cuts = config->bridge_shape.cuts;
  const auto latent = static_cast<size_t>(sampling.latent);
  if (latent != 0 && std::find(cuts.begin(), cuts.end(), latent) == cuts.end()) {
    return InvalidArgument("latents of " + std::to_string(latent) + " numbers are no size that this model has");
  }
  if (latent == config->bridge_shape.d_c) sampling.latent = 0;
  return sampling;
}

Result<IndexKey> Indexer::KeyOf(const fs::path& video, const SamplingSettings& given, const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const SamplingSettings sampling, Normal(given));
  IndexKey key;
  LV_ASSIGN_OR_RETURN(key.fingerprint, Fingerprint(video, job));
  LV_ASSIGN_OR_RETURN(const auto config, parts_.model->Config());
  key.model = IndexModelHash(*config);
  key.settings = SamplingHash(sampling);
  return key;
}

Result<IndexInfo> Indexer::Look(const IndexKey& key, const SamplingSettings& given) {
  LV_ASSIGN_OR_RETURN(const SamplingSettings sampling, Normal(given));
  LV_ASSIGN_OR_RETURN(const auto config, parts_.model->Config());
  const std::string text = SamplingText(sampling);
  const fs::path file = parts_.folder / key.FileName();
  const auto index =
      VideoIndex::Open(file, MakeIndexHeader(key, text, config->bridge_shape, static_cast<size_t>(sampling.latent)));
  if (index.ok()) return InfoOf(**index, file, text);
  IndexInfo info;
  if (index.status().code() == StatusCode::kDamaged) {
    info.state = IndexState::kDamaged;
    info.file = file;
  }
  return info;
}

Result<std::shared_ptr<const VideoIndex>> Indexer::Find(const fs::path& video, const SamplingSettings& given,
                                                        const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const SamplingSettings sampling, Normal(given));
  LV_ASSIGN_OR_RETURN(const IndexKey key, KeyOf(video, sampling, job));
  LV_ASSIGN_OR_RETURN(const auto config, parts_.model->Config());
  return VideoIndex::Open(
      parts_.folder / key.FileName(),
      MakeIndexHeader(key, SamplingText(sampling), config->bridge_shape, static_cast<size_t>(sampling.latent)));
}

Result<IndexOutcome> Indexer::Ensure(IndexRequest request, const JobContext& job) {
  const Clock::time_point started = Clock::now();
  LV_ASSIGN_OR_RETURN(request.sampling, Normal(request.sampling));
  IndexOutcome outcome;
  LV_ASSIGN_OR_RETURN(outcome.stamp, StampFile(request.video));
  LV_ASSIGN_OR_RETURN(outcome.key, KeyOf(request.video, request.sampling, job));
  LV_ASSIGN_OR_RETURN(const auto config, parts_.model->Config());
  const CacheFileHeader header = MakeIndexHeader(outcome.key, SamplingText(request.sampling), config->bridge_shape,
                                                 static_cast<size_t>(request.sampling.latent));

  if (!request.keep) {
    auto found = VideoIndex::Open(parts_.folder / outcome.key.FileName(), header);
    if (!found.ok() || !(*found)->complete() || !(*found)->Verify().ok()) {
      return EnsureInMemory(request, std::move(outcome), header, job);
    }
    outcome.index = std::move(found).value();
    return outcome;
  }
  auto result = EnsureOnDisk(request, outcome, header, job);
  if (!result.ok() && result.status().code() == StatusCode::kIo && request.memory_fallback) {
    // The video itself may be what cannot be read; then the second try says so.
    parts_.warn("the index of " + request.video.string() + " is kept in memory only: " + result.status().message());
    result = EnsureInMemory(request, outcome, header, job);
  }
  if (!result.ok()) return result.status();
  result->report.seconds = result->report.was_complete ? 0.0 : SecondsSince(started);
  result->report.duration_s = result->index->totals().duration_s;
  Record(request, *result, result->report.duration_s);
  return result;
}

Result<bool> Indexer::WaitForWriter(const IndexRequest& request, const fs::path& file, const CacheFileHeader& header,
                                    bool fresh, const JobContext& job, std::unique_ptr<CacheFileWriter>* writer) {
  bool waited = false;
  bool told = false;
  while (true) {
    auto opened = CacheFileWriter::Open(file, header, CacheFileSync::kOnComplete, fresh && !waited);
    if (opened.ok()) {
      *writer = std::make_unique<CacheFileWriter>(std::move(opened).value());
      return (*writer)->complete();
    }
    if (opened.status().code() != StatusCode::kResource) return opened.status();
    if (request.unread != Unread::kRead) {
      const auto index = VideoIndex::Open(file, header);
      if (index.ok() && (*index)->frames() > 0) return true;
    }
    // Where this process holds it, the other job is in the list of jobs, and a person need not be told.
    if (!told && OwnWriter::Alone(file)) {
      parts_.warn("another program is indexing " + request.video.string() + "; waiting for it");
      told = true;
    }
    waited = true;
    if (job.stop.stop_requested()) return Cancelled();
    std::this_thread::sleep_for(kWriterPoll);
  }
}

Result<IndexOutcome> Indexer::EnsureOnDisk(const IndexRequest& request, IndexOutcome outcome,
                                           const CacheFileHeader& header, const JobContext& job) {
  const fs::path file = parts_.folder / outcome.key.FileName();
  const std::string sampling = SamplingText(request.sampling);
  const auto finish = [&](std::shared_ptr<const VideoIndex> index) {
    outcome.index = std::move(index);
    outcome.report.index = InfoOf(*outcome.index, file, sampling);
    return outcome;
  };
  bool fresh = request.rebuild;
  if (!fresh) {
    auto found = VideoIndex::Open(file, header);
    if (found.ok() && (*found)->complete()) {
      const Status whole = (*found)->Verify();
      if (whole.ok()) {
        outcome.report.was_complete = true;
        return finish(std::move(found).value());
      }
      if (whole.code() != StatusCode::kDamaged) return whole;
      // The writer keeps what stands before the damage.
      parts_.warn(whole.message() + "; what is damaged is made anew");
      outcome.report.rebuilt = true;
    } else if (found.ok() && request.unread != Unread::kRead && (*found)->frames() > 0) {
      return finish(std::move(found).value());
    } else if (!found.ok() && found.status().code() != StatusCode::kNotFound) {
      if (found.status().code() == StatusCode::kIo) return found.status();
      parts_.warn(found.status().message() + "; it is made anew");
      fresh = true;  // what is wrong with it may lie where a writer would go on
      outcome.report.rebuilt = true;
    }
  }
  if (request.unread == Unread::kLeaveOut) {
    return NotFound(request.video.string() + ": nothing of it was read yet")
        .About(request.video.string(), StatusReason::kNotReadYet);
  }
  std::error_code error;
  fs::create_directories(parts_.folder, error);
  if (error) return IoError(parts_.folder.string() + ": the library folder cannot be made: " + error.message());
  const OwnWriter own(file);
  std::unique_ptr<CacheFileWriter> writer;
  LV_ASSIGN_OR_RETURN(const bool usable, WaitForWriter(request, file, header, fresh, job, &writer));
  if (!usable) {
    std::optional<double> start_after;
    if (writer->frames() > 0) {
      start_after = writer->last_time_s();
      outcome.report.resumed = true;
    }
    const Result<std::optional<IndexTotals>> totals = Read(
        request, header, start_after, job,
        [&](std::span<const CacheFileFrame> frames) { return writer->Append(frames); },
        [&] { return request.unread == Unread::kBegin && writer->frames() > 0; });
    if (writer->frames() == 0) {
      // An index without a picture helps nobody, and the library would list it without a name.
      fs::remove(file, error);
      if (totals.ok())
        return Damaged(request.video.string() + ": no picture of it could be read").About(request.video.string());
    }
    LV_RETURN_IF_ERROR(totals.status());
    const Status same = CheckUnchanged(request.video, outcome.stamp);
    if (!same.ok()) {
      // Frames of another content lie under this fingerprint: nobody may go on with them.
      fs::remove(file, error);
      return same;
    }
    if (totals->has_value()) LV_RETURN_IF_ERROR(writer->Complete((*totals)->ToJson()));
  } else if (writer != nullptr) {
    outcome.report.was_complete = true;
  }
  // Opened before the writer gives up its lock: from then on the library may be pruned at any time.
  LV_ASSIGN_OR_RETURN(auto index, VideoIndex::Open(file, header));
  writer.reset();
  return finish(std::move(index));
}

Result<IndexOutcome> Indexer::EnsureInMemory(const IndexRequest& request, IndexOutcome outcome,
                                             const CacheFileHeader& header, const JobContext& job) {
  auto frames = std::make_shared<MemoryFrames>(header);
  // Nobody goes on with it later: it is read to its end whatever the request says.
  LV_ASSIGN_OR_RETURN(
      const std::optional<IndexTotals> totals,
      Read(
          request, header, std::nullopt, job,
          [&](std::span<const CacheFileFrame> chunk) { return frames->Append(chunk); }, [] { return false; }));
  if (frames->frames() == 0)
    return Damaged(request.video.string() + ": no picture of it could be read").About(request.video.string());
  LV_RETURN_IF_ERROR(CheckUnchanged(request.video, outcome.stamp));
  outcome.index = VideoIndex::FromMemory(std::move(frames), *totals);
  outcome.report.index = InfoOf(*outcome.index, {}, SamplingText(request.sampling));
  outcome.report.in_memory = true;
  return outcome;
}

Result<std::optional<IndexTotals>> Indexer::Read(const IndexRequest& request, const CacheFileHeader& header,
                                                 std::optional<double> start_after, const JobContext& job,
                                                 const std::function<Status(std::span<const CacheFileFrame>)>& append,
                                                 const std::function<bool()>& enough) {
  LV_ASSIGN_OR_RETURN(auto vit, parts_.model->Vit(job));
  LV_ASSIGN_OR_RETURN(auto bridge, parts_.model->Bridge(job));
  LV_ASSIGN_OR_RETURN(auto frame_encoder, parts_.model->Frames(job));
  LV_ASSIGN_OR_RETURN(const auto config, parts_.model->Config());
  if (bridge->config.d_c < header.d_c) return InternalError("the bridge changed while it was used");

  IngestOptions options = ReadingOptions(request.sampling, config->preprocess, parts_.pool->threads());
  options.thumbnail = kThumbnailSide;
  options.start_after_s = start_after;
  options.reader.hardware = parts_.model->Decoding(*vit);
  ChunkEncoder encoder(std::move(vit), std::move(bridge), std::move(frame_encoder), parts_.pool);
  // The last chunk waits until the video was read to its end: where reading fails on the way, its last frame does not
  // know how long it stands, and it may be shorter than the chunks of a run in one go.
  std::optional<Chunk> held;
  bool ended = false;
  const auto consume = [&](const std::vector<IngestFrame>& frames) -> Status {
    LV_ASSIGN_OR_RETURN(Chunk chunk, encoder.Encode(frames, header.d_c, job.stop));
    if (held) {
      LV_RETURN_IF_ERROR(append(held->rows));
      start_after = held->rows.back().time_s;
    }
    held = std::move(chunk);
    ended = enough();
    return ended ? Cancelled() : Status::Ok();
  };
  const Result<IngestSummary> read = IngestVideo(request.video.string(), options, job, consume, [&] {
    held.reset();
    return start_after;
  });
  if (!read.ok() && ended && !job.stop.stop_requested()) return std::optional<IndexTotals>();
  LV_RETURN_IF_ERROR(read.status());
  const IngestSummary& summary = *read;
  if (!summary.damage.message.empty()) parts_.warn(summary.damage.message);
  if (summary.damage.shortened) {
    return Damaged(request.video.string() + ": became shorter while it was read; try again when it is whole");
  }
  if (held) LV_RETURN_IF_ERROR(append(held->rows));
  IndexTotals totals;
  totals.duration_s = summary.info.duration_s;
  totals.first_time_s = summary.info.first_time_s;
  totals.still = summary.info.still;
  // The first of very many: the closing record has its limit.
  constexpr size_t kMostSpans = 100;
  const std::span<const DamagedSpan> spans(summary.damage.spans);
  totals.damage = SpansText(spans.first(std::min(spans.size(), kMostSpans)));
  if (spans.size() > kMostSpans) totals.damage += " and more";
  return std::optional<IndexTotals>(totals);
}

Status Indexer::EncodeStates(const fs::path& video, const SamplingSettings& sampling, const VideoIndex& index,
                             const JobContext& job,
                             const std::function<Status(size_t frame, const float* states)>& sink) {
  LV_ASSIGN_OR_RETURN(auto vit, parts_.model->Vit(job));
  LV_ASSIGN_OR_RETURN(auto bridge, parts_.model->Bridge(job));
  LV_ASSIGN_OR_RETURN(auto frame_encoder, parts_.model->Frames(job));
  LV_ASSIGN_OR_RETURN(const auto config, parts_.model->Config());
  IngestOptions options = ReadingOptions(sampling, config->preprocess, parts_.pool->threads());
  options.reader.hardware = parts_.model->Decoding(*vit);
  ChunkEncoder encoder(std::move(vit), std::move(bridge), std::move(frame_encoder), parts_.pool);
  const Status other = Damaged(video.string() + ": no longer gives the pictures of its index; index it with --rebuild");
  size_t at = 0;
  const auto take = [&](const IngestFrame& frame, const float* states) -> Status {
    // A partial index ends before the video does.
    if (at == index.frames()) return Status::Ok();
    if (frame.time_s != index.info(at).time_s) return other;
    return sink(at++, states);
  };
  const auto consume = [&](const std::vector<IngestFrame>& frames) {
    return encoder.EncodeStates(frames, job.stop, take);
  };
  const auto read_to = [&] { return at == 0 ? std::nullopt : std::optional(index.info(at - 1).time_s); };
  LV_RETURN_IF_ERROR(IngestVideo(video.string(), options, job, consume, read_to).status());
  return at == index.frames() ? Status::Ok() : other;
}

void Indexer::Record(const IndexRequest& request, const IndexOutcome& outcome, double duration_s) {
  // The files alone are the truth: a library that cannot note them loses the list, not the work.
  std::error_code error;
  fs::path absolute = fs::absolute(request.video, error);
  if (error) absolute = request.video;
  Library* library = parts_.library();
  if (library == nullptr) return;
  Status status = library->PutVideo({outcome.key.fingerprint, absolute.lexically_normal(), outcome.stamp, duration_s});
  if (status.ok() && !outcome.report.in_memory) {
    const IndexInfo& info = outcome.report.index;
    status =
        library->PutIndex({outcome.key, info.sampling, info.state, info.frames, info.tokens, info.bytes, info.until_s});
  }
  if (!status.ok()) parts_.warn("the library's list was not updated: " + status.message());
}

}  // namespace longview
