// LayerHook: how the cross-attention blocks of a bridge act inside a text decoder that knows nothing of video.
#ifndef LONGVIEW_ATTENTION_DECODER_LAYER_HOOK_H_
#define LONGVIEW_ATTENTION_DECODER_LAYER_HOOK_H_

#include <cstddef>

#include "core/base/status.h"

namespace longview {

// Called by TextDecoder::Forward on its own thread.
class LayerHook {
 public:
  virtual ~LayerHook() = default;

  // Whether BeforeLayer does anything at `layer`: a decoder on a device then need not stop there.
  virtual bool ActsBefore(int /*layer*/) const { return true; }

  // Before decoder layer `layer` (0-based) reads it, may add to the residual stream `h` [rows, width] (row-major,
  // dense), the rows of the current call that lie at or after the position from which cross-attention acts (TextDecoder
  // leaves earlier rows out). A failure ends the forward pass.
  virtual Status BeforeLayer(int layer, float* h, size_t rows, size_t width) = 0;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_LAYER_HOOK_H_
