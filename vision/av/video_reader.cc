// VideoReader: opening, reading in order, and going to a time.
#include "vision/av/video_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <utility>

#include "core/base/log.h"
#include "vision/av/damage_tracker.h"
#include "vision/av/demuxer.h"
#include "vision/av/frame_fields.h"
#include "vision/av/hardware_decoding.h"
#include "vision/av/picture_renderer.h"
#include "vision/av/stream_scan.h"
#include "vision/av/video_decoder.h"
#include "vision/preprocess.h"

namespace longview {
namespace av {
namespace {

constexpr double kJumpBack_s = 0.25;   // as in frame_index.cc: a clock that falls by more was started again
constexpr double kReadOn_s = 3.0;      // without an index, a target this near is reached by reading on
constexpr int kMaxErrorsInARow = 64;   // answers of a decoder to one packet
constexpr double kStillShown_s = 1.0;  // a still can be asked for in this span
constexpr double kSame_s = 1e-6;       // times this near are the same: 35 / 25 is a hair more than 1.4

std::string Seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", s);
  return text;
}

struct Decoded {
  FramePtr frame;
  FrameMark mark;
};

class Reader final : public VideoReader {
 public:
  Reader(std::string path, const ReaderOptions& options, std::stop_token stop)
      : path_(std::move(path)), options_(options), stop_(std::move(stop)) {}

  Status Init();

  const VideoInfo& Info() const override { return info_; }
  Result<std::optional<Picture>> Next() override;
  Result<std::optional<FrameMark>> Advance() override;
  Result<Picture> Render() override;
  Result<Picture> Small(int width, int height) override;
  Result<std::optional<DevicePicture>> RenderOnDevice(const PreprocessSpec& spec, int thumbnail) override;
  Status Seek(double time_s) override;
  Result<Picture> PictureAt(double time_s) override;
  DamageReport Damage() const override;
  ReaderCounters Counters() const override { return counters_; }

 private:
  Status CheckHardware() const;
  Status FillInfo();
  // kResource where a film goes on for longer, or has more pictures, than is allowed.
  Status CheckLimits(double time_s, int64_t pictures) const;
  // Rounded to a nanosecond, so that 35 x 0.04 is written 1.4.
  double ToSeconds(int64_t ticks) const {
    return std::round((static_cast<double>(ticks) * tick_s_ - zero_s_) * 1e9) / 1e9;
  }
  // The last tick at or before the time.
  int64_t ToTicks(double time_s) const {
    return static_cast<int64_t>(std::floor((time_s + zero_s_ + kSame_s) / tick_s_));
  }
  // What a scan found to be added to the ticks of a packet or picture that stood at this byte. `last` is the position
  // of the one before: several pictures may share one.
  int64_t OffsetAt(int64_t position, int64_t* last) const {
    if (position >= 0) *last = position;
    return span_.index ? span_.index->OffsetAt(*last) : 0;
  }
  bool untimed() const { return span_.index && span_.index->untimed(); }

  Result<std::optional<Decoded>> TakeNext();
  Result<std::optional<Decoded>> Decode();
  Result<bool> Feed();
  bool Wanted(const AVPacket& packet);
  int64_t TicksOf(const AVFrame& frame);
  bool Finish(Decoded* decoded);
  // Why the processor is to read the film instead of the device.
  Status LeaveDevice(const std::string& why) const { return Unsupported(path_ + ": " + why); }

  bool CanReadOn(double time_s) const;
  Result<bool> JumpBefore(double time_s, int attempt);
  Status Rewind();
  void Forget();
  Status Locate(double time_s);

  std::string path_;
  ReaderOptions options_;
  std::stop_token stop_;
  std::unique_ptr<Demuxer> demuxer_;
  std::unique_ptr<VideoDecoder> decoder_;
  std::unique_ptr<PictureRenderer> renderer_;
  PacketPtr packet_;
  StreamSpan span_;
  DamageTracker damage_;
  const char* treatment_ = nullptr;  // of a picture on the device, said in the log
  VideoInfo info_;
  ReaderCounters counters_;
  double tick_s_ = 1.0;
  double zero_s_ = 0.0;  // of the container's clock
  double end_s_ = 0.0;   // of the last picture

