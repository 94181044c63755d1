// Asks the CUDA runtime what there is; a machine without a driver is an answer, not a fault.
#include "core/backend/cuda/cuda_gpus.h"

#include <cuda_runtime_api.h>

#include <string>

namespace longview::internal {

Result<std::vector<GpuInfo>> ListCudaGpus() {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    return NotFound(std::string("CUDA finds no GPU (") + cudaGetErrorString(error) + ")");
  }
  if (count == 0) return NotFound("CUDA finds no GPU");
  std::vector<GpuInfo> gpus;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, i); error != cudaSuccess) {
      return NotFound("CUDA cannot describe GPU " + std::to_string(i) + " (" + cudaGetErrorString(error) + ")");
    }
    gpus.push_back({properties.name, properties.totalGlobalMem, properties.major, properties.minor});
  }
  return gpus;
}

}  // namespace longview::internal
