// How a build of the sweep is launched: each pair of store and width is one translation unit, so that nvcc compiles
// them side by side.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_LAUNCH_CUH_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_LAUNCH_CUH_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "attention/kernels/cuda/mla_call.h"

namespace longview {

template <MlaStore kStore, uint32_t kDc>
struct MlaLauncher {
  static cudaError_t Launch(bool wide, const MlaCall& call, uint32_t query_tiles, cudaStream_t stream);
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_LAUNCH_CUH_
