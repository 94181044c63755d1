// BridgeWeights: the trained numbers between a ViT and a text decoder, every shape checked when they are read.
#ifndef LONGVIEW_ATTENTION_BRIDGE_BRIDGE_WEIGHTS_H_
#define LONGVIEW_ATTENTION_BRIDGE_BRIDGE_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attention/bridge/bridge_config.h"
#include "attention/mla/compressor.h"
#include "core/base/status.h"
#include "core/ops/linear.h"

namespace longview {

class WeightFile;

// One pre-norm transformer layer of the token encoder.
struct EncoderLayerWeights {
  std::vector<float> norm1_weight, norm1_bias, norm2_weight, norm2_bias;  // [d_v] each
  Linear qkv, proj, fc1, fc2;
};

// One cross-attention block. uk and uv stay float: absorption multiplies by them head by head.
struct CrossLayerWeights {
  int layer = 0;                             // the decoder layer that it stands before
  std::vector<float> norm_weight, mlp_norm;  // [width]
  Linear q, q_time, o, up, down;
  std::vector<float> uk, uv;  // [heads * d_k, d_c]
  std::vector<float> sink;    // [heads]
};

// Two linear layers with a GELU between.
struct RetrievalHeadWeights {
  Linear fc1, fc2;
};

// One pre-norm layer of the caption head: self-attention, cross-attention over latents, feed-forward.
struct CaptionLayerWeights {
  std::vector<float> norm1_weight, norm1_bias, norm2_weight, norm2_bias, norm3_weight, norm3_bias;  // [width] each
  Linear qkv, o, cross_q, cross_o, cross_k, cross_v, up, down;
};

// A small text decoder of its own over a part of the large one's vocabulary; 0 numbers the beginning and the end.
struct CaptionHeadWeights {
  Linear embed;                                     // [1 + tokens, width] with the logits' bias: embedding and output
  std::vector<float> position;                      // [longest, width]
  std::vector<float> norm_weight, norm_bias;        // [width]
  std::vector<int32_t> tokens;                      // the large decoder's token for each number from 1
  std::unordered_map<int32_t, uint32_t> number_of;  // the reverse of `tokens`
  std::vector<CaptionLayerWeights> layers;
};

// Immutable and shared: FrameEncoder, CrossBlocks, TextVector and the caption head read it from any thread.
struct BridgeWeights {
  BridgeConfig config;
  std::vector<float> in_norm_weight, in_norm_bias, position, out_norm_weight, out_norm_bias;  // position [tokens, d_v]
  Linear in;
  std::vector<EncoderLayerWeights> encoder;
  Compressor compressor;
  TimeRope rope;
  std::vector<CrossLayerWeights> cross;  // in order of `layer`
  std::optional<RetrievalHeadWeights> frame_head, text_head;
  std::vector<float> frame_place;  // [parts, hidden], added between the frame head's layers
  float retrieval_scale = 1.0f;
  std::optional<CaptionHeadWeights> caption_head;

  // Bytes held in memory.
  size_t bytes() const;
};

// Copies every tensor that `config` calls for out of `file`. kNotFound or kDamaged name the file and the tensor.
Result<std::shared_ptr<const BridgeWeights>> LoadBridge(const BridgeConfig& config, const WeightFile& file,
                                                        WeightStore store);
// Reads config.json of a model folder and the bridge file beside it. The SHA-256 is the engine's to check.
Result<std::shared_ptr<const BridgeWeights>> LoadBridge(const std::filesystem::path& folder, WeightStore store);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_BRIDGE_WEIGHTS_H_