  bool draining_ = false;
  bool at_end_ = false;
  bool need_key_ = true;              // after a seek, what leads to no keyframe cannot be decoded
  int64_t pictures_out_ = 0;          // since the start of the file; for untimed streams
  std::deque<int64_t> decode_times_;  // of packets not yet come out; for untimed streams
  std::optional<int64_t> last_ticks_;
  int64_t packet_position_ = 0;
  int64_t picture_position_ = 0;
  int64_t jump_offset_ = 0;  // added to ticks after a jump back that no scan has told of
  std::deque<Decoded> ready_;
  Decoded current_;
};

Status Reader::Init() {
  LV_ASSIGN_OR_RETURN(demuxer_, Demuxer::Open(path_, options_.max_pixels, stop_));
  packet_.reset(av_packet_alloc());
  if (packet_ == nullptr) return ResourceError(path_ + ": out of memory");
  tick_s_ = demuxer_->tick_s();
  LV_RETURN_IF_ERROR(CheckHardware());
  if (demuxer_->still()) {
    span_.end_ticks = span_.step_ticks = std::max<int64_t>(1, static_cast<int64_t>(kStillShown_s / tick_s_));
  } else {
    LV_ASSIGN_OR_RETURN(span_, ScanStream(*demuxer_, options_, stop_));
  }
  if (!demuxer_->still() && !untimed()) {
    zero_s_ = static_cast<double>(span_.first_ticks) * tick_s_;
    if (demuxer_->audio_start_s()) zero_s_ = std::min(zero_s_, *demuxer_->audio_start_s());
  } else if (untimed()) {
    zero_s_ = static_cast<double>(span_.first_ticks) * tick_s_;
  }
  end_s_ = ToSeconds(span_.end_ticks);
  LV_ASSIGN_OR_RETURN(decoder_, VideoDecoder::Open(path_, demuxer_->stream(), options_));
  renderer_ = std::make_unique<PictureRenderer>(path_, demuxer_->format(), demuxer_->stream(), options_.max_pixels);
  LV_ASSIGN_OR_RETURN(std::optional<Decoded> first, Decode());
  if (!first) return Damaged(path_ + ": no picture in it can be decoded").About(path_);
  ready_.push_back(std::move(*first));
  return FillInfo();
}

// What tells before anything is decoded that the device is not the one to do it.
Status Reader::CheckHardware() const {
  if (options_.hardware == nullptr) return Status::Ok();
  if (options_.decode != DecodeMode::kExact) return LeaveDevice("a GPU decodes every picture exactly or not at all");
  if (demuxer_->still() || demuxer_->maybe_still()) return LeaveDevice("stills are not for the GPU's decoder");
  const Status known = options_.hardware->Decoder(demuxer_->stream()->codecpar->codec_id).status();
  return known.ok() ? known : LeaveDevice(known.message());
}

Status Reader::FillInfo() {
  const AVFrame& frame = *ready_.front().frame;
  LV_ASSIGN_OR_RETURN(const PictureRenderer::Geometry g, renderer_->GeometryOf(frame));
  info_.path = path_;
  info_.still = demuxer_->still() || (demuxer_->maybe_still() && span_.index && span_.index->count() <= 1);
  info_.width = g.width;
  info_.height = g.height;
  info_.rotation = RotationOf(g.orientation);
  info_.mirrored = MirroredOf(g.orientation);
  info_.video_codec = avcodec_get_name(demuxer_->stream()->codecpar->codec_id);
  const char* name = av_get_pix_fmt_name(decoder_->format());
  info_.pix_fmt = name == nullptr ? "unknown" : name;
  info_.hdr = IsHdr(frame);
  info_.audio = demuxer_->audio();
  if (info_.still) {
    ready_.front().mark.time_s = 0.0;
    ready_.front().mark.duration_s.reset();
    end_s_ = kStillShown_s;
    return Status::Ok();
  }
  info_.first_time_s = ready_.front().mark.time_s;
  info_.duration_s = std::max(0.0, end_s_ - info_.first_time_s);
  LV_RETURN_IF_ERROR(CheckLimits(end_s_, span_.index ? static_cast<int64_t>(span_.index->count()) : 0));
  info_.timecode = demuxer_->timecode();
  info_.fps_avg = span_.fps_avg;
  info_.vfr = span_.vfr;
  info_.estimated = !span_.index.has_value();
  return Status::Ok();
}

Status Reader::CheckLimits(double time_s, int64_t pictures) const {
  if (time_s > options_.max_duration_s) {
    return ResourceError(path_ + ": goes on to " + Seconds(time_s) + " s, more than the limit of " +
                         Seconds(options_.max_duration_s) + " s; its times may be damaged");
  }
  if (pictures > options_.max_pictures) {
    return ResourceError(path_ + ": holds more than the limit of " + std::to_string(options_.max_pictures) +
                         " pictures");
  }
  return Status::Ok();
}

// ---- reading in order

bool Reader::Wanted(const AVPacket& packet) {
  const bool key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  if (options_.decode == DecodeMode::kKeyframe && !key) return false;
  if (key) need_key_ = false;
  // A stream without a single keyframe (refreshed piece by piece) is decoded from wherever we are.
  return !need_key_ || (span_.index && span_.index->keys().empty());
}

// Gives the decoder one packet, or the end. False where there is nothing more to give.
Result<bool> Reader::Feed() {
  if (draining_) return false;
  while (true) {
    LV_ASSIGN_OR_RETURN(const bool more, demuxer_->Read(packet_.get()));
    if (!more) break;
    if (!Wanted(*packet_)) {
      // Untimed pictures are told by their number, so one that is left out still counts.
      if (untimed() && !span_.index->has_dts()) ++pictures_out_;
      av_packet_unref(packet_.get());
      continue;
    }
    if (options_.hardware != nullptr && (packet_->flags & AV_PKT_FLAG_CORRUPT) != 0) {
      return LeaveDevice("a part of the film is damaged");
    }
    ++counters_.packets;
    const bool shown = (packet_->flags & AV_PKT_FLAG_DISCARD) == 0;
    if (untimed()) {
      if (shown && packet_->dts != AV_NOPTS_VALUE) decode_times_.push_back(packet_->dts);
    } else if (shown && packet_->pts != AV_NOPTS_VALUE) {
      const int64_t ticks = packet_->pts + OffsetAt(packet_->pos, &packet_position_) + jump_offset_;
      const int64_t length = packet_->duration > 0 ? packet_->duration : span_.step_ticks;
      damage_.Sent(ToSeconds(ticks), static_cast<double>(length) * tick_s_);
    }
    if (!decoder_->Send(packet_.get())) {
      if (options_.hardware != nullptr) return LeaveDevice("the GPU's decoder refused a part of the film");
      damage_.Failed();
      if (untimed() && !decode_times_.empty()) decode_times_.pop_back();
    }
    av_packet_unref(packet_.get());
    return true;
  }
  draining_ = true;
  decoder_->Send(nullptr);
  return true;
}

int64_t Reader::TicksOf(const AVFrame& frame) {
  const int64_t step = span_.step_ticks;
  if (untimed()) {
    int64_t ticks = last_ticks_.value_or(-step) + step;
    if (!span_.index->has_dts()) {
      ticks = pictures_out_ * step;
    } else if (!decode_times_.empty()) {
      ticks = decode_times_.front();
      decode_times_.pop_front();
    }
    ++pictures_out_;
    return ticks;
  }
  const int64_t offset = OffsetAt(PositionOf(frame), &picture_position_) + jump_offset_;
  if (frame.pts == AV_NOPTS_VALUE && last_ticks_) {
    return *last_ticks_ + (DurationOf(frame) > 0 ? DurationOf(frame) : step);
  }
  return frame.best_effort_timestamp == AV_NOPTS_VALUE ? span_.first_ticks : frame.best_effort_timestamp + offset;
}

// Gives the picture its time, which always rises. False where it is damaged and must not be shown.
bool Reader::Finish(Decoded* decoded) {
  const AVFrame& frame = *decoded->frame;
  int64_t ticks = TicksOf(frame);
  if (last_ticks_ && ticks <= *last_ticks_) {
    const int64_t back = *last_ticks_ - ticks;
    if (static_cast<double>(back) * tick_s_ > kJumpBack_s) {
      jump_offset_ += back + span_.step_ticks;
      ticks += back + span_.step_ticks;
    } else {
      ticks = *last_ticks_ + 1;
    }
  }
  last_ticks_ = ticks;
  const int64_t length = DurationOf(frame);
  decoded->mark.time_s = demuxer_->still() ? 0.0 : ToSeconds(ticks);
  decoded->mark.key = IsKey(frame);
  decoded->mark.duration_s.reset();
  if (length > 0 && !demuxer_->still()) decoded->mark.duration_s = static_cast<double>(length) * tick_s_;
  const double lasts = static_cast<double>(length > 0 ? length : span_.step_ticks) * tick_s_;
  return damage_.Came(decoded->mark.time_s, lasts, decoded->mark.key, VideoDecoder::Flawed(frame));
}

Result<std::optional<Decoded>> Reader::Decode() {
  int errors = 0;
  if (info_.still && last_ticks_) at_end_ = true;  // a second picture in a JPEG is not part of what is shown
  while (!at_end_) {
    if (stop_.stop_requested()) return Cancelled();
    Decoded decoded;
    decoded.frame.reset(av_frame_alloc());
    if (decoded.frame == nullptr) return ResourceError(path_ + ": out of memory");
    VideoDecoder::Got got = decoder_->Receive(decoded.frame.get());
    if (options_.hardware != nullptr) {
      if (got == VideoDecoder::Got::kError ||
          (got == VideoDecoder::Got::kPicture && VideoDecoder::Flawed(*decoded.frame))) {
        return LeaveDevice("the GPU's decoder failed");
      }
      if (got == VideoDecoder::Got::kPicture) {
        const Status usable = options_.hardware->SurfaceOf(*decoded.frame).status();
        if (!usable.ok()) return LeaveDevice(usable.message());
      }
    }
    if (got == VideoDecoder::Got::kError) {
      damage_.Failed();
      if (++errors < kMaxErrorsInARow) continue;
      got = draining_ ? VideoDecoder::Got::kEnd : VideoDecoder::Got::kNeedsMore;
    }
    errors = 0;
    if (got == VideoDecoder::Got::kPicture) {
      ++counters_.pictures;
      const bool whole = Finish(&decoded);
      LV_RETURN_IF_ERROR(CheckLimits(decoded.mark.time_s, counters_.pictures));
      if (whole) return std::optional<Decoded>(std::move(decoded));
      continue;
    }
    if (got == VideoDecoder::Got::kNeedsMore) {
      LV_ASSIGN_OR_RETURN(const bool fed, Feed());
      if (fed) continue;
    }
    damage_.Ended(end_s_);
    at_end_ = true;
  }
  return std::optional<Decoded>();
}

Result<std::optional<Decoded>> Reader::TakeNext() {
  if (ready_.empty()) return Decode();
  std::optional<Decoded> next(std::move(ready_.front()));
  ready_.pop_front();
  return next;
}

Result<std::optional<FrameMark>> Reader::Advance() {
  LV_ASSIGN_OR_RETURN(std::optional<Decoded> next, TakeNext());
  if (!next) return std::optional<FrameMark>();
  current_ = std::move(*next);
  return std::optional<FrameMark>(current_.mark);
}

Result<Picture> Reader::Render() {
  if (current_.frame == nullptr) return InternalError(path_ + ": no picture was decoded to render");
  FramePtr host;
  if (options_.hardware != nullptr) {
    LV_ASSIGN_OR_RETURN(host, options_.hardware->ToHost(*current_.frame, 1));
  }
  LV_ASSIGN_OR_RETURN(Picture picture, renderer_->Render(host != nullptr ? *host : *current_.frame));
  ++counters_.rendered;
  if (options_.target_width > 0 && options_.target_height > 0) {
    LV_ASSIGN_OR_RETURN(picture, StretchPicture(picture, options_.target_width, options_.target_height));
  }
  picture.time_s = current_.mark.time_s;
  picture.duration_s = current_.mark.duration_s;
  picture.key = current_.mark.key;
  return picture;
}

Result<Picture> Reader::Small(int width, int height) {
  if (current_.frame == nullptr) return InternalError(path_ + ": no picture was decoded to render");
  if (width < 1 || height < 1) return InvalidArgument(path_ + ": a small picture needs a size");
  FramePtr host;
  if (options_.hardware != nullptr) {
    const int step = PictureRenderer::SmallStep(current_.frame->height, height);
    LV_ASSIGN_OR_RETURN(host, options_.hardware->ToHost(*current_.frame, step));
  }
  LV_ASSIGN_OR_RETURN(Picture picture, renderer_->Small(host != nullptr ? *host : *current_.frame, width, height));
  picture.time_s = current_.mark.time_s;
  picture.duration_s = current_.mark.duration_s;
  picture.key = current_.mark.key;
  return picture;
}

Result<std::optional<DevicePicture>> Reader::RenderOnDevice(const PreprocessSpec& spec, int thumbnail) {
  if (current_.frame == nullptr) return InternalError(path_ + ": no picture was decoded to render");
  if (options_.hardware == nullptr) return std::optional<DevicePicture>();
  LV_ASSIGN_OR_RETURN(const char* treatment, renderer_->Treatment(*current_.frame));
  if (treatment != nullptr) {
    if (treatment_ == nullptr) LogInfo(path_ + ": a picture goes through the processor: " + treatment);
    treatment_ = treatment;
    return std::optional<DevicePicture>();
  }
  LV_ASSIGN_OR_RETURN(DevicePicture picture, options_.hardware->Render(*current_.frame, spec, thumbnail));
  ++counters_.rendered;
  return std::optional<DevicePicture>(std::move(picture));
}

Result<std::optional<Picture>> Reader::Next() {
  LV_ASSIGN_OR_RETURN(const std::optional<FrameMark> mark, Advance());
  if (!mark) return std::optional<Picture>();
  LV_ASSIGN_OR_RETURN(Picture picture, Render());
  return std::optional<Picture>(std::move(picture));
}

// ---- going to a time

bool Reader::CanReadOn(double time_s) const {
  if (current_.frame == nullptr && ready_.empty()) return false;
  const double here = current_.frame != nullptr ? current_.mark.time_s : ready_.front().mark.time_s;
  if (here > time_s + kSame_s) return false;
  if (untimed()) return true;
  if (!span_.index) return time_s - here < kReadOn_s;
  const std::optional<size_t> key = span_.index->KeyAt(ToTicks(time_s));
  return !key || ToSeconds(span_.index->keys()[*key].ticks) <= here + kSame_s;
}

void Reader::Forget() {
  decoder_->Flush();
  damage_.Flushed();
  draining_ = at_end_ = false;
  need_key_ = true;
  decode_times_.clear();
  last_ticks_.reset();
  jump_offset_ = 0;
  ready_.clear();
  current_ = Decoded();
  ++counters_.seeks;
}

// The start is reached by opening anew: not every format can be sought in.
Status Reader::Rewind() {
  LV_ASSIGN_OR_RETURN(auto demuxer, Demuxer::Open(path_, options_.max_pixels, stop_));
  if (demuxer->stream()->codecpar->codec_id != demuxer_->stream()->codecpar->codec_id) {
    return IoError(path_ + ": the file was replaced by another while it was read");
  }
  Forget();
  ++counters_.rewinds;
  pictures_out_ = 0;
  packet_position_ = picture_position_ = 0;
  demuxer_ = std::move(demuxer);
  if (options_.decode == DecodeMode::kKeyframe) demuxer_->stream()->discard = AVDISCARD_NONKEY;
  renderer_->Rebind(demuxer_->format(), demuxer_->stream());
  return Status::Ok();
}

// Goes to a keyframe at or before the time, further back with each attempt. True where that is the start of the file.
Result<bool> Reader::JumpBefore(double time_s, int attempt) {
  const int64_t back = (int64_t{1} << std::min(attempt, 40)) - 1;
  bool jumped = false;
  if (!untimed() && span_.index) {
    const std::optional<size_t> key = span_.index->KeyAt(ToTicks(time_s));
    // A clock that was started again makes a time ambiguous; a byte is not.
    const bool clear = demuxer_->seeks_by_byte() || span_.index->segments() == 1;
    if (clear && key && static_cast<int64_t>(*key) > back) {
      const FrameIndex::Key& k = span_.index->keys()[*key - static_cast<size_t>(back)];
      const std::optional<int64_t> stamp = demuxer_->seeks_by_dts() && k.dts ? k.dts : k.pts;
      if (demuxer_->seeks_by_byte()) {
        jumped = k.position >= 0 && demuxer_->SeekToByte(k.position);
      } else if (stamp) {
        jumped = demuxer_->SeekTo(*stamp);
      }
    }
  } else if (!untimed() && !info_.still) {
    const double target = time_s - 2.0 * static_cast<double>(back);
    if (target > info_.first_time_s) jumped = demuxer_->SeekTo(ToTicks(target));
  }
  if (jumped) {
    Forget();
    return false;
  }
  LV_RETURN_IF_ERROR(Rewind());
  return true;
}

// Afterwards the next picture to be taken is the last one with time <= time_s, or the first of all.
Status Reader::Locate(double time_s) {
  bool read_on = CanReadOn(time_s);
  for (int attempt = 0;; ++attempt) {
    bool from_start = false;
    std::optional<Decoded> found;
    if (read_on && current_.frame != nullptr) {
      found = std::move(current_);
      current_ = Decoded();
    } else if (!read_on) {
      LV_ASSIGN_OR_RETURN(from_start, JumpBefore(time_s, attempt));
    }
    while (true) {
      LV_ASSIGN_OR_RETURN(std::optional<Decoded> next, TakeNext());
      if (!next) break;
      if (next->mark.time_s > time_s + kSame_s) {
        ready_.push_front(std::move(*next));
        break;
      }
      found = std::move(*next);
    }
    if (found) ready_.push_front(std::move(*found));
    if (found || from_start) return Status::Ok();
    read_on = false;
  }
}

Status Reader::Seek(double time_s) {
  if (!(time_s < end_s_ - kSame_s)) {
    return OutOfRange(path_ + ": " + Seconds(time_s) + " s is past the end of its pictures at " + Seconds(end_s_) +
                      " s");
  }
  return Locate(time_s);
}

Result<Picture> Reader::PictureAt(double time_s) {
  if (!(time_s >= info_.first_time_s - kSame_s)) {
    return OutOfRange(path_ + ": no picture at " + Seconds(time_s) + " s; the first one is at " +
                      Seconds(info_.first_time_s) + " s");
  }
  LV_RETURN_IF_ERROR(Seek(time_s));
  LV_ASSIGN_OR_RETURN(const std::optional<FrameMark> mark, Advance());
  const bool damaged = damage_.DamagedAt(time_s + kSame_s).has_value();
  if (!mark || mark->time_s > time_s + kSame_s || damaged) {
    return Damaged(path_ + ": the film could not be decoded at " + Seconds(time_s) + " s");
  }
  return Render();
}

DamageReport Reader::Damage() const {
  DamageReport report;
  report.spans = damage_.spans();
  report.shortened = demuxer_->file().shortened();
  if (!report.spans.empty()) report.message = path_ + ": could not be decoded: " + SpansText(report.spans);
  if (report.shortened) {
    report.message +=
        (report.message.empty() ? path_ + ": " : "; ") + std::string("the file became shorter while it was read");
  }
  return report;
}

}  // namespace
}  // namespace av

std::string SpansText(std::span<const DamagedSpan> spans) {
  std::string text;
  for (const DamagedSpan& span : spans) {
    text += (text.empty() ? "" : ", ") + av::Seconds(span.start_s) + " s to " + av::Seconds(span.end_s) + " s";
  }
  return text;
}

Result<std::unique_ptr<VideoReader>> VideoReader::Open(const std::string& path, const ReaderOptions& options,
                                                       std::stop_token stop) {
  auto reader = std::make_unique<av::Reader>(path, options, std::move(stop));
  LV_RETURN_IF_ERROR(reader->Init());
  return std::unique_ptr<VideoReader>(std::move(reader));
}

}  // namespace longview
