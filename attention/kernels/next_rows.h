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
  explicit NextRows(const SweepTask& task)
      : task_(task),
        number_bytes_(CacheStoreNumberBytes(task.params->store)),
        latent_bytes_(task.params->d_c * number_bytes_),
        key_bytes_(task.params->d_r * CacheStoreKeyBytes(task.params->store)) {}

  // `rows` tokens from `token` of `run` on, or as many as are left, will be asked for in `steps` steps.
  void Plan(size_t run, size_t token, size_t rows, size_t steps) {
    run_ = run;
    token_ = token;
    left_ = rows;
    rows_a_step_ = (rows + steps - 1) / std::max<size_t>(steps, 1);
  }

  // Asks for the next step's rows.
  HWY_INLINE void Step() {
    for (const size_t end = left_ - std::min(rows_a_step_, left_); left_ > end; --left_, ++token_) {
      for (; run_ < task_.last_run && token_ == task_.params->runs[run_].tokens; token_ = 0) ++run_;
      if (run_ == task_.last_run) {
        left_ = 0;
        return;
      }
      const CrossAttnRun& run = task_.params->runs[run_];
      const size_t at = token_ * run.latent_stride * number_bytes_;
      Ask(run.latents, at, latent_bytes_);
      Ask(run.keys, token_ * key_bytes_, key_bytes_);
      if (task_.value_at > 0) Ask(run.values, at, latent_bytes_);
    }
  }

 private:
  static HWY_INLINE void Ask(const void* from, size_t at, size_t bytes) {
    for (const size_t end = at + bytes; at < end; at += 64)
      __builtin_prefetch(static_cast<const char*>(from) + at, 0, 2);
  }

  const SweepTask& task_;
  const size_t number_bytes_, latent_bytes_, key_bytes_;
  size_t run_ = 0, token_ = 0, left_ = 0, rows_a_step_ = 0;
};

}  // namespace longview::internal

#endif  // LONGVIEW_ATTENTION_KERNELS_NEXT_ROWS_H_
