// VideoDecoder: choosing and driving libavcodec's decoder.
#include "vision/av/video_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "vision/av/frame_fields.h"
#include "vision/av/hardware_decoding.h"

namespace longview::av {
namespace {

// Every decoder thread holds pictures of its own: 53 MB each at 8192 x 4320.
constexpr int64_t kOneThreadAbove = int64_t{16} * 1000 * 1000;

bool HasAlpha(const AVStream* stream) {
  const AVDictionaryEntry* alpha = av_dict_get(stream->metadata, "alpha_mode", nullptr, 0);
  return alpha != nullptr && std::strcmp(alpha->value, "1") == 0;
}

const AVCodec* ChooseDecoder(const AVStream* stream) {
  const AVCodecID id = stream->codecpar->codec_id;
  if (HasAlpha(stream)) {
    // FFmpeg's own VP8 and VP9 decoders skip the side packets that carry the alpha plane.
    const char* name = id == AV_CODEC_ID_VP9 ? "libvpx-vp9" : id == AV_CODEC_ID_VP8 ? "libvpx" : nullptr;
    const AVCodec* codec = name == nullptr ? nullptr : avcodec_find_decoder_by_name(name);
    if (codec != nullptr) return codec;
  }
  return avcodec_find_decoder(id);
}

}  // namespace

Result<std::unique_ptr<VideoDecoder>> VideoDecoder::Open(const std::string& path, AVStream* stream,
                                                         const ReaderOptions& options) {
  const AVCodec* codec = ChooseDecoder(stream);
  if (options.hardware != nullptr) {
    if (HasAlpha(stream)) return Unsupported(path + ": no GPU decodes transparency");
    LV_ASSIGN_OR_RETURN(codec, options.hardware->Decoder(stream->codecpar->codec_id));
  }
  const char* name = avcodec_get_name(stream->codecpar->codec_id);
  if (codec == nullptr) {
    return Unsupported(path + ": there is no decoder here for its video (" + name + ")")
        .About(path, StatusReason::kNoDecoder);
  }
  CodecPtr context(avcodec_alloc_context3(codec));
  if (context == nullptr) return ResourceError(path + ": out of memory");
  int code = avcodec_parameters_to_context(context.get(), stream->codecpar);
  if (code < 0) return Damaged(path + ": its video header cannot be used (" + AvError(code) + ")").About(path);
  context->pkt_timebase = stream->time_base;
  context->max_pixels = options.max_pixels;
  const int64_t pixels = static_cast<int64_t>(context->width) * context->height;
  context->thread_count = pixels > kOneThreadAbove ? 1 : std::clamp(options.threads, 1, 16);
  if (options.decode == DecodeMode::kFast) {
    context->skip_loop_filter = AVDISCARD_ALL;
    context->skip_frame = AVDISCARD_NONREF;
  } else if (options.decode == DecodeMode::kKeyframe) {
    context->skip_loop_filter = AVDISCARD_ALL;
    context->skip_frame = AVDISCARD_NONKEY;
    stream->discard = AVDISCARD_NONKEY;
  }
  if (options.hardware != nullptr) {
    context->thread_count = 1;  // the device is what works
    LV_RETURN_IF_ERROR(options.hardware->Attach(context.get()));
  }
  PreparePosition(context.get());
  code = avcodec_open2(context.get(), codec, nullptr);
  if (code < 0) {
    return Damaged(path + ": its video (" + name + ") cannot be decoded (" + AvError(code) + ")").About(path);
  }
  return std::unique_ptr<VideoDecoder>(new VideoDecoder(std::move(context)));
}

bool VideoDecoder::Send(AVPacket* packet) {
  if (packet != nullptr) NotePosition(packet);
  const int code = avcodec_send_packet(codec_.get(), packet);
  return code >= 0 || code == AVERROR_EOF;
}

VideoDecoder::Got VideoDecoder::Receive(AVFrame* frame) {
  const int code = avcodec_receive_frame(codec_.get(), frame);
  if (code >= 0) {
    // What this form says by itself, a picture on a device does not.
    if (codec_->hw_device_ctx != nullptr && codec_->sw_pix_fmt == AV_PIX_FMT_YUVJ420P) {
      frame->color_range = AVCOL_RANGE_JPEG;
      if (frame->colorspace == AVCOL_SPC_UNSPECIFIED) frame->colorspace = AVCOL_SPC_BT470BG;
    }
    return Got::kPicture;
  }
  if (code == AVERROR(EAGAIN)) return Got::kNeedsMore;
  return code == AVERROR_EOF ? Got::kEnd : Got::kError;
}

void VideoDecoder::Flush() { avcodec_flush_buffers(codec_.get()); }

bool VideoDecoder::Flawed(const AVFrame& frame) {
  // Missing references are left out: streams cut by broadcasters and meeting tools carry that mark with sound pictures.
  constexpr int kFlaws =
      FF_DECODE_ERROR_INVALID_BITSTREAM | FF_DECODE_ERROR_DECODE_SLICES | FF_DECODE_ERROR_CONCEALMENT_ACTIVE;
  return (frame.decode_error_flags & kFlaws) != 0;
}

}  // namespace longview::av
