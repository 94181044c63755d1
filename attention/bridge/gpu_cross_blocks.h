// GpuCrossBlocks: a bridge's cross blocks on the GPU that a text decoder runs on, as work among the decoder's own.
// Beneath CrossBlocks, which checks calls.
#ifndef LONGVIEW_ATTENTION_BRIDGE_GPU_CROSS_BLOCKS_H_
#define LONGVIEW_ATTENTION_BRIDGE_GPU_CROSS_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "attention/bridge/bridge_config.h"
#include "attention/kernels/cuda/mla_mirror.h"
#include "core/backend/gpu_net.h"
#include "core/backend/gpu_weights.h"
#include "core/base/status.h"

namespace longview {

// One block's weights as plain numbers, the projections of keys and values multiplied into those beside them.
struct CrossBlockFloats {
  std::vector<float> norm, mlp_norm;  // [width]
  std::vector<float> q;               // [heads (d_c + d_r), width]: W_uk^T W_q head by head, then W_qr of all heads
  std::vector<float> out;             // [width, heads d_c]: W_o W_uv
  std::vector<float> up, down;        // [mlp, width], [width, mlp]
  std::vector<float> up_bias;         // [mlp]
  std::vector<float> sink;            // [heads]
};

// The tokens that a conversation attends to, in the device's memory.
struct GpuLatents {
  GpuBuffer latents;  // [tokens, d_c] floats
  GpuBuffer keys;     // [tokens, d_r] floats
  size_t tokens = 0;
};

// What is attended to: few tokens, or the mirror of many.
struct CrossTokens {
  const GpuLatents* few = nullptr;
  MlaMirror* many = nullptr;
  float mass_factor = 0.0f;  // of the mirror's, as in MlaDeviceCall
};

// What a question fixes for all rows.
struct CrossQuestion {
  std::span<const float> cos, sin;  // [d_r / 2]: of its time
  size_t cut = 0;                   // numbers of a latent that count
};

class GpuCrossBlocks {
 public:
  // Of more tokens each block would take longer than the kernel that is made for many.
  static constexpr size_t kMostTokens = 4096;
  // Rows of one call.
  static constexpr size_t kMostRows = 256;

  // Copies the weights to the device, where they stay; `net` serves for memory. kUnsupported for dimensions that the
  // kernels do not take; kResource without memory.
  static Result<std::unique_ptr<GpuCrossBlocks>> Make(std::shared_ptr<GpuNet> net, const BridgeConfig& config,
                                                      std::span<const CrossBlockFloats> blocks);
  ~GpuCrossBlocks();

  // latents [tokens, d_c], keys [tokens, d_r], turned by their times; 1 to kMostTokens. From any thread.
  Result<GpuLatents> Copy(std::span<const float> latents, std::span<const float> keys) const;

  // h += block(h) for `rows` rows [rows, width] on the device: block number `block`, over `tokens`. Work of `net`, a
  // stream of the same device: one stream at a time, for its blocks share the memory between them. kInvalidArgument
  // for more than kMostRows rows.
  Status Add(GpuNet* net, size_t block, const CrossTokens& tokens, const CrossQuestion& question, float* h,
             size_t rows) const;

 private:
  struct Block {
    size_t norm = 0, mlp_norm = 0, q = 0, out = 0, up = 0, up_bias = 0, down = 0, sink = 0;  // places in weights_
  };

  GpuCrossBlocks(std::shared_ptr<GpuNet> net, const BridgeConfig& config);
  Status Upload(std::span<const CrossBlockFloats> blocks);
  // From queries_ to attended_.
  Status AttendToFew(GpuNet* net, size_t sink, const GpuLatents& latents, const CrossQuestion& question,
                     size_t rows) const;
  Status AttendToMany(GpuNet* net, size_t sink, const CrossTokens& tokens, const CrossQuestion& question,
                      size_t rows) const;
  Status Multiply(GpuNet* net, size_t weight, GpuGemm call) const;
  Status Normalise(GpuNet* net, size_t weight, const float* h, size_t rows) const;

  const std::shared_ptr<GpuNet> net_;
  mutable std::mutex mutex_;  // of net_
  const BridgeConfig config_;
  GpuWeights weights_;
  std::vector<Block> blocks_;
  GpuBuffer normed_, queries_, attended_, inner_;
  GpuBuffer content_, time_, sums_;  // queries for a mirror, and what it gives
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_GPU_CROSS_BLOCKS_H_
