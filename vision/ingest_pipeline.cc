// IngestVideo: one thread decodes and chooses, one prepares, the caller consumes.
#include "vision/ingest_pipeline.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "core/base/bounded_queue.h"
#include "core/base/log.h"
#include "vision/scene.h"

namespace longview {
namespace {

constexpr double kSameTime_s = 1e-6;
constexpr double kSkipAhead_s = 5.0;      // a gap between ranges that is worth a seek
constexpr double kShortest_s = 0.001;     // end > start, always
constexpr size_t kQueueBytes = 96 << 20;  // pictures waiting to be prepared take no more than this, but for one

// From the decoder to the preparer: a chosen picture, or only a place where a span must end.
struct Sample {
  std::optional<DevicePicture> on_device;
  Picture picture;  // where it is not on a device; empty: a border
  Picture small;
  double time_s = 0.0;
  bool key = false;
  bool new_shot = false;
};

// From the preparer to the caller: a finished frame, or only how far we are.
struct Delivery {
  std::optional<IngestFrame> frame;
  double read_to_s = 0.0;
};

// The decoding side. Everything is on its thread but what is handed through the queue.
class Chooser {
 public:
  Chooser(VideoReader& reader, FrameSampler sampler, const IngestOptions& options, BoundedQueue<Sample>& out,
          std::stop_token stop)
      : reader_(reader), sampler_(std::move(sampler)), options_(options), out_(out), stop_(std::move(stop)) {}

  Status Run() {
    LV_RETURN_IF_ERROR(Begin());
    while (true) {
      LV_ASSIGN_OR_RETURN(const std::optional<FrameMark> mark, reader_.Advance());
      if (!mark) return Status::Ok();
      LV_ASSIGN_OR_RETURN(const Place place, FindPlace(mark->time_s));
      if (place == Place::kPastAll) return Status::Ok();
      if (place == Place::kHere) LV_RETURN_IF_ERROR(Take(*mark));
    }
  }

 private:
  enum class Place { kHere, kJumped, kPastAll };

  // To the first picture that matters.
  Status Begin() {
    double start = reader_.Info().first_time_s;
    if (!options_.sampling.ranges.empty()) {
      start = options_.sampling.ranges.front().start_s;
      for (const TimeRange& range : options_.sampling.ranges) start = std::min(start, range.start_s);
      start -= kSceneMemory_s;
    }
    if (options_.start_after_s) {
      start = std::max(start, sampler_.WarmStart(*options_.start_after_s) - kSceneMemory_s);
    }
    if (!(start > reader_.Info().first_time_s)) return Status::Ok();
    Status status = reader_.Seek(start);
    // Nothing is left to read: an empty run, not a failure.
    if (status.code() == StatusCode::kOutOfRange) return reader_.Seek(LastMoment());
    return status;
  }

  double LastMoment() const {
    const VideoInfo& info = reader_.Info();
    return std::max(info.first_time_s, info.first_time_s + info.duration_s - kShortest_s);
  }

  // Ends spans at the end of a range and jumps to the next one where it is far.
  Result<Place> FindPlace(double time_s) {
    if (options_.sampling.ranges.empty()) return Place::kHere;
    constexpr double kNone = 1.0e300;
    double next = kNone;
    bool inside = false;
    for (const TimeRange& range : options_.sampling.ranges) {
      inside = inside || (time_s >= range.start_s && time_s < range.end_s);
      if (range.start_s > time_s) next = std::min(next, range.start_s);
      if (range.end_s <= time_s) border_s_ = std::max(border_s_, range.end_s);
    }
    if (was_inside_ && !inside) {
      Sample border;
      border.time_s = border_s_;
      if (!out_.Push(std::move(border), stop_)) return Cancelled();
    }
    was_inside_ = inside;
    if (inside) return Place::kHere;
    if (next == kNone) return Place::kPastAll;
    if (next - time_s < kSkipAhead_s) return Place::kHere;
    detector_.Reset();
    const Status status = reader_.Seek(next - kSceneMemory_s);
    if (status.code() == StatusCode::kOutOfRange) return Place::kPastAll;
    LV_RETURN_IF_ERROR(status);
    return Place::kJumped;
  }

