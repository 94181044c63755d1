// The online softmax of the sweeps over the latent cache; read once for each instruction set.
#if defined(LONGVIEW_ATTENTION_KERNELS_ONLINE_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGVIEW_ATTENTION_KERNELS_ONLINE_SOFTMAX_INL_H_
#undef LONGVIEW_ATTENTION_KERNELS_ONLINE_SOFTMAX_INL_H_
#else
#define LONGVIEW_ATTENTION_KERNELS_ONLINE_SOFTMAX_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "attention/kernels/cross_attn_sweep.h"

HWY_BEFORE_NAMESPACE();
namespace longview::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using VF = hn::Vec<F>;

// Added to a number of magnitude below 2^22, leaves it rounded in the lowest bits.
constexpr float kRound = 12582912.0f;

// 2^x for x <= 0 (x < -126 counts as -126): relative error below 3e-7.
HWY_INLINE VF Exp2(VF x) {
  const F d;
  const hn::RebindToSigned<F> di;
  const VF round = hn::Set(d, kRound);
  x = hn::Max(x, hn::Set(d, -126.0f));
  const VF n = hn::Add(x, round);
  const VF f = hn::Sub(x, hn::Sub(n, round));
  // Taylor's series of 2^f on [-1/2, 1/2].
  VF y = hn::Set(d, 1.5403530e-4f);
  y = hn::MulAdd(y, f, hn::Set(d, 1.3333558e-3f));
  y = hn::MulAdd(y, f, hn::Set(d, 9.6181291e-3f));
  y = hn::MulAdd(y, f, hn::Set(d, 5.5504109e-2f));
  y = hn::MulAdd(y, f, hn::Set(d, 2.4022651e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 6.9314718e-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, y), hn::ShiftLeft<23>(hn::BitCast(di, n))));
}

HWY_INLINE float Exp2One(float x) { return hn::GetLane(Exp2(hn::Set(F(), x))); }

#if HWY_TARGET == HWY_SCALAR
// p[0..3] = the sums of four vectors' lanes, in whatever way `add` adds.
template <class D, class Add>
HWY_INLINE void FoldFour(D, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c, hn::Vec<D> e, const Add&,
                         hn::TFromD<D>* HWY_RESTRICT p) {
  p[0] = hn::GetLane(a);
  p[1] = hn::GetLane(b);
  p[2] = hn::GetLane(c);
  p[3] = hn::GetLane(e);
}
#else
template <class D, class Add>
HWY_INLINE hn::Vec<hn::Full128<hn::TFromD<D>>> FoldBlocks(D d, hn::Vec<D> v, const Add& add) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    (void)d;
    (void)add;
    return v;
  } else {
    const hn::Half<D> dh;
    return FoldBlocks(dh, add(hn::LowerHalf(dh, v), hn::UpperHalf(dh, v)), add);
  }
}

// p[0..3] = the sums of four vectors' lanes, in whatever way `add` adds: two rounds of interleaving within 128 bits,
// then the 128-bit blocks folded.
template <class D, class Add>
HWY_INLINE void FoldFour(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c, hn::Vec<D> e, const Add& add,
                         hn::TFromD<D>* HWY_RESTRICT p) {
  const hn::Repartition<uint64_t, D> d64;
  const auto ab = hn::BitCast(d64, add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(d64, add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const auto folded =
      add(hn::BitCast(d, hn::InterleaveLower(d64, ab, ce)), hn::BitCast(d, hn::InterleaveUpper(d64, ab, ce)));
  hn::Store(FoldBlocks(d, folded, add), hn::Full128<hn::TFromD<D>>(), p);
}
#endif

// p[0..3] = the sums of four vectors.
HWY_INLINE void StoreSums(VF a, VF b, VF c, VF e, float* HWY_RESTRICT p) {
  FoldFour(
      F(), a, b, c, e, [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); }, p);
}

// Turns the scores p[3, n] of queries q .. q + 2 into 2^(p - max), with the running maxima, sums and outputs brought up
// to them; largest[3] are the largest of what they become. p is written up to the next whole vector.
HWY_INLINE void OnlineSoftmax(const SweepTask& task, size_t n, size_t q, float* HWY_RESTRICT largest) {
  const F d;
  const size_t lanes = hn::Lanes(d), padded = RoundUp(n, lanes);
  float* HWY_RESTRICT p0 = task.p + q * kSweepTile;
  float* HWY_RESTRICT p1 = p0 + kSweepTile;
  float* HWY_RESTRICT p2 = p1 + kSweepTile;
  for (size_t t = n; t < padded; ++t) p0[t] = p1[t] = p2[t] = -std::numeric_limits<float>::infinity();
  VF top0 = hn::Load(d, p0), top1 = hn::Load(d, p1), top2 = hn::Load(d, p2);
  for (size_t t = lanes; t < padded; t += lanes) {
    top0 = hn::Max(top0, hn::Load(d, p0 + t));
    top1 = hn::Max(top1, hn::Load(d, p1 + t));
    top2 = hn::Max(top2, hn::Load(d, p2 + t));
  }
  HWY_ALIGN float top[4], sums[4];
  FoldFour(
      d, top0, top1, top2, top2, [](auto x, auto y) HWY_ATTR { return hn::Max(x, y); }, top);
  // 2^ of how far the tile's maxima lie below the new ones, and the former ones.
  HWY_ALIGN float below[kSweepPad] = {};
  for (size_t i = 0; i < kSweepQueryGroup; ++i) {
    const float before = task.max[q + i];
    const float now = HWY_MAX(before, top[i]);
    task.max[q + i] = now;
    below[i] = top[i] - now;
    below[4 + i] = before - now;
  }
  for (size_t i = 0; i < 8; i += lanes) hn::Store(Exp2(hn::Load(d, below + i)), d, below + i);
  const VF max0 = hn::Set(d, task.max[q]), max1 = hn::Set(d, task.max[q + 1]), max2 = hn::Set(d, task.max[q + 2]);
  VF sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0;
  for (size_t t = 0; t < padded; t += lanes) {
    const VF e0 = Exp2(hn::Sub(hn::Load(d, p0 + t), max0));
    const VF e1 = Exp2(hn::Sub(hn::Load(d, p1 + t), max1));
    const VF e2 = Exp2(hn::Sub(hn::Load(d, p2 + t), max2));
    hn::Store(e0, d, p0 + t);
    hn::Store(e1, d, p1 + t);
    hn::Store(e2, d, p2 + t);
    sum0 = hn::Add(sum0, e0);
    sum1 = hn::Add(sum1, e1);
    sum2 = hn::Add(sum2, e2);
  }
  StoreSums(sum0, sum1, sum2, sum2, sums);
  for (size_t i = 0; i < kSweepQueryGroup; ++i) {
    const float shrink = below[4 + i];
    task.sum[q + i] = task.sum[q + i] * shrink + sums[i];
    largest[i] = below[i];
    if (shrink == 1.0f) continue;
    float* out = task.out + (q + i) * task.c_width;
    for (size_t c = 0; c < task.c_width; c += lanes) {
      hn::Store(hn::Mul(hn::Load(d, out + c), hn::Set(d, shrink)), d, out + c);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each target
