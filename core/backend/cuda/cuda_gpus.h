// The machine's GPUs as the CUDA runtime shows them. Built with LONGVIEW_CUDA only; no CUDA type passes this header.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_CUDA_GPUS_H_
#define LONGVIEW_CORE_BACKEND_CUDA_CUDA_GPUS_H_

#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"

namespace longview::internal {

// As ListGpus (device.h).
Result<std::vector<GpuInfo>> ListCudaGpus();

}  // namespace longview::internal

#endif  // LONGVIEW_CORE_BACKEND_CUDA_CUDA_GPUS_H_