  Status Take(const FrameMark& mark) {
    LV_ASSIGN_OR_RETURN(Picture small, reader_.Small(kSmallWidth, kSmallHeight));
    const bool cut = detector_.Offer(small);
    const bool keep = sampler_.Offer(mark.time_s, cut);
    if (!keep && !cut) return Status::Ok();
    Sample sample;
    sample.time_s = mark.time_s;
    sample.new_shot = cut;
    if (keep) {
      LV_ASSIGN_OR_RETURN(sample.on_device, reader_.RenderOnDevice(options_.preprocess, options_.thumbnail));
      if (!sample.on_device) {
        LV_ASSIGN_OR_RETURN(sample.picture, reader_.Render());
      }
      sample.small = std::move(small);
      sample.key = mark.key;
    }
    return out_.Push(std::move(sample), stop_) ? Status::Ok() : Cancelled();
  }

  VideoReader& reader_;
  FrameSampler sampler_;
  const IngestOptions& options_;
  BoundedQueue<Sample>& out_;
  std::stop_token stop_;
  SceneDetector detector_;
  double border_s_ = -1.0e300;
  bool was_inside_ = false;
};

// The preparing side: merges, resizes, normalises, and gives each frame its end.
class Preparer {
 public:
  Preparer(const IngestOptions& options, double first_s, double end_s, BoundedQueue<Sample>& in,
           BoundedQueue<Delivery>& out, std::stop_token stop)
      : options_(options), first_s_(first_s), end_s_(end_s), in_(in), out_(out), stop_(std::move(stop)) {}

  Status Run() {
    while (std::optional<Sample> sample = in_.Pop(stop_)) LV_RETURN_IF_ERROR(Take(std::move(*sample)));
    if (stop_.stop_requested()) return Cancelled();
    return Close(end_s_);
  }

  int64_t merged() const { return merged_; }

 private:
  bool Replayed(double time_s) const {
    return options_.start_after_s && time_s <= *options_.start_after_s + kSameTime_s;
  }

  Status Take(Sample sample) {
    read_to_s_ = sample.time_s;
    new_shot_ = new_shot_ || sample.new_shot;
    if (sample.picture.empty() && !sample.on_device) return Border(sample.time_s);
    if (Replayed(sample.time_s)) {
      // What a run from the start had kept by then; only the last of it matters from here on.
      last_small_ = std::move(sample.small);
      new_shot_ = false;
      return Status::Ok();
    }
    const bool same_shot = last_small_.has_value() && !new_shot_;
    if (options_.merge_identical && same_shot && NearlyIdentical(*last_small_, sample.small)) {
      ++merged_;
      return Send(std::nullopt);
    }
    LV_RETURN_IF_ERROR(Close(sample.time_s));
    IngestFrame frame;
    frame.time_s = sample.time_s;
    frame.key = sample.key;
    frame.scene_start = new_shot_ || sample.time_s <= first_s_ + kSameTime_s;
    if (sample.on_device) {
      frame.device_chw = std::move(sample.on_device->chw);
      frame.thumbnail = std::move(sample.on_device->thumbnail);
    } else {
      LV_ASSIGN_OR_RETURN(frame.chw, PreprocessPicture(sample.picture, options_.preprocess));
      if (options_.thumbnail > 0) {
        LV_ASSIGN_OR_RETURN(frame.thumbnail, Thumbnail(sample.picture, options_.thumbnail));
      }
    }
    open_ = std::move(frame);
    last_small_ = std::move(sample.small);
    new_shot_ = false;
    return Status::Ok();
  }

  // The open frame stands for nothing past this; what follows is not merged into it.
  Status Border(double time_s) {
    new_shot_ = true;
    if (Replayed(time_s)) return Status::Ok();
    return Close(time_s);
  }

  Status Close(double end_s) {
    if (!open_) return Status::Ok();
    open_->end_s = std::max(end_s, open_->time_s + kShortest_s);
    std::optional<IngestFrame> frame = std::move(open_);
    open_.reset();
    return Send(std::move(frame));
  }

  Status Send(std::optional<IngestFrame> frame) {
    Delivery delivery;
    delivery.frame = std::move(frame);
    delivery.read_to_s = read_to_s_;
    return out_.Push(std::move(delivery), stop_) ? Status::Ok() : Cancelled();
  }

