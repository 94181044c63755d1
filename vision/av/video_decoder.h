// VideoDecoder: packets of one stream in, decoded pictures out. Private to vision/av.
#ifndef LONGVIEW_VISION_AV_VIDEO_DECODER_H_
#define LONGVIEW_VISION_AV_VIDEO_DECODER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/status.h"
#include "vision/av/ffmpeg_ptr.h"
#include "vision/av/video_reader.h"

namespace longview::av {

class VideoDecoder {
 public:
  enum class Got {
    kPicture,
    kNeedsMore,  // send another packet
    kEnd,        // everything came out after the null packet
    kError,      // something it was given could not be decoded; go on
  };

  // Picks the decoder (libvpx where a WebM stream carries alpha in side packets) and opens it; with options.hardware
  // the one that decodes there. `path` is for messages. kUnsupported, kDamaged.
  static Result<std::unique_ptr<VideoDecoder>> Open(const std::string& path, AVStream* stream,
                                                    const ReaderOptions& options);

  // False where the packet could not be decoded. Null: no more will come. Call Receive until kNeedsMore before each.
  bool Send(AVPacket* packet);
  Got Receive(AVFrame* frame);
  // Forgets what is underway, after a seek.
  void Flush();

  // The form of pictures where the processor decodes them.
  AVPixelFormat format() const { return codec_->hw_device_ctx != nullptr ? codec_->sw_pix_fmt : codec_->pix_fmt; }

  // Whether the decoder itself marked this picture as patched up.
  static bool Flawed(const AVFrame& frame);

 private:
  explicit VideoDecoder(CodecPtr codec) : codec_(std::move(codec)) {}
  CodecPtr codec_;
};

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_VIDEO_DECODER_H_
