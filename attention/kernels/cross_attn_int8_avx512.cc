// The sweep with byte dot products (AVX512_VNNI: 64 products an instruction, summed exactly), for int8 caches.
//
// Rows are read where they lie (cross_attn_rows-inl.h). Scores multiply four latents at a time with queries in int8
// (one scale a query), and time keys, brought to 13 bits by one scale a tile, with queries in 12 bits. Outputs contract
// four tokens at a time: a token's weight is its probability times its scale, in 8 bits of the tile's largest. A part
// whose scales or keys are not usual numbers is not answered (SweepKernel::fallback).
//
// The same code is compiled for AVX2 with the dot products spelled out, so that tests can hold it against the reference
// on machines without the instructions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/cross_attn_int8_avx512.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_NEON)
// clang-format off: the order matters
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "attention/kernels/cross_attn_rows-inl.h"
#include "attention/kernels/cross_attn_sweep-inl.h"
#include "attention/kernels/cross_attn_sweep.h"
#include "core/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
#undef LV_NATIVE_VNNI
#define LV_NATIVE_VNNI (HWY_TARGET == HWY_AVX3 && HWY_COMPILER_GCC_ACTUAL)
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace longview::internal {
namespace HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F>;
using U8 = hn::Repartition<uint8_t, F>;
using VI32 = hn::Vec<I32>;

// sum[i] += the four products of bytes 4 i .. 4 i + 3, those of a without sign.
HWY_INLINE VI32 DotBytes(VI32 sum, VI32 a, VI32 b) {
#if LV_NATIVE_VNNI
  // An instruction that the target's flags do not name.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
#else
  const I32 d;
  const auto product = [&](VI32 unsigned_byte, VI32 high_byte) {
    return hn::Mul(hn::And(unsigned_byte, hn::Set(d, 0xFF)), hn::ShiftRight<24>(high_byte));
  };
  sum = hn::Add(sum, product(a, hn::ShiftLeft<24>(b)));
  sum = hn::Add(sum, product(hn::ShiftRight<8>(a), hn::ShiftLeft<16>(b)));
  sum = hn::Add(sum, product(hn::ShiftRight<16>(a), hn::ShiftLeft<8>(b)));
  return hn::Add(sum, product(hn::ShiftRight<24>(a), b));
#endif
}

// sum[i] += the two products of 16-bit numbers 2 i and 2 i + 1.
HWY_INLINE VI32 DotWords(VI32 sum, VI32 a, VI32 b) {
#if LV_NATIVE_VNNI
  asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
#else
  sum = hn::Add(sum, hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b))));
  return hn::Add(sum, hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b)));
#endif
}

constexpr float kQueryLimit = 127.0f, kKeyQueryLimit = 2047.0f, kKeyLimit = 4095.0f, kWeightLimit = 255.0f;
// A latent plus this has no sign, as a dot product wants it.
constexpr uint8_t kOffset = 128;
constexpr float kFloatMax = std::numeric_limits<float>::max();

// What Pack leaves: groups of queries as [c_width / 4, group, 4] and [r_width / 2, group, 2].
template <class Byte>
struct PackedQueries {
  PackedQueries(Byte* packed, size_t queries, size_t c_width, size_t r_width)
      : c(packed),
        r(c + queries * c_width),
        scale_c(r + queries * r_width * sizeof(int16_t)),
        scale_r(scale_c + queries * sizeof(float)),
        start(scale_r + queries * sizeof(float)) {}

  Byte* c;        // int8 [queries, c_width]
  Byte* r;        // int16 [queries, r_width]
  Byte* scale_c;  // float [queries]
  Byte* scale_r;  // float [queries]
  Byte* start;    // int32 [queries]: what takes kOffset off the sums
};

