// The bodies of the text decoder's own kernels: look-up of tokens, RMSNorm, SwiGLU. Written against
// simt.h: the same source runs on the device and, emulated, in the tests.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_TEXT_KERNELS_H_
#define LONGVIEW_CORE_BACKEND_CUDA_TEXT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "core/backend/cuda/simt.h"
#include "core/backend/net_calls.h"

namespace longview::LV_SIMT {

// Every block: few rows are decoded at once, so a row has as many threads as are of use.
inline constexpr int kTextWarps = 8, kTextThreads = 32 * kTextWarps;

// Bytes of shared memory of a block of RMSNorm.
inline constexpr uint32_t kRmsNormShared = kTextWarps * sizeof(float);

// Row block.x.
LV_DEVICE void EmbedRow(Block& block, const GpuEmbed& call) {
  const uint16_t* from = call.table + static_cast<size_t>(call.tokens[block.x]) * call.width;
  ForThreads<kTextThreads>(block, [&](int thread) {
    for (uint32_t i = thread; i < call.width; i += kTextThreads) {
      call.hidden[static_cast<size_t>(block.x) * call.width + i] = WidenBF16(from[i]);
    }
  });
}

// Row block.x.
LV_DEVICE void RmsNormRow(Block& block, const GpuRmsNorm& call) {
  const float* x = call.x + static_cast<size_t>(block.x) * call.width;
  auto* sums = reinterpret_cast<float*>(block.shared);
  ForWarps<kTextWarps>(block, [&](int warp) {
    PerLane<float> sum;
    ForLanes([&](int lane) {
      sum[lane] = 0.0f;
      for (uint32_t i = 32 * warp + lane; i < call.width; i += kTextThreads) sum[lane] += x[i] * x[i];
    });
    WarpSum(sum);
    ForLanes([&](int lane) {
      if (lane == 0) sums[warp] = sum[lane];
    });
  });
  block.Sync();
  ForThreads<kTextThreads>(block, [&](int thread) {
    float sum = 0.0f;
    LV_UNROLL
    for (int i = 0; i < kTextWarps; ++i) sum += sums[i];
    const float factor = 1.0f / SquareRoot(sum / static_cast<float>(call.width) + call.epsilon);
    for (uint32_t i = thread; i < call.width; i += kTextThreads) {
      call.y[static_cast<size_t>(block.x) * call.width + i] = NarrowBF16(x[i] * factor * call.weight[i]);
    }
  });
}

// Numbers kTextThreads * block.y and on of row block.x.
LV_DEVICE void SiluMulRow(Block& block, const GpuSiluMul& call) {
  constexpr float kLog2E = 1.44269504088896341f;
  ForThreads<kTextThreads>(block, [&](int thread) {
    const uint32_t i = block.y * kTextThreads + thread;
    if (i >= call.width) return;
    const float* row = call.gate_up + static_cast<size_t>(block.x) * 2 * call.width;
    const float gate = row[i];
    call.y[static_cast<size_t>(block.x) * call.width + i] =
        NarrowBF16(gate / (1.0f + Exp2(-gate * kLog2E)) * row[call.width + i]);
  });
}

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_TEXT_KERNELS_H_
