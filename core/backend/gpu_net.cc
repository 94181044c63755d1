// Opens the networks' backend of a chosen device, in builds that have it.
#include "core/backend/gpu_net.h"

#ifdef LONGVIEW_CUDA
#include "core/backend/cuda/cuda_net.h"
#endif

namespace longview {

Result<std::shared_ptr<GpuNet>> OpenGpuNet(const ComputeDevice& device) {
#ifdef LONGVIEW_CUDA
  if (device.cuda) return OpenCudaNet(device.index);
#endif
  if (device.cuda) return Unsupported("this build has no CUDA");
  return std::shared_ptr<GpuNet>();
}

}  // namespace longview
