// The bodies of the vision transformer's own kernels: pictures into rows of patches, and LayerNorm. Written against
// simt.h: the same source runs on the device and, emulated, in the tests.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_VISION_KERNELS_H_
#define LONGVIEW_CORE_BACKEND_CUDA_VISION_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "core/backend/cuda/simt.h"
#include "core/backend/net_calls.h"

namespace longview::LV_SIMT {

inline constexpr int kPatchThreads = 128;

// Row block.x (a patch, or for 0 the class token's place) of picture block.y.
LV_DEVICE void PatchRow(Block& block, const GpuPatchRows& call) {
  const uint32_t grid = call.image / call.patch, tokens = 1 + grid * grid;
  const uint32_t area = call.patch * call.patch;
  const size_t row = static_cast<size_t>(block.y) * tokens + block.x;
  ForThreads<kPatchThreads>(block, [&](int thread) {
    for (uint32_t i = thread; i < call.width; i += kPatchThreads) {
      call.hidden[row * call.width + i] = call.start[static_cast<size_t>(block.x) * call.width + i];
    }
    for (uint32_t i = thread; i < call.patch_stride; i += kPatchThreads) {
      float v = 0.0f;
      if (block.x > 0 && i < 3 * area) {
        const uint32_t plane = i / area, line = i % area / call.patch, column = i % call.patch;
        const size_t y = (block.x - 1) / grid * call.patch + line, x = (block.x - 1) % grid * call.patch + column;
        v = call.chw[((static_cast<size_t>(block.y) * 3 + plane) * call.image + y) * call.image + x];
      }
      call.patches[row * call.patch_stride + i] = NarrowBF16(v);
    }
  });
}

// Rows of one block: one a warp.
inline constexpr int kNormWarps = 8;

// Rows kNormWarps * block.x and on.
LV_DEVICE void LayerNormRows(Block& block, const GpuLayerNorm& call) {
  ForWarps<kNormWarps>(block, [&](int warp) {
    const uint32_t row = block.x * kNormWarps + warp;
    if (row >= call.rows) return;
    const float* x = call.x + static_cast<size_t>(row) * call.width;
    const float share = 1.0f / static_cast<float>(call.width);
    PerLane<float> mean, variance;
    ForLanes([&](int lane) {
      mean[lane] = 0.0f;
      for (uint32_t i = lane; i < call.width; i += 32) mean[lane] += x[i];
    });
    WarpSum(mean);
    ForLanes([&](int lane) {
      mean[lane] *= share;
      variance[lane] = 0.0f;
      for (uint32_t i = lane; i < call.width; i += 32) variance[lane] += (x[i] - mean[lane]) * (x[i] - mean[lane]);
    });
    WarpSum(variance);
    ForLanes([&](int lane) {
      const float factor = 1.0f / SquareRoot(variance[lane] * share + call.epsilon);
      const size_t to = static_cast<size_t>(row) * call.y_stride;
      for (uint32_t i = lane; i < call.width; i += 32) {
        const float v = (x[i] - mean[lane]) * factor * call.weight[i] + call.bias[i];
        if (call.y_float) {
          static_cast<float*>(call.y)[to + i] = v;
        } else {
          static_cast<uint16_t*>(call.y)[to + i] = NarrowBF16(v);
        }
      }
    });
  });
}

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_VISION_KERNELS_H_
