// Which device computes: the processor, or an NVIDIA GPU where the build and the machine have one.
#ifndef LONGVIEW_CORE_BACKEND_DEVICE_H_
#define LONGVIEW_CORE_BACKEND_DEVICE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview {

// A device and why it was taken.
struct ComputeDevice {
  bool cuda = false;   // else the processor
  int index = 0;       // among the GPUs that the driver shows
  std::string name;    // "cpu"; "cuda:0 NVIDIA H200 (139 GiB, compute capability 9.0)"
  std::string reason;  // why this and, for the processor, why no GPU: "this build has no CUDA"
};

// One GPU of the machine.
struct GpuInfo {
  std::string name;
  size_t memory_bytes = 0;
  int major = 0;  // compute capability
  int minor = 0;
};

// The GPUs that the driver shows, in its order. kUnsupported: the build has no CUDA; kNotFound: there is no driver or
// no GPU, in the driver's words.
Result<std::vector<GpuInfo>> ListGpus();

// `wanted`: "auto" (the first GPU that the kernels run on, else the processor), "cpu", "cuda" or "cuda:N".
// kInvalidArgument for other words; "cuda" where it cannot be had: kUnsupported (the build, or a GPU that is too old),
// kNotFound (no GPU, or no such number).
Result<ComputeDevice> ChooseDevice(std::string_view wanted);

// The same among `gpus`, as ListGpus gave them: what ChooseDevice decides by.
Result<ComputeDevice> ChooseAmong(std::string_view wanted, const Result<std::vector<GpuInfo>>& gpus);

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_DEVICE_H_
