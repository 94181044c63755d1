// CrossBlocks: the bridge's cross-attention inside a text decoder, over the cache of one or several videos in any form.
#ifndef LONGVIEW_ATTENTION_BRIDGE_CROSS_BLOCKS_H_
#define LONGVIEW_ATTENTION_BRIDGE_CROSS_BLOCKS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/bridge/bridge_weights.h"
#include "attention/bridge/cache_form.h"
#include "attention/bridge/gpu_cross_blocks.h"
#include "attention/decoder/layer_hook.h"
#include "attention/kernels/cross_attn.h"
#include "attention/kernels/cuda/mirror_shelf.h"
#include "attention/mla/cache_mode.h"
#include "attention/mla/frame_cache.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {

struct CrossBlocksOptions {
  CacheForm form;  // that the view was built in
  // mha in fp32 from a cache of latents (form kMla): keys and values are expanded block by block and never held whole,
  // so that it exists at any length. What every form is held against; slow.
  bool reference = false;
  CrossAttnKernel kernel = CrossAttnKernel::kAuto;
  // Where a copy of the view on a device comes from; null: the processor attends to it. A form that the device has no
  // kernel for, or a view that it has no memory for, stays with the processor; the log says why. `mirror_key` names the
  // view's latents, see MirrorShelf.
  std::shared_ptr<MirrorShelf> mirrors;
  std::string mirror_key;
  // These blocks on the device of the text decoder that they are to act in, which then leaves its rows there; null: the
  // processor's. They are for latents that all layers share: in any store but without evidence where they are few (up
  // to kMostTokens), else where a mirror holds them. Whatever else is asked for stays with the processor.
  std::shared_ptr<const GpuCrossBlocks> device;
  double question_time_s = 0.0;  // t_q: the time that the question names, 0 where it names none
  bool collect_evidence = true;  // costs a few per cent of the sweep
};

// One conversation's hook: not thread-safe, holds what it has seen. The weights and the caches behind the view must
// outlive it (the view is copied, its memory is the caches', of which it keeps those that the view owns). `pool` may be
// null.
class CrossBlocks : public LayerHook {
 public:
  // kInvalidArgument where the view does not hold what the form says, or the form does not fit the bridge.
  static Result<std::unique_ptr<CrossBlocks>> Make(std::shared_ptr<const BridgeWeights> weights, CacheView view,
                                                   const CrossBlocksOptions& options, ThreadPool* pool);
  ~CrossBlocks() override;

  bool ActsBefore(int layer) const override;

  // Adds the block that stands before `layer`, if one does: h += o(attention), h += mlp(h). With an empty view nothing
  // acts.
  Status BeforeLayer(int layer, float* h, size_t rows, size_t width) override;

  // Where CrossBlocksOptions::device takes what is attended to, the same there.
  bool OnDevice() const override;
  Status BeforeLayerOn(GpuNet* net, int layer, float* h, size_t rows, size_t width) override;

  // The view attended to; frames in the order of evidence().
  const CacheView& view() const;

  // Per frame of the view: the attention its tokens took, averaged over layers, heads and the rows seen since the last
  // ResetEvidence; the sinks' share is what is missing to 1. All zero before the first row.
  std::vector<double> Evidence() const;
  // 1 - the sum of Evidence(): what went to the sinks; 1 before the first row.
  double SinkShare() const;
  // Forgets what was collected (between reading the prompt and writing the answer, say).
  void ResetEvidence();

 private:
  struct Impl;
  // The block before `layer`: its number, -1 where there is none. kInvalidArgument for a width that is not the
  // bridge's.
  Result<int> BlockBefore(int layer, size_t rows, size_t width) const;
  explicit CrossBlocks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_CROSS_BLOCKS_H_