template <class T>
T ReadAt(const uint8_t* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void WriteAt(uint8_t* to, size_t index, T value) {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

// Rounds n numbers to whole ones of magnitude `limit` at most; put(i, whole) takes them. Gives the scale.
template <class Put>
float Quantise(const float* from, size_t n, float limit, const Put& put) {
  float peak = 0.0f;
  for (size_t i = 0; i < n; ++i) peak = std::max(peak, std::abs(from[i]));
  const float inverse = peak > 0.0f ? limit / peak : 0.0f;
  for (size_t i = 0; i < n; ++i) put(i, static_cast<int32_t>(std::nearbyint(from[i] * inverse)));
  return peak / limit;
}

void PackBytes(const float* q, size_t queries, size_t c_width, size_t r_width, void* to) {
  const PackedQueries<uint8_t> packed(static_cast<uint8_t*>(to), queries, c_width, r_width);
  for (size_t i = 0; i < queries; ++i) {
    const float* row = q + i * (c_width + r_width);
    int32_t sum = 0;
    const float scale_c = Quantise(row, c_width, kQueryLimit, [&](size_t j, int32_t whole) {
      WriteAt(packed.c, InGroup(i, j, queries, c_width, 4), static_cast<int8_t>(whole));
      sum += whole;
    });
    const float scale_r = Quantise(row + c_width, r_width, kKeyQueryLimit, [&](size_t j, int32_t whole) {
      WriteAt(packed.r, InGroup(i, j, queries, r_width, 2), static_cast<int16_t>(whole));
    });
    WriteAt(packed.scale_c, i, scale_c);
    WriteAt(packed.scale_r, i, scale_r);
    WriteAt(packed.start, i, -static_cast<int32_t>(kOffset) * sum);
  }
}

// Rows of bytes. Outputs lie interleaved as the tokens do until FinishOutputs puts them in order.
struct ByteTile {
  static constexpr size_t kTokens = kSweepLargestTile;

  const SweepTask& task;
  const PackedQueries<const uint8_t> queries;
  TileRows<uint8_t> rows;
  int16_t* const wholes;            // [kTokens, r_width]: the keys as whole numbers
  const int16_t* whole[kTokens];    // its rows
  HWY_ALIGN float scales[kTokens];  // zeros behind the tile's rows
  HWY_ALIGN float value_scales[kTokens];
  float key_scale = 0.0f;
  bool usual = true;  // all that was seen is finite, and no scale negative

  explicit ByteTile(const SweepTask& t)
      : task(t),
        queries(static_cast<const uint8_t*>(t.packed), t.queries, t.c_width, t.r_width),
        rows(t, t.tile),
        wholes(reinterpret_cast<int16_t*>(t.tile + kTokens * t.row_width / 2)) {
    for (size_t i = 0; i < kTokens; ++i) whole[i] = wholes + i * t.r_width;
  }

  // Blocks of scores: see Score.
  static size_t Steps(const SweepTask& task, size_t n) {
    const size_t steps = (task.c_width + 2 * task.r_width) / kStepBytes;
    return RoundUp(n, kLanes) / kLanes * QueryGroups(task.queries) * steps;
  }

  void Put(const CrossAttnRun& run, size_t token, size_t count, size_t row) {
    rows.Put(run, token, count, row);
    std::copy_n(run.scales + token, count, scales + row);
    std::copy_n((task.value_at > 0 ? run.value_scales : run.scales) + token, count, value_scales + row);
  }

  // The first n rows' keys as whole numbers of up to kKeyLimit.
  HWY_INLINE void RoundKeys(size_t n) {
    const hn::Repartition<uint16_t, F> d16;
    const I32 di;
    const F d;
    auto peak_bits = hn::Zero(d16);
    for (size_t t = 0; t < n; ++t) {
      for (size_t i = 0; i < task.r_width; i += hn::Lanes(d16)) {
        peak_bits = hn::Max(peak_bits, hn::And(hn::LoadU(d16, rows.keys[t] + i), hn::Set(d16, 0x7FFF)));
      }
    }
    const float peak = BF16ToFloat(hn::GetLane(hn::MaxOfLanes(d16, peak_bits)));
    if (!(peak <= kFloatMax)) {
      usual = false;
      return;
    }
    key_scale = peak / kKeyLimit;
    const VF round = hn::Set(d, kRound);
    const VF inverse = hn::Set(d, peak > 1e-30f ? kKeyLimit / peak : 0.0f);
    for (size_t t = 0; t < n; ++t) {
      for (size_t i = 0; i < task.r_width; i += hn::Lanes(d16)) {
        const VI32 both = hn::BitCast(di, hn::LoadU(d16, rows.keys[t] + i));
        const VF even = hn::BitCast(d, hn::ShiftLeft<16>(both));
        const VF odd = hn::BitCast(d, hn::And(both, hn::Set(di, static_cast<int32_t>(0xFFFF0000u))));
        const VI32 low = hn::And(hn::BitCast(di, hn::MulAdd(even, inverse, round)), hn::Set(di, 0xFFFF));
        const VI32 high = hn::ShiftLeft<16>(hn::BitCast(di, hn::MulAdd(odd, inverse, round)));
        hn::Store(hn::BitCast(d16, hn::Or(low, high)), d16, reinterpret_cast<uint16_t*>(wholes + t * task.r_width + i));
      }
    }
  }

  // p[kQueries, kTokens] at kLanes tokens from `row` on, of the queries from q on. The next step's bytes are turned
  // while the dot products of this one go on.
  template <size_t kQueries>
  HWY_INLINE void Score(size_t q, size_t row, float* HWY_RESTRICT p, NextRows& next) const {
    const F d;
    const I32 di;
    const size_t c_bytes = task.c_width, r_bytes = task.r_width * sizeof(int16_t);
    const VU32 offset = hn::Set(U32(), 0x01010101u * kOffset);
    VI32 sums[kQueries];
    for (size_t i = 0; i < kQueries; ++i) sums[i] = hn::Set(di, ReadAt<int32_t>(queries.start, q + i));
    const auto dot_latents = [&](VI32 sum, VU32 a, VU32 b) HWY_ATTR {
      return DotBytes(sum, hn::BitCast(di, hn::Xor(a, offset)), hn::BitCast(di, b));
    };
    Contract(rows.latents + row, c_bytes, queries.c + q * c_bytes, next, sums, dot_latents);
    const VF token_scales = hn::Load(d, scales + row);
    VF content[kQueries];
    for (size_t i = 0; i < kQueries; ++i) {
      const VF scale = hn::Mul(token_scales, hn::Set(d, ReadAt<float>(queries.scale_c, q + i)));
      content[i] = hn::Mul(hn::ConvertTo(d, sums[i]), scale);
      sums[i] = hn::Zero(di);
    }
    const auto dot_keys = [&](VI32 sum, VU32 a, VU32 b)
                              HWY_ATTR { return DotWords(sum, hn::BitCast(di, a), hn::BitCast(di, b)); };
    Contract(whole + row, r_bytes, queries.r + q * r_bytes, next, sums, dot_keys);
    for (size_t i = 0; i < kQueries; ++i) {
      const VF scale = hn::Set(d, ReadAt<float>(queries.scale_r, q + i) * key_scale);
      hn::Store(hn::MulAdd(hn::ConvertTo(d, sums[i]), scale, content[i]), d, p + i * kTokens);
    }
  }

  // Two vectors of outputs of kQueries queries += factor * weights . values, of n tokens: the 2 * kLanes columns whose
  // bytes stand in the lower or upper halves of 128 bits from column `c` on.
  template <size_t kQueries, bool kUpper>
  HWY_INLINE void Accumulate(const uint8_t* HWY_RESTRICT weights, const float* HWY_RESTRICT factors, size_t n, size_t c,
                             float* HWY_RESTRICT out) const {
    const F d;
    const I32 di;
    const U8 d8;
    const hn::Repartition<uint16_t, F> d16;
    VI32 low[kQueries], high[kQueries];
    std::fill_n(low, kQueries, hn::Zero(di));
    std::fill_n(high, kQueries, hn::Zero(di));
    const auto two = [&](size_t t) HWY_ATTR {
      const auto a = hn::LoadU(d8, rows.values[t] + c), b = hn::LoadU(d8, rows.values[t + 1] + c);
      return hn::BitCast(d16, kUpper ? hn::InterleaveUpper(d8, a, b) : hn::InterleaveLower(d8, a, b));
    };
    for (size_t t = 0; t < n; t += 4) {
      const auto first = two(t), second = two(t + 2);
      const VI32 lower = hn::BitCast(di, hn::InterleaveLower(d16, first, second));
      const VI32 upper = hn::BitCast(di, hn::InterleaveUpper(d16, first, second));
      HWY_UNROLL(kQueryGroup)
      for (size_t q = 0; q < kQueries; ++q) {
        int32_t four;
        std::memcpy(&four, weights + q * kTokens + t, sizeof(four));
        const VI32 weight = hn::Set(di, four);
        low[q] = DotBytes(low[q], weight, lower);
        high[q] = DotBytes(high[q], weight, upper);
      }
    }
    HWY_UNROLL(kQueryGroup)
    for (size_t q = 0; q < kQueries; ++q) {
      const VF factor = hn::Set(d, factors[q]);
      float* to = out + q * task.c_width;
      hn::Store(hn::MulAdd(hn::ConvertTo(d, low[q]), factor, hn::Load(d, to)), d, to);
      hn::Store(hn::MulAdd(hn::ConvertTo(d, high[q]), factor, hn::Load(d, to + kLanes)), d, to + kLanes);
    }
  }

  // Softmax and outputs of kQueries queries from `q` on over the tile's first n rows. token_weights [kTokens]: the
  // values' scales, the largest of which is `top`, in parts of kWeightLimit.
  template <size_t kQueries>
  HWY_INLINE void Weigh(size_t q, size_t n, const float* HWY_RESTRICT token_weights, float top) {
    const F d;
    const hn::Rebind<uint8_t, F> d8;
    const VF round = hn::Set(d, kRound);
    VF tops[kQueries];
    RaiseReferences(task, q, n, tops);
    HWY_ALIGN uint8_t weights[kQueries * kTokens];
    float factors[kQueries];
    for (size_t i = 0; i < kQueries; ++i) {
      float* p = task.p + (q + i) * kTokens;
      float* sums = task.lane_sums + (q + i) * kSweepPad;
      const VF max = hn::Set(d, task.max[q + i]);
      // Weights are in parts of the tile's largest probability.
      const VF peak = Exp2(hn::Sub(hn::MaxOfLanes(d, tops[i]), max));
      const VF inverse = hn::Div(hn::Set(d, 1.0f), peak);
      factors[i] = hn::GetLane(peak) * (top / kWeightLimit);
      VF sum = hn::Load(d, sums);
      for (size_t t = 0; t < n; t += kLanes) {
        const VF e = Exp2(hn::Sub(hn::Load(d, p + t), max));
        if (task.run_sum != nullptr) hn::Store(e, d, p + t);
        sum = hn::Add(sum, e);
        const VF weight = hn::MulAdd(hn::Mul(e, inverse), hn::Load(d, token_weights + t), round);
        hn::Store(hn::TruncateTo(d8, hn::BitCast(U32(), weight)), d8, weights + i * kTokens + t);
      }
      hn::Store(sum, d, sums);
    }
    for (size_t c = 0; c < task.c_width; c += 4 * kLanes) {
      float* out = task.out + q * task.c_width + c;
      Accumulate<kQueries, false>(weights, factors, n, c, out);
      Accumulate<kQueries, true>(weights, factors, n, c, out + 2 * kLanes);
    }
  }

  // Of the values' scales, the largest; notes whether all scales are usual.
  HWY_INLINE float LargestScale() {
    const F d;
    VF top = hn::Zero(d);
    auto usual_scales = hn::FirstN(d, kLanes);
    for (size_t t = 0; t < kTokens; t += kLanes) {
      const VF here = hn::Load(d, scales + t), of_value = hn::Load(d, value_scales + t);
      top = hn::Max(top, of_value);
      const VF least = hn::Min(here, of_value), most = hn::Max(here, of_value);
      usual_scales = hn::And(usual_scales, hn::And(hn::Ge(least, hn::Zero(d)), hn::Le(most, hn::Set(d, kFloatMax))));
      usual_scales = hn::And(usual_scales, hn::Eq(hn::Add(here, of_value), hn::Add(here, of_value)));  // no NaN
    }
    usual &= hn::AllTrue(d, usual_scales);
    return hn::GetLane(hn::MaxOfLanes(d, top));
  }

  void Attend(size_t n, NextRows& next) {
    const F d;
    const size_t filled = RoundUp(n, kLanes);
    rows.Fill(n, filled);
    std::fill(scales + n, scales + kTokens, 0.0f);
    std::fill(value_scales + n, value_scales + kTokens, 0.0f);
    RoundKeys(n);
    for (size_t t = 0; t < filled; t += kLanes) {
      ForQueryGroups(task.queries,
                     [&](auto group, size_t q) HWY_ATTR { Score<group()>(q, t, task.p + q * kTokens + t, next); });
    }
    const float top = LargestScale();
    const VF relative = hn::Set(d, top > 1e-30f ? kWeightLimit / top : 0.0f);
    HWY_ALIGN float token_weights[kTokens];
    for (size_t t = 0; t < kTokens; t += kLanes) {
      hn::Store(hn::Mul(hn::Load(d, value_scales + t), relative), d, token_weights + t);
    }
    ForQueryGroups(task.queries, [&](auto group, size_t q) HWY_ATTR { Weigh<group()>(q, n, token_weights, top); });
  }
};

bool ByteSweep(const SweepTask& task) {
  ByteTile tile(task);
  SweepRuns(task, tile);
  FinishOutputs<4>(task);
  return tile.usual;
}

}  // namespace HWY_NAMESPACE
}  // namespace longview::internal
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longview::internal {

SweepKernel Avx512VnniSweepKernel() {
#if (HWY_TARGETS & HWY_AVX3) && HWY_COMPILER_GCC_ACTUAL
  return {&N_AVX3::ByteSweep, Avx512SweepKernel().mass, &N_AVX3::PackBytes, Avx512SweepKernel().sweep};
#else
  return {};
#endif
}

SweepKernel EmulatedVnniSweepKernel() {
#if HWY_TARGETS & HWY_AVX2
  return {&N_AVX2::ByteSweep, Avx2SweepKernel().mass, &N_AVX2::PackBytes, Avx2SweepKernel().sweep};
#else
  return {};
#endif
}

}  // namespace longview::internal
#endif  // HWY_ONCE
