// The softmax side of the sweep over a latent cache: scores and their powers, a tile at a time. Beneath MlaSweep.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_SCORES_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_SCORES_H_

#include <cstdint>

#include "attention/kernels/cuda/mla_call.h"
#include "attention/kernels/cuda/mla_tiles.h"
#include "core/backend/cuda/simt.h"

namespace longview::LV_SIMT {

inline constexpr float kMinusInfinity = -__builtin_huge_valf();

template <MlaStore kStore, uint32_t kDc, bool kWide>
class MlaScores : public MlaTiles<kStore, kDc, kWide> {
 protected:
  using Tiles = MlaTiles<kStore, kDc, kWide>;
  using Tiles::at_;
  using Tiles::block_;
  using Tiles::call_;
  using Tiles::kColumnWarps;
  using Tiles::kLatentStride;
  using Tiles::kRows;
  using Tiles::kTile;
  using Tiles::kWarps;
  using Tiles::kWidens;
  static constexpr int kTokenBlocks = kTile / kColumnWarps / 8;          // of 8 tokens, of a warp's scores
  static constexpr int kColumns = static_cast<int>(kDc) / kColumnWarps;  // of a warp's sums
  static constexpr int kColumnBlocks = kColumns / 8;
  static constexpr uint32_t kProbabilityStride = kTile + 8, kExactStride = kTile + 1;

  struct WarpState {
    PerLane<F4> out[kColumnBlocks];
    PerLane<F4> score[kTokenBlocks];
    PerLane<float> max[2], sum[2];  // of rows lane / 4 and lane / 4 + 8
  };

  using Tiles::Tiles;

  LV_DEVICE void Begin(WarpState& s) {
    ForLanes([&](int lane) {
      LV_UNROLL
      for (int i = 0; i < kColumnBlocks; ++i) s.out[i][lane] = F4{{0.0f, 0.0f, 0.0f, 0.0f}};
      LV_UNROLL
      for (int i = 0; i < 2; ++i) {
        s.max[i][lane] = kMinusInfinity;
        s.sum[i][lane] = 0.0f;
      }
    });
  }

  // score += queries . rows over `width` numbers; the rows of a warp's tokens begin at `rows`.
  LV_DEVICE void Dot(WarpState& s, const uint16_t* queries, const uint16_t* rows, uint32_t width, uint32_t stride) {
    for (uint32_t k = 0; k < width; k += 32) {
      PerLane<const uint16_t*> at;
      PerLane<U4> a[2], b;
      LV_UNROLL
      for (int half = 0; half < 2; ++half) {
        ForLanes([&](int lane) {
          const uint32_t number = (lane % 16) * stride + k + 16 * half + lane / 16 * 8;
          at[lane] = queries + number;
        });
        LoadMatrices<false>(at, a[half]);
      }
      LV_UNROLL
      for (int i = 0; i < kTokenBlocks; ++i) {
        ForLanes([&](int lane) {
          const uint32_t number = (8 * i + lane % 8) * stride + k + lane / 8 * 8;
          at[lane] = rows + number;
        });
        LoadMatrices<false>(at, b);
        MultiplyAdd(a[0], b, 0, s.score[i]);
        MultiplyAdd(a[1], b, 1, s.score[i]);
      }
    }
  }

  LV_DEVICE void Score(int warp, const uint16_t* latents, const uint16_t* keys, const float* scales) {
    WarpState& s = state_[warp];
    const uint32_t query = warp / kColumnWarps * 16, token = warp % kColumnWarps * (kTile / kColumnWarps);
    const uint16_t* queries = this->template Shared<uint16_t>(at_.queries);
    LV_UNROLL
    for (int i = 0; i < kTokenBlocks; ++i) {
      ForLanes([&](int lane) { s.score[i][lane] = F4{{0.0f, 0.0f, 0.0f, 0.0f}}; });
    }
    Dot(s, queries + query * kLatentStride, latents + token * kLatentStride, kDc, kLatentStride);
    if constexpr (kWidens) {
      LV_UNROLL
      for (int i = 0; i < kTokenBlocks; ++i) {
        ForLanes([&](int lane) {
          LV_UNROLL
          for (int r = 0; r < 4; ++r) s.score[i][lane].v[r] *= scales[token + 8 * i + 2 * (lane % 4) + r % 2];
        });
      }
    }
    Dot(s, queries + kRows * kLatentStride + query * this->KeyStride(), keys + token * this->KeyStride(), call_.d_r,
        this->KeyStride());
  }

