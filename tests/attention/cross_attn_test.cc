// The cross-attention kernels against PyTorch, against their scalar twin, against expansion, and against themselves on
// other pools.
#include "attention/kernels/cross_attn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "attention/kernels/cross_attn_ref.h"
#include "attention/kernels/cross_attn_sweep.h"
#include "attention/mla/frame_cache.h"
#include "core/base/arena.h"
#include "core/io/weights.h"
#include "core/tensor/dtype.h"
#include "tests/attention/cross_attn_problem.h"
#include "tests/support/compare.h"

namespace longview {
namespace {

using test::ExpectClose;
using test::ExpectEveryKernelAgrees;
using test::IsNarrow;
using test::KernelsHere;
using test::kKernels;
using test::Problem;

TEST(CrossAttn, EveryKernelAgreesWithTheReference) {
  const std::vector<std::vector<size_t>> token_lists = {{},
                                                        {0},
                                                        {1},
                                                        {2},
                                                        {0, 3, 0},
                                                        {5, 7},
                                                        {31},
                                                        {32},
                                                        {33, 31},
                                                        {65, 65, 65},
                                                        {1, 1, 1, 1, 1, 1, 1},
                                                        {127, 0, 131},
                                                        {4, 64, 61, 1021, 17, 2003}};
  uint32_t seed = 1;
  for (const CacheStore store : {CacheStore::kF32, CacheStore::kF16, CacheStore::kBF16, CacheStore::kI8}) {
    for (size_t i = 0; i < token_lists.size(); ++i) {
      Problem p;
      p.store = store;
      p.run_tokens = token_lists[i];
      p.heads = std::vector<size_t>{1, 9, 16}[i % 3];
      p.rows = std::vector<size_t>{1, 5, 16}[(i / 3) % 3];
      p.d_c = std::vector<size_t>{128, 32, 64, 8, 136}[i % 5];
      p.d_r = std::vector<size_t>{32, 64, 128, 0, 8}[(i + i / 5) % 5];
      p.stride = i % 2 == 0 ? 0 : p.d_c + 40;
      p.with_sink = i % 4 == 1;
      p.Make(seed++);
      ExpectEveryKernelAgrees(&p, " list " + std::to_string(i));
    }
  }
}

TEST(CrossAttn, WideLatentsOfOtherModels) {
  Problem p;
  p.run_tokens = {300};
  p.heads = 16;
  p.d_c = 512;
  p.d_r = 64;
  p.store = CacheStore::kBF16;
  p.Make(77);
  std::vector<float> out, lse, mass;
  p.Into(&out, &lse, &mass);
  CrossAttnReference(p.params);
  for (const CrossAttnKernel kernel : KernelsHere()) {
    p.Into(&p.out, &p.lse, &p.mass);
    ASSERT_TRUE(CrossAttn(p.params, kernel, nullptr).ok());
    ExpectClose(p.out, out, 3e-5, std::string(CrossAttnKernelName(kernel)));
  }
}

TEST(CrossAttn, MeansOfWholeNumbersAreExact) {
  // Queries of zeros give every token the same share; 256 tokens of small whole numbers have a mean that is exact.
  Problem p;
  p.run_tokens = {100, 156};
  p.Make(5);
  std::fill(p.q_c.begin(), p.q_c.end(), 0.0f);
  std::fill(p.q_r.begin(), p.q_r.end(), 0.0f);
  std::vector<float> expected(p.d_c, 0.0f);
  std::mt19937 random(6);
  for (CrossAttnRun& run : p.runs) {
    float* latents = static_cast<float*>(const_cast<void*>(run.latents));
    for (size_t i = 0; i < run.tokens * p.d_c; ++i) {
      latents[i] = static_cast<float>(static_cast<int>(random() % 65) - 32);
      expected[i % p.d_c] += latents[i] / 256.0f;
    }
  }
  for (const CrossAttnKernel kernel : KernelsHere()) {
    if (kernel == CrossAttnKernel::kReference) continue;  // exp(score - log(sum)): not exact by design
    p.Into(&p.out, &p.lse, &p.mass);
    ASSERT_TRUE(CrossAttn(p.params, kernel, nullptr).ok());
    for (size_t i = 0; i < p.out.size(); ++i) ASSERT_EQ(p.out[i], expected[i % p.d_c]) << CrossAttnKernelName(kernel);
    EXPECT_FLOAT_EQ(p.mass[0], 100.0f / 256.0f) << CrossAttnKernelName(kernel);
  }
}

TEST(CrossAttn, TheSameBitsOnEveryPool) {
  for (const CacheStore store : {CacheStore::kBF16, CacheStore::kI8}) {
    Problem p;
    p.store = store;
    for (size_t i = 0; i < 120; ++i) p.run_tokens.push_back(40 + i % 37);
    p.Make(9);
    std::vector<float> out, lse, mass;
    p.Into(&out, &lse, &mass);
    ASSERT_TRUE(CrossAttn(p.params, CrossAttnKernel::kAuto, nullptr).ok());
    for (const int threads : {1, 3, 3, 2}) {
      ThreadPool pool(threads);
      p.Into(&p.out, &p.lse, &p.mass);
      ASSERT_TRUE(CrossAttn(p.params, CrossAttnKernel::kAuto, &pool).ok());
      EXPECT_EQ(p.out, out) << threads;
      EXPECT_EQ(p.lse, lse) << threads;
      EXPECT_EQ(p.mass, mass) << threads;
    }
  }
}

TEST(CrossAttn, MassAddsUpToOneLessTheSinks) {
  for (const bool with_sink : {false, true}) {
    Problem p;
    p.rows = 5;
    p.with_sink = with_sink;
    for (size_t i = 0; i < 90; ++i) p.run_tokens.push_back(i % 5 == 0 ? 0 : 65);
    p.Make(10);
    for (const CrossAttnKernel kernel : KernelsHere()) {
      p.Into(&p.out, &p.lse, &p.mass);
      ASSERT_TRUE(CrossAttn(p.params, kernel, nullptr).ok());
      double kept = 0.0, sum = 0.0;
      for (size_t q = 0; q < p.queries(); ++q) {
        kept += with_sink ? 1.0 / (1.0 + std::exp(static_cast<double>(p.sink[q]) - p.lse[q])) : 1.0;
      }
      for (size_t i = 0; i < p.mass.size(); ++i) {
        sum += p.mass[i];
        if (i % 5 == 0) {
          EXPECT_EQ(p.mass[i], 0.0f);
        }
      }
      EXPECT_NEAR(sum, kept / static_cast<double>(p.queries()), 1e-5) << CrossAttnKernelName(kernel);
    }
  }
}

TEST(CrossAttn, HugeScoresNeitherOverflowNorLoseTheirOrder) {
  Problem p;
  p.run_tokens = {64, 64, 7};
  p.spread = 300.0f;
  p.with_sink = true;
  p.Make(11);
  std::vector<float> out, lse, mass;
  p.Into(&out, &lse, &mass);
  CrossAttnReference(p.params);
  for (const CrossAttnKernel kernel : KernelsHere()) {
    p.Into(&p.out, &p.lse, &p.mass);
    ASSERT_TRUE(CrossAttn(p.params, kernel, nullptr).ok());
    // Scores of a thousand carry an error of 1e-4 in float.
    ExpectClose(p.out, out, 2e-3, std::string(CrossAttnKernelName(kernel)));
  }
}

TEST(CrossAttn, NumbersThatAFrameDoesNotKeepCountAsZero) {
  Problem p;
  p.run_tokens = {65, 40};
  p.store = CacheStore::kBF16;
  p.stride = 128;
  p.Make(12);
  p.runs[0].d_c = 32;
  p.params.runs = p.runs.data();
  std::vector<float> out, lse, mass;
  p.Into(&out, &lse, &mass);
  CrossAttnReference(p.params);
  // The reference itself, against rows with zeros in them.
  uint16_t* latents = static_cast<uint16_t*>(const_cast<void*>(p.runs[0].latents));
  for (const CrossAttnKernel kernel : KernelsHere()) {
    p.Into(&p.out, &p.lse, &p.mass);
    ASSERT_TRUE(CrossAttn(p.params, kernel, nullptr).ok());
    ExpectClose(p.out, out, 2e-5, std::string(CrossAttnKernelName(kernel)));
  }
  for (size_t t = 0; t < 65; ++t) std::fill_n(latents + t * 128 + 32, 96, uint16_t{0});
  p.runs[0].d_c = 128;
  p.Into(&p.out, &p.lse, &p.mass);
  CrossAttnReference(p.params);
  EXPECT_EQ(p.out, out);
}

TEST(CrossAttn, ACutUsesTheFirstNumbers) {
  Problem p;
  p.run_tokens = {65, 65};
  p.d_c = 32;
  p.stride = 128;  // NaN from 32 on
  p.store = CacheStore::kBF16;
  p.Make(13);
  for (CrossAttnRun& run : p.runs) run.d_c = 128;
  p.params.runs = p.runs.data();
  for (const CrossAttnKernel kernel : KernelsHere(CacheStore::kBF16)) {
    p.Into(&p.out, &p.lse, &p.mass);
    ASSERT_TRUE(CrossAttn(p.params, kernel, nullptr).ok());
    for (const float v : p.out) ASSERT_TRUE(std::isfinite(v)) << CrossAttnKernelName(kernel);
  }
}

// The sweeps in narrow numbers, their own code with a few instructions spelled out, so that they are tested on any AVX2
// machine.
struct Emulated {
  const char* name;
  internal::SweepKernel kernel;
  CacheStore store;
  double cosine, error, lse;  // how near it has to come
};
std::vector<Emulated> EmulatedKernels() {
  return {{"bf16", internal::EmulatedBf16SweepKernel(), CacheStore::kBF16, 0.9999, 2e-2, 1e-2},
          {"fp16", internal::EmulatedFp16SweepKernel(), CacheStore::kBF16, 0.9999, 2e-2, 1e-2},
          {"vnni", internal::EmulatedVnniSweepKernel(), CacheStore::kI8, 0.9995, 9e-2, 3e-2}};
}

TEST(CrossAttn, NarrowNumbersAgreeWithTheReference) {
  if (!CrossAttnSupported(CrossAttnKernel::kAvx2)) GTEST_SKIP() << "needs AVX2";
  for (const Emulated& emulated : EmulatedKernels()) {
    for (const size_t tokens : {1u, 2u, 3u, 31u, 33u, 1500u}) {
      for (const size_t d_c : {64u, 128u, 512u}) {
        for (const bool apart : {false, true}) {
          Problem p;
          p.run_tokens = {tokens, 0, 65};
          p.d_c = d_c;
          p.d_r = d_c == 512 ? 64 : 32;
          p.rows = d_c == 64 ? 5 : 1;
          p.store = emulated.store;
          p.apart = apart;
          p.spread = 0.5f;
          p.Make(14);
          std::vector<float> out, lse, mass;
          p.Into(&out, &lse, &mass);
          CrossAttnReference(p.params);
          p.Into(&p.out, &p.lse, &p.mass);
          ASSERT_TRUE(internal::SweepAndMerge(p.params, emulated.kernel, nullptr).ok());
          const std::string what = std::string(emulated.name) + " " + std::to_string(tokens) + " " +
                                   std::to_string(d_c) + (apart ? " apart" : "");
          const Difference d = Compare(p.out, out);
          EXPECT_GE(d.cosine, emulated.cosine) << what;
          EXPECT_LE(d.max_error, emulated.error) << what;
          EXPECT_GT(d.max_error, 1e-6) << "narrow operands cannot be that exact: " << what;
          ExpectClose(p.mass, mass, 2e-2, what + " mass");
          ExpectClose(p.lse, lse, emulated.lse, what + " lse");
        }
      }
    }
  }
}

TEST(CrossAttn, WhatNarrowNumbersCannotHoldIsSweptInFloat) {
  if (!CrossAttnSupported(CrossAttnKernel::kAvx2)) GTEST_SKIP() << "needs AVX2";
  for (const Emulated& emulated : EmulatedKernels()) {
    if (emulated.kernel.fallback == nullptr) continue;  // bf16 reaches as far as float
    for (const float size : {1e-6f, 1e6f}) {
      Problem p;
      p.run_tokens = {40, 65};
      p.store = emulated.store;
      p.spread = 1.0f / size;
      p.Make(15);
      for (CrossAttnRun& run : p.runs) {
        for (size_t i = 0; i < run.tokens * p.d_c && p.store == CacheStore::kBF16; ++i) {
          auto* latent = static_cast<uint16_t*>(const_cast<void*>(run.latents)) + i;
          *latent = FloatToBF16(BF16ToFloat(*latent) * size);
        }
        for (size_t i = 0; i < run.tokens && p.store == CacheStore::kI8; ++i) {
          const_cast<float*>(run.scales)[i] *= size > 1.0f ? -size : size;
        }
      }
      std::vector<float> out, lse, mass;
      p.Into(&out, &lse, &mass);
      CrossAttnReference(p.params);
      p.Into(&p.out, &p.lse, &p.mass);
      ASSERT_TRUE(internal::SweepAndMerge(p.params, emulated.kernel, nullptr).ok());
      const Difference d = Compare(p.out, out);
      EXPECT_GE(d.cosine, 0.9999) << emulated.name << " " << size;
      EXPECT_LE(d.max_error, 2e-2 * static_cast<double>(size)) << emulated.name << " " << size;
    }
  }
}

// Attention as the bridge uses it: absorb, sweep, project back.
std::vector<float> Absorbed(CrossAttnParams params, const std::vector<float>& q, const std::vector<float>& uk,
                            const std::vector<float>& uv, size_t heads, size_t d_k, size_t u_stride,
                            CrossAttnKernel kernel) {
  std::vector<float> q_c(params.queries * params.d_c, 0.0f), mixed(params.queries * params.d_c),
      out(params.queries * d_k, 0.0f);
  for (size_t i = 0; i < params.queries; ++i) {
    for (size_t j = 0; j < d_k; ++j) {
      const float* row = uk.data() + (i % heads * d_k + j) * u_stride;
      for (size_t c = 0; c < params.d_c; ++c) q_c[i * params.d_c + c] += q[i * d_k + j] * row[c];
    }
  }
  params.q_c = q_c.data();
  params.out = mixed.data();
  EXPECT_TRUE(CrossAttn(params, kernel, nullptr).ok());
  for (size_t i = 0; i < params.queries; ++i) {
    for (size_t j = 0; j < d_k; ++j) {
      const float* row = uv.data() + (i % heads * d_k + j) * u_stride;
      for (size_t c = 0; c < params.d_c; ++c) out[i * d_k + j] += mixed[i * params.d_c + c] * row[c];
    }
  }
  return out;
}

struct Stored {
  Arena arena;
  Result<FrameCache> cache = InternalError("");
  std::vector<CrossAttnRun> runs;
  Stored(const std::vector<float>& latents, const std::vector<float>& keys, size_t tokens, size_t d_c, size_t stride,
         size_t d_r, CacheStore store) {
    cache = FrameCache::Make({{d_c}, d_r, store}, &arena);
    for (size_t t = 0, frame = 0; t < tokens; t += 65, ++frame) {
      FrameRows rows;
      rows.time_s = static_cast<double>(frame);
      rows.end_s = rows.time_s + 1;
      rows.tokens = std::min<size_t>(65, tokens - t);
      rows.vectors = latents.data() + t * stride;
      rows.stride = stride;
      rows.keys = keys.data() + t * d_r;
      EXPECT_TRUE(cache->Append(rows).ok());
    }
    runs = cache->View().Runs();
  }
  void Into(CrossAttnParams* params) const {
    params->store = cache->shape().store;
    params->d_c = cache->shape().vectors[0];
    params->d_r = cache->shape().d_r;
    params->runs = runs.data();
    params->run_count = runs.size();
  }
};

TEST(CrossAttn, AbsorbedAgainstExpanded) {
  constexpr size_t kTokens = size_t{65} * 20, kHeads = 9, kDk = 64, kDc = 128, kRows = 3;
  for (const size_t d_r : {32u, 64u, 128u}) {
    std::mt19937 random(21);
    std::normal_distribution<float> normal;
    const auto make = [&](size_t n, float size) {
      std::vector<float> v(n);
      for (float& x : v) x = size * normal(random);
      return v;
    };
    const std::vector<float> latents = make(kTokens * kDc, 1.0f), keys = make(kTokens * d_r, 1.0f);
    const std::vector<float> uk = make(kHeads * kDk * kDc, 0.0884f), uv = make(kHeads * kDk * kDc, 0.0884f);
    const std::vector<float> q = make(kRows * kHeads * kDk, 1.0f), q_r = make(kRows * kHeads * d_r, 1.0f);
    std::vector<float> sink = make(kRows * kHeads, 1.0f), lse(kRows * kHeads);
    for (const size_t cut : {32u, 64u, 128u}) {
      CrossAttnParams params;
      params.q_r = q_r.data();
      params.queries = kRows * kHeads;
      params.scale = 1.0f / std::sqrt(static_cast<float>(kDk + d_r));
      params.sink = sink.data();
      params.lse = lse.data();
      const Stored exact(latents, keys, kTokens, cut, kDc, d_r, CacheStore::kF32);
      exact.Into(&params);
      std::vector<float> expected(kRows * kHeads * kDk), expected_mass(exact.runs.size());
      CrossAttnExpanded expanded{q.data(), uk.data(), uv.data(), kDc, kRows, kHeads, kDk, expected.data()};
      params.run_mass = expected_mass.data();
      ThreadPool pool(2);
      ASSERT_TRUE(CrossAttnExpandedReference(params, expanded, &pool).ok());
      const struct {
        CacheStore store;
        double low, high;  // bounds of the cosine: too good means that the store is not what it says
      } cases[] = {{CacheStore::kF32, 0.999999, 1.1},
                   {CacheStore::kF16, 0.99999, 1.1},
                   {CacheStore::kBF16, 0.9999, 1.0 - 1e-8},
                   {CacheStore::kI8, 0.999, 1.0 - 1e-7}};
      for (const auto& c : cases) {
        const Stored stored(latents, keys, kTokens, cut, kDc, d_r, c.store);
        for (const CrossAttnKernel kernel : KernelsHere(c.store)) {
          if (kernel == CrossAttnKernel::kReference || kernel == CrossAttnKernel::kPortable)
            continue;  // slow; seen above
          stored.Into(&params);
          std::vector<float> mass(stored.runs.size());
          params.run_mass = mass.data();
          const Difference d = Compare(Absorbed(params, q, uk, uv, kHeads, kDk, kDc, kernel), expected);
          const std::string what = std::string(CacheStoreName(c.store)) + " " +
                                   std::string(CrossAttnKernelName(kernel)) + " cut " + std::to_string(cut) + " d_r " +
                                   std::to_string(d_r);
          EXPECT_GE(d.cosine, c.low) << what;
          EXPECT_LE(d.cosine, c.high) << what;
          ExpectClose(mass, expected_mass, 1e-3, what);
        }
      }
    }
  }
}

TEST(CrossAttn, AgreesWithPyTorch) {
  const auto file = WeightFile::Open(std::string(LV_TEST_SOURCE_DIR) + "/tests/golden/cross_attn.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto get = [&](const std::string& name) { return (*file)->tensors().at(name).CopyToFloat().value(); };
  constexpr size_t kRows = 5, kHeads = 3, kDk = 64, kDc = 128, kDr = 32, kTokens = 195;
  const auto latents = get("latents"), keys = get("keys"), uk = get("uk"), uv = get("uv"), q = get("q"),
             q_time = get("q_time");
  const auto head_sink = get("sink");
  std::vector<float> sink;
  for (size_t r = 0; r < kRows; ++r) sink.insert(sink.end(), head_sink.begin(), head_sink.end());
  for (const size_t cut : {32u, 64u, 128u}) {
    const std::string suffix = "." + std::to_string(cut);
    const auto out = get("out" + suffix), lse = get("lse" + suffix), mass = get("mass" + suffix);
    // The golden latents are bf16 numbers: both stores hold them exactly.
    for (const CacheStore store : {CacheStore::kF32, CacheStore::kBF16}) {
      const Stored stored(latents, keys, kTokens, cut, kDc, kDr, store);
      CrossAttnParams params;
      stored.Into(&params);
      std::vector<float> lse_here(kRows * kHeads), mass_here(stored.runs.size());
      params.q_r = q_time.data();
      params.queries = kRows * kHeads;
      params.scale = 1.0f / std::sqrt(static_cast<float>(kDk + kDr));
      params.sink = sink.data();
      params.lse = lse_here.data();
      params.run_mass = mass_here.data();
      for (const CrossAttnKernel kernel : KernelsHere(store)) {
        const bool dots = IsNarrow(kernel);
        const std::string what = std::string(CrossAttnKernelName(kernel)) + suffix;
        const Difference d = Compare(Absorbed(params, q, uk, uv, kHeads, kDk, kDc, kernel), out);
        EXPECT_GE(d.cosine, dots ? 0.9999 : 0.9999999) << what;
        EXPECT_LE(d.max_error, dots ? 2e-2 : 2e-5) << what;
        ExpectClose(lse_here, lse, dots ? 2e-2 : 1e-5, what);
        ExpectClose(mass_here, mass, dots ? 2e-2 : 1e-6, what);
      }
      std::vector<float> expanded_out(out.size());
      CrossAttnExpanded expanded{q.data(), uk.data(), uv.data(), kDc, kRows, kHeads, kDk, expanded_out.data()};
      ASSERT_TRUE(CrossAttnExpandedReference(params, expanded, nullptr).ok());
      ExpectClose(expanded_out, out, 2e-5, "expanded" + suffix);
      ExpectClose(mass_here, mass, 1e-6, "expanded" + suffix);
    }
  }
}

TEST(CrossAttn, FocusIsAttentionOverTheListedFramesAlone) {
  Problem all;
  for (size_t i = 0; i < 30; ++i) all.run_tokens.push_back(65);
  all.Make(31);
  const std::vector<size_t> list = {3, 17, 4, 29};
  std::vector<CrossAttnRun> some;
  some.reserve(list.size());
  for (const size_t i : list) some.push_back(all.runs[i]);
  std::vector<float> out, lse, mass, far_out, far_lse, far_mass;
  // The other frames pushed out of the softmax by the first number of query and key.
  all.params.runs = some.data();
  all.params.run_count = some.size();
  for (size_t q = 0; q < all.queries(); ++q) all.q_r[q * all.d_r] = 1e4f;
  for (size_t i = 0; i < all.runs.size(); ++i) {
    float* keys = static_cast<float*>(const_cast<void*>(all.runs[i].keys));
    const bool listed = std::find(list.begin(), list.end(), i) != list.end();
    for (size_t t = 0; t < all.runs[i].tokens; ++t) keys[t * all.d_r] = listed ? 0.0f : -1.0f;
  }
  all.Into(&out, &lse, &mass);
  ASSERT_TRUE(CrossAttn(all.params, CrossAttnKernel::kAuto, nullptr).ok());
  all.params.runs = all.runs.data();
  all.params.run_count = all.runs.size();
  all.Into(&far_out, &far_lse, &far_mass);
  ASSERT_TRUE(CrossAttn(all.params, CrossAttnKernel::kAuto, nullptr).ok());
  ExpectClose(out, far_out, 1e-5, "focus");
  for (size_t i = 0; i < list.size(); ++i) EXPECT_NEAR(mass[i], far_mass[list[i]], 1e-6);
}

TEST(CrossAttn, RefusesCallsThatCannotBe) {
  Problem p;
  p.run_tokens = {65};
  p.Make(41);
  const auto code = [&](auto change) {
    CrossAttnParams params = p.params;
    change(&params);
    return CrossAttn(params, CrossAttnKernel::kAuto, nullptr).code();
  };
  const StatusCode invalid = StatusCode::kInvalidArgument;
  EXPECT_EQ(code([](CrossAttnParams*) {}), StatusCode::kOk);
  EXPECT_EQ(code([](CrossAttnParams* c) { c->d_c = 0; }), invalid);
  EXPECT_EQ(code([](CrossAttnParams* c) { c->d_c = 12; }), invalid);
  EXPECT_EQ(code([](CrossAttnParams* c) { c->d_r = 1000; }), invalid);
  EXPECT_EQ(code([](CrossAttnParams* c) { c->q_c = nullptr; }), invalid);
  EXPECT_EQ(code([](CrossAttnParams* c) { c->out = nullptr; }), invalid);
  EXPECT_EQ(code([](CrossAttnParams* c) { c->scale = std::nanf(""); }), invalid);
  EXPECT_EQ(code([](CrossAttnParams* c) { c->store = CacheStore::kI8; }), invalid);  // no scales
  CrossAttnRun broken = p.runs[0];
  broken.keys = nullptr;
  EXPECT_EQ(code([&](CrossAttnParams* c) { c->runs = &broken; }), invalid);
  broken = p.runs[0];
  broken.latent_stride = 64;
  EXPECT_EQ(code([&](CrossAttnParams* c) { c->runs = &broken; }), invalid);
  broken = p.runs[0];
  broken.tokens = 1;
  CrossAttnRun mixed[] = {broken, broken};
  mixed[1].values = mixed[1].latents;  // one run with values apart, one without
  EXPECT_EQ(code([&](CrossAttnParams* c) {
              c->runs = mixed;
              c->run_count = 2;
            }),
            invalid);
  for (const CrossAttnKernel kernel : kKernels) {
    if (!CrossAttnSupported(kernel)) {
      EXPECT_EQ(CrossAttn(p.params, kernel, nullptr).code(), StatusCode::kUnsupported);
    }
  }
  for (const CrossAttnKernel kernel : kKernels) {
    if (!IsNarrow(kernel)) continue;
    EXPECT_EQ(CrossAttn(p.params, kernel, nullptr).code(), StatusCode::kUnsupported);  // fp32 cache
  }
  // No queries: nothing to do, and the mass is nobody's.
  EXPECT_EQ(code([](CrossAttnParams* c) { c->queries = 0; }), StatusCode::kOk);
}

TEST(CrossAttn, TheBestKernelIsOneThatRunsHere) {
  for (const CacheStore store : {CacheStore::kF32, CacheStore::kBF16, CacheStore::kI8}) {
    const CrossAttnKernel best = CrossAttnBest(store);
    EXPECT_NE(best, CrossAttnKernel::kAuto);
    EXPECT_TRUE(CrossAttnSupported(best)) << CrossAttnKernelName(best);
  }
}

}  // namespace
}  // namespace longview
