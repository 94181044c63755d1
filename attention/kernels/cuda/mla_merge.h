// What follows a sweep over a latent cache: the parts' results are joined by log-sum-exp in the same launch, and the
// shares of runs are added up in a second one. Written against simt.h.
//
// The last part of a group to finish joins its group, the last group of a query tile joins the groups: two short steps
// that many blocks do side by side, where one block joining every part would hold up the rest.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_MERGE_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_MERGE_H_

#include <cstddef>
#include <cstdint>

#include "attention/kernels/cuda/mla_call.h"
#include "core/backend/cuda/simt.h"

namespace longview::LV_SIMT {

// For the block that has just finished its part. kRows queries a tile, as the sweep.
template <uint32_t kDc, int kRows, int kThreads>
class MlaMerge {
 public:
  LV_DEVICE MlaMerge(Block& block, const MlaCall& call, uint32_t flag_at)
      : block_(block),
        call_(call),
        flag_(reinterpret_cast<uint32_t*>(block.shared + flag_at)),
        factors_(reinterpret_cast<float*>(block.shared)) {}

  LV_DEVICE void Run() {
    const uint32_t part = call_.first_part + block_.y, group = part / kMlaGroupParts;
    const uint32_t groups = (call_.parts_total + kMlaGroupParts - 1) / kMlaGroupParts;
    const uint32_t first = group * kMlaGroupParts;
    const uint32_t left = call_.parts_total - first, count = left < kMlaGroupParts ? left : kMlaGroupParts;
    const size_t parts = static_cast<size_t>(block_.x) * call_.parts_total;
    const size_t entry = static_cast<size_t>(block_.x) * groups + group;
    if (!LastOf(call_.group_done + entry, count)) return;
    if (groups == 1) {
      Join<true>({call_.part_out, call_.part_max, call_.part_sum}, parts, count, 0);
      return;
    }
    Join<false>({call_.part_out, call_.part_max, call_.part_sum}, parts + first, count, entry);
    if (!LastOf(call_.tile_done + block_.x, groups)) return;
    Join<true>({call_.group_out, call_.group_max, call_.group_sum}, static_cast<size_t>(block_.x) * groups, groups, 0);
  }

 private:
  struct Entries {
    const float* out;
    const float* max;
    const float* sum;
  };

  // Whether this block is the last of `count` to come here; the counter then begins anew.
  LV_DEVICE bool LastOf(uint32_t* counter, uint32_t count) {
    ForThreads<kThreads>(block_, [](int) { Publish(); });
    block_.Sync();
    ForThreads<kThreads>(block_, [&](int thread) {
      if (thread != 0) return;
      *flag_ = Arrive(counter) + 1 == count ? 1 : 0;
      if (*flag_ != 0) *counter = 0;
      Publish();
    });
    block_.Sync();
    return *flag_ != 0;
  }

  // Joins `count` entries from `first` on: into group entry `to`, or with kFinal into the call's results.
  template <bool kFinal>
  LV_DEVICE void Join(const Entries& from, size_t first, uint32_t count, size_t to) {
    const uint32_t left = call_.queries - block_.x * kRows, rows = left < kRows ? left : kRows;
    ForThreads<kThreads>(block_, [&](int thread) {
      if (static_cast<uint32_t>(thread) < rows) JoinRow<kFinal>(thread, from, first, count, to);
    });
    block_.Sync();
    float* out = kFinal ? call_.out + static_cast<size_t>(block_.x) * kRows * kDc : call_.group_out + to * kRows * kDc;
    ForThreads<kThreads>(block_, [&](int thread) {
      for (uint32_t i = 4 * thread; i < rows * kDc; i += 4 * kThreads) {
        F4 sum{{0.0f, 0.0f, 0.0f, 0.0f}};
        const float* entry = from.out + first * kRows * kDc + i;
        for (uint32_t e = 0; e < count; ++e, entry += size_t{kRows} * kDc) {
          const F4 v = LoadPublished4(entry);
          const float factor = factors_[e * kRows + i / kDc];
          LV_UNROLL
          for (int j = 0; j < 4; ++j) sum.v[j] += factor * v.v[j];
        }
        LV_UNROLL
        for (int j = 0; j < 4; ++j) out[i + j] = sum.v[j];
      }
    });
    block_.Sync();  // the factors may be written anew
  }

  // One query's factors for the entries' sums, and its logarithm or its place in the group's entry.
  template <bool kFinal>
  LV_DEVICE void JoinRow(uint32_t row, const Entries& from, size_t first, uint32_t count, size_t to) {
    float max = LoadPublished(from.max + first * kRows + row), sum = 0.0f;
    for (uint32_t e = 1; e < count; ++e) max = Max(max, LoadPublished(from.max + (first + e) * kRows + row));
    for (uint32_t e = 0; e < count; ++e) {
      const size_t at = (first + e) * kRows + row;
      const float factor = Exp2(LoadPublished(from.max + at) - max);
      factors_[e * kRows + row] = factor;
      sum += factor * LoadPublished(from.sum + at);
    }
    if constexpr (!kFinal) {
      call_.group_max[to * kRows + row] = max;
      call_.group_sum[to * kRows + row] = sum;
      return;
    }
    constexpr float kLog2E = 1.44269504088896341f;
    const uint32_t query = block_.x * kRows + row;
    const float lse2 = max + Log2(sum);  // in base 2, as the scores
    const float kept = call_.sink == nullptr ? 1.0f : 1.0f / (1.0f + Exp2(call_.sink[query] * kLog2E - lse2));
    for (uint32_t e = 0; e < count; ++e) factors_[e * kRows + row] *= kept / sum;
    call_.lse[query] = lse2 / kLog2E;
    call_.merged_max[query] = max;
    call_.merged_weight[query] = kept / sum / static_cast<float>(call_.queries);
  }

  Block& block_;
  const MlaCall& call_;
  uint32_t* const flag_;
  float* const factors_;  // [entries, kRows], where the queries lay
};

// Runs of one block of the second launch: one a warp.
inline constexpr int kMlaMassWarps = 8;

// The shares of runs kMlaMassWarps * block.x and on.
LV_DEVICE void MlaMass(Block& block, const MlaMassCall& call) {
  ForWarps<kMlaMassWarps>(block, [&](int warp) {
    const uint32_t run = block.x * kMlaMassWarps + warp;
    if (run >= call.run_count) return;
    const uint32_t first = call.run_segments[run], count = call.run_segments[run + 1] - first;
    const uint32_t items = count * call.queries;
    PerLane<float> sum;
    ForLanes([&](int lane) {
      sum[lane] = 0.0f;
      for (uint32_t i = lane; i < items; i += 32) {
        const size_t at = static_cast<size_t>(first) * call.queries + i;
        const uint32_t query = i % call.queries;
        sum[lane] +=
            call.segment_sum[at] * Exp2(call.segment_max[at] - call.merged_max[query]) * call.merged_weight[query];
      }
    });
    WarpSum(sum);
    ForLanes([&](int lane) {
      if (lane == 0) call.run_mass[run] = (call.adds ? call.run_mass[run] : 0.0f) + call.factor * sum[lane];
    });
  });
}

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_MERGE_H_
