// The memory side of the sweep over a latent cache: queries and tiles of tokens into shared memory. Beneath MlaSweep.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_TILES_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_TILES_H_

#include <cstdint>

#include "attention/kernels/cuda/mla_call.h"
#include "core/backend/cuda/simt.h"

namespace longview::LV_SIMT {

template <MlaStore kStore, uint32_t kDc, bool kWide>
class MlaTiles {
 public:
  static constexpr int kRowWarps = MlaRowWarps(kDc, kWide), kColumnWarps = MlaColumnWarps(kDc, kWide);
  static constexpr int kWarps = kRowWarps * kColumnWarps, kThreads = 32 * kWarps;
  static constexpr int kRows = 16 * kRowWarps, kTile = MlaTileTokens(kDc);
  static constexpr bool kWidens = kStore != MlaStore::kBF16;

 protected:
  static constexpr uint32_t kLatentStride = kDc + 8;  // numbers from one row to the next in shared memory

  LV_DEVICE MlaTiles(Block& block, const MlaCall& call)
      : block_(block), call_(call), at_(MlaSharedLayout({kStore, kDc, kWide}, call.d_r, call.stages)) {}

  template <class T>
  LV_DEVICE T* Shared(uint32_t at) const {
    return reinterpret_cast<T*>(block_.shared + at);
  }
  LV_DEVICE unsigned char* Stage(uint32_t stage) const {
    const uint32_t byte = at_.stages + stage * at_.stage_bytes;
    return block_.shared + byte;
  }
  LV_DEVICE uint32_t KeyStride() const { return call_.d_r + 8; }
  LV_DEVICE uint32_t FirstTileOf(uint32_t part) const {
    return call_.first_tile + static_cast<uint32_t>(static_cast<uint64_t>(part) * call_.tiles / call_.parts);
  }
  // Where row `row` of this query tile lies in part_max and part_sum.
  LV_DEVICE size_t EntryRow(uint32_t row) const {
    return (static_cast<size_t>(block_.x) * call_.parts_total + call_.first_part + block_.y) * kRows + row;
  }

  // The tile's queries, scaled, as bf16; zeros beyond the last.
  LV_DEVICE void TakeQueries() {
    ForThreads<kThreads>(block_, [&](int thread) {
      const uint32_t width = kDc + call_.d_r;
      for (uint32_t i = 2 * thread; i < kRows * width; i += 2 * kThreads) {
        const uint32_t row = i / width, column = i % width, query = block_.x * kRows + row;
        const bool rope = column >= kDc;
        uint32_t pair = 0;
        if (query < call_.queries) {
          const float* from = rope ? call_.q_r + static_cast<size_t>(query) * call_.d_r + (column - kDc)
                                   : call_.q_c + static_cast<size_t>(query) * kDc + column;
          pair = PackBF16(from[0] * call_.scale_log2e, from[1] * call_.scale_log2e);
        }
        const uint32_t to =
            rope ? kRows * kLatentStride + row * KeyStride() + (column - kDc) : row * kLatentStride + column;
        *reinterpret_cast<uint32_t*>(Shared<uint16_t>(at_.queries) + to) = pair;
      }
    });
  }

  // Starts the copies of a tile into a stage; an empty group where the part has no such tile, so that groups count up
  // alike. Tokens behind the cache's last become zeros, whatever the page holds there.
  LV_DEVICE void Fetch(uint32_t tile, uint32_t end, uint32_t stage) {
    if (tile < end) {
      const uint32_t token = tile * kTile, row = token % kMlaPageTokens;
      const unsigned char* page = call_.pages[token / kMlaPageTokens - call_.first_page];
      const uint32_t valid = call_.tokens - token < kTile ? call_.tokens - token : kTile;
      ForThreads<kThreads>(block_, [&](int thread) { FetchRows(thread, page, row, valid, Stage(stage)); });
    }
    block_.CommitCopies();
  }

  LV_DEVICE void FetchRows(int thread, const unsigned char* page, uint32_t first, uint32_t valid, unsigned char* to) {
    constexpr uint32_t kBytes = static_cast<uint32_t>(MlaNumberBytes(kStore));
    constexpr uint32_t kChunks = kDc * kBytes / 16;
    const uint32_t stride = call_.latent_stride * kBytes, to_stride = kWidens ? kDc : 2 * kLatentStride;
    for (uint32_t i = thread; i < kTile * kChunks; i += kThreads) {
      const uint32_t row = i / kChunks, at = i % kChunks * 16, staged = row * to_stride + at;
      block_.CopyAsync(to + staged, page + static_cast<size_t>(first + row) * stride + at, row < valid ? 16 : 0);
    }
    const unsigned char* keys = page + static_cast<size_t>(kMlaPageTokens) * stride;
    const uint32_t key_chunks = call_.d_r / 8;
    for (uint32_t i = thread; i < kTile * key_chunks; i += kThreads) {
      const uint32_t row = i / key_chunks, at = i % key_chunks * 16;
      block_.CopyAsync(to + at_.stage_keys + row * 2 * KeyStride() + at,
                       keys + static_cast<size_t>(first + row) * 2 * call_.d_r + at, row < valid ? 16 : 0);
    }
    if constexpr (kWidens) {
      const unsigned char* scales = keys + static_cast<size_t>(kMlaPageTokens) * 2 * call_.d_r;
      for (uint32_t i = thread; i < kTile / 4; i += kThreads) {
        const uint32_t left = valid > 4 * i ? valid - 4 * i : 0, at = 16 * i;
        block_.CopyAsync(to + at_.stage_scales + at, scales + static_cast<size_t>(first) * 4 + at,
                         left < 4 ? 4 * left : 16);
      }
    }
  }

  // One stored number as it is, without its token's scale.
  LV_DEVICE static float NumberOf(uint32_t byte) {
    if constexpr (kStore == MlaStore::kI8) {
      return static_cast<float>(static_cast<int8_t>(byte));
    } else {
      // E4M3 is a bf16 of the same bits but for the exponent's bias.
      return WidenBF16(static_cast<uint16_t>((byte & 0x80) << 8 | (byte & 0x7F) << 4)) * 0x1p120f;
    }
  }

  // The stage's narrow latents as bf16, exactly; the token's scale is applied to scores and probabilities instead.
  LV_DEVICE void Widen(uint32_t stage) {
    ForThreads<kThreads>(block_, [&](int thread) {
      const unsigned char* from = Stage(stage);
      for (uint32_t i = thread; i < kTile * kDc / 4; i += kThreads) {
        const uint32_t four = reinterpret_cast<const uint32_t*>(from)[i];
        float v[4];
        LV_UNROLL
        for (int j = 0; j < 4; ++j) v[j] = NumberOf(four >> (8 * j) & 0xFF);
        const uint32_t row = 4 * i / kDc, column = 4 * i % kDc;
        auto* to = reinterpret_cast<uint32_t*>(Shared<uint16_t>(at_.widened) + row * kLatentStride + column);
        to[0] = PackBF16(v[0], v[1]);
        to[1] = PackBF16(v[2], v[3]);
      }
    });
  }

  Block& block_;
  const MlaCall& call_;
  const MlaShared at_;
};

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_TILES_H_
