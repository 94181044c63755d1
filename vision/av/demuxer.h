// Demuxer: one open file, its film stream, and that stream's packets. Private to vision/av.
//
// FFmpeg never sees the path and never opens anything itself: it reads through FileSource, so reading can be stopped,
// and a playlist or a reference to another file or address leads nowhere.
#ifndef LONGVIEW_VISION_AV_DEMUXER_H_
#define LONGVIEW_VISION_AV_DEMUXER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/base/status.h"
#include "vision/av/ffmpeg_ptr.h"
#include "vision/av/file_source.h"

namespace longview::av {

class Demuxer {
 public:
  // Errors as VideoReader::Open has them.
  static Result<std::unique_ptr<Demuxer>> Open(const std::string& path, int64_t max_pixels, std::stop_token stop);
  ~Demuxer();

  // The next packet of the film stream, in the file's order; false at the end. kIo, kCancelled.
  Result<bool> Read(AVPacket* packet);

  // To the keyframe at or before `timestamp` (ticks of the stream), as far as the container can tell. False where it
  // cannot.
  bool SeekTo(int64_t timestamp);
  // To the packet at this byte; for transport streams.
  bool SeekToByte(int64_t position);

  AVFormatContext* format() const { return format_.get(); }
  AVStream* stream() const { return format_->streams[stream_]; }
  double tick_s() const { return av_q2d(stream()->time_base); }
  // Joined or wrapped timestamps are normal in this format, or it has none: only a scan of the packets tells.
  bool needs_scan() const;
  // A picture file (PNG, JPEG, ...): one picture, no duration.
  bool still() const { return still_; }
  // A picture format that may hold several (GIF, APNG, AVIF): one of one picture is a still.
  bool maybe_still() const;
  bool audio() const { return audio_; }
  // Where the earliest sound stream starts, in seconds of the container's own clock.
  std::optional<double> audio_start_s() const { return audio_start_s_; }
  // The timecode of the first picture as the container has it, of the film stream, else of another, else of the file;
  // empty where there is none.
  std::string timecode() const;
  // Presentation times are in the file, not guessed.
  bool stores_pts() const;
  // Sought in by byte position (transport and program streams), not by time.
  bool seeks_by_byte() const;
  // MP4 and its kin look packets up by decoding time, the others by presentation time.
  bool seeks_by_dts() const;
  const FileSource& file() const { return *file_; }

 private:
  Demuxer(std::unique_ptr<FileSource> file, std::stop_token stop);
  Status Init(int64_t max_pixels);
  Status Probe(int64_t max_pixels, const AVInputFormat** input);
  Status PickStream();
  Status CheckSizes(int64_t max_pixels) const;
  // The reason that stands behind an FFmpeg error code.
  Status Fail(const std::string& what, int code) const;

  static int ReadBytes(void* self, uint8_t* out, int size);
  static int64_t SeekBytes(void* self, int64_t offset, int whence);
  static int Interrupted(void* self);

  std::unique_ptr<FileSource> file_;
  std::stop_token stop_;
  Status io_status_;  // the last failure of file_
  int64_t position_ = 0;
  IoPtr io_;  // outlives format_
  FormatPtr format_;
  unsigned stream_ = 0;
  bool still_ = false;
  bool audio_ = false;
  std::optional<double> audio_start_s_;
};

// Why a picture of this size is refused.
std::string TooLargeMessage(const std::string& path, int64_t width, int64_t height, int64_t max_pixels);

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_DEMUXER_H_
