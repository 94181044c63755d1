// Matrix products on a GPU by cuBLASLt, which is looked for when it is first needed: a build for GPUs starts without
// it.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_CUBLASLT_GEMM_H_
#define LONGVIEW_CORE_BACKEND_CUDA_CUBLASLT_GEMM_H_

#include <cuda_runtime_api.h>

#include <memory>

#include "core/backend/net_calls.h"
#include "core/base/status.h"

namespace longview {

// One thread at a time, for the device that is current at Make and at every call.
class CublasLtGemm {
 public:
  // kUnsupported where the machine has no cuBLASLt of CUDA 13; kResource without memory for its workspace.
  static Result<std::unique_ptr<CublasLtGemm>> Make();
  ~CublasLtGemm();

  // Puts the product on `stream`. The first call of a size asks the library which kernel it takes; kUnsupported where
  // it has none.
  Status Run(const GpuGemm& call, cudaStream_t stream);

 private:
  struct Impl;
  explicit CublasLtGemm(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_CUDA_CUBLASLT_GEMM_H_
