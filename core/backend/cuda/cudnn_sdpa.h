// Scaled dot-product attention on a GPU by cuDNN 9, which is looked for when it is first needed: a build for GPUs
// starts without it.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_CUDNN_SDPA_H_
#define LONGVIEW_CORE_BACKEND_CUDA_CUDNN_SDPA_H_

#include <cuda_runtime_api.h>

#include <memory>

#include "core/backend/net_calls.h"
#include "core/base/status.h"

namespace longview {

// One thread at a time, for the device that is current at Make and at every call.
class CudnnSdpa {
 public:
  // kUnsupported where the machine has no cuDNN 9.
  static Result<std::unique_ptr<CudnnSdpa>> Make();
  ~CudnnSdpa();

  // Puts the attention on `stream`. The first call of a size has its kernel built; kUnsupported where there is none.
  Status Run(const GpuSdpa& call, cudaStream_t stream);

 private:
  struct Impl;
  explicit CudnnSdpa(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_CUDA_CUDNN_SDPA_H_
