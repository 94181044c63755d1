// FrameEncoder: a ViT's tokens of one picture to frame tokens, latents and time keys, on the processor or a GPU.
#ifndef LONGVIEW_ATTENTION_BRIDGE_FRAME_ENCODER_H_
#define LONGVIEW_ATTENTION_BRIDGE_FRAME_ENCODER_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/gpu_frame_encoder.h"
#include "core/backend/gpu_net.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {

// What is kept of one frame, in float; the index stores it as bf16.
struct EncodedFrame {
  std::vector<float> latents;    // [tokens_per_frame, d_c]
  std::vector<float> keys;       // [tokens_per_frame, d_r]
  std::vector<float> retrieval;  // as FrameVectors; empty where the bridge has no retrieval heads
};

// Thread-safe. A frame's numbers do not depend on what else is encoded beside it.
class FrameEncoder {
 public:
  // With `device` the frames of a batch are encoded there, in bf16; where it cannot take the weights the processor does
  // it, and the log says why.
  explicit FrameEncoder(std::shared_ptr<const BridgeWeights> weights, std::shared_ptr<GpuNet> device = nullptr);

  // Whether a GPU still encodes: it takes ViT tokens that lie in its memory.
  bool on_device() const;
  // Memory of that GPU for `numbers` floats; kUnsupported on the processor.
  Result<GpuBuffer> Room(size_t numbers) const;

  // The frames of a batch, in order. One thread at a time has the GPU; where it fails, the log says so and the
  // processor goes on, or fails with kUnsupported where tokens lie in the GPU's memory.
  Result<std::vector<EncodedFrame>> Encode(std::span<const FrameInput> frames, ThreadPool* pool) const;

  // vit [1 + patch_grid^2, vit_width] (class token, then patches row by row, as the ViT gives them) -> frame tokens
  // x [tokens_per_frame, d_v]; on the processor.
  void FrameTokens(const float* vit, float* x, ThreadPool* pool) const;

  // The whole way on the processor, for a frame at `t_s` seconds of its video.
  EncodedFrame Encode(const float* vit, double t_s, ThreadPool* pool) const;

 private:
  std::vector<EncodedFrame> FromDevice(std::span<const FrameInput> frames, const GpuFrames& made) const;

  std::shared_ptr<const BridgeWeights> weights_;
  mutable std::mutex gpu_mutex_;
  mutable std::unique_ptr<GpuFrameEncoder> gpu_;  // null: the processor's
};

// The mean over ViT patches that FrameTokens begins with: vit [1 + grid^2, width] -> out [1 + pool^2, width]; row 0 is
// the class token, the others are means of (grid / pool)^2 patches, row by row.
void PoolVitTokens(const float* vit, size_t grid, size_t pool, size_t width, float* out);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_FRAME_ENCODER_H_
