// HardwareDecoding: a GPU's video decoder beneath libavcodec, and pictures made of what it leaves in the GPU's memory.
// Private to vision/av. CUDA implements it (cuda/nvdec.h), and so do the tests with pictures of the processor's
// decoder.
//
// The choice of frames is the same to the bit as with the processor's decoder: what it looks at (VideoReader::Small) is
// made from rows that are copied to the host, as the processor makes it. What is kept stays on the device.
#ifndef LONGVIEW_VISION_AV_HARDWARE_DECODING_H_
#define LONGVIEW_VISION_AV_HARDWARE_DECODING_H_

#include <memory>

#include "core/backend/gpu_net.h"
#include "core/backend/gpu_stream.h"
#include "core/base/status.h"
#include "vision/av/ffmpeg_ptr.h"
#include "vision/device_picture.h"
#include "vision/preprocess.h"

namespace longview::av {

// For one reader at a time. Errors are those of the device; nothing is tried twice.
class HardwareDecoding {
 public:
  explicit HardwareDecoding(std::shared_ptr<GpuNet> net);
  virtual ~HardwareDecoding();

  // libavcodec's decoder that hands such streams to the device. kUnsupported where it has none.
  virtual Result<const AVCodec*> Decoder(AVCodecID id) const = 0;
  // Makes a context that is to be opened decode on the device.
  virtual Status Attach(AVCodecContext* context) = 0;
  // Where a decoded picture lies; valid as long as the frame. kUnsupported: not in the device's memory, or in a form
  // that the kernels do not read.
  virtual Result<GpuSurface> SurfaceOf(const AVFrame& frame) = 0;

  // Every `row_step`-th row of each plane, from the first on, as a picture in the host's memory: NV12, or P010 where
  // samples have more than 8 bits. What the frame says of itself stays.
  Result<FramePtr> ToHost(const AVFrame& frame, int row_step);
  // The picture for the ViT, complete in the device's memory, with a thumbnail as vision/preprocess.h where
  // `thumbnail` > 0. For frames that need no other treatment (PictureRenderer::Treatment).
  Result<DevicePicture> Render(const AVFrame& frame, const PreprocessSpec& spec, int thumbnail);

  const GpuNet& net() const { return *net_; }

 private:
  // Pinned memory of at least so many bytes.
  Status Reserve(size_t bytes);

  const std::shared_ptr<GpuNet> net_;
  GpuBuffer pinned_;
  GpuBuffer small_;  // a thumbnail on the device
};

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_HARDWARE_DECODING_H_
