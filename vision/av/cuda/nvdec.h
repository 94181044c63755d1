// NVDEC, the video decoder of NVIDIA's GPUs, by FFmpeg's hwaccel. Private to vision/av.
#ifndef LONGVIEW_VISION_AV_CUDA_NVDEC_H_
#define LONGVIEW_VISION_AV_CUDA_NVDEC_H_

#include <memory>

#include "vision/av/hardware_decoding.h"

namespace longview::av {

// Pictures come in the memory of the net's device, in the order of its stream. kUnsupported where the net is no CUDA
// device's or FFmpeg was built without CUDA; kInternal where FFmpeg cannot use the device.
Result<std::shared_ptr<HardwareDecoding>> OpenNvdec(std::shared_ptr<GpuNet> net);

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_CUDA_NVDEC_H_
