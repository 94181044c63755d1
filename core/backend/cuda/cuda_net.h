// The CUDA backend of GpuNet. Built with LONGVIEW_CUDA only; no CUDA type passes this header.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_CUDA_NET_H_
#define LONGVIEW_CORE_BACKEND_CUDA_CUDA_NET_H_

#include <memory>

#include "core/backend/gpu_net.h"
#include "core/base/status.h"

namespace longview {

// A backend with a stream of its own on GPU `index`. kNotFound where there is none such, kUnsupported without cuBLASLt,
// kInternal in CUDA's words. Without cuDNN, Sdpa alone is kUnsupported.
Result<std::shared_ptr<GpuNet>> OpenCudaNet(int index);

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_CUDA_CUDA_NET_H_
