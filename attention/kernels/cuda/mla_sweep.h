// The sweep over a latent cache on tensor cores: scores, online softmax and weighted sums of one part of the cache for
// one tile of queries (FlashAttention-2, arXiv 2307.08691; FlashDecoding's split; absorption as in DeepSeek-V2, arXiv
// 2405.04434). Written against simt.h: the same source runs on the device and, emulated, in the tests.
//
// A block's warps form a grid of kRowWarps x kColumnWarps. For the scores, a warp takes 16 queries and its share of the
// tile's tokens; for the sums, the same queries and its share of the latent's numbers. Probabilities pass through
// shared memory in bf16, all sums are fp32.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_SWEEP_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_SWEEP_H_

#include <cstdint>

#include "attention/kernels/cuda/mla_call.h"
#include "attention/kernels/cuda/mla_scores.h"
#include "core/backend/cuda/simt.h"

namespace longview::LV_SIMT {

template <MlaStore kStore, uint32_t kDc, bool kWide>
class MlaSweep : public MlaScores<kStore, kDc, kWide> {
 public:
  using Scores = MlaScores<kStore, kDc, kWide>;
  using Scores::kThreads;

  LV_DEVICE MlaSweep(Block& block, const MlaCall& call) : Scores(block, call) {}

  // Sweeps part block.y of the launch for query tile block.x and leaves the result in its entry of part_*.
  LV_DEVICE void Run() {
    this->TakeQueries();
    ForWarps<kWarps>(block_, [&](int warp) { this->Begin(state_[warp]); });
    const uint32_t first = this->FirstTileOf(block_.y), end = this->FirstTileOf(block_.y + 1);
    const uint32_t ahead = call_.stages - 1;
    for (uint32_t i = 0; i < ahead; ++i) this->Fetch(first + i, end, i);
    uint32_t stage = 0;
    for (uint32_t tile = first; tile < end; ++tile) {
      block_.WaitCopies(static_cast<int>(ahead) - 1);
      block_.Sync();  // this tile is whole, and nobody reads the stage that is filled next
      this->Fetch(tile + ahead, end, stage == 0 ? ahead : stage - 1);
      Attend(tile, stage);
      stage = stage == ahead ? 0 : stage + 1;
    }
    Finish();
  }

 private:
  using Scores::at_;
  using Scores::block_;
  using Scores::call_;
  using Scores::kColumnBlocks;
  using Scores::kColumns;
  using Scores::kColumnWarps;
  using Scores::kExactStride;
  using Scores::kLatentStride;
  using Scores::kProbabilityStride;
  using Scores::kRows;
  using Scores::kTile;
  using Scores::kWarps;
  using Scores::kWidens;
  using Scores::state_;
  using typename Scores::WarpState;

  LV_DEVICE void Attend(uint32_t tile, uint32_t stage) {
    if constexpr (kWidens) {
      this->Widen(stage);
      block_.Sync();
    }
    const auto* latents = reinterpret_cast<const uint16_t*>(kWidens ? block_.shared + at_.widened : this->Stage(stage));
    const auto* keys = reinterpret_cast<const uint16_t*>(this->Stage(stage) + at_.stage_keys);
    const auto* scales = reinterpret_cast<const float*>(this->Stage(stage) + at_.stage_scales);
    ForWarps<kWarps>(block_, [&](int warp) {
      this->Score(warp, latents, keys, scales);
      this->Highest(warp, call_.tokens - tile * kTile);
    });
    block_.Sync();
    ForWarps<kWarps>(block_, [&](int warp) { this->Weigh(warp, scales); });
    block_.Sync();
    ForWarps<kWarps>(block_, [&](int warp) { Sum(warp, latents); });
    if (call_.segment_sum != nullptr) ForThreads<kThreads>(block_, [&](int thread) { SumSegments(thread, tile); });
  }

