// The choice among devices; what the machine has is asked of CUDA in cuda/ alone.
#include "core/backend/device.h"

#include <charconv>

#ifdef LONGVIEW_CUDA
#include "core/backend/cuda/cuda_gpus.h"
#endif

namespace longview {
namespace {

// The oldest GPUs that the kernels are built for: bf16 on tensor cores.
constexpr int kOldestMajor = 8;

std::string NameOf(size_t index, const GpuInfo& gpu) {
  return "cuda:" + std::to_string(index) + " " + gpu.name + " (" + std::to_string(gpu.memory_bytes >> 30) +
         " GiB, compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) + ")";
}

std::string TooOld(size_t index, const GpuInfo& gpu) {
  return NameOf(index, gpu) + " is too old: the kernels need compute capability 8.0";
}

ComputeDevice Processor(std::string reason) { return {false, 0, "cpu", std::move(reason)}; }

ComputeDevice Gpu(size_t index, const GpuInfo& gpu, std::string reason) {
  return {true, static_cast<int>(index), NameOf(index, gpu), std::move(reason)};
}

}  // namespace

Result<std::vector<GpuInfo>> ListGpus() {
#ifdef LONGVIEW_CUDA
  return internal::ListCudaGpus();
#else
  return Unsupported("this build has no CUDA");
#endif
}

Result<ComputeDevice> ChooseAmong(std::string_view wanted, const Result<std::vector<GpuInfo>>& gpus) {
  const std::string said = "device '" + std::string(wanted) + "'";
  if (wanted == "cpu") return Processor("asked for");
  if (wanted == "auto") {
    if (!gpus.ok()) return Processor(gpus.status().message());
    std::string reason = "there is no GPU";
    for (size_t i = 0; i < gpus->size(); ++i) {
      const GpuInfo& gpu = (*gpus)[i];
      if (gpu.major >= kOldestMajor) return Gpu(i, gpu, "the first GPU that the kernels run on");
      reason = TooOld(i, gpu);
    }
    return Processor(reason);
  }
  size_t index = 0;
  if (wanted != "cuda") {
    const bool named = wanted.starts_with("cuda:");
    const char* end = wanted.data() + wanted.size();
    const auto read = named ? std::from_chars(wanted.data() + 5, end, index) : std::from_chars_result{end, {}};
    if (!named || read.ec != std::errc() || read.ptr != end) {
      return InvalidArgument(said + " is none of auto, cpu, cuda[:N]");
    }
  }
  if (!gpus.ok()) return Status(gpus.status().code(), said + ": " + gpus.status().message() + "; use --device cpu");
  if (index >= gpus->size()) {
    return NotFound(said + ": the machine has " + std::to_string(gpus->size()) + " GPUs, counted from 0");
  }
  const GpuInfo& gpu = (*gpus)[index];
  if (gpu.major < kOldestMajor) return Unsupported(said + ": " + TooOld(index, gpu));
  return Gpu(index, gpu, "asked for");
}

Result<ComputeDevice> ChooseDevice(std::string_view wanted) {
  // The driver is not woken where nobody wants it.
  if (wanted == "cpu") return Processor("asked for");
  return ChooseAmong(wanted, ListGpus());
}

}  // namespace longview
