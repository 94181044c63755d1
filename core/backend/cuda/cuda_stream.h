// GpuStream on the CUDA runtime: one stream of one GPU, for any interface that adds launches to it.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_CUDA_STREAM_H_
#define LONGVIEW_CORE_BACKEND_CUDA_CUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/backend/gpu_stream.h"
#include "core/base/status.h"

namespace longview {

// "CUDA: <what> failed: ..." for what is no success; kResource where memory is short, else kInternal.
inline Status CudaCheck(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status::Ok();
  const std::string text = std::string("CUDA: ") + what + " failed: " + cudaGetErrorString(error);
  return error == cudaErrorMemoryAllocation ? ResourceError(text) : InternalError(text);
}

// kNotFound where there is no GPU `index`.
inline Status CudaFind(int index) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || index < 0 || index >= count) {
    return NotFound("CUDA finds no GPU " + std::to_string(index));
  }
  return Status::Ok();
}

class CudaRecording : public GpuRecording {
 public:
  explicit CudaRecording(cudaGraphExec_t graph) : graph_(graph) {}
  ~CudaRecording() override { cudaGraphExecDestroy(graph_); }
  cudaGraphExec_t graph() const { return graph_; }

 private:
  const cudaGraphExec_t graph_;
};

// `Interface` derives from GpuStream.
template <class Interface>
class CudaStream : public Interface {
 public:
  using Memory = GpuStream::Memory;

  explicit CudaStream(int index) : index_(index) {}
  ~CudaStream() override {
    Use();
    if (mark_ != nullptr) cudaEventDestroy(mark_);
    if (launches_ != nullptr) cudaStreamDestroy(launches_);
  }

  Result<void*> Allocate(Memory memory, size_t bytes) override {
    Use();
    void* p = nullptr;
    if (memory == Memory::kPinned) {
      LV_RETURN_IF_ERROR(CudaCheck(cudaHostAlloc(&p, bytes, cudaHostAllocDefault), "taking pinned memory"));
      return p;  // read only where it was written
    }
    LV_RETURN_IF_ERROR(CudaCheck(cudaMalloc(&p, bytes), "taking device memory"));
    if (Status status = CudaCheck(cudaMemsetAsync(p, 0, bytes, launches_), "zeroing memory"); !status.ok()) {
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
    Use();
    return CudaCheck(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, launches_), "a copy to the GPU");
  }
  Status Download(void* pinned, const void* device, size_t bytes) override {
    Use();
    return CudaCheck(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, launches_), "a copy from the GPU");
  }
  Status DownloadRows(void* pinned, const void* device, size_t device_pitch, size_t bytes, size_t rows) override {
    Use();
    return CudaCheck(
        cudaMemcpy2DAsync(pinned, bytes, device, device_pitch, bytes, rows, cudaMemcpyDeviceToHost, launches_),
        "a copy of rows from the GPU");
  }
  Status Copy(void* to, const void* from, size_t bytes) override {
    Use();
    return CudaCheck(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, launches_), "a copy on the GPU");
  }

  Result<std::unique_ptr<GpuRecording>> Record(const std::function<Status()>& launches) override {
    Use();
    LV_RETURN_IF_ERROR(
        CudaCheck(cudaStreamBeginCapture(launches_, cudaStreamCaptureModeThreadLocal), "beginning a recording"));
    const Status launched = launches();
    cudaGraph_t graph = nullptr;
    const Status ended = CudaCheck(cudaStreamEndCapture(launches_, &graph), "ending a recording");
    LV_RETURN_IF_ERROR(launched);
    LV_RETURN_IF_ERROR(ended);
    cudaGraphExec_t executable = nullptr;
    const Status made = CudaCheck(cudaGraphInstantiate(&executable, graph, 0), "preparing a recording");
    cudaGraphDestroy(graph);
    LV_RETURN_IF_ERROR(made);
    return std::unique_ptr<GpuRecording>(new CudaRecording(executable));
  }
  Status Replay(const GpuRecording& recording) override {
    Use();
    return CudaCheck(cudaGraphLaunch(static_cast<const CudaRecording&>(recording).graph(), launches_),
                     "replaying a recording");
  }

  Result<const void*> Mark() override {
    Use();
    if (mark_ == nullptr) {
      LV_RETURN_IF_ERROR(CudaCheck(cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming), "making an event"));
    }
    LV_RETURN_IF_ERROR(CudaCheck(cudaEventRecord(mark_, launches_), "recording an event"));
    return static_cast<const void*>(mark_);
  }
  Status Await(const void* mark) override {
    Use();
    return CudaCheck(cudaStreamWaitEvent(launches_, static_cast<cudaEvent_t>(const_cast<void*>(mark)), 0),
                     "waiting for another stream");
  }

  Status Finish() override {
    Use();
    return CudaCheck(cudaStreamSynchronize(launches_), "work on the GPU");
  }

 protected:
  Status OpenStream() {
    LV_RETURN_IF_ERROR(CudaCheck(cudaSetDevice(index_), "choosing the GPU"));
    return CudaCheck(cudaStreamCreateWithFlags(&launches_, cudaStreamNonBlocking), "making a stream");
  }
  // The current device is a property of the thread, which may have changed since the last call. A device that opened
  // can be chosen again.
  void Use() const { cudaSetDevice(index_); }
  int index() const { return index_; }
  cudaStream_t launches() const { return launches_; }

 private:
  const int index_;
  cudaStream_t launches_ = nullptr;
  cudaEvent_t mark_ = nullptr;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_CUDA_CUDA_STREAM_H_
