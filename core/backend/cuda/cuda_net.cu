// GpuNet on CUDA: products by cuBLASLt, attention by cuDNN, the rest our own kernels; all on one stream.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <utility>

#include "core/backend/cuda/bridge_kernels.h"
#include "core/backend/cuda/cublaslt_gemm.h"
#include "core/backend/cuda/cuda_net.h"
#include "core/backend/cuda/cuda_stream.h"
#include "core/backend/cuda/cudnn_sdpa.h"
#include "core/backend/cuda/latent_attention.h"
#include "core/backend/cuda/picture_kernels.h"
#include "core/backend/cuda/sampling_kernel.h"
#include "core/backend/cuda/text_attention.h"
#include "core/backend/cuda/text_kernels.h"
#include "core/backend/cuda/vision_kernels.h"

namespace longview {
namespace {

__global__ void __launch_bounds__(simt_device::kPatchThreads)
    PatchRowsKernel(const __grid_constant__ GpuPatchRows call) {
  simt_device::Block block(nullptr);
  simt_device::PatchRow(block, call);
}

__global__ void __launch_bounds__(32 * simt_device::kNormWarps)
    LayerNormKernel(const __grid_constant__ GpuLayerNorm call) {
  simt_device::Block block(nullptr);
  simt_device::LayerNormRows(block, call);
}

__global__ void __launch_bounds__(simt_device::kTextThreads) EmbedKernel(const __grid_constant__ GpuEmbed call) {
  simt_device::Block block(nullptr);
  simt_device::EmbedRow(block, call);
}

__global__ void __launch_bounds__(simt_device::kTextThreads) RmsNormKernel(const __grid_constant__ GpuRmsNorm call) {
  extern __shared__ __align__(16) unsigned char shared[];
  simt_device::Block block(shared);
  simt_device::RmsNormRow(block, call);
}

__global__ void __launch_bounds__(simt_device::kTextThreads)
    TextRopeKernel(const __grid_constant__ GpuTextAttention call) {
  simt_device::Block block(nullptr);
  simt_device::TextRopeRow(block, call);
}

__global__ void __launch_bounds__(simt_device::kTextThreads)
    TextAttentionKernel(const __grid_constant__ GpuTextAttention call) {
  extern __shared__ __align__(16) unsigned char shared[];
  simt_device::Block block(shared);
  simt_device::TextAttendHead(block, call);
}

__global__ void __launch_bounds__(simt_device::kPoolThreads) PoolKernel(const __grid_constant__ GpuPool call) {
  simt_device::Block block(nullptr);
  simt_device::PoolRow(block, call);
}

__global__ void __launch_bounds__(simt_device::kGeluThreads) GeluKernel(const __grid_constant__ GpuGelu call) {
  simt_device::Block block(nullptr);
  simt_device::GeluNumbers(block, call);
}

__global__ void __launch_bounds__(simt_device::kQueryThreads)
    PartQueriesKernel(const __grid_constant__ GpuPartQueries call) {
  simt_device::Block block(nullptr);
  simt_device::PartQuery(block, call);
}

__global__ void __launch_bounds__(simt_device::kQueryThreads) NarrowKernel(const __grid_constant__ GpuNarrow call) {
  simt_device::Block block(nullptr);
  simt_device::NarrowRow(block, call);
}

__global__ void __launch_bounds__(simt_device::kLatentThreads)
    LatentAttentionKernel(const __grid_constant__ GpuLatentAttention call) {
  extern __shared__ __align__(16) unsigned char shared[];
  simt_device::Block block(shared);
  simt_device::LatentAttendHead(block, call);
}

__global__ void __launch_bounds__(simt_device::kTextThreads) SiluMulKernel(const __grid_constant__ GpuSiluMul call) {
  simt_device::Block block(nullptr);
  simt_device::SiluMulRow(block, call);
}

__global__ void __launch_bounds__(simt_device::kSampleThreads) SampleKernel(const __grid_constant__ GpuSample call) {
  extern __shared__ __align__(16) unsigned char shared[];
  simt_device::Block block(shared);
  simt_device::SampleToken(block, call);
}

__global__ void __launch_bounds__(simt_device::kStretchThreads)
    StretchPictureKernel(const __grid_constant__ GpuStretch call) {
  simt_device::Block block(nullptr);
  simt_device::StretchPixels(block, call);
}

__global__ void __launch_bounds__(32 * simt_device::kShrinkWarps)
    ShrinkPictureKernel(const __grid_constant__ GpuShrink call) {
  simt_device::Block block(nullptr);
  simt_device::ShrinkPixels(block, call);
}

constexpr uint32_t DivideUp(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

class CudaNet : public CudaStream<GpuNet> {
 public:
  explicit CudaNet(int index) : CudaStream(index) {}
  // The libraries' memory is the device's.
  ~CudaNet() override { Use(); }

  Status Open() {
    LV_RETURN_IF_ERROR(OpenStream());
    cudaDeviceProp properties{};
    LV_RETURN_IF_ERROR(CudaCheck(cudaGetDeviceProperties(&properties, index()), "asking the GPU what it has"));
    name_ = properties.name;
    LV_ASSIGN_OR_RETURN(gemm_, CublasLtGemm::Make());
    return Status::Ok();
  }

  std::string Name() const override { return name_; }

  Result<GpuHandles> Handles() override {
    Use();
    // Of the driver's interface this is all that is needed: looked for at run time, nothing is linked with it.
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    LV_RETURN_IF_ERROR(
        CudaCheck(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault, &found),
                  "asking the driver for its context"));
    CUcontext context = nullptr;
    if (found != cudaDriverEntryPointSuccess ||
        reinterpret_cast<decltype(&cuCtxGetCurrent)>(function)(&context) != CUDA_SUCCESS || context == nullptr) {
      return InternalError("CUDA: the driver gives no context");
    }
    return GpuHandles{context, launches()};
  }

  Status Gemm(const GpuGemm& call) override {
    Use();
    return gemm_->Run(call, launches());
  }
  Status Sdpa(const GpuSdpa& call) override {
    Use();
    if (sdpa_ == nullptr) {
      LV_ASSIGN_OR_RETURN(sdpa_, CudnnSdpa::Make());
    }
    return sdpa_->Run(call, launches());
  }
  Status PatchRows(const GpuPatchRows& call) override {
    Use();
    const uint32_t grid = call.image / call.patch;
    PatchRowsKernel<<<dim3(1 + grid * grid, call.pictures), simt_device::kPatchThreads, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the cut into patches");
  }
  Status LayerNorm(const GpuLayerNorm& call) override {
    Use();
    constexpr uint32_t kRows = simt_device::kNormWarps;
    LayerNormKernel<<<DivideUp(call.rows, kRows), 32 * kRows, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching LayerNorm");
  }
  Status Embed(const GpuEmbed& call) override {
    Use();
    EmbedKernel<<<call.rows, simt_device::kTextThreads, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the look-up of tokens");
  }
  Status RmsNorm(const GpuRmsNorm& call) override {
    Use();
    RmsNormKernel<<<call.rows, simt_device::kTextThreads, simt_device::kRmsNormShared, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching RMSNorm");
  }
  Status TextRope(const GpuTextAttention& call) override {
    Use();
    TextRopeKernel<<<call.rows, simt_device::kTextThreads, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching RoPE");
  }
  Status TextAttention(const GpuTextAttention& call) override {
    Use();
    const uint32_t bytes = simt_device::TextAttentionShared(call.context);
    TextAttentionKernel<<<dim3(call.rows, call.heads), simt_device::kTextThreads, bytes, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the text decoder's attention");
  }
  Status Pool(const GpuPool& call) override {
    Use();
    PoolKernel<<<dim3(call.rows(), call.pictures), simt_device::kPoolThreads, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the means over patches");
  }
  Status Gelu(const GpuGelu& call) override {
    Use();
    constexpr uint32_t kThreads = simt_device::kGeluThreads;
    GeluKernel<<<DivideUp(call.count, kThreads), kThreads, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching GELU");
  }
  Status PartQueries(const GpuPartQueries& call) override {
    Use();
    PartQueriesKernel<<<dim3(call.rows, call.heads), simt_device::kQueryThreads, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the parting of queries");
  }
  Status Narrow(const GpuNarrow& call) override {
    Use();
    NarrowKernel<<<call.rows, simt_device::kQueryThreads, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the narrowing of rows");
  }
  Status LatentAttention(const GpuLatentAttention& call) override {
    Use();
    const uint32_t bytes = simt_device::LatentAttentionShared(call);
    LatentAttentionKernel<<<dim3(call.rows, call.heads), simt_device::kLatentThreads, bytes, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching attention to few latents");
  }
  Status SiluMul(const GpuSiluMul& call) override {
    Use();
    SiluMulKernel<<<dim3(call.rows, DivideUp(call.width, simt_device::kTextThreads)), simt_device::kTextThreads, 0,
                    launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching SwiGLU");
  }
  Status Sample(const GpuSample& call) override {
    Use();
    SampleKernel<<<1, simt_device::kSampleThreads, simt_device::kSampleShared, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the choice of a token");
  }
  Status StretchPicture(const GpuStretch& call) override {
    Use();
    StretchPictureKernel<<<DivideUp(call.size * call.size, simt_device::kStretchThreads), simt_device::kStretchThreads,
                           0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the stretching of a picture");
  }
  Status ShrinkPicture(const GpuShrink& call) override {
    Use();
    constexpr uint32_t kWarps = simt_device::kShrinkWarps;
    ShrinkPictureKernel<<<dim3(DivideUp(call.width, kWarps), call.height), 32 * kWarps, 0, launches()>>>(call);
    return CudaCheck(cudaGetLastError(), "launching the shrinking of a picture");
  }

 private:
  std::string name_;
  std::unique_ptr<CublasLtGemm> gemm_;
  std::unique_ptr<CudnnSdpa> sdpa_;
};

}  // namespace

Result<std::shared_ptr<GpuNet>> OpenCudaNet(int index) {
  LV_RETURN_IF_ERROR(CudaFind(index));
  auto net = std::make_shared<CudaNet>(index);
  LV_RETURN_IF_ERROR(net->Open());
  return std::shared_ptr<GpuNet>(std::move(net));
}

}  // namespace longview
