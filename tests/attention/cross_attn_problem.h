// What the tests of the cross-attention kernels share: a random cache in the caller's memory and its queries.
#ifndef LONGVIEW_TESTS_ATTENTION_CROSS_ATTN_PROBLEM_H_
#define LONGVIEW_TESTS_ATTENTION_CROSS_ATTN_PROBLEM_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "attention/kernels/cross_attn.h"
#include "attention/kernels/cross_attn_ref.h"
#include "core/tensor/dtype.h"
#include "tests/support/compare.h"

namespace longview::test {

inline const std::vector<CrossAttnKernel> kKernels = {CrossAttnKernel::kReference,  CrossAttnKernel::kPortable,
                                                      CrossAttnKernel::kBaseline,   CrossAttnKernel::kAvx2,
                                                      CrossAttnKernel::kAvx512,     CrossAttnKernel::kAvx512Bf16,
                                                      CrossAttnKernel::kAvx512Fp16, CrossAttnKernel::kAvx512Vnni};

// Whether the kernel rounds queries and probabilities.
inline bool IsNarrow(CrossAttnKernel kernel) {
  return kernel == CrossAttnKernel::kAvx512Bf16 || kernel == CrossAttnKernel::kAvx512Fp16 ||
         kernel == CrossAttnKernel::kAvx512Vnni;
}

inline std::vector<CrossAttnKernel> KernelsHere(CacheStore store = CacheStore::kF32) {
  std::vector<CrossAttnKernel> list;
  for (const CrossAttnKernel kernel : kKernels) {
    if (CrossAttnReads(kernel, store) && CrossAttnSupported(kernel)) list.push_back(kernel);
  }
  return list;
}

// Random numbers and room for results. Every run's rows are followed by NaN, so a kernel that reads on is found out.
struct Problem {
  std::vector<size_t> run_tokens;
  size_t rows = 1, heads = 9, d_c = 128, d_r = 32;
  CacheStore store = CacheStore::kF32;
  size_t stride = 0;  // 0: d_c
  float spread = 1.0f;
  bool with_sink = false;
  bool apart = false;    // values beside the latents
  bool factors = false;  // scales also where the store needs none

  std::vector<std::vector<uint8_t>> memory;
  std::vector<float> q_c, q_r, sink, out, lse, mass;
  std::vector<std::vector<float>> scales;
  std::vector<CrossAttnRun> runs;
  CrossAttnParams params;

  size_t queries() const { return rows * heads; }

  void Make(uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>* v, size_t n, float size) {
      v->resize(n);
      for (float& x : *v) x = size * normal(random);
    };
    fill(&q_c, queries() * d_c, spread);
    fill(&q_r, queries() * d_r, spread);
    fill(&sink, queries(), 2.0f);
    if (stride == 0) stride = d_c;
    for (const size_t tokens : run_tokens) {
      CrossAttnRun run;
      run.tokens = static_cast<uint32_t>(tokens);
      run.d_c = static_cast<uint16_t>(d_c);
      run.latent_stride = static_cast<uint16_t>(stride);
      run.latents = Numbers(tokens, d_c, stride, store, &random);
      const CacheStore key_store = TimeKeyStore(store);
      run.keys = Numbers(tokens, d_r, d_r, key_store, &random);
      run.scales = Scales(tokens, &random);
      if (apart) {
        run.values = Numbers(tokens, d_c, stride, store, &random);
        run.value_scales = Scales(tokens, &random);
      }
      runs.push_back(run);
    }
    // Vectors of vectors: addresses of inner buffers stay.
    out.assign(queries() * d_c, std::nanf(""));
    lse.assign(queries(), std::nanf(""));
    mass.assign(runs.size(), std::nanf(""));
    params.q_c = q_c.data();
    params.q_r = q_r.data();
    params.queries = queries();
    params.d_c = d_c;
    params.d_r = d_r;
    params.scale = 1.0f / std::sqrt(96.0f);
    params.store = store;
    params.runs = runs.data();
    params.run_count = runs.size();
    params.sink = with_sink ? sink.data() : nullptr;
    Into(&out, &lse, &mass);
  }