  const IngestOptions& options_;
  double first_s_;
  double end_s_;
  BoundedQueue<Sample>& in_;
  BoundedQueue<Delivery>& out_;
  std::stop_token stop_;
  std::optional<IngestFrame> open_;
  std::optional<Picture> last_small_;
  bool new_shot_ = false;
  double read_to_s_ = 0.0;
  int64_t merged_ = 0;
};

// The caller's side. Ok where the queue ran dry, else the consumer's failure.
Status Consume(BoundedQueue<Delivery>& in, const IngestOptions& options, const VideoInfo& info, const JobContext& job,
               std::stop_token stop, const IngestConsumer& consumer, int64_t* kept) {
  std::vector<IngestFrame> batch;
  const auto full = static_cast<size_t>(std::max(1, options.batch));
  const auto flush = [&] {
    if (batch.empty()) return Status::Ok();
    *kept += static_cast<int64_t>(batch.size());
    return consumer(std::exchange(batch, {}));
  };
  while (std::optional<Delivery> delivery = in.Pop(stop)) {
    if (delivery->frame) batch.push_back(std::move(*delivery->frame));
    if (batch.size() >= full) LV_RETURN_IF_ERROR(flush());
    const double read = std::max(0.0, delivery->read_to_s - info.first_time_s);
    if (job.progress) job.progress({std::min(read, info.duration_s), info.duration_s});
  }
  return stop.stop_requested() ? Cancelled() : flush();
}

// IngestVideo by the way that the options say, and no other.
Result<IngestSummary> Ingest(const std::string& path, const IngestOptions& options, const JobContext& job,
                             const IngestConsumer& consumer) {
  std::stop_source stop;  // the caller's stop, or a failure on one of the threads
  const std::stop_callback forward(job.stop, [&stop] { stop.request_stop(); });
  ReaderOptions reader_options = options.reader;
  reader_options.target_width = reader_options.target_height = 0;
  LV_ASSIGN_OR_RETURN(const std::unique_ptr<VideoReader> reader,
                      VideoReader::Open(path, reader_options, stop.get_token()));
  const VideoInfo info = reader->Info();
  const double end_s = info.still ? 1.0 : info.first_time_s + info.duration_s;
  LV_ASSIGN_OR_RETURN(FrameSampler sampler, FrameSampler::Create(options.sampling, info.first_time_s, end_s));

  const size_t picture_bytes = static_cast<size_t>(info.width) * static_cast<size_t>(info.height) * 3 + 1;
  const auto wanted = static_cast<size_t>(std::max(1, options.queue));
  BoundedQueue<Sample> samples(std::clamp<size_t>(kQueueBytes / picture_bytes, 1, wanted));
  BoundedQueue<Delivery> deliveries(wanted);
  Chooser chooser(*reader, std::move(sampler), options, samples, stop.get_token());
  Preparer preparer(options, info.first_time_s, end_s, samples, deliveries, stop.get_token());
  Status chosen;
  Status prepared;
  Status consumed;
  IngestSummary summary;
  {
    const std::jthread choose([&] {
      chosen = chooser.Run();
      samples.Close();  // what was read before a failure is still prepared and delivered
    });
    const std::jthread prepare([&] {
      prepared = preparer.Run();
      deliveries.Close();
      if (!prepared.ok()) samples.Close();
    });
    consumed = Consume(deliveries, options, info, job, stop.get_token(), consumer, &summary.kept);
    stop.request_stop();
  }
  summary.info = info;
  summary.merged = preparer.merged();
  summary.damage = reader->Damage();
  summary.counters = reader->Counters();
  summary.decoded = summary.counters.pictures;
  if (job.stop.stop_requested()) return Cancelled();
  LV_RETURN_IF_ERROR(consumed);
  LV_RETURN_IF_ERROR(prepared);
  LV_RETURN_IF_ERROR(chosen);
  if (job.progress) job.progress({info.duration_s, info.duration_s});
  return summary;
}

}  // namespace

Result<IngestSummary> IngestVideo(const std::string& path, const IngestOptions& options, const JobContext& job,
                                  const IngestConsumer& consumer, const IngestReturn& return_to) {
  Result<IngestSummary> read = Ingest(path, options, job, consumer);
  if (read.ok() || options.reader.hardware == nullptr || read.status().code() == StatusCode::kCancelled ||
      read.status().code() == StatusCode::kIo) {
    return read;
  }
  LogInfo("the processor reads on: " + read.status().message());
  IngestOptions anew = options;
  anew.reader.hardware = nullptr;
  if (return_to) anew.start_after_s = return_to();
  return Ingest(path, anew, job, consumer);
}

}  // namespace longview
