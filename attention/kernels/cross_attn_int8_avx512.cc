// The sweep with byte dot products (AVX512_VNNI: 64 products an instruction, summed exactly), for int8 caches.
//
// Latents stay bytes. Scores multiply them with queries in int8 (one scale a query), and time keys, brought to 13 bits
// by one scale a tile, with queries in 12 bits; as in the fp16 sweep a token's bytes are broadcast, 8 queries side by
// side in a vector, and the queries that are no whole eight go row by row. Outputs contract four tokens at a time,
// whose latents are interleaved for it: a token's weight is its probability times its scale, in 8 bits of the tile's
// largest. A part whose scales or keys are not usual numbers is not answered (SweepKernel::fallback).
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

#include "attention/kernels/cross_attn_sweep-inl.h"
#include "attention/kernels/cross_attn_sweep.h"
#include "core/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
#undef LV_NATIVE_VNNI
#if HWY_TARGET == HWY_AVX3 && HWY_COMPILER_GCC_ACTUAL
// On top of Highway's own target, until HWY_AFTER_NAMESPACE.
#pragma GCC target("avx512vnni")
#define LV_NATIVE_VNNI 1
#else
#define LV_NATIVE_VNNI 0
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace longview::internal {
namespace HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F>;
using I64 = hn::Repartition<int64_t, F>;
using U64 = hn::Repartition<uint64_t, F>;
using U8 = hn::Repartition<uint8_t, F>;
using VI32 = hn::Vec<I32>;

// sum[i] += the four products of bytes 4 i .. 4 i + 3, those of a without sign.
HWY_INLINE VI32 DotBytes(VI32 sum, VI32 a, VI32 b) {
#if LV_NATIVE_VNNI
  // Around the intrinsic GCC 12 moves sums from register to register.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "vm"(b.raw));
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
  asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "vm"(b.raw));
  return sum;
#else
  sum = hn::Add(sum, hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b))));
  return hn::Add(sum, hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b)));
#endif
}

// Eight bytes, over and over.
HWY_INLINE VI32 BroadcastEight(const void* from) {
  int64_t eight;
  std::memcpy(&eight, from, sizeof(eight));
  return hn::BitCast(I32(), hn::Set(I64(), eight));
}

HWY_INLINE VI32 BroadcastFour(const uint8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof(four));
  return hn::Set(I32(), four);
}

HWY_INLINE VI32 LoadI32(const void* from) { return hn::Load(I32(), static_cast<const int32_t*>(from)); }

// The pairs of 32-bit numbers from pair `at` on.
HWY_INLINE VI32 LoadPairs(const uint8_t* from, size_t at) {
  return hn::LoadU(I32(), reinterpret_cast<const int32_t*>(from + at * 2 * sizeof(int32_t)));
}

// sums[t] += query . row t: `row` bytes of kTokens rows that follow each other, taken `step` at a time by kLoad, with
// as many vectors of queries, `vector` bytes each.
template <VI32 (*kLoad)(const void*), VI32 (*kDot)(VI32, VI32, VI32), size_t kTokens>
HWY_INLINE void Contract(const uint8_t* HWY_RESTRICT query, size_t vector, const uint8_t* HWY_RESTRICT rows, size_t row,
                         size_t step, VI32 (&sums)[kTokens]) {
  for (size_t i = 0; i < row; i += step, query += vector) {
    const VI32 numbers = LoadI32(query);
    HWY_UNROLL(8)
    for (size_t t = 0; t < kTokens; ++t) sums[t] = kDot(sums[t], kLoad(rows + t * row + i), numbers);
  }
}

// a0 a1 and b0 b1 become a0+a1 b0+b1, in each two numbers.
HWY_INLINE VI32 MergeTwo(VI32 a, VI32 b) {
  const VI32 crossed = hn::BitCast(I32(), hn::RotateRight<32>(hn::BitCast(U64(), hn::OddEven(a, b))));
  return hn::Add(hn::OddEven(b, a), crossed);
}

constexpr float kQueryLimit = 127.0f, kKeyQueryLimit = 2047.0f, kKeyLimit = 4095.0f, kWeightLimit = 255.0f;
// A latent is stored as itself plus this where a dot product wants it without sign.
constexpr uint8_t kOffset = 128;
constexpr float kFloatMax = std::numeric_limits<float>::max();

