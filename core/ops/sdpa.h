// Scaled dot-product attention over dense keys and values in float: the ViT's, the token encoder's, and the text
// decoder's causal self-attention over its KV cache. (Attention over compressed latents is in attention/kernels.)
#ifndef LONGVIEW_CORE_OPS_SDPA_H_
#define LONGVIEW_CORE_OPS_SDPA_H_

#include <cstddef>

#include "core/base/thread_pool.h"

namespace longview {

// One call. Head h's query at row i begins at q + i * q_stride + h * q_head_stride; keys, values and out alike. Strides
// are in floats. So packed qkv rows [q(H*D) k(H*D) v(H*D)] have q_stride = k_stride = v_stride = 3*H*D, head strides D;
// a cache laid out [kv_head][position][D] has k_stride = D, k_head_stride = capacity * D.
struct SdpaParams {
  const float* q = nullptr;  // [q_rows, heads, head_dim]
  size_t q_stride = 0;
  size_t q_head_stride = 0;
  const float* k = nullptr;  // [kv_rows, kv_heads, head_dim]
  size_t k_stride = 0;
  size_t k_head_stride = 0;
  const float* v = nullptr;  // [kv_rows, kv_heads, head_dim]
  size_t v_stride = 0;
  size_t v_head_stride = 0;
  float* out = nullptr;  // [q_rows, heads, head_dim]; must not overlap the inputs
  size_t out_stride = 0;
  size_t out_head_stride = 0;

  size_t q_rows = 0;
  size_t kv_rows = 0;   // keys that may be read; nothing after them is touched
  size_t heads = 0;     // of queries
  size_t kv_heads = 0;  // heads % kv_heads == 0; query head h reads kv head h / (heads / kv_heads)
  size_t head_dim = 0;
  float scale = 1.0f;   // usually 1 / sqrt(head_dim)
  bool causal = false;  // query row i sees keys 0 .. kv_rows - q_rows + i (needs kv_rows >= q_rows)
  // Whether q, k, v and the softmax may be rounded to bf16 where the CPU multiplies it; sums stay fp32.
  bool narrow = false;
};

// out = softmax(scale * q k^T) v, fp32. Heads (and for one row, nothing else) are split over `pool`, which may be null.
// With no keys, out is zeros. Thread-safe.
void Sdpa(const SdpaParams& params, ThreadPool* pool);

}  // namespace longview

#endif  // LONGVIEW_CORE_OPS_SDPA_H_
