// OpenNvdec: FFmpeg's CUDA device on a context and stream that are ours.
#include "vision/av/cuda/nvdec.h"

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
}

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace longview::av {
namespace {

// Coding whose every decoder gives the same pictures, to the bit: those of others would not be the processor's.
constexpr AVCodecID kExact[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1};

// Decoded pictures that a reader may hold beside those that the decoder needs itself.
constexpr int kHeldFrames = 6;

struct BufferDeleter {
  void operator()(AVBufferRef* p) const { av_buffer_unref(&p); }
};
using BufferPtr = std::unique_ptr<AVBufferRef, BufferDeleter>;

// Where the device does not take a stream FFmpeg offers no such form (any more); the frames then come in the host's
// memory, which SurfaceOf tells.
AVPixelFormat ChooseFormat(AVCodecContext* context, const AVPixelFormat* offered) {
  for (const AVPixelFormat* format = offered; *format != AV_PIX_FMT_NONE; ++format) {
    if (*format == AV_PIX_FMT_CUDA) return *format;
  }
  return avcodec_default_get_format(context, offered);
}

bool TakesDevice(const AVCodec* codec) {
  for (int i = 0;; ++i) {
    const AVCodecHWConfig* config = avcodec_get_hw_config(codec, i);
    if (config == nullptr) return false;
    if (config->device_type == AV_HWDEVICE_TYPE_CUDA &&
        (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) != 0) {
      return true;
    }
  }
}

class Nvdec final : public HardwareDecoding {
 public:
  Nvdec(std::shared_ptr<GpuNet> net, BufferPtr device) : HardwareDecoding(std::move(net)), device_(std::move(device)) {}

  Result<const AVCodec*> Decoder(AVCodecID id) const override {
    const bool exact = std::find(std::begin(kExact), std::end(kExact), id) != std::end(kExact);
    void* at = nullptr;
    while (const AVCodec* codec = exact ? av_codec_iterate(&at) : nullptr) {
      // FFmpeg's own parsers with the device beneath; its wrappers of NVIDIA's parser tell less of what they read.
      const bool wrapper = (codec->capabilities & (AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID)) != 0;
      if (codec->id == id && av_codec_is_decoder(codec) != 0 && !wrapper && TakesDevice(codec)) return codec;
    }
    return Unsupported(std::string("no GPU decodes ") + avcodec_get_name(id) + " here");
  }

  Status Attach(AVCodecContext* context) override {
    context->hw_device_ctx = av_buffer_ref(device_.get());
    if (context->hw_device_ctx == nullptr) return ResourceError("out of memory");
    context->get_format = ChooseFormat;
    context->extra_hw_frames = kHeldFrames;
    return Status::Ok();
  }

  Result<GpuSurface> SurfaceOf(const AVFrame& frame) override {
    if (frame.format != AV_PIX_FMT_CUDA || frame.hw_frames_ctx == nullptr) {
      return Unsupported("the GPU does not decode this kind of stream");
    }
    const auto* frames = reinterpret_cast<const AVHWFramesContext*>(frame.hw_frames_ctx->data);
    const AVPixelFormat form = frames->sw_format;
    if (form != AV_PIX_FMT_NV12 && form != AV_PIX_FMT_P010LE) {
      const char* name = av_get_pix_fmt_name(form);
      return Unsupported(std::string("pictures come from the GPU as ") + (name == nullptr ? "unknown" : name));
    }
    // FFmpeg cuts hardware frames on the right and below alone.
    if (frame.crop_left != 0 || frame.crop_top != 0) return Unsupported("its pictures are cut on the left or above");
    GpuSurface surface;
    surface.luma = reinterpret_cast<const std::byte*>(frame.data[0]);
    surface.chroma = reinterpret_cast<const std::byte*>(frame.data[1]);
    surface.luma_pitch = static_cast<size_t>(frame.linesize[0]);
    surface.chroma_pitch = static_cast<size_t>(frame.linesize[1]);
    surface.width = static_cast<uint32_t>(frame.width);
    surface.height = static_cast<uint32_t>(frame.height);
    surface.deep = form == AV_PIX_FMT_P010LE;
    return surface;
  }

 private:
  const BufferPtr device_;
};

}  // namespace

Result<std::shared_ptr<HardwareDecoding>> OpenNvdec(std::shared_ptr<GpuNet> net) {
  LV_ASSIGN_OR_RETURN(const GpuHandles handles, net->Handles());
  BufferPtr device(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA));
  if (device == nullptr) return Unsupported("FFmpeg was built without CUDA");
  auto* cuda = static_cast<AVCUDADeviceContext*>(reinterpret_cast<AVHWDeviceContext*>(device->data)->hwctx);
  cuda->cuda_ctx = static_cast<CUcontext>(handles.context);
  cuda->stream = static_cast<CUstream>(handles.stream);
  const int code = av_hwdevice_ctx_init(device.get());
  if (code < 0) return InternalError("FFmpeg cannot use the GPU (" + AvError(code) + ")");
  return std::shared_ptr<HardwareDecoding>(std::make_shared<Nvdec>(std::move(net), std::move(device)));
}

}  // namespace longview::av
