// GpuNet: the launches that a network's forward pass on a GPU is made of. CUDA implements them (cuda/cuda_net.cu), and
// the tests do with the emulated kernels.
#ifndef LONGVIEW_CORE_BACKEND_GPU_NET_H_
#define LONGVIEW_CORE_BACKEND_GPU_NET_H_

#include <memory>
#include <string>

#include "core/backend/device.h"
#include "core/backend/gpu_stream.h"
#include "core/backend/net_calls.h"
#include "core/backend/picture_calls.h"
#include "core/base/status.h"

namespace longview {

// What a library that works on the same device is told of a stream. For CUDA: the device's primary CUcontext, a
// CUstream.
struct GpuHandles {
  void* context = nullptr;
  void* stream = nullptr;
};

// One thread at a time. Every call is work for later, as GpuStream's; a call whose sizes were not met before may take
// a second to prepare, and must be made once before it is recorded.
class GpuNet : public GpuStream {
 public:
  // Of the device, for people.
  virtual std::string Name() const = 0;
  // Of this stream, as long as it lives. kUnsupported where the device has none.
  virtual Result<GpuHandles> Handles() = 0;

  // kUnsupported where the library has no kernel for these sizes.
  virtual Status Gemm(const GpuGemm& call) = 0;
  // The same; also where cuDNN is not on this machine.
  virtual Status Sdpa(const GpuSdpa& call) = 0;
  virtual Status PatchRows(const GpuPatchRows& call) = 0;
  virtual Status LayerNorm(const GpuLayerNorm& call) = 0;
  virtual Status Embed(const GpuEmbed& call) = 0;
  virtual Status RmsNorm(const GpuRmsNorm& call) = 0;
  // Turns queries and keys by their positions, and puts keys and values with the conversation's.
  virtual Status TextRope(const GpuTextAttention& call) = 0;
  virtual Status TextAttention(const GpuTextAttention& call) = 0;
  virtual Status Pool(const GpuPool& call) = 0;
  virtual Status Gelu(const GpuGelu& call) = 0;
  virtual Status LatentAttention(const GpuLatentAttention& call) = 0;
  virtual Status PartQueries(const GpuPartQueries& call) = 0;
  virtual Status Narrow(const GpuNarrow& call) = 0;
  virtual Status SiluMul(const GpuSiluMul& call) = 0;
  virtual Status Sample(const GpuSample& call) = 0;
  virtual Status StretchPicture(const GpuStretch& call) = 0;
  virtual Status ShrinkPicture(const GpuShrink& call) = 0;
};

// A stream of its own for whoever asks; null for the processor. kUnsupported: the build has no CUDA, or the machine has
// no cuBLASLt of CUDA 13; otherwise as OpenCudaNet.
Result<std::shared_ptr<GpuNet>> OpenGpuNet(const ComputeDevice& device);

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_GPU_NET_H_
