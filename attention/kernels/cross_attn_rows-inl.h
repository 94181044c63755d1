// Shared by the sweeps that read rows where they lie in the cache, sixteen tokens and nine queries at a time
// (cross_attn_dot_bf16.cc, cross_attn_int8_avx512.cc); read once for each instruction set.
//
// Scores: 32 bits of sixteen rows are turned into a vector, a token a lane, and multiplied with the same 32 bits of
// each query. Outputs: the rows' latents are interleaved in registers, once for nine queries.
#if defined(LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_ROWS_INL_H_
#undef LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_ROWS_INL_H_
#else
#define LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "attention/kernels/cross_attn_sweep-inl.h"
#include "attention/kernels/cross_attn_sweep.h"
#include "attention/kernels/tile_rows.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace longview::internal {
namespace HWY_NAMESPACE {

using U32 = hn::Repartition<uint32_t, F>;
using VU32 = hn::Vec<U32>;

constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);
// Queries that are served together: with two vectors of outputs each, and two of latents, they fit 32 registers.
constexpr size_t kQueryGroup = 9;
// A query's probabilities are taken relative to the highest score it has met, or one that is at most this much lower
// (in powers of two): rarely is anything rescaled.
constexpr float kHeadroom = 8.0f;
// Vectors that one step turns, of kStep * 4 bytes of kLanes rows.
constexpr size_t kStep = kLanes / 2;
constexpr size_t kStepBytes = kStep * 4;

// Calls with(std::integral_constant group, first) for the whole groups of kQueryGroup queries, then for the groups of
// kSweepQueryGroup that are left.
template <class With>
HWY_INLINE void ForQueryGroups(size_t queries, const With& with) {
  size_t q = 0;
  for (; q + kQueryGroup <= queries; q += kQueryGroup) with(std::integral_constant<size_t, kQueryGroup>(), q);
  for (; q < queries; q += kSweepQueryGroup) with(std::integral_constant<size_t, kSweepQueryGroup>(), q);
}

constexpr size_t QueryGroups(size_t queries) {
  return queries / kQueryGroup + queries % kQueryGroup / kSweepQueryGroup;
}

// Where number j of query i stands where the numbers of a group's queries lie `unit` by `unit` side by side.
constexpr size_t InGroup(size_t i, size_t j, size_t queries, size_t width, size_t unit) {
  const size_t whole = queries / kQueryGroup * kQueryGroup;
  if (i < whole) return GroupedAt(i, j, whole, width, kQueryGroup, unit);
  return whole * width + GroupedAt(i - whole, j, queries - whole, width, kSweepQueryGroup, unit);
}

// Takes kStepBytes from byte `at` on of each of kLanes rows; v[j] has their j-th four bytes, a row a lane.
template <class T>
HWY_INLINE void LoadTurned(const T* const* rows, size_t at, VU32 (&v)[kStep]) {
  const U32 d;
  const hn::Half<hn::Repartition<uint8_t, F>> dh;
  const hn::Repartition<uint64_t, F> d64;
  const auto load = [&](size_t row)
                        HWY_ATTR { return hn::LoadU(dh, reinterpret_cast<const uint8_t*>(rows[row]) + at); };
  // Vector i has a row in each half, such that the last exchange leaves them in order.
  VU32 x[kStep];
  HWY_UNROLL(8)
  for (size_t i = 0; i < kStep; ++i) {
    const size_t row = i % 4 + i / 4 * 8;
    x[i] = hn::BitCast(d, hn::Combine(hn::Repartition<uint8_t, F>(), load(row + 4), load(row)));
  }
  VU32 y[kStep];
  HWY_UNROLL(4)
  for (size_t i = 0; i < kStep; i += 4) {
    const auto a = hn::BitCast(d64, hn::InterleaveLower(d, x[i], x[i + 1]));
    const auto b = hn::BitCast(d64, hn::InterleaveUpper(d, x[i], x[i + 1]));
    const auto c = hn::BitCast(d64, hn::InterleaveLower(d, x[i + 2], x[i + 3]));
    const auto e = hn::BitCast(d64, hn::InterleaveUpper(d, x[i + 2], x[i + 3]));
    y[i] = hn::BitCast(d, hn::InterleaveLower(d64, a, c));
    y[i + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, a, c));
    y[i + 2] = hn::BitCast(d, hn::InterleaveLower(d64, b, e));
    y[i + 3] = hn::BitCast(d, hn::InterleaveUpper(d64, b, e));
  }