// Queries side by side in a vector, two sums each.
HWY_INLINE size_t QueryGroup() { return hn::Lanes(F()) / 2; }

// What Pack leaves: whole groups of queries as [c_width / 8, group, 8] and [r_width / 4, group, 4], the others as rows.
template <class Byte>
struct PackedQueries {
  PackedQueries(Byte* packed, size_t queries, size_t c_width, size_t r_width)
      : c(packed),
        r(c + queries * c_width),
        scale_c(r + queries * r_width * sizeof(int16_t)),
        scale_r(scale_c + queries * 2 * sizeof(float)),
        start(scale_r + queries * 2 * sizeof(float)) {}

  Byte* c;        // int8 [queries, c_width]
  Byte* r;        // int16 [queries, r_width]
  Byte* scale_c;  // float [queries, 2], each twice
  Byte* scale_r;  // float [queries, 2], each twice
  Byte* start;    // int32 [queries, 2]: what takes kOffset off the sums, and 0
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
  const size_t group = QueryGroup();
  for (size_t i = 0; i < queries; ++i) {
    const float* row = q + i * (c_width + r_width);
    int32_t sum = 0;
    const float scale_c = Quantise(row, c_width, kQueryLimit, [&](size_t j, int32_t whole) {
      WriteAt(packed.c, GroupedAt(i, j, queries, c_width, group, 8), static_cast<int8_t>(whole));
      sum += whole;
    });
    const float scale_r = Quantise(row + c_width, r_width, kKeyQueryLimit, [&](size_t j, int32_t whole) {
      WriteAt(packed.r, GroupedAt(i, j, queries, r_width, group, 4), static_cast<int16_t>(whole));
    });
    for (size_t twin = 2 * i; twin < 2 * i + 2; ++twin) {
      WriteAt(packed.scale_c, twin, scale_c);
      WriteAt(packed.scale_r, twin, scale_r);
    }
    WriteAt(packed.start, 2 * i, -static_cast<int32_t>(kOffset) * sum);
    WriteAt(packed.start, 2 * i + 1, int32_t{0});
  }
}

// Rows of bytes. Outputs lie interleaved as the tokens do until Finish puts them in order.
struct ByteTile {
  static constexpr size_t kTokens = kSweepTile;

  const SweepTask& task;
  const PackedQueries<const uint8_t> queries;
  uint8_t* const latents;  // [kSweepTile, c_width], each plus kOffset
  uint8_t* const apart;    // [kSweepTile, c_width]: values that are no latents
  uint8_t* const quads;    // [kSweepTile / 4, 4 * c_width]: values, four tokens interleaved
  uint16_t* const keys;    // [kSweepTile, r_width], bf16
  int16_t* const wholes;   // [kSweepTile, r_width]: the same as whole numbers
  HWY_ALIGN float scales[kSweepTile];
  HWY_ALIGN float value_scales[kSweepTile];
  float key_scale = 0.0f;
  bool usual = true;  // all that was seen is finite, and no scale negative

  explicit ByteTile(const SweepTask& t)
      : task(t),
        queries(static_cast<const uint8_t*>(t.packed), t.queries, t.c_width, t.r_width),
        latents(reinterpret_cast<uint8_t*>(t.tile)),
        apart(latents + kSweepTile * t.c_width),
        quads(apart + kSweepTile * t.c_width),
        keys(reinterpret_cast<uint16_t*>(quads + kSweepTile * t.c_width)),
        wholes(reinterpret_cast<int16_t*>(keys + kSweepTile * t.r_width)) {
    std::fill_n(scales, kSweepTile, 0.0f);
    std::fill_n(value_scales, kSweepTile, 0.0f);
  }

  static size_t Steps(const SweepTask& task, size_t n) { return StepsOfGroups(task, n, QueryGroup()); }

  // Not forced inline: SweepRuns is compiled without the dot products.
  void Put(const CrossAttnRun& run, size_t token, size_t count, size_t row) {
    const size_t d_r = task.params->d_r, stride = run.latent_stride;
    const size_t n = HWY_MIN(static_cast<size_t>(run.d_c), task.params->d_c);
    PutBytes(static_cast<const uint8_t*>(run.latents) + token * stride, stride, count, n, kOffset,
             latents + row * task.c_width);
    std::copy_n(run.scales + token, count, scales + row);
    const float* own = run.scales;
    if (task.value_at > 0) {
      PutBytes(static_cast<const uint8_t*>(run.values) + token * stride, stride, count, n, 0,
               apart + row * task.c_width);
      own = run.value_scales;
    }
    std::copy_n(own + token, count, value_scales + row);
    // Rows of d_r numbers, a multiple of 32, follow each other here and there.
    std::memcpy(keys + row * d_r, static_cast<const uint16_t*>(run.keys) + token * d_r, count * d_r * sizeof(uint16_t));
  }

