// Private to TextDecoder: one layer's weights.
#ifndef LONGVIEW_ATTENTION_DECODER_DECODER_LAYER_H_
#define LONGVIEW_ATTENTION_DECODER_DECODER_LAYER_H_

#include <vector>

#include "attention/decoder/stacked_linear.h"
#include "core/ops/linear.h"

namespace longview {

struct DecoderLayer {
  std::vector<float> attention_norm;  // [width]
  StackedLinear qkv;                  // [width + 2 kv_width, width], rows of q and k in half-split RoPE order
  Linear attention_out;               // [width, width]
  std::vector<float> ffn_norm;        // [width]
  StackedLinear gate_up;              // [2 ffn, width]
  Linear ffn_down;                    // [width, ffn]
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_DECODER_LAYER_H_
