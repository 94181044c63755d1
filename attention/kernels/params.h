// What the cross-attention kernels are called with: plain data, every shape beside its pointer. Nothing is checked
// inside them; CheckCrossAttn (cross_attn.h) is the border.
#ifndef LONGVIEW_ATTENTION_KERNELS_PARAMS_H_
#define LONGVIEW_ATTENTION_KERNELS_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "attention/mla/cache_mode.h"

namespace longview {

// The tokens of one frame, contiguous in a block of the cache. Nothing beyond the last row is ever read.
struct CrossAttnRun {
  const void* latents = nullptr;  // [tokens, latent_stride] of CrossAttnParams::store
  const void* keys = nullptr;     // [tokens, d_r]: f32, f16 or bf16 as the store; bf16 for kI8. Time keys, turned.
  // [tokens]: latent = scale * stored number. kI8 always; other stores where tokens have a factor, else null.
  const float* scales = nullptr;
  // [tokens, latent_stride] of the store, where values are kept apart from the latents, which are then keys alone. All
  // runs of a call or none.
  const void* values = nullptr;
  const float* value_scales = nullptr;  // [tokens], as `scales`
  uint32_t tokens = 0;                  // may be 0
  uint16_t d_c = 0;                     // numbers a latent holds here; the rest up to CrossAttnParams::d_c counts as 0
  uint16_t latent_stride = 0;           // numbers from one latent to the next, >= d_c
};

// softmax(scale * (q_c C^T + q_r R^T)) V over the tokens of all runs, for each query; V is C but where the
// runs have values of their own. A query is one head of one row.
struct CrossAttnParams {
  const float* q_c = nullptr;  // [queries, d_c], absorbed: q W_uk^T
  const float* q_r = nullptr;  // [queries, d_r], turned by the question's time
  size_t queries = 0;          // rows x heads
  size_t d_c = 0;              // 8..1024, a multiple of 8: numbers of a latent that this call uses (the cut)
  size_t d_r = 0;              // 0..256, a multiple of 8
  float scale = 1.0f;          // 1 / sqrt(d_k + d_r)
  CacheStore store = CacheStore::kBF16;
  const CrossAttnRun* runs = nullptr;  // [run_count]
  size_t run_count = 0;

  // [queries] or null: the score of one more key, whose value is zero, that takes its share of the softmax.
  const float* sink = nullptr;

  float* out = nullptr;  // [queries, d_c]: zeros where there is no token
  float* lse =
      nullptr;  // [queries]: log of the sum of exp(score) over tokens, the sink left out; -inf where there is none
  // [run_count] or null: the share of the softmax that each run's tokens took, averaged over the queries. They add up
  // to 1 less the sinks' share.
  float* run_mass = nullptr;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_PARAMS_H_
