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

HWY_BEFORE_NAMESPACE();
namespace longview::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using VF = hn::Vec<F>;

// 2^x for x <= 0 (x < -126 counts as -126): relative error below 3e-7.
HWY_INLINE VF Exp2(VF x) {
  const F d;
  const hn::RebindToSigned<F> di;
  x = hn::Max(x, hn::Set(d, -126.0f));
  const auto n = hn::NearestInt(x);
  const VF f = hn::Sub(x, hn::ConvertTo(d, n));
  // Taylor's series of 2^f on [-1/2, 1/2].
  VF y = hn::Set(d, 1.5403530e-4f);
  y = hn::MulAdd(y, f, hn::Set(d, 1.3333558e-3f));
  y = hn::MulAdd(y, f, hn::Set(d, 9.6181291e-3f));
  y = hn::MulAdd(y, f, hn::Set(d, 5.5504109e-2f));
  y = hn::MulAdd(y, f, hn::Set(d, 2.4022651e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 6.9314718e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.0f));
  return hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127)))));
}

HWY_INLINE float Exp2One(float x) { return hn::GetLane(Exp2(hn::Set(F(), x))); }

#if HWY_TARGET == HWY_SCALAR
// p[0..3] = the sums of four vectors.
HWY_INLINE void StoreSums(VF a, VF b, VF c, VF e, float* HWY_RESTRICT p) {
  p[0] = hn::GetLane(a);
  p[1] = hn::GetLane(b);
  p[2] = hn::GetLane(c);
  p[3] = hn::GetLane(e);
}
#else
template <class D>
HWY_INLINE hn::Vec<hn::Full128<float>> FoldBlocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    (void)d;
    return v;
  } else {
    const hn::Half<D> dh;
    return FoldBlocks(dh, hn::Add(hn::LowerHalf(dh, v), hn::UpperHalf(dh, v)));
  }
}

// p[0..3] = the sums of four vectors: two rounds of interleaving within 128 bits, then the 128-bit blocks folded.
HWY_INLINE void StoreSums(VF a, VF b, VF c, VF e, float* HWY_RESTRICT p) {
  const F d;
  const hn::Repartition<uint64_t, F> d64;
  const auto ab = hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const VF sums =
      hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, ab, ce)), hn::BitCast(d, hn::InterleaveUpper(d64, ab, ce)));
  hn::Store(FoldBlocks(d, sums), hn::Full128<float>(), p);
}
#endif

// Turns one query's scores p[n] into 2^(p - max), with the running maximum, sum and output brought up to it. p is
// written up to the next whole vector.
HWY_INLINE void OnlineSoftmax(size_t n, size_t c_width, float* HWY_RESTRICT p, float* HWY_RESTRICT max,
                              float* HWY_RESTRICT sum, float* HWY_RESTRICT out) {
  const F d;
  const size_t lanes = hn::Lanes(d);
  const size_t padded = RoundUp(n, lanes);
  for (size_t t = n; t < padded; ++t) p[t] = -std::numeric_limits<float>::infinity();
  VF vmax = hn::Load(d, p);
  for (size_t t = lanes; t < padded; t += lanes) vmax = hn::Max(vmax, hn::Load(d, p + t));
  const float tile_max = hn::GetLane(hn::MaxOfLanes(d, vmax));
  if (tile_max > *max) {
    const float shrink = Exp2One(*max - tile_max);
    const VF vshrink = hn::Set(d, shrink);
    *sum *= shrink;
    for (size_t i = 0; i < c_width; i += lanes) hn::Store(hn::Mul(hn::Load(d, out + i), vshrink), d, out + i);
    *max = tile_max;
  }
  const VF now = hn::Set(d, *max);
  VF vsum = hn::Zero(d);
  for (size_t t = 0; t < padded; t += lanes) {
    const VF e = Exp2(hn::Sub(hn::Load(d, p + t), now));
    hn::Store(e, d, p + t);
    vsum = hn::Add(vsum, e);
  }
  *sum += hn::GetLane(hn::SumOfLanes(d, vsum));
}

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

// Books tokens [from, to) of the tile to `run`.
HWY_INLINE void AddRunMass(const SweepTask& task, size_t run, bool run_begins, size_t from, size_t to) {
  float* run_max = task.run_max + run * task.mass_stride;
  float* run_sum = task.run_sum + run * task.mass_stride;
  for (size_t q = 0; q < task.queries; ++q) {
    const float sum = SumOf(task.p + q * kSweepTile + from, to - from);
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

// Goes through the task's runs tile by tile. `tile` has Put(run, token, row), which takes a token into row `row` of the
// tile, and Attend(n, next), which attends to its first n rows and calls next.Step() before each block of scores.
template <class Tile>
HWY_INLINE void SweepRuns(const SweepTask& task, Tile& tile) {
  const CrossAttnParams& params = *task.params;
  for (size_t q = 0; q < task.queries; ++q) task.max[q] = -std::numeric_limits<float>::infinity();
  std::memset(task.sum, 0, task.queries * sizeof(float));
  std::memset(task.out, 0, task.queries * task.c_width * sizeof(float));
  std::memset(task.tile, 0, kSweepTile * task.row_width * sizeof(float));  // padding of rows stays zero

  NextRows next(params);
  size_t run = task.first_run, token = 0;
  while (run < task.last_run) {
    // Fill the tile from as many runs as it takes; remember where it began.
    const size_t tile_run = run, tile_token = token;
    size_t n = 0;
    while (n < kSweepTile && run < task.last_run) {
      const CrossAttnRun& from = params.runs[run];
      for (; n < kSweepTile && token < from.tokens; ++n, ++token) tile.Put(from, token, n);
      if (token < from.tokens) break;
      ++run;
      token = 0;
    }
    if (n == 0) break;
    next.Plan(task, run, token, task.queries / kSweepQueryGroup * (RoundUp(n, 4) / 4));
    tile.Attend(n, next);
    if (task.run_sum == nullptr) continue;
    size_t at = 0, first = tile_token;
    for (size_t r = tile_run; at < n; ++r, first = 0) {
      const size_t take = HWY_MIN(params.runs[r].tokens - first, n - at);
      if (take > 0) AddRunMass(task, r, first == 0, at, at + take);
      at += take;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each target
