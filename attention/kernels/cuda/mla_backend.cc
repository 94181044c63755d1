// Opens the backend of a chosen device, in builds that have it.
#include "attention/kernels/cuda/mla_backend.h"

#ifdef LONGVIEW_CUDA
#include "attention/kernels/cuda/cuda_mla.h"
#endif

namespace longview {

Result<std::shared_ptr<MlaBackend>> OpenMlaBackend(const ComputeDevice& device) {
#ifdef LONGVIEW_CUDA
  if (device.cuda) return OpenCudaMla(device.index);
#endif
  if (device.cuda) return Unsupported("this build has no CUDA");
  return std::shared_ptr<MlaBackend>();
}

}  // namespace longview