  void Into(std::vector<float>* o, std::vector<float>* l, std::vector<float>* m) {
    o->assign(queries() * d_c, std::nanf(""));
    l->assign(queries(), std::nanf(""));
    m->assign(runs.size(), std::nanf(""));
    params.out = o->data();
    params.lse = l->data();
    params.run_mass = m->data();
  }

  // Null where the problem has none.
  const float* Scales(size_t tokens, std::mt19937* random) {
    if (store != CacheStore::kI8 && !factors) return nullptr;
    std::normal_distribution<float> normal;
    std::vector<float> s(tokens + 1, std::nanf(""));
    const float size = store == CacheStore::kI8 ? 0.02f : 1.0f;
    for (size_t t = 0; t < tokens; ++t) s[t] = size * (0.5f + std::abs(normal(*random)));
    scales.push_back(std::move(s));
    return scales.back().data();
  }

  // [tokens, stride] numbers of which `n` count; the rest and 64 bytes behind the last row are NaN (int8: 127).
  const void* Numbers(size_t tokens, size_t n, size_t row, CacheStore type, std::mt19937* random) {
    std::normal_distribution<float> normal;
    const size_t size = CacheStoreNumberBytes(type);
    std::vector<uint8_t> bytes(tokens * row * size + 64, type == CacheStore::kI8 ? 127 : 0xFF);
    for (size_t t = 0; t < tokens; ++t) {
      for (size_t j = 0; j < n; ++j) {
        const float v = normal(*random);
        uint8_t* to = bytes.data() + (t * row + j) * size;
        if (type == CacheStore::kF32) {
          std::memcpy(to, &v, 4);
        } else if (type == CacheStore::kI8) {
          *to = static_cast<uint8_t>(static_cast<int8_t>(std::max(-127.0f, std::min(127.0f, 40.0f * v))));
        } else {
          const uint16_t bits = type == CacheStore::kF16 ? FloatToF16(v) : FloatToBF16(v);
          std::memcpy(to, &bits, 2);
        }
      }
    }
    memory.push_back(std::move(bytes));
    return memory.back().data();
  }
};

inline void ExpectClose(const std::vector<float>& actual, const std::vector<float>& expected, double tolerance,
                        const std::string& what) {
  const Difference d = Compare(actual, expected);
  EXPECT_LE(d.max_error, tolerance) << what << ", worst at " << d.worst;
}

// Outputs, masses and logarithms of sums of every kernel that this machine has against the reference's.
inline void ExpectEveryKernelAgrees(Problem* p, const std::string& which) {
  std::vector<float> out, lse, mass;
  p->Into(&out, &lse, &mass);
  CrossAttnReference(p->params);
  for (const CrossAttnKernel kernel : KernelsHere(p->store)) {
    p->Into(&p->out, &p->lse, &p->mass);
    ASSERT_TRUE(CrossAttn(p->params, kernel, nullptr).ok());
    const std::string what =
        std::string(CrossAttnKernelName(kernel)) + " " + std::string(CacheStoreName(p->store)) + which;
    const bool dots = IsNarrow(kernel);
    ExpectClose(p->out, out, kernel == CrossAttnKernel::kAvx512Vnni ? 9e-2 : dots ? 2e-2 : 2e-5, what);
    ExpectClose(p->mass, mass, dots ? 2e-2 : 2e-6, what + " mass");
    for (size_t q = 0; q < lse.size(); ++q) {
      if (std::isinf(lse[q])) {
        EXPECT_EQ(p->lse[q], lse[q]) << what;
      } else {
        EXPECT_NEAR(p->lse[q], lse[q], dots ? 5e-2 : 1e-5) << what;
      }
    }
  }
}

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_ATTENTION_CROSS_ATTN_PROBLEM_H_
