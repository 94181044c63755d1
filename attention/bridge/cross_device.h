// Between CrossBlocks and a device: a bridge's cross blocks brought there, and the tokens of a view.
#ifndef LONGVIEW_ATTENTION_BRIDGE_CROSS_DEVICE_H_
#define LONGVIEW_ATTENTION_BRIDGE_CROSS_DEVICE_H_

#include <memory>

#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/gpu_cross_blocks.h"
#include "attention/mla/frame_cache.h"
#include "core/backend/gpu_net.h"
#include "core/base/status.h"

namespace longview {

// Multiplies W_uk into W_q and W_uv into W_o, and copies all to the device. Errors as GpuCrossBlocks::Make.
Result<std::shared_ptr<const GpuCrossBlocks>> MakeGpuCrossBlocks(const BridgeWeights& weights,
                                                                 std::shared_ptr<GpuNet> net);

// The tokens of a view of latents that all layers share, as the numbers that its store stands for. `d_c` is the
// bridge's; what a frame does not keep is zero. Errors as GpuCrossBlocks::Copy.
Result<GpuLatents> CopyView(const GpuCrossBlocks& blocks, const CacheView& view, size_t d_c);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_CROSS_DEVICE_H_