#if HWY_TARGET == HWY_AVX3
  HWY_UNROLL(4)
  for (size_t i = 0; i < 4; ++i) {
    v[i].raw = _mm512_shuffle_i32x4(y[i].raw, y[i + 4].raw, 0x88);
    v[i + 4].raw = _mm512_shuffle_i32x4(y[i].raw, y[i + 4].raw, 0xDD);
  }
#else
  std::copy_n(y, kStep, v);
#endif
}

// sums[i] = dot(sums[i], rows, query i) for `bytes` of kLanes rows, four at a time; q has [bytes / 4, kQueries, 4]
// bytes. A step's bytes are turned while the dot products of the one before go on, and the next tile's rows are asked
// for.
template <size_t kQueries, class T, class Sum, class Dot>
HWY_INLINE void Contract(const T* const* rows, size_t bytes, const uint8_t* q, NextRows& next, Sum (&sums)[kQueries],
                         const Dot& dot) {
  if (bytes == 0) return;
  const auto multiply = [&](const VU32(&turned)[kStep]) HWY_ATTR {
    next.Step();
    HWY_UNROLL(8)
    for (size_t j = 0; j < kStep; ++j) {
      HWY_UNROLL(kQueryGroup)
      for (size_t i = 0; i < kQueries; ++i) {
        uint32_t four;
        std::memcpy(&four, q + (j * kQueries + i) * 4, sizeof(four));
        sums[i] = dot(sums[i], turned[j], hn::Set(U32(), four));
      }
    }
    q += kStep * kQueries * 4;
  };
  VU32 turned[kStep];
  LoadTurned(rows, 0, turned);
  for (size_t at = kStepBytes; at < bytes; at += kStepBytes) {
    VU32 coming[kStep];
    LoadTurned(rows, at, coming);
    multiply(turned);
    std::copy_n(coming, kStep, turned);
  }
  multiply(turned);
}

// Query q's outputs and sums are brought to a reference of `top`, if that is higher.
HWY_INLINE void RaiseReference(const SweepTask& task, size_t q, float top) {
  const F d;
  const float before = task.max[q];
  if (!(top > before)) return;
  task.max[q] = top;
  const VF shrink = hn::Set(d, Exp2One(before - top));
  const auto scale = [&](float* from, size_t count) HWY_ATTR {
    for (size_t i = 0; i < count; i += kLanes) hn::Store(hn::Mul(hn::Load(d, from + i), shrink), d, from + i);
  };
  scale(task.out + q * task.c_width, task.c_width);
  scale(task.lane_sums + q * kSweepPad, kSweepPad);
}

// tops[i] = the highest of the first n scores of query i, a lane at a time; scores up to the next whole vector become
// minus infinity. References that any of them exceeds by more than kHeadroom are raised.
template <size_t kQueries>
HWY_INLINE void RaiseReferences(const SweepTask& task, size_t q, size_t n, VF (&tops)[kQueries]) {
  const F d;
  const size_t padded = RoundUp(n, kLanes);
  auto above = hn::MaskFromVec(hn::Zero(d));
  for (size_t i = 0; i < kQueries; ++i) {
    float* scores = task.p + (q + i) * kSweepLargestTile;
    std::fill(scores + n, scores + padded, -std::numeric_limits<float>::infinity());
    tops[i] = hn::Load(d, scores);
    for (size_t t = kLanes; t < padded; t += kLanes) tops[i] = hn::Max(tops[i], hn::Load(d, scores + t));
    above = hn::Or(above, hn::Gt(tops[i], hn::Set(d, task.max[q + i] + kHeadroom)));
  }
  if (hn::AllFalse(d, above)) return;
  for (size_t i = 0; i < kQueries; ++i) RaiseReference(task, q + i, hn::GetLane(hn::MaxOfLanes(d, tops[i])));
}

// Sums and outputs as the task wants them. Interleaving works within 128 bits: of each kVectors vectors of outputs,
// vector v holds the numbers 4 v .. 4 v + 3 of each 4 * kVectors.
template <size_t kVectors>
HWY_INLINE void FinishOutputs(const SweepTask& task) {
  constexpr size_t kNumbers = kVectors * kLanes;
  for (size_t q = 0; q < task.queries; ++q) task.sum[q] = SumOf(task.lane_sums + q * kSweepPad, kSweepPad);
  float ordered[kNumbers];
  for (size_t at = 0; at < task.queries * task.c_width; at += kNumbers) {
    float* group = task.out + at;
    for (size_t v = 0; v < kVectors; ++v) {
      for (size_t i = 0; i < kLanes; i += 4) {
        std::memcpy(ordered + kVectors * i + 4 * v, group + v * kLanes + i, 4 * sizeof(float));
      }
    }
    std::memcpy(group, ordered, sizeof(ordered));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
#endif
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each target
