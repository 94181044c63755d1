// What one thread block of the sweep's launch does, from its queries to, for the last block of all, the results.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_BLOCK_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_BLOCK_H_

#include <cstdint>

#include "attention/kernels/cuda/mla_call.h"
#include "attention/kernels/cuda/mla_merge.h"
#include "attention/kernels/cuda/mla_sweep.h"
#include "core/backend/cuda/simt.h"

namespace longview::LV_SIMT {

template <MlaStore kStore, uint32_t kDc, bool kWide>
LV_DEVICE void MlaSweepBlock(Block& block, const MlaCall& call) {
  using Sweep = MlaSweep<kStore, kDc, kWide>;
  {
    Sweep sweep(block, call);
    sweep.Run();
  }
  const MlaShared at = MlaSharedLayout({kStore, kDc, kWide}, call.d_r, call.stages);
  MlaMerge<kDc, static_cast<int>(MlaRows(kDc, kWide)), Sweep::kThreads> merge(block, call, at.flag);
  merge.Run();
}

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_BLOCK_H_
