// CacheForm: one way of keeping what a bridge attends to, and how the frames of an index are brought into it.
#ifndef LONGVIEW_ATTENTION_BRIDGE_CACHE_FORM_H_
#define LONGVIEW_ATTENTION_BRIDGE_CACHE_FORM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attention/bridge/bridge_weights.h"
#include "attention/mla/cache_mode.h"
#include "attention/mla/frame_cache.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {

// Which numbers are kept of a frame token, and in which type.
struct CacheForm {
  CacheMode mode = CacheMode::kMla;
  CacheStore store = CacheStore::kBF16;
  size_t latent = 0;  // numbers of a latent that are used, one of the bridge's cuts; 0: d_c
  size_t groups = 0;  // key-value groups of kGqa, divides the heads; 0: those of BridgeConfig::cache_shape
  // Numbers of a latent that each cross-attention layer uses, cuts up to `latent`: kMlaLayers keeps as many for each
  // layer, kMla reads as many of the shared one. Empty: `latent` in each.
  std::vector<size_t> layer_cuts = {};
};

// kInvalidArgument names what does not fit the bridge.
Status CheckForm(const BridgeConfig& config, const CacheForm& form);
// For the formulas of cache_mode.h. The form must have passed CheckForm, here and below.
CacheShape FormShape(const BridgeConfig& config, const CacheForm& form);
// The vectors kept of a token. Projected modes (mha, gqa, mqa): layer by layer, group by group, a key and a value.
FrameCacheShape FormVectors(const BridgeConfig& config, const CacheForm& form);
// Whether keys and values of each layer are kept (mha, gqa, mqa) rather than something that projections are absorbed
// for.
bool IsProjected(CacheMode mode);
// Key-value groups of a projected mode.
size_t FormGroups(const BridgeConfig& config, const CacheForm& form);

// One frame as an index has it.
struct IndexedFrame {
  double time_s = 0.0;
  double end_s = 0.0;
  size_t tokens = 0;
  const uint16_t* latents = nullptr;  // bf16 [tokens, stride]; at least the form's numbers of each row
  size_t stride = 0;
  const uint16_t* keys = nullptr;  // bf16 [tokens, d_r]
  const float* states = nullptr;   // frame tokens [tokens, d_v]; kStates only, which does not read `latents`
  size_t numbers = 0;              // kMla: of the latent that this frame keeps; 0: the form's
};

// Brings frames of an index into a form. Keys and values of mha are expanded from the latents (K = C W_uk, V = C W_uv);
// those of gqa and mqa are the means of their heads' (mean pooling, Ainslie et al. 2023, arXiv 2305.13245, without the
// further training of that paper). Not thread-safe; the weights are shared.
class CacheBuilder {
 public:
  static Result<CacheBuilder> Make(std::shared_ptr<const BridgeWeights> weights, const CacheForm& form);

  const CacheForm& form() const { return form_; }
  // Of the cache that Append fills.
  const FrameCacheShape& shape() const { return shape_; }
  // Errors are FrameCache::Append's; kInvalidArgument where kStates is not given states.
  Status Append(const IndexedFrame& frame, FrameCache* cache, ThreadPool* pool);

 private:
  CacheBuilder() = default;
  void Expand(const IndexedFrame& frame, ThreadPool* pool);
  void CopyCuts(const IndexedFrame& frame);

  std::shared_ptr<const BridgeWeights> weights_;
  CacheForm form_;
  FrameCacheShape shape_;
  size_t latent_ = 0;               // numbers of a latent in use
  std::vector<float> projections_;  // projected modes: [vectors * d_k, d_c]
  std::vector<float> latents_;      // scratch of one frame, float
  std::vector<float> rows_;
  std::vector<float> keys_, factors_;
  std::vector<uint16_t> cuts_;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_CACHE_FORM_H_
