// The caption head: a text decoder of a few layers that reads a frame's latents and says what they show. It is what
// taught the encoder (tools/train/teacher.py), and it describes a frame for a fiftieth of the large decoder's work.
#ifndef LONGVIEW_ATTENTION_BRIDGE_CAPTION_HEAD_H_
#define LONGVIEW_ATTENTION_BRIDGE_CAPTION_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "attention/bridge/bridge_weights.h"
#include "core/base/status.h"

namespace longview {

// The most likely caption, token by token, of latents [tokens, d_c] (row-major, dense; of one frame, or of several one
// behind the other; what an index did not keep of a latent is zero), as tokens of the text decoder's vocabulary without
// an end. At most `max_tokens`, and never more than the head was made for. A pre-norm transformer (LayerNorm, exact
// GELU): self-attention over what was said, cross-attention over the latents, feed-forward. Runs on the caller's
// thread. kUnsupported where the bridge has no caption head; kInvalidArgument for no latents; kCancelled.
Result<std::vector<int32_t>> DescribeLatents(const BridgeWeights& weights, std::span<const float> latents,
                                             size_t max_tokens, const std::stop_token& stop);

// log p of a caption's `tokens` (the text decoder's, without an end), one after the other, given the latents: how well
// the words fit what is seen, to be compared between frames. Tokens that the head does not know, and those beyond its
// longest caption, do not count; 0 where none does. Errors as DescribeLatents.
Result<double> ScoreCaption(const BridgeWeights& weights, std::span<const float> latents,
                            std::span<const int32_t> tokens);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_CAPTION_HEAD_H_
