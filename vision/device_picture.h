// DevicePicture: one picture as the ViT reads it, in the memory of the GPU that decoded it.
#ifndef LONGVIEW_VISION_DEVICE_PICTURE_H_
#define LONGVIEW_VISION_DEVICE_PICTURE_H_

#include <memory>

#include "core/backend/gpu_stream.h"
#include "vision/picture.h"

namespace longview {

struct DevicePicture {
  std::shared_ptr<const GpuBuffer> chw;  // [3, size, size] floats as PreprocessPicture makes them; complete
  Picture thumbnail;                     // empty unless asked for; its time and flags are not set
};

}  // namespace longview

#endif  // LONGVIEW_VISION_DEVICE_PICTURE_H_
