// NextRows: asks memory for the rows that a sweep over the latent cache will read next.
#ifndef LONGVIEW_ATTENTION_KERNELS_NEXT_ROWS_H_
#define LONGVIEW_ATTENTION_KERNELS_NEXT_ROWS_H_

#include <hwy/base.h>

#include <algorithm>
#include <cstddef>

#include "attention/kernels/cross_attn_sweep.h"

namespace longview::internal {

// The rows of the tile after this one, asked for from memory while this one is attended to: a few at a time, because
// the processor has room for few at once, and into the second-level cache, because the first is full.
class NextRows {
 public:
  explicit NextRows(const CrossAttnParams& params)
      : latent_bytes_(params.d_c * CacheStoreNumberBytes(params.store)),
        key_bytes_(params.d_r * CacheStoreKeyBytes(params.store)) {}

  // Takes note of up to kSweepTile tokens from `token` of `run` on; they will be asked for in `steps` steps.
  void Plan(const SweepTask& task, size_t run, size_t token, size_t steps) {
    const CrossAttnParams& params = *task.params;
    const size_t number_bytes = CacheStoreNumberBytes(params.store);
    count_ = next_ = 0;
    for (; count_ < kSweepTile && run < task.last_run; ++run, token = 0) {
      const CrossAttnRun& from = params.runs[run];
      const size_t stride = from.latent_stride * number_bytes;
      const size_t take = std::min<size_t>(kSweepTile - count_, from.tokens - token);
      const char* latent = static_cast<const char*>(from.latents) + token * stride;
      const char* key = static_cast<const char*>(from.keys) + token * key_bytes_;
      const char* value = static_cast<const char*>(from.values) + (task.value_at > 0 ? token * stride : 0);
      for (const size_t end = count_ + take; count_ < end; ++count_, latent += stride, key += key_bytes_) {
        latents_[count_] = latent;
        keys_[count_] = key;
        values_[count_] = value;
        if (task.value_at > 0) value += stride;
      }
    }
    apart_ = task.value_at > 0;
    rows_a_step_ = (count_ + steps - 1) / std::max<size_t>(steps, 1);
  }

  // Asks for the next step's rows.
  HWY_INLINE void Step() {
    for (const size_t end = std::min(next_ + rows_a_step_, count_); next_ < end; ++next_) {
      for (size_t at = 0; at < latent_bytes_; at += 64) __builtin_prefetch(latents_[next_] + at, 0, 2);
      for (size_t at = 0; at < key_bytes_; at += 64) __builtin_prefetch(keys_[next_] + at, 0, 2);
      if (!apart_) continue;
      for (size_t at = 0; at < latent_bytes_; at += 64) __builtin_prefetch(values_[next_] + at, 0, 2);
    }
  }

 private:
  const size_t latent_bytes_, key_bytes_;
  size_t count_ = 0, next_ = 0, rows_a_step_ = 0;
  const char* latents_[kSweepTile];
  const char* keys_[kSweepTile];
  const char* values_[kSweepTile];
  bool apart_ = false;
};

}  // namespace longview::internal

#endif  // LONGVIEW_ATTENTION_KERNELS_NEXT_ROWS_H_