  // `count` rows of `n` bytes with the bits `flip` flipped, then what stands for zero up to c_width.
  HWY_INLINE void PutBytes(const uint8_t* HWY_RESTRICT from, size_t stride, size_t count, size_t n, uint8_t flip,
                           uint8_t* HWY_RESTRICT to) const {
    const U8 d;
    const size_t lanes = hn::Lanes(d), width = task.c_width;
    const auto bits = hn::Set(d, flip);
    for (size_t row = 0; row < count; ++row, from += stride, to += width) {
      size_t i = 0;
      for (; i + lanes <= n; i += lanes) hn::Store(hn::Xor(hn::LoadU(d, from + i), bits), d, to + i);
      for (; i < width; i += lanes) {
        HWY_ALIGN uint8_t rest[HWY_MAX_BYTES] = {};
        if (i < n) std::memcpy(rest, from + i, n - i);
        hn::Store(hn::Xor(hn::Load(d, rest), bits), d, to + i);
      }
    }
  }

  // The tile's keys as whole numbers of up to kKeyLimit.
  HWY_INLINE void RoundKeys(size_t n) {
    const hn::Repartition<uint16_t, F> d16;
    const I32 di;
    const F d;
    const size_t numbers = n * task.r_width;
    auto peak_bits = hn::Zero(d16);
    for (size_t i = 0; i < numbers; i += hn::Lanes(d16)) {
      peak_bits = hn::Max(peak_bits, hn::And(hn::Load(d16, keys + i), hn::Set(d16, 0x7FFF)));
    }
    const float peak = BF16ToFloat(hn::GetLane(hn::MaxOfLanes(d16, peak_bits)));
    if (!(peak <= kFloatMax)) {
      usual = false;
      return;
    }
    key_scale = peak / kKeyLimit;
    const VF round = hn::Set(d, kRound);
    const VF inverse = hn::Set(d, peak > 1e-30f ? kKeyLimit / peak : 0.0f);
    for (size_t i = 0; i < numbers; i += hn::Lanes(d16)) {
      const VI32 both = hn::BitCast(di, hn::Load(d16, keys + i));
      const VF even = hn::BitCast(d, hn::ShiftLeft<16>(both));
      const VF odd = hn::BitCast(d, hn::And(both, hn::Set(di, static_cast<int32_t>(0xFFFF0000u))));
      const VI32 low = hn::And(hn::BitCast(di, hn::MulAdd(even, inverse, round)), hn::Set(di, 0xFFFF));
      const VI32 high = hn::ShiftLeft<16>(hn::BitCast(di, hn::MulAdd(odd, inverse, round)));
      hn::Store(hn::BitCast(hn::Repartition<int16_t, F>(), hn::Or(low, high)), hn::Repartition<int16_t, F>(),
                wholes + i);
    }
  }

  HWY_INLINE void Interleave(size_t n) {
    const U8 d;
    const hn::Repartition<uint16_t, F> d16;
    const size_t lanes = hn::Lanes(d);
    const bool own = task.value_at > 0;
    const auto bit = hn::Set(d, own ? uint8_t{0} : kOffset);
    const uint8_t* rows = own ? apart : latents;
    for (size_t t = 0; t < n; t += 4, rows += 4 * task.c_width) {
      uint8_t* to = quads + t * task.c_width;
      for (size_t c = 0; c < task.c_width; c += lanes) {
        const auto row = [&](size_t i) HWY_ATTR { return hn::Xor(hn::Load(d, rows + i * task.c_width + c), bit); };
        const auto a = row(0), b = row(1), e = row(2), f = row(3);
        const auto ab_low = hn::BitCast(d16, hn::InterleaveLower(d, a, b));
        const auto ab_high = hn::BitCast(d16, hn::InterleaveUpper(d, a, b));
        const auto ef_low = hn::BitCast(d16, hn::InterleaveLower(d, e, f));
        const auto ef_high = hn::BitCast(d16, hn::InterleaveUpper(d, e, f));
        hn::Store(hn::BitCast(d, hn::InterleaveLower(d16, ab_low, ef_low)), d, to + 4 * c);
        hn::Store(hn::BitCast(d, hn::InterleaveUpper(d16, ab_low, ef_low)), d, to + 4 * c + lanes);
        hn::Store(hn::BitCast(d, hn::InterleaveLower(d16, ab_high, ef_high)), d, to + 4 * c + 2 * lanes);
        hn::Store(hn::BitCast(d, hn::InterleaveUpper(d16, ab_high, ef_high)), d, to + 4 * c + 3 * lanes);
      }
    }
  }

