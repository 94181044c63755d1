// MlaBackend on the CUDA runtime: one stream for launches, one for the copies that run ahead of them, and events
// between the two.
#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "attention/kernels/cuda/cuda_mla.h"
#include "attention/kernels/cuda/mla_launch.cuh"
#include "attention/kernels/cuda/mla_merge.h"
#include "core/backend/cuda/cuda_stream.h"

namespace longview {
namespace {

__global__ void __launch_bounds__(32 * simt_device::kMlaMassWarps)
    MlaMassKernel(const __grid_constant__ MlaMassCall call) {
  simt_device::Block block(nullptr);
  simt_device::MlaMass(block, call);
}

class CudaMla : public CudaStream<MlaBackend> {
 public:
  explicit CudaMla(int index) : CudaStream(index) {}
  ~CudaMla() override {
    Use();
    for (int slot = 0; slot < 2; ++slot) {
      if (copied_[slot] != nullptr) cudaEventDestroy(copied_[slot]);
      if (released_[slot] != nullptr) cudaEventDestroy(released_[slot]);
    }
    if (copies_ != nullptr) cudaStreamDestroy(copies_);
  }

  Status Open() {
    LV_RETURN_IF_ERROR(OpenStream());
    LV_RETURN_IF_ERROR(CudaCheck(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "making a stream"));
    for (int slot = 0; slot < 2; ++slot) {
      LV_RETURN_IF_ERROR(
          CudaCheck(cudaEventCreateWithFlags(&copied_[slot], cudaEventDisableTiming), "making an event"));
      LV_RETURN_IF_ERROR(
          CudaCheck(cudaEventCreateWithFlags(&released_[slot], cudaEventDisableTiming), "making an event"));
    }
    cudaDeviceProp properties{};
    LV_RETURN_IF_ERROR(CudaCheck(cudaGetDeviceProperties(&properties, index()), "asking the GPU what it has"));
    limits_.name = properties.name;
    limits_.processors = static_cast<uint32_t>(properties.multiProcessorCount);
    limits_.block_shared = static_cast<uint32_t>(properties.sharedMemPerBlockOptin);
    limits_.processor_shared = static_cast<uint32_t>(properties.sharedMemPerMultiprocessor);
    size_t total = 0;
    return CudaCheck(cudaMemGetInfo(&limits_.free_bytes, &total), "asking for free memory");
  }

  MlaLimits Limits() const override { return limits_; }

  Status UploadSlot(int slot, void* device, const void* pinned, size_t bytes) override {
    Use();
    // An event that was never recorded does not hold anyone up.
    LV_RETURN_IF_ERROR(CudaCheck(cudaStreamWaitEvent(copies_, released_[slot], 0), "waiting for a slot"));
    LV_RETURN_IF_ERROR(
        CudaCheck(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, copies_), "a copy to the GPU"));
    return CudaCheck(cudaEventRecord(copied_[slot], copies_), "recording an event");
  }
  Status TakeSlot(int slot) override {
    return CudaCheck(cudaStreamWaitEvent(launches(), copied_[slot], 0), "waiting for a copy");
  }
  Status ReleaseSlot(int slot) override {
    return CudaCheck(cudaEventRecord(released_[slot], launches()), "recording an event");
  }

  Status Sweep(const MlaForm& form, const MlaCall& call, uint32_t query_tiles) override {
    Use();
    const auto sweep = [&] {
      switch (form.store) {
        case MlaStore::kBF16:
          return SweepOf<MlaStore::kBF16>(form, call, query_tiles);
        case MlaStore::kI8:
          return SweepOf<MlaStore::kI8>(form, call, query_tiles);
        default:
          return SweepOf<MlaStore::kE4M3>(form, call, query_tiles);
      }
    };
    return CudaCheck(sweep(), "launching the sweep");
  }
  Status Mass(const MlaMassCall& call) override {
    Use();
    constexpr uint32_t kRuns = simt_device::kMlaMassWarps;
    MlaMassKernel<<<(call.run_count + kRuns - 1) / kRuns, 32 * kRuns, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the sum of shares");
  }

  Status Finish() override {
    Use();
    LV_RETURN_IF_ERROR(CudaCheck(cudaStreamSynchronize(copies_), "work on the GPU"));
    return CudaStream::Finish();
  }

 private:
  template <MlaStore kStore>
  cudaError_t SweepOf(const MlaForm& form, const MlaCall& call, uint32_t query_tiles) {
    switch (form.d_c) {
      case 32:
        return MlaLauncher<kStore, 32>::Launch(form.wide, call, query_tiles, launches());
      case 64:
        return MlaLauncher<kStore, 64>::Launch(form.wide, call, query_tiles, launches());
      case 128:
        return MlaLauncher<kStore, 128>::Launch(form.wide, call, query_tiles, launches());
      default:
        return MlaLauncher<kStore, 512>::Launch(form.wide, call, query_tiles, launches());
    }
  }

  MlaLimits limits_;
  cudaStream_t copies_ = nullptr;
  cudaEvent_t copied_[2] = {}, released_[2] = {};
};

}  // namespace

Result<std::shared_ptr<MlaBackend>> OpenCudaMla(int index) {
  LV_RETURN_IF_ERROR(CudaFind(index));
  auto backend = std::make_shared<CudaMla>(index);
  LV_RETURN_IF_ERROR(backend->Open());
  return std::shared_ptr<MlaBackend>(std::move(backend));
}

}  // namespace longview