  // out += probabilities . latents
  LV_DEVICE void Sum(int warp, const uint16_t* latents) {
    WarpState& s = state_[warp];
    const uint16_t* p =
        this->template Shared<uint16_t>(at_.probabilities) + warp / kColumnWarps * 16 * kProbabilityStride;
    const uint32_t column = warp % kColumnWarps * kColumns;
    LV_UNROLL
    for (uint32_t k = 0; k < kTile; k += 32) {
      PerLane<const uint16_t*> at;
      PerLane<U4> a[2], b;
      LV_UNROLL
      for (int half = 0; half < 2; ++half) {
        ForLanes([&](int lane) { at[lane] = p + (lane % 16) * kProbabilityStride + k + 16 * half + lane / 16 * 8; });
        LoadMatrices<false>(at, a[half]);
      }
      LV_UNROLL
      for (int i = 0; i < kColumnBlocks; ++i) {
        ForLanes([&](int lane) { at[lane] = latents + (k + lane) * kLatentStride + column + 8 * i; });
        LoadMatrices<true>(at, b);
        MultiplyAdd(a[0], b, 0, s.out[i]);
        MultiplyAdd(a[1], b, 1, s.out[i]);
      }
    }
  }

  // What each run's tokens of this tile took, by query.
  LV_DEVICE void SumSegments(int thread, uint32_t tile) {
    const uint32_t first = call_.tile_segments[tile], count = call_.tile_segments[tile + 1] - first;
    for (uint32_t i = thread; i < count * kRows; i += kThreads) {
      const uint32_t row = i % kRows, query = block_.x * kRows + row;
      if (query >= call_.queries) continue;
      const MlaSegment segment = call_.segments[first + i / kRows];
      const float* exact = this->template Shared<float>(at_.exact) + row * kExactStride;
      float sum = 0.0f;
      for (uint32_t t = segment.from; t < segment.to; ++t) sum += exact[t];
      const size_t to = static_cast<size_t>(first + i / kRows) * call_.queries + query;
      call_.segment_sum[to] = sum;
      call_.segment_max[to] = this->template Shared<float>(at_.row_max)[kColumnWarps * kRows + row];
    }
  }

  LV_DEVICE void Finish() {
    block_.Sync();  // the last tile's row_max has been read
    ForWarps<kWarps>(block_, [&](int warp) { WriteOut(warp); });
    block_.Sync();
    ForThreads<kThreads>(block_, [&](int thread) {
      if (thread >= kRows) return;
      float sum = 0.0f;
      LV_UNROLL
      for (int i = 0; i < kColumnWarps; ++i) sum += this->template Shared<float>(at_.row_max)[i * kRows + thread];
      call_.part_sum[this->EntryRow(thread)] = sum;
    });
  }

  // The sums of a warp's queries; those of its share of the tokens go to shared memory, one row a column of warps.
  LV_DEVICE void WriteOut(int warp) {
    WarpState& s = state_[warp];
    const uint32_t row = warp / kColumnWarps * 16, column = warp % kColumnWarps;
    QuadSum(s.sum[0]);
    QuadSum(s.sum[1]);
    ForLanes([&](int lane) {
      LV_UNROLL
      for (int half = 0; half < 2; ++half) {
        const uint32_t r = row + lane / 4 + 8 * half;
        const uint32_t number = column * kColumns + 2 * (lane % 4);
        float* out = call_.part_out + this->EntryRow(r) * kDc + number;
        LV_UNROLL
        for (int i = 0; i < kColumnBlocks; ++i, out += 8) {
          out[0] = s.out[i][lane].v[2 * half];
          out[1] = s.out[i][lane].v[2 * half + 1];
        }
        if (lane % 4 != 0) continue;
        this->template Shared<float>(at_.row_max)[column * kRows + r] = s.sum[half][lane];
        if (column == 0) call_.part_max[this->EntryRow(r)] = s.max[half][lane];
      }
    });
  }
};

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_SWEEP_H_