  const uint8_t* KeyBytes(size_t t) const { return reinterpret_cast<const uint8_t*>(wholes + t * task.r_width); }

  // p[group, kSweepTile] at eight tokens from `t` on, of the group of queries that begins with q.
  HWY_INLINE void ScoreGroup(size_t q, size_t t, float* HWY_RESTRICT p) const {
    const F d;
    const I32 di;
    const U64 d64;
    const size_t lanes = hn::Lanes(d);
    VI32 c[kBlockTokens], r[kBlockTokens];
    std::fill_n(c, kBlockTokens, LoadPairs(queries.start, q));
    std::fill_n(r, kBlockTokens, hn::Zero(di));
    const size_t c_bytes = task.c_width, r_bytes = task.r_width * sizeof(int16_t), vector = lanes * sizeof(float);
    Contract<BroadcastEight, DotBytes>(queries.c + q * c_bytes, vector, latents + t * c_bytes, c_bytes, 8, c);
    Contract<BroadcastEight, DotWords>(queries.r + q * r_bytes, vector, KeyBytes(t), r_bytes, 8, r);
    const VF sc = hn::BitCast(d, LoadPairs(queries.scale_c, q));
    const VF sr = hn::Mul(hn::BitCast(d, LoadPairs(queries.scale_r, q)), hn::Set(d, key_scale));
    // Scores of two tokens, side by side for each query.
    const auto pair = [&](VI32 ca, VI32 cb, VI32 ra, VI32 rb, size_t token) HWY_ATTR {
      const VF token_scales = hn::BitCast(d, BroadcastEight(scales + token));
      const VF content = hn::Mul(hn::ConvertTo(d, MergeTwo(ca, cb)), hn::Mul(sc, token_scales));
      return hn::BitCast(d64, hn::MulAdd(hn::ConvertTo(d, MergeTwo(ra, rb)), sr, content));
    };
    const auto p01 = pair(c[0], c[1], r[0], r[1], t), p23 = pair(c[2], c[3], r[2], r[3], t + 2);
    const auto p45 = pair(c[4], c[5], r[4], r[5], t + 4), p67 = pair(c[6], c[7], r[6], r[7], t + 6);
    StoreQueries(hn::BitCast(d, hn::InterleaveLower(d64, p01, p23)), p);
    StoreQueries(hn::BitCast(d, hn::InterleaveUpper(d64, p01, p23)), p + kSweepTile);
    StoreQueries(hn::BitCast(d, hn::InterleaveLower(d64, p45, p67)), p + 4);
    StoreQueries(hn::BitCast(d, hn::InterleaveUpper(d64, p45, p67)), p + kSweepTile + 4);
  }

  // Four scores of every other query.
  static HWY_INLINE void StoreQueries(VF v, float* HWY_RESTRICT p) {
    const F d;
    const hn::Full128<float> d4;
    HWY_ALIGN float fours[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, d, fours);
    for (size_t i = 0; i < hn::Lanes(d) / 4; ++i) hn::Store(hn::Load(d4, fours + 4 * i), d4, p + 2 * i * kSweepTile);
  }

