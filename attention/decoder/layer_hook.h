// LayerHook: how the cross-attention blocks of a bridge act inside a text decoder that knows nothing of video.
#ifndef LONGVIEW_ATTENTION_DECODER_LAYER_HOOK_H_
#define LONGVIEW_ATTENTION_DECODER_LAYER_HOOK_H_

#include <cstddef>

#include "core/base/status.h"

namespace longview {

class GpuNet;

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

  // Whether a decoder on a device is to leave the rows there and to call BeforeLayerOn in place of BeforeLayer.
  virtual bool OnDevice() const { return false; }

  // BeforeLayer for rows in the device's memory, as work of the decoder's own stream for later. Asked only of hooks
  // that are OnDevice.
  virtual Status BeforeLayerOn(GpuNet* /*net*/, int /*layer*/, float* /*h*/, size_t /*rows*/, size_t /*width*/) {
    return Unsupported("this hook acts on the processor");
  }
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_LAYER_HOOK_H_
