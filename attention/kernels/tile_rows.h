// TileRows: where the rows of a tile of the cache lie, for sweeps that do not copy them.
#ifndef LONGVIEW_ATTENTION_KERNELS_TILE_ROWS_H_
#define LONGVIEW_ATTENTION_KERNELS_TILE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "attention/kernels/cross_attn_sweep.h"

namespace longview::internal {

// Where the rows of a tile lie: in the cache, or in a copy with zeros behind where a frame keeps fewer numbers.
template <class T>
struct TileRows {
  static constexpr size_t kTokens = kSweepLargestTile;

  const SweepTask& task;
  T* const copies;      // [kTokens, row_width]
  const T* const zero;  // [row_width]
  const T* latents[kTokens];
  const T* values[kTokens];
  const uint16_t* keys[kTokens];

  // `scratch`: kTokens + 1 rows of task.row_width numbers, zeros.
  TileRows(const SweepTask& t, void* scratch)
      : task(t), copies(static_cast<T*>(scratch)), zero(copies + kTokens * t.row_width) {}

  void Put(const CrossAttnRun& run, size_t token, size_t count, size_t row) {
    const CrossAttnParams& params = *task.params;
    const bool apart = task.value_at > 0;
    const T* latent = static_cast<const T*>(run.latents) + token * run.latent_stride;
    const T* value = apart ? static_cast<const T*>(run.values) + token * run.latent_stride : latent;
    const uint16_t* key = static_cast<const uint16_t*>(run.keys) + token * params.d_r;
    for (const size_t end = row + count; row < end; ++row) {
      latents[row] = latent;
      values[row] = value;
      keys[row] = key;
      latent += run.latent_stride;
      value += run.latent_stride;
      key += params.d_r;
      if (run.d_c < params.d_c) Pad(run.d_c, row);
    }
  }

  // Rows [n, filled) count as zeros.
  void Fill(size_t n, size_t filled) {
    for (; n < filled; ++n) {
      latents[n] = values[n] = zero;
      keys[n] = reinterpret_cast<const uint16_t*>(zero);
    }
  }

 private:
  void Pad(size_t n, size_t row) {
    T* to = copies + row * task.row_width;
    latents[row] = PadVector(latents[row], n, to);
    values[row] = task.value_at > 0 ? PadVector(values[row], n, to + task.value_at) : latents[row];
  }

  const T* PadVector(const T* from, size_t n, T* to) const {
    std::memcpy(to, from, n * sizeof(T));
    std::memset(to + n, 0, (task.c_width - n) * sizeof(T));
    return to;
  }
};

}  // namespace longview::internal

#endif  // LONGVIEW_ATTENTION_KERNELS_TILE_ROWS_H_
