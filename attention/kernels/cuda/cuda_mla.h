// The CUDA backend of MlaMirror. Built with LONGVIEW_CUDA only; no CUDA type passes this header.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_CUDA_MLA_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_CUDA_MLA_H_

#include <memory>

#include "attention/kernels/cuda/mla_backend.h"
#include "core/base/status.h"

namespace longview {

// A backend with streams of its own on GPU `index`. kNotFound where there is none such, kInternal in CUDA's words.
Result<std::shared_ptr<MlaBackend>> OpenCudaMla(int index);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_CUDA_MLA_H_
