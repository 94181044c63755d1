// MlaBackend on the CUDA runtime: one stream for launches, one for the copies that run ahead of them, and events
// between the two.
#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "attention/kernels/cuda/cuda_mla.h"
#include "attention/kernels/cuda/mla_launch.cuh"
#include "attention/kernels/cuda/mla_merge.h"

namespace longview {
namespace {

Status Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status::Ok();
  const std::string text = std::string("CUDA: ") + what + " failed: " + cudaGetErrorString(error);
  return error == cudaErrorMemoryAllocation ? ResourceError(text) : InternalError(text);
}

__global__ void __launch_bounds__(32 * simt_device::kMlaMassWarps)
    MlaMassKernel(const __grid_constant__ MlaMassCall call) {
  simt_device::Block block(nullptr);
  simt_device::MlaMass(block, call);
}

class Recording : public MlaRecording {
 public:
  explicit Recording(cudaGraphExec_t graph) : graph_(graph) {}
  ~Recording() override { cudaGraphExecDestroy(graph_); }
  cudaGraphExec_t graph() const { return graph_; }

 private:
  const cudaGraphExec_t graph_;
};

class CudaMla : public MlaBackend {
 public:
  explicit CudaMla(int index) : index_(index) {}
  ~CudaMla() override {
    Use();
    for (int slot = 0; slot < 2; ++slot) {
      if (copied_[slot] != nullptr) cudaEventDestroy(copied_[slot]);
      if (released_[slot] != nullptr) cudaEventDestroy(released_[slot]);
    }
    if (copies_ != nullptr) cudaStreamDestroy(copies_);
    if (launches_ != nullptr) cudaStreamDestroy(launches_);
  }

  Status Open() {
    LV_RETURN_IF_ERROR(Check(cudaSetDevice(index_), "choosing the GPU"));
    LV_RETURN_IF_ERROR(Check(cudaStreamCreateWithFlags(&launches_, cudaStreamNonBlocking), "making a stream"));
    LV_RETURN_IF_ERROR(Check(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "making a stream"));
    for (int slot = 0; slot < 2; ++slot) {
      LV_RETURN_IF_ERROR(Check(cudaEventCreateWithFlags(&copied_[slot], cudaEventDisableTiming), "making an event"));
      LV_RETURN_IF_ERROR(Check(cudaEventCreateWithFlags(&released_[slot], cudaEventDisableTiming), "making an event"));
    }
    cudaDeviceProp properties{};
    LV_RETURN_IF_ERROR(Check(cudaGetDeviceProperties(&properties, index_), "asking the GPU what it has"));
    limits_.name = properties.name;
    limits_.processors = static_cast<uint32_t>(properties.multiProcessorCount);
    limits_.block_shared = static_cast<uint32_t>(properties.sharedMemPerBlockOptin);
    limits_.processor_shared = static_cast<uint32_t>(properties.sharedMemPerMultiprocessor);
    size_t total = 0;
    return Check(cudaMemGetInfo(&limits_.free_bytes, &total), "asking for free memory");
  }

  MlaLimits Limits() const override { return limits_; }

  Result<void*> Allocate(Memory memory, size_t bytes) override {
    Use();
    void* p = nullptr;
    if (memory == Memory::kPinned) {
      LV_RETURN_IF_ERROR(Check(cudaHostAlloc(&p, bytes, cudaHostAllocDefault), "taking pinned memory"));
      return p;  // read only where it was written
    }
    LV_RETURN_IF_ERROR(Check(cudaMalloc(&p, bytes), "taking device memory"));
    if (Status status = Check(cudaMemsetAsync(p, 0, bytes, launches_), "zeroing memory"); !status.ok()) {
      cudaFree(p);
      return status;
    }
    return p;
  }
  void Free(Memory memory, void* p) override {
    Use();
    memory == Memory::kPinned ? cudaFreeHost(p) : cudaFree(p);
  }

