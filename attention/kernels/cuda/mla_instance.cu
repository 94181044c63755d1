// One build of the sweep, for the store LV_MLA_STORE (kBF16, kI8, kE4M3) and latents of LV_MLA_D_C numbers.
#include "attention/kernels/cuda/mla_block.h"
#include "attention/kernels/cuda/mla_launch.cuh"

namespace longview {
namespace {

constexpr MlaStore kStore = MlaStore::LV_MLA_STORE;
constexpr uint32_t kDc = LV_MLA_D_C;

template <bool kWide>
constexpr int kThreads = 32 * static_cast<int>(MlaRowWarps(kDc, kWide) * MlaColumnWarps(kDc, kWide));

// Blocks of the narrow build that run side by side on a processor, as MlaMirror plans them: without the number, ptxas
// saves registers for more and spills. 0: as ptxas thinks best.
template <bool kWide>
constexpr int kBlocks = !kWide && kDc <= 128 ? 4 : 0;

template <bool kWide>
__global__ void __launch_bounds__(kThreads<kWide>, kBlocks<kWide>)
    MlaSweepKernel(const __grid_constant__ MlaCall call) {
  extern __shared__ __align__(128) unsigned char shared[];
  simt_device::Block block(shared);
  simt_device::MlaSweepBlock<kStore, kDc, kWide>(block, call);
}

template <bool kWide>
cudaError_t LaunchSweep(const MlaCall& call, uint32_t query_tiles, cudaStream_t stream) {
  const uint32_t bytes = MlaSharedLayout({kStore, kDc, kWide}, call.d_r, call.stages).bytes;
  const cudaError_t error =
      cudaFuncSetAttribute(MlaSweepKernel<kWide>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error != cudaSuccess) return error;
  MlaSweepKernel<kWide><<<dim3(query_tiles, call.parts), kThreads<kWide>, bytes, stream>>>(call);
  return cudaGetLastError();
}

}  // namespace

template <>
cudaError_t MlaLauncher<kStore, kDc>::Launch(bool wide, const MlaCall& call, uint32_t query_tiles,
                                             cudaStream_t stream) {
  return wide ? LaunchSweep<true>(call, query_tiles, stream) : LaunchSweep<false>(call, query_tiles, stream);
}

}  // namespace longview
