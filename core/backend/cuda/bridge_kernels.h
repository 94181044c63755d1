// The bodies of the bridge's own kernels: means over patches, GELU, queries brought into form. Written against simt.h:
// the same source runs on the device and, emulated, in the tests.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_BRIDGE_KERNELS_H_
#define LONGVIEW_CORE_BACKEND_CUDA_BRIDGE_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "core/backend/cuda/simt.h"
#include "core/backend/net_calls.h"

namespace longview::LV_SIMT {

inline constexpr int kPoolThreads = 128;
inline constexpr int kGeluThreads = 256;

// Row block.x of picture block.y.
LV_DEVICE void PoolRow(Block& block, const GpuPool& call) {
  const bool all = block.x == 1 + call.pool * call.pool;
  // The square of `side` patches that the row is the mean of.
  const uint32_t side = all ? call.grid : call.grid / call.pool;
  const uint32_t cell = all || block.x == 0 ? 0 : block.x - 1;
  const uint32_t top = cell / call.pool * side, left = cell % call.pool * side;
  const uint32_t count = block.x == 0 ? 1 : side * side;
  const float share = 1.0f / static_cast<float>(count);
  const float* picture = call.tokens + static_cast<size_t>(block.y) * (1 + call.grid * call.grid) * call.width;
  const size_t to = (static_cast<size_t>(block.y) * call.rows() + block.x) * call.width;
  ForThreads<kPoolThreads>(block, [&](int thread) {
    for (uint32_t i = thread; i < call.width; i += kPoolThreads) {
      float sum = 0.0f;
      for (uint32_t j = 0; j < count; ++j) {
        const uint32_t token = block.x == 0 ? 0 : 1 + (top + j / side) * call.grid + left + j % side;
        sum += picture[static_cast<size_t>(token) * call.width + i];
      }
      if (call.out_float) {
        static_cast<float*>(call.out)[to + i] = sum * share;
      } else {
        static_cast<uint16_t*>(call.out)[to + i] = NarrowBF16(sum * share);
      }
    }
  });
}

// Numbers kGeluThreads * block.x and on.
LV_DEVICE void GeluNumbers(Block& block, const GpuGelu& call) {
  constexpr float kHalfRoot = 0.70710678118654752f;  // 1 / sqrt(2)
  ForThreads<kGeluThreads>(block, [&](int thread) {
    const uint32_t i = block.x * kGeluThreads + thread;
    if (i < call.count) call.y[i] = NarrowBF16(0.5f * call.x[i] * (1.0f + Erf(call.x[i] * kHalfRoot)));
  });
}

inline constexpr int kQueryThreads = 128;

// Head block.y of row block.x.
LV_DEVICE void PartQuery(Block& block, const GpuPartQueries& call) {
  const size_t query = static_cast<size_t>(block.x) * call.heads + block.y;
  const float* row = call.q + static_cast<size_t>(block.x) * call.heads * (call.d_c + call.d_r);
  const float* content = row + static_cast<size_t>(block.y) * call.d_c;
  const float* time = row + static_cast<size_t>(call.heads) * call.d_c + static_cast<size_t>(block.y) * call.d_r;
  const uint32_t half = call.d_r / 2;
  ForThreads<kQueryThreads>(block, [&](int thread) {
    for (uint32_t i = thread; i < call.cut; i += kQueryThreads) call.content[query * call.cut + i] = content[i];
    float* to = call.time + query * call.time_stride;
    for (uint32_t i = thread; i < call.time_stride; i += kQueryThreads) {
      const uint32_t pair = i % half;
      const float a = time[pair], b = time[pair + half];
      const float turned = i < half ? a * call.cos[pair] - b * call.sin[pair] : a * call.sin[pair] + b * call.cos[pair];
      to[i] = i < call.d_r ? turned : 0.0f;
    }
  });
}

// Row block.x.
LV_DEVICE void NarrowRow(Block& block, const GpuNarrow& call) {
  ForThreads<kQueryThreads>(block, [&](int thread) {
    for (uint32_t i = thread; i < call.stride; i += kQueryThreads) {
      const float v = i < call.width ? call.x[static_cast<size_t>(block.x) * call.width + i] : 0.0f;
      call.y[static_cast<size_t>(block.x) * call.stride + i] = NarrowBF16(v);
    }
  });
}

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_BRIDGE_KERNELS_H_
