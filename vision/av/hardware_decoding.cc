// HardwareDecoding: rows to the host, pictures on the device; and which GPU's decoder this build has.
#include "vision/av/hardware_decoding.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "vision/av/picture_renderer.h"
#include "vision/av/video_reader.h"

#ifdef LONGVIEW_CUDA
#include "vision/av/cuda/nvdec.h"
#endif

namespace longview {
namespace av {

using Memory = GpuStream::Memory;

HardwareDecoding::HardwareDecoding(std::shared_ptr<GpuNet> net) : net_(std::move(net)) {}

HardwareDecoding::~HardwareDecoding() {
  // Nothing may still be writing to what is freed.
  (void)net_->Finish();
}

Status HardwareDecoding::Reserve(size_t bytes) {
  if (pinned_.bytes() >= bytes) return Status::Ok();
  pinned_ = GpuBuffer();
  LV_ASSIGN_OR_RETURN(pinned_, GpuBuffer::Make(net_, Memory::kPinned, bytes));
  return Status::Ok();
}

Result<FramePtr> HardwareDecoding::ToHost(const AVFrame& frame, int row_step) {
  LV_ASSIGN_OR_RETURN(const GpuSurface surface, SurfaceOf(frame));
  FramePtr host(av_frame_alloc());
  if (host == nullptr) return ResourceError("out of memory");
  host->format = surface.deep ? AV_PIX_FMT_P010LE : AV_PIX_FMT_NV12;
  host->width = static_cast<int>(surface.width);
  host->height = static_cast<int>(surface.height) / row_step;
  if (host->height < 1 || av_frame_get_buffer(host.get(), 0) < 0 || av_frame_copy_props(host.get(), &frame) < 0) {
    return ResourceError("a picture from the GPU does not fit into memory");
  }
  const size_t sample = surface.deep ? 2 : 1, step = static_cast<size_t>(row_step);
  const size_t luma_bytes = surface.width * sample, chroma_bytes = (surface.width + 1) / 2 * 2 * sample;
  const auto luma_rows = static_cast<size_t>(host->height), chroma_rows = (luma_rows + 1) / 2;
  LV_RETURN_IF_ERROR(Reserve(luma_rows * luma_bytes + chroma_rows * chroma_bytes));
  auto* luma = pinned_.As<std::byte>();
  std::byte* chroma = luma + luma_rows * luma_bytes;
  LV_RETURN_IF_ERROR(net_->DownloadRows(luma, surface.luma, step * surface.luma_pitch, luma_bytes, luma_rows));
  LV_RETURN_IF_ERROR(
      net_->DownloadRows(chroma, surface.chroma, step * surface.chroma_pitch, chroma_bytes, chroma_rows));
  LV_RETURN_IF_ERROR(net_->Finish());
  for (size_t row = 0; row < luma_rows; ++row) {
    std::memcpy(host->data[0] + static_cast<ptrdiff_t>(row) * host->linesize[0], luma + row * luma_bytes, luma_bytes);
  }
  for (size_t row = 0; row < chroma_rows; ++row) {
    std::memcpy(host->data[1] + static_cast<ptrdiff_t>(row) * host->linesize[1], chroma + row * chroma_bytes,
                chroma_bytes);
  }
  return host;
}

Result<DevicePicture> HardwareDecoding::Render(const AVFrame& frame, const PreprocessSpec& spec, int thumbnail) {
  GpuStretch stretch;
  LV_ASSIGN_OR_RETURN(stretch.from, SurfaceOf(frame));
  stretch.colours = ColoursOf(frame);
  stretch.size = static_cast<uint32_t>(spec.size);
  std::copy(spec.mean.begin(), spec.mean.end(), stretch.mean);
  std::copy(spec.std.begin(), spec.std.end(), stretch.std);
  const size_t numbers = 3 * size_t{stretch.size} * stretch.size;
  LV_ASSIGN_OR_RETURN(GpuBuffer chw, GpuBuffer::Make(net_, Memory::kDevice, numbers * sizeof(float)));
  stretch.chw = chw.As<float>();
  LV_RETURN_IF_ERROR(net_->StretchPicture(stretch));
  DevicePicture picture;
  if (thumbnail > 0) {
    Picture& to = picture.thumbnail;
    std::tie(to.width, to.height) = ThumbnailSize(frame.width, frame.height, thumbnail);
    to.rgb.resize(static_cast<size_t>(to.width) * static_cast<size_t>(to.height) * 3);
    if (small_.bytes() < to.rgb.size()) {
      LV_ASSIGN_OR_RETURN(small_, GpuBuffer::Make(net_, Memory::kDevice, to.rgb.size()));
    }
    LV_RETURN_IF_ERROR(Reserve(to.rgb.size()));
    LV_RETURN_IF_ERROR(net_->ShrinkPicture({stretch.from, stretch.colours, small_.As<uint8_t>(),
                                            static_cast<uint32_t>(to.width), static_cast<uint32_t>(to.height)}));
    LV_RETURN_IF_ERROR(net_->Download(pinned_.As<uint8_t>(), small_.As<uint8_t>(), to.rgb.size()));
  }
  // The frame's memory goes back to the decoder, and other streams read the picture.
  LV_RETURN_IF_ERROR(net_->Finish());
  if (thumbnail > 0) std::copy_n(pinned_.As<uint8_t>(), picture.thumbnail.rgb.size(), picture.thumbnail.rgb.begin());
  picture.chw = std::make_shared<GpuBuffer>(std::move(chw));
  return picture;
}

}  // namespace av

Result<std::shared_ptr<av::HardwareDecoding>> OpenHardwareDecoding(std::shared_ptr<GpuNet> net) {
#ifdef LONGVIEW_CUDA
  return av::OpenNvdec(std::move(net));
#else
  (void)net;
  return Unsupported("this build has no CUDA");
#endif
}

}  // namespace longview
