// Shared by the sweeps (cross_attn_sweep.cc, cross_attn_dot_bf16.cc); read once for each instruction set.
#if defined(LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_SWEEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_SWEEP_INL_H_
#undef LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_SWEEP_INL_H_
#else
#define LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_SWEEP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "attention/kernels/cross_attn_sweep.h"
#include "attention/kernels/next_rows.h"
#include "attention/kernels/online_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longview::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float SumOf(const float* HWY_RESTRICT p, size_t n) {
  const F d;
  const size_t lanes = hn::Lanes(d);
  VF sum = hn::Zero(d);
  size_t t = 0;
  for (; t + lanes <= n; t += lanes) sum = hn::Add(sum, hn::LoadU(d, p + t));
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; t < n; ++t) total += p[t];
  return total;
}

// Books tokens [from, to) of a tile of kTokens to `run`.
template <size_t kTokens>
HWY_INLINE void AddRunMass(const SweepTask& task, size_t run, bool run_begins, size_t from, size_t to) {
  float* run_max = task.run_max + run * task.mass_stride;
  float* run_sum = task.run_sum + run * task.mass_stride;
  for (size_t q = 0; q < task.queries; ++q) {
    const float sum = SumOf(task.p + q * kTokens + from, to - from);
    if (run_begins) {
      run_sum[q] = sum;
    } else if (run_max[q] == task.max[q]) {
      run_sum[q] += sum;
      continue;
    } else {
      run_sum[q] = run_sum[q] * Exp2One(run_max[q] - task.max[q]) + sum;
    }
    run_max[q] = task.max[q];
  }
}

// Blocks of scores of three queries and four tokens.
HWY_INLINE size_t StepsOf3x4(const SweepTask& task, size_t n) {
  return task.queries / kSweepQueryGroup * (RoundUp(n, 4) / 4);
}

constexpr size_t kBlockTokens = 8;  // whose scores with a group of queries, or with one, are summed together

// Blocks of scores of whole groups of queries, and of each that is left over, with kBlockTokens tokens.
HWY_INLINE size_t StepsOfGroups(const SweepTask& task, size_t n, size_t group) {
  return (task.queries / group + task.queries % group) * (RoundUp(n, kBlockTokens) / kBlockTokens);
}

// Goes through the task's runs tile by tile, kTokens at a time. `tile` has Put(run, token, count, row), which takes
// tokens of a run into the tile's rows from `row` on, and Attend(n, next), which attends to its first n rows and calls
// next.Step() before each block of scores, Steps(task, n) times.
template <class Tile>
HWY_INLINE void SweepRuns(const SweepTask& task, Tile& tile) {
  const CrossAttnParams& params = *task.params;
  for (size_t q = 0; q < task.queries; ++q) task.max[q] = -std::numeric_limits<float>::infinity();
  std::memset(task.sum, 0, task.queries * sizeof(float));
  std::memset(task.out, 0, task.queries * task.c_width * sizeof(float));
  std::memset(task.lane_sums, 0, task.queries * kSweepPad * sizeof(float));
  std::memset(task.tile, 0, Tile::kTokens * task.row_width * sizeof(float));  // zeros that rows are padded with stay

  NextRows next(task);
  size_t run = task.first_run, token = 0;
  while (run < task.last_run) {
    // Fill the tile from as many runs as it takes; remember where it began.
    const size_t tile_run = run, tile_token = token;
    size_t n = 0;
    while (n < Tile::kTokens && run < task.last_run) {
      const CrossAttnRun& from = params.runs[run];
      const size_t take = HWY_MIN(Tile::kTokens - n, from.tokens - token);
      if (take > 0) tile.Put(from, token, take, n);
      n += take;
      token += take;
      if (token < from.tokens) break;
      ++run;
      token = 0;
    }
    if (n == 0) break;
    next.Plan(run, token, Tile::kTokens, Tile::Steps(task, n));
    tile.Attend(n, next);
    if (task.run_sum == nullptr) continue;
    size_t at = 0, first = tile_token;
    for (size_t r = tile_run; at < n; ++r, first = 0) {
      const size_t take = HWY_MIN(params.runs[r].tokens - first, n - at);
      if (take > 0) AddRunMass<Tile::kTokens>(task, r, first == 0, at, at + take);
      at += take;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each target
