// FrameEncoder: a ViT's tokens of one picture to frame tokens, latents and time keys.
#ifndef LONGVIEW_ATTENTION_BRIDGE_FRAME_ENCODER_H_
#define LONGVIEW_ATTENTION_BRIDGE_FRAME_ENCODER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "attention/bridge/bridge_weights.h"
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
  explicit FrameEncoder(std::shared_ptr<const BridgeWeights> weights);

  // vit [1 + patch_grid^2, vit_width] (class token, then patches row by row, as the ViT gives them) -> frame tokens
  // x [tokens_per_frame, d_v].
  void FrameTokens(const float* vit, float* x, ThreadPool* pool) const;

  // The whole way, for a frame at `t_s` seconds of its video.
  EncodedFrame Encode(const float* vit, double t_s, ThreadPool* pool) const;

 private:
  std::shared_ptr<const BridgeWeights> weights_;
};

// The mean over ViT patches that FrameTokens begins with: vit [1 + grid^2, width] -> out [1 + pool^2, width]; row 0 is
// the class token, the others are means of (grid / pool)^2 patches, row by row.
void PoolVitTokens(const float* vit, size_t grid, size_t pool, size_t width, float* out);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_FRAME_ENCODER_H_
