// Remuxing of one span with libavformat.
#include "vision/av/clip_cutter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

#include "core/io/replace_file.h"
#include "vision/av/ffmpeg_ptr.h"

namespace longview {
namespace {

namespace fs = std::filesystem;
using av::AvError;

struct OutputDeleter {
  void operator()(AVFormatContext* context) const {
    if (context->pb != nullptr) avio_closep(&context->pb);
    avformat_free_context(context);
  }
};
using OutputPtr = std::unique_ptr<AVFormatContext, OutputDeleter>;

int Interrupted(void* stop) { return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0; }

// The input, opened with the stop token as its interrupt.
Status OpenInput(const std::string& video, const std::stop_token* stop, av::FormatPtr* input) {
  AVFormatContext* context = avformat_alloc_context();
  if (context == nullptr) return ResourceError(video + ": out of memory");
  context->interrupt_callback = {Interrupted, const_cast<std::stop_token*>(stop)};
  // "file:" keeps a name with a colon from being read as an address. On failure FFmpeg frees the context.
  int code = avformat_open_input(&context, ("file:" + video).c_str(), nullptr, nullptr);
  if (code < 0) return stop->stop_requested() ? Cancelled() : Damaged(video + ": cannot be read: " + AvError(code));
  input->reset(context);
  code = avformat_find_stream_info(context, nullptr);
  if (stop->stop_requested()) return Cancelled();
  return code < 0 ? Damaged(video + ": its streams cannot be read: " + AvError(code)) : Status::Ok();
}

// One stream of the output for each one of the input that the format can hold; map[i] is its number or -1.
Status AddStreams(const AVFormatContext& input, const std::string& out, AVFormatContext* output,
                  std::vector<int>* map) {
  map->assign(input.nb_streams, -1);
  int streams = 0;
  bool picture = false;
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    const AVStream& from = *input.streams[i];
    const AVMediaType type = from.codecpar->codec_type;
    const bool wanted = type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO || type == AVMEDIA_TYPE_SUBTITLE;
    const bool cover = (from.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
    if (!wanted || cover || avformat_query_codec(output->oformat, from.codecpar->codec_id, FF_COMPLIANCE_NORMAL) == 0) {
      continue;
    }
    AVStream* to = avformat_new_stream(output, nullptr);
    if (to == nullptr || avcodec_parameters_copy(to->codecpar, from.codecpar) < 0) {
      return ResourceError(out + ": out of memory");
    }
    to->codecpar->codec_tag = 0;
    to->time_base = from.time_base;
    to->disposition = from.disposition;
    to->sample_aspect_ratio = from.sample_aspect_ratio;
    av_dict_copy(&to->metadata, from.metadata, 0);
    // The turn of a phone's film is side data of its stream.
    for (int d = 0; d < from.nb_side_data; ++d) {
      uint8_t* copy = av_stream_new_side_data(to, from.side_data[d].type, from.side_data[d].size);
      if (copy != nullptr) std::copy_n(from.side_data[d].data, from.side_data[d].size, copy);
    }
    (*map)[i] = streams++;
    picture = picture || type == AVMEDIA_TYPE_VIDEO;
  }
  if (!picture) return Unsupported(out + ": this format cannot hold the film's pictures as they are; try .mkv");
  return Status::Ok();
}

struct Span {
  double start = 0.0;  // on the file's own clock
  double end = 0.0;
};

// Copies the packets of the span, times counted from the span's first keyframe.
Status CopyPackets(AVFormatContext* input, const std::vector<int>& map, const Span& span, const std::string& out,
                   const JobContext& job, AVFormatContext* output) {
  const int lead = av_find_best_stream(input, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  const av::PacketPtr packet(av_packet_alloc());
  if (packet == nullptr || lead < 0) return ResourceError(out + ": out of memory");
  double base = std::numeric_limits<double>::quiet_NaN();
  std::vector<bool> past(input->nb_streams, false);
  while (true) {
    if (job.stop.stop_requested()) return Cancelled();
    const int code = av_read_frame(input, packet.get());
    if (code == AVERROR_EOF) break;
    if (code < 0)
      return job.stop.stop_requested() ? Cancelled() : IoError(out + ": reading the film: " + AvError(code));
    const auto index = static_cast<size_t>(packet->stream_index);
    const int64_t stamp = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
    if (index >= map.size() || map[index] < 0 || stamp == AV_NOPTS_VALUE) {
      av_packet_unref(packet.get());
      continue;
    }
    const AVStream& from = *input->streams[index];
    const double time = static_cast<double>(stamp) * av_q2d(from.time_base);
    if (std::isnan(base) && packet->stream_index == lead && (packet->flags & AV_PKT_FLAG_KEY) != 0) base = time;
    past[index] = past[index] || time > span.end;
    if (past[static_cast<size_t>(lead)] && time > span.end + 1.0) break;
    if (std::isnan(base) || past[index] || time < base) {
      av_packet_unref(packet.get());
      continue;
    }
    const auto shift = static_cast<int64_t>(std::llround(base / av_q2d(from.time_base)));
    if (packet->pts != AV_NOPTS_VALUE) packet->pts -= shift;
    if (packet->dts != AV_NOPTS_VALUE) packet->dts -= shift;
    const AVStream& to = *output->streams[map[index]];
    av_packet_rescale_ts(packet.get(), from.time_base, to.time_base);
    packet->stream_index = map[index];
    packet->pos = -1;
    if (job.progress && std::isfinite(span.end)) job.progress({time - span.start, span.end - span.start});
    const int written = av_interleaved_write_frame(output, packet.get());
    if (written < 0) return IoError(out + ": " + AvError(written));
  }
  if (std::isnan(base)) return OutOfRange(out + ": nothing of the film lies within that span");
  return Status::Ok();
}

Status WriteClip(AVFormatContext* input, const Span& span, const std::string& out, const std::string& temporary,
                 const JobContext& job) {
  const AVOutputFormat* format = av_guess_format(nullptr, out.c_str(), nullptr);
  if (format == nullptr) return Unsupported(out + ": no format is known for this extension; use .mp4 or .mkv");
  AVFormatContext* context = nullptr;
  if (avformat_alloc_output_context2(&context, format, nullptr, temporary.c_str()) < 0) {
    return ResourceError(out + ": out of memory");
  }
  const OutputPtr output(context);
  std::vector<int> map;
  LV_RETURN_IF_ERROR(AddStreams(*input, out, output.get(), &map));
  int code = avio_open(&output->pb, ("file:" + temporary).c_str(), AVIO_FLAG_WRITE);
  if (code < 0) return IoError(out + ": cannot be written: " + AvError(code));
  output->avoid_negative_ts = AVFMT_AVOID_NEG_TS_MAKE_ZERO;
  code = avformat_write_header(output.get(), nullptr);
  if (code < 0) return Unsupported(out + ": the format refuses these streams (" + AvError(code) + "); try .mkv");
  LV_RETURN_IF_ERROR(CopyPackets(input, map, span, out, job, output.get()));
  code = av_write_trailer(output.get());
  if (code >= 0) code = avio_closep(&output->pb);
  return code < 0 ? IoError(out + ": " + AvError(code)) : Status::Ok();
}

}  // namespace

Status CopyClip(const std::string& video, double start_s, double end_s, const std::string& out, const JobContext& job) {
  if (!(start_s >= 0.0 && end_s > start_s)) return InvalidArgument(out + ": the clip would end before it starts");
  std::error_code error;
  if (fs::equivalent(video, out, error)) return InvalidArgument(out + ": this is the film itself; choose another name");
  av::FormatPtr input;
  LV_RETURN_IF_ERROR(OpenInput(video, &job.stop, &input));
  const double zero = input->start_time == AV_NOPTS_VALUE ? 0.0 : static_cast<double>(input->start_time) / AV_TIME_BASE;
  const Span span = {start_s + zero, end_s + zero};
  // A format that cannot be sought is read from its beginning: the clip is then the right one, only later.
  const auto target = static_cast<int64_t>(span.start * AV_TIME_BASE);
  (void)avformat_seek_file(input.get(), -1, std::numeric_limits<int64_t>::min(), target, target, 0);

  LV_ASSIGN_OR_RETURN(const ReplaceTarget place, FindReplaceTarget(out));
  const fs::path& path = place.path;
  const fs::path temporary = path.parent_path() / ("." + path.stem().string() + ".part" + path.extension().string());
  const Status status = WriteClip(input.get(), span, out, temporary.string(), job);
  if (status.ok()) return PutInPlace(temporary, place);
  fs::remove(temporary, error);
  return status;
}

}  // namespace longview