  Status Upload(void* device, const void* pinned, size_t bytes) override {
    return Check(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, launches_), "a copy to the GPU");
  }
  Status Download(void* pinned, const void* device, size_t bytes) override {
    return Check(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, launches_), "a copy from the GPU");
  }

  Status UploadSlot(int slot, void* device, const void* pinned, size_t bytes) override {
    Use();
    // An event that was never recorded does not hold anyone up.
    LV_RETURN_IF_ERROR(Check(cudaStreamWaitEvent(copies_, released_[slot], 0), "waiting for a slot"));
    LV_RETURN_IF_ERROR(
        Check(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, copies_), "a copy to the GPU"));
    return Check(cudaEventRecord(copied_[slot], copies_), "recording an event");
  }
  Status TakeSlot(int slot) override {
    return Check(cudaStreamWaitEvent(launches_, copied_[slot], 0), "waiting for a copy");
  }
  Status ReleaseSlot(int slot) override {
    return Check(cudaEventRecord(released_[slot], launches_), "recording an event");
  }

  Status Sweep(const MlaForm& form, const MlaCall& call, uint32_t query_tiles) override {
    Use();
    const cudaError_t error = form.store == MlaStore::kBF16 ? SweepOf<MlaStore::kBF16>(form, call, query_tiles)
                                                            : SweepOf<MlaStore::kI8>(form, call, query_tiles);
    return Check(error, "launching the sweep");
  }
  Status Mass(const MlaMassCall& call) override {
    Use();
    constexpr uint32_t kRuns = simt_device::kMlaMassWarps;
    MlaMassKernel<<<(call.run_count + kRuns - 1) / kRuns, 32 * kRuns, 0, launches_>>>(call);
    return Check(cudaGetLastError(), "launching the sum of shares");
  }

  Result<std::unique_ptr<MlaRecording>> Record(const std::function<Status()>& launches) override {
    Use();
    LV_RETURN_IF_ERROR(
        Check(cudaStreamBeginCapture(launches_, cudaStreamCaptureModeThreadLocal), "beginning a recording"));
    const Status launched = launches();
    cudaGraph_t graph = nullptr;
    const Status ended = Check(cudaStreamEndCapture(launches_, &graph), "ending a recording");
    LV_RETURN_IF_ERROR(launched);
    LV_RETURN_IF_ERROR(ended);
    cudaGraphExec_t executable = nullptr;
    const Status made = Check(cudaGraphInstantiate(&executable, graph, 0), "preparing a recording");
    cudaGraphDestroy(graph);
    LV_RETURN_IF_ERROR(made);
    return std::unique_ptr<MlaRecording>(new Recording(executable));
  }
  Status Replay(const MlaRecording& recording) override {
    Use();
    return Check(cudaGraphLaunch(static_cast<const Recording&>(recording).graph(), launches_), "replaying a recording");
  }

  Status Finish() override {
    Use();
    LV_RETURN_IF_ERROR(Check(cudaStreamSynchronize(copies_), "work on the GPU"));
    return Check(cudaStreamSynchronize(launches_), "work on the GPU");
  }

 private:
  // The current device is a property of the thread, which may have changed since the last call. A device that opened
  // can be chosen again.
  void Use() const { cudaSetDevice(index_); }

  template <MlaStore kStore>
  cudaError_t SweepOf(const MlaForm& form, const MlaCall& call, uint32_t query_tiles) {
    switch (form.d_c) {
      case 32:
        return MlaLauncher<kStore, 32>::Launch(form.wide, call, query_tiles, launches_);
      case 64:
        return MlaLauncher<kStore, 64>::Launch(form.wide, call, query_tiles, launches_);
      case 128:
        return MlaLauncher<kStore, 128>::Launch(form.wide, call, query_tiles, launches_);
      default:
        return MlaLauncher<kStore, 512>::Launch(form.wide, call, query_tiles, launches_);
    }
  }

  const int index_;
  MlaLimits limits_;
  cudaStream_t launches_ = nullptr, copies_ = nullptr;
  cudaEvent_t copied_[2] = {}, released_[2] = {};
};

}  // namespace

Result<std::shared_ptr<MlaBackend>> OpenCudaMla(int index) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || index < 0 || index >= count) {
    return NotFound("CUDA finds no GPU " + std::to_string(index));
  }
  auto backend = std::make_shared<CudaMla>(index);
  LV_RETURN_IF_ERROR(backend->Open());
  return std::shared_ptr<MlaBackend>(std::move(backend));
}

}  // namespace longview