  // p[4] at four tokens from `t` on, of query q.
  HWY_INLINE void ScoreOne(size_t q, size_t t, float* HWY_RESTRICT p) const {
    const F d;
    const I32 di;
    const size_t bytes = hn::Lanes(d) * sizeof(float);
    VI32 c[4], r[4];
    std::fill_n(c, 4, hn::Zero(di));
    std::fill_n(r, 4, hn::Zero(di));
    const size_t c_bytes = task.c_width, r_bytes = task.r_width * sizeof(int16_t);
    Contract<LoadI32, DotBytes>(queries.c + q * c_bytes, bytes, latents + t * c_bytes, c_bytes, bytes, c);
    Contract<LoadI32, DotWords>(queries.r + q * r_bytes, bytes, KeyBytes(t), r_bytes, bytes, r);
    HWY_ALIGN int32_t c_sums[4], r_sums[4];
    const auto add = [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); };
    FoldFour(di, c[0], c[1], c[2], c[3], add, c_sums);
    FoldFour(di, r[0], r[1], r[2], r[3], add, r_sums);
    const hn::Full128<float> d4;
    const hn::Full128<int32_t> di4;
    const auto start = hn::Set(di4, ReadAt<int32_t>(queries.start, 2 * q));
    const auto content = hn::ConvertTo(d4, hn::Add(hn::Load(di4, c_sums), start));
    const auto time = hn::ConvertTo(d4, hn::Load(di4, r_sums));
    const auto sc = hn::Mul(hn::Set(d4, ReadAt<float>(queries.scale_c, 2 * q)), hn::Load(d4, scales + t));
    const auto sr = hn::Set(d4, ReadAt<float>(queries.scale_r, 2 * q) * key_scale);
    hn::Store(hn::MulAdd(time, sr, hn::Mul(content, sc)), d4, p);
  }

  // Weights in 8 bits of a row of probabilities p[n], `largest` among them; each token's counts with its token_weight.
  static HWY_INLINE void Weigh(const float* HWY_RESTRICT p, size_t n, float largest,
                               const float* HWY_RESTRICT token_weights, uint8_t* HWY_RESTRICT to) {
    const F d;
    const hn::Rebind<uint8_t, F> d8;
    const hn::Repartition<uint32_t, F> du;
    const VF inverse = hn::Set(d, 1.0f / largest), round = hn::Set(d, kRound);
    for (size_t t = 0; t < n; t += hn::Lanes(d)) {
      const VF weight = hn::MulAdd(hn::Mul(hn::Load(d, p + t), inverse), hn::Load(d, token_weights + t), round);
      hn::Store(hn::TruncateTo(d8, hn::BitCast(du, weight)), d8, to + t);
    }
  }

  // Four vectors of outputs of three queries += factor * weights . values; `c` walks over rows of 4 * c_width bytes.
  HWY_INLINE void Accumulate3x4(const uint8_t* HWY_RESTRICT weights, const float* HWY_RESTRICT factors,
                                const uint8_t* HWY_RESTRICT c, size_t n, float* HWY_RESTRICT out) const {
    const F d;
    const I32 di;
    const size_t bytes = hn::Lanes(d) * sizeof(float);
    VI32 s00 = hn::Zero(di), s01 = s00, s02 = s00, s03 = s00;
    VI32 s10 = s00, s11 = s00, s12 = s00, s13 = s00;
    VI32 s20 = s00, s21 = s00, s22 = s00, s23 = s00;
    for (size_t t = 0; t < n; t += 4, c += 4 * task.c_width) {
      const VI32 w0 = BroadcastFour(weights + t), w1 = BroadcastFour(weights + kSweepTile + t);
      const VI32 w2 = BroadcastFour(weights + 2 * kSweepTile + t);
      VI32 v = LoadI32(c);
      s00 = DotBytes(s00, w0, v);
      s10 = DotBytes(s10, w1, v);
      s20 = DotBytes(s20, w2, v);
      v = LoadI32(c + bytes);
      s01 = DotBytes(s01, w0, v);
      s11 = DotBytes(s11, w1, v);
      s21 = DotBytes(s21, w2, v);
      v = LoadI32(c + 2 * bytes);
      s02 = DotBytes(s02, w0, v);
      s12 = DotBytes(s12, w1, v);
      s22 = DotBytes(s22, w2, v);
      v = LoadI32(c + 3 * bytes);
      s03 = DotBytes(s03, w0, v);
      s13 = DotBytes(s13, w1, v);
      s23 = DotBytes(s23, w2, v);
    }
    const size_t lanes = hn::Lanes(d);
    const auto add = [&](VI32 sum, float factor, float* to) HWY_ATTR {
      hn::Store(hn::MulAdd(hn::ConvertTo(d, sum), hn::Set(d, factor), hn::Load(d, to)), d, to);
    };
    const auto add_row = [&](VI32 a, VI32 b, VI32 e, VI32 f, size_t q) HWY_ATTR {
      float* to = out + q * task.c_width;
      add(a, factors[q], to);
      add(b, factors[q], to + lanes);
      add(e, factors[q], to + 2 * lanes);
      add(f, factors[q], to + 3 * lanes);
    };
    add_row(s00, s01, s02, s03, 0);
    add_row(s10, s11, s12, s13, 1);
    add_row(s20, s21, s22, s23, 2);
  }

  void Attend(size_t n, NextRows& next) {
    std::fill(value_scales + n, value_scales + kSweepTile, 0.0f);
    const size_t group = QueryGroup();
    RoundKeys(n);
    Interleave(n);
    size_t q = 0;
    for (; q + group <= task.queries; q += group) {
      for (size_t t = 0; t < n; t += kBlockTokens) {
        next.Step();
        ScoreGroup(q, t, task.p + q * kSweepTile + t);
      }
    }
    for (; q < task.queries; ++q) {
      for (size_t t = 0; t < n; t += kBlockTokens) {
        next.Step();
        ScoreOne(q, t, task.p + q * kSweepTile + t);
        ScoreOne(q, t + 4, task.p + q * kSweepTile + t + 4);
      }
    }
    // Tokens weigh what they weigh among the tile's.
    const F d;
    VF vtop = hn::Zero(d);
    auto usual_scales = hn::FirstN(d, hn::Lanes(d));
    for (size_t t = 0; t < kSweepTile; t += hn::Lanes(d)) {
      const VF here = hn::Load(d, scales + t), of_value = hn::Load(d, value_scales + t);
      vtop = hn::Max(vtop, of_value);
      const VF least = hn::Min(here, of_value), most = hn::Max(here, of_value);
      usual_scales = hn::And(usual_scales, hn::And(hn::Ge(least, hn::Zero(d)), hn::Le(most, hn::Set(d, kFloatMax))));
      usual_scales = hn::And(usual_scales, hn::Eq(hn::Add(here, of_value), hn::Add(here, of_value)));  // no NaN
    }
    usual &= hn::AllTrue(d, usual_scales);
    const float top = hn::GetLane(hn::MaxOfLanes(d, vtop));
    const VF relative = hn::Set(d, top > 1e-30f ? kWeightLimit / top : 0.0f);
    HWY_ALIGN float token_weights[kSweepTile];
    for (size_t t = 0; t < kSweepTile; t += hn::Lanes(d)) {
      hn::Store(hn::Mul(hn::Load(d, value_scales + t), relative), d, token_weights + t);
    }
    HWY_ALIGN uint8_t weights[kSweepQueryGroup * kSweepTile];
    for (q = 0; q < task.queries; q += kSweepQueryGroup) {
      float factors[kSweepQueryGroup];
      OnlineSoftmax(task, n, q, factors);
      for (size_t i = 0; i < kSweepQueryGroup; ++i) {
        Weigh(task.p + (q + i) * kSweepTile, n, factors[i], token_weights, weights + i * kSweepTile);
        factors[i] *= top / kWeightLimit;
      }
      const size_t columns = 4 * hn::Lanes(F());
      for (size_t c = 0; c < task.c_width; c += columns) {
        Accumulate3x4(weights, factors, quads + 4 * c, n, task.out + q * task.c_width + c);
      }
    }
  }

  // Interleaving works within 128 bits: of each 4 * lanes outputs the first vector holds numbers 0..3, 16..19, ..., the
  // second 4..7, 20..23, ...
  void Finish() {
    const size_t lanes = hn::Lanes(F());
    float ordered[4 * HWY_MAX_BYTES / sizeof(float)];
    for (size_t at = 0; at < task.queries * task.c_width; at += 4 * lanes) {
      float* group = task.out + at;
      for (size_t vector = 0; vector < 4; ++vector) {
        for (size_t i = 0; i < lanes; i += 4) {
          std::memcpy(ordered + 4 * i + 4 * vector, group + vector * lanes + i, 4 * sizeof(float));
        }
      }
      std::memcpy(group, ordered, 4 * lanes * sizeof(float));
    }
  }
};

bool ByteSweep(const SweepTask& task) {
  ByteTile tile(task);
  SweepRuns(task, tile);
  tile.Finish();
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
