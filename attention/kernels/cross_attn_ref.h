// The slow, obvious twins of cross_attn.h: absorbed and expanded, two passes, sums in double, one thread.
#ifndef LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_REF_H_
#define LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_REF_H_

#include <cmath>
#include <cstddef>

#include "attention/kernels/params.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {

// The same contract as the fast kernels'. `params` must have passed CheckCrossAttn.
void CrossAttnReference(const CrossAttnParams& params);

// The share of a query's softmax that its sink leaves to the tokens, whose scores' log-sum-exp is `lse`.
inline double CrossAttnKept(const CrossAttnParams& params, size_t query, double lse) {
  return params.sink == nullptr ? 1.0 : 1.0 / (1.0 + std::exp(static_cast<double>(params.sink[query]) - lse));
}

// The latent (first params.d_c numbers) and the time key of token `token` of `run`, as float.
void CrossAttnReadToken(const CrossAttnParams& params, const CrossAttnRun& run, size_t token, float* latent,
                        float* key);

// Attention as it is without absorption: keys and values are built from the latents, per head and block of tokens.
struct CrossAttnExpanded {
  const float* q = nullptr;  // [rows * heads, d_k]: not absorbed
  const float* uk =
      nullptr;  // [heads * d_k, u_stride]: K = C uk^T, of which the first CrossAttnParams::d_c columns count
  const float* uv = nullptr;  // [heads * d_k, u_stride]: V = C uv^T
  size_t u_stride = 0;        // >= d_c
  size_t rows = 0;
  size_t heads = 0;
  size_t d_k = 0;
  float* out = nullptr;  // [rows * heads, d_k]: softmax(...) V, the sink's share taken off
};

// The fp32 reference of mode `mha`: exact expansion, block by block, never held whole, online softmax in fp32. Of
// `params` it reads q_r, queries (= rows * heads), d_c, d_r, scale, store, runs and sink, and writes lse and run_mass;
// q_c and out are not used and may be null. Runs on `pool` over the heads; kInvalidArgument where the sizes do not fit.
Status CrossAttnExpandedReference(const CrossAttnParams& params, const CrossAttnExpanded& expanded, ThreadPool* pool);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_REF_H_