  // The highest score of each row among the warp's tokens; those beyond the cache's last (`left` from the tile's first
  // on) are taken out.
  LV_DEVICE void Highest(int warp, uint32_t left) {
    WarpState& s = state_[warp];
    const uint32_t column = warp % kColumnWarps, token = column * (kTile / kColumnWarps);
    PerLane<float> high[2];
    ForLanes([&](int lane) {
      high[0][lane] = high[1][lane] = kMinusInfinity;
      LV_UNROLL
      for (int i = 0; i < kTokenBlocks; ++i) {
        LV_UNROLL
        for (int r = 0; r < 4; ++r) {
          float& score = s.score[i][lane].v[r];
          if (token + 8 * i + 2 * (lane % 4) + r % 2 >= left) score = kMinusInfinity;
          high[r / 2][lane] = Max(high[r / 2][lane], score);
        }
      }
    });
    QuadMax(high[0]);
    QuadMax(high[1]);
    ForLanes([&](int lane) {
      if (lane % 4 != 0) return;
      float* to = this->template Shared<float>(at_.row_max) + column * kRows + warp / kColumnWarps * 16 + lane / 4;
      to[0] = high[0][lane];
      to[8] = high[1][lane];
    });
  }

  // Scores become powers of two, relative to the row's highest so far; earlier sums are brought up to it.
  LV_DEVICE void Weigh(int warp, const float* scales) {
    WarpState& s = state_[warp];
    const uint32_t column = warp % kColumnWarps, token = column * (kTile / kColumnWarps);
    ForLanes([&](int lane) {
      LV_UNROLL
      for (int half = 0; half < 2; ++half) {
        const uint32_t row = warp / kColumnWarps * 16 + lane / 4 + 8 * half;
        float max = s.max[half][lane];
        LV_UNROLL
        for (int i = 0; i < kColumnWarps; ++i)
          max = Max(max, this->template Shared<float>(at_.row_max)[i * kRows + row]);
        const float shrink = Exp2(s.max[half][lane] - max);
        s.max[half][lane] = max;
        float sum = s.sum[half][lane] * shrink;
        LV_UNROLL
        for (int i = 0; i < kColumnBlocks; ++i) {
          s.out[i][lane].v[2 * half] *= shrink;
          s.out[i][lane].v[2 * half + 1] *= shrink;
        }
        LV_UNROLL
        for (int i = 0; i < kTokenBlocks; ++i) {
          const uint32_t t = token + 8 * i + 2 * (lane % 4);
          float low = Exp2(s.score[i][lane].v[2 * half] - max), high = Exp2(s.score[i][lane].v[2 * half + 1] - max);
          sum += low + high;
          if (call_.segment_sum != nullptr) {
            float* exact = this->template Shared<float>(at_.exact) + row * kExactStride + t;
            exact[0] = low;
            exact[1] = high;
          }
          if constexpr (kWidens) {
            low *= scales[t];
            high *= scales[t + 1];
          }
          *reinterpret_cast<uint32_t*>(this->template Shared<uint16_t>(at_.probabilities) + row * kProbabilityStride +
                                       t) = PackBF16(low, high);
        }
        s.sum[half][lane] = sum;
        if (column == 0 && lane % 4 == 0) this->template Shared<float>(at_.row_max)[kColumnWarps * kRows + row] = max;
      }
    });
  }

  PerWarp<WarpState, kWarps> state_;
};

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_SCORES_H_
