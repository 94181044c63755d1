// ScanStream: the whole file, or its two ends.
#include "vision/av/stream_scan.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace longview::av {
namespace {

constexpr int64_t kEdgePackets = 3000;  // read from the start of a large file, to tell its steps
constexpr double kTail_s = 20.0;        // read from the end of a large file
constexpr double kAgree_s = 0.5;        // a header that is off by less is right

std::optional<int64_t> Known(int64_t ticks) {
  return ticks == AV_NOPTS_VALUE ? std::nullopt : std::optional<int64_t>(ticks);
}

// Ticks of one picture by the header's rate.
int64_t HeaderStep(const Demuxer& demuxer) {
  AVStream* stream = demuxer.stream();
  AVRational rate = av_guess_frame_rate(demuxer.format(), stream, nullptr);
  if (rate.num <= 0 || rate.den <= 0) rate = {25, 1};
  return std::max<int64_t>(1, av_rescale_q(1, av_inv_q(rate), stream->time_base));
}

// Reads up to `limit` packets (< 0: all) into an index.
Result<FrameIndex> ReadPackets(Demuxer& demuxer, int64_t limit) {
  FrameIndex index(demuxer.tick_s(), HeaderStep(demuxer), demuxer.stores_pts());
  PacketPtr packet(av_packet_alloc());
  if (packet == nullptr) return ResourceError(demuxer.file().path() + ": out of memory");
  for (int64_t n = 0; limit < 0 || n < limit; ++n) {
    LV_ASSIGN_OR_RETURN(const bool more, demuxer.Read(packet.get()));
    if (!more) break;
    FrameIndex::Packet entry;
    entry.pts = Known(packet->pts);
    entry.dts = Known(packet->dts);
    entry.duration = std::max<int64_t>(0, packet->duration);
    entry.position = packet->pos;
    entry.key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
    entry.discard = (packet->flags & AV_PKT_FLAG_DISCARD) != 0;
    av_packet_unref(packet.get());
    index.Add(entry);
  }
  index.Finish();
  return index;
}

Result<StreamSpan> ScanAll(Demuxer& demuxer) {
  LV_ASSIGN_OR_RETURN(FrameIndex index, ReadPackets(demuxer, -1));
  StreamSpan span;
  span.first_ticks = index.first_ticks();
  span.end_ticks = index.end_ticks();
  span.step_ticks = index.step_ticks();
  span.vfr = index.vfr();
  const double length = static_cast<double>(span.end_ticks - span.first_ticks) * demuxer.tick_s();
  span.fps_avg = length > 0.0 ? static_cast<double>(index.count()) / length : 0.0;
  span.index = std::move(index);
  return span;
}

// The header's end of the film, or nothing where it does not say.
std::optional<int64_t> HeaderEnd(const Demuxer& demuxer) {
  const AVStream* stream = demuxer.stream();
  if (stream->start_time == AV_NOPTS_VALUE) return std::nullopt;
  if (stream->duration != AV_NOPTS_VALUE && stream->duration > 0) return stream->start_time + stream->duration;
  const int64_t whole = demuxer.format()->duration;
  if (whole == AV_NOPTS_VALUE || whole <= 0) return std::nullopt;
  return stream->start_time + av_rescale_q(whole, AVRational{1, AV_TIME_BASE}, stream->time_base);
}

// A large file's two ends. Nothing where they and the header do not agree.
Result<std::optional<StreamSpan>> ScanEnds(Demuxer& demuxer) {
  const std::optional<int64_t> header_end = HeaderEnd(demuxer);
  if (!header_end) return std::optional<StreamSpan>();
  LV_ASSIGN_OR_RETURN(const FrameIndex head, ReadPackets(demuxer, kEdgePackets));
  const int64_t tail_start = *header_end - static_cast<int64_t>(kTail_s / demuxer.tick_s());
  if (head.untimed() || head.segments() != 1 || !demuxer.SeekTo(tail_start)) return std::optional<StreamSpan>();
  LV_ASSIGN_OR_RETURN(const FrameIndex tail, ReadPackets(demuxer, -1));
  const double off = static_cast<double>(tail.end_ticks() - *header_end) * demuxer.tick_s();
  if (tail.count() == 0 || tail.untimed() || tail.segments() != 1 || std::abs(off) > kAgree_s) {
    return std::optional<StreamSpan>();
  }
  StreamSpan span;
  span.first_ticks = head.first_ticks();
  span.end_ticks = tail.end_ticks();
  span.step_ticks = head.step_ticks();
  const double ratio = static_cast<double>(head.step_ticks()) / static_cast<double>(tail.step_ticks());
  span.vfr = head.vfr() || tail.vfr() || ratio < 0.75 || ratio > 1.33;
  const double length = static_cast<double>(span.end_ticks - span.first_ticks) * demuxer.tick_s();
  const AVStream* stream = demuxer.stream();
  const double rate = av_q2d(stream->avg_frame_rate.den > 0 ? stream->avg_frame_rate : AVRational{0, 1});
  const double count = static_cast<double>(stream->nb_frames);  // with those that an edit list cuts off
  span.fps_avg = rate > 0.0                    ? rate
                 : count > 0.0 && length > 0.0 ? count / length
                                               : 1.0 / (static_cast<double>(span.step_ticks) * demuxer.tick_s());
  return std::optional<StreamSpan>(std::move(span));
}

}  // namespace

Result<StreamSpan> ScanStream(const Demuxer& demuxer, const ReaderOptions& options, std::stop_token stop) {
  const std::string& path = demuxer.file().path();
  LV_ASSIGN_OR_RETURN(auto scanner, Demuxer::Open(path, options.max_pixels, stop));
  if (!demuxer.needs_scan() && demuxer.file().size() > options.read_all_below) {
    LV_ASSIGN_OR_RETURN(std::optional<StreamSpan> span, ScanEnds(*scanner));
    if (span) return std::move(*span);
    LV_ASSIGN_OR_RETURN(scanner, Demuxer::Open(path, options.max_pixels, stop));
  }
  return ScanAll(*scanner);
}

}  // namespace longview::av
