// Values that are kept apart from keys, and factors of tokens: every kernel against the reference.
#include "tests/attention/cross_attn_problem.h"

namespace longview::test {
namespace {

TEST(CrossAttnValues, ValuesApartAndFactorsOfTokens) {
  for (const CacheStore store : {CacheStore::kF32, CacheStore::kF16, CacheStore::kBF16, CacheStore::kI8}) {
    for (const bool apart : {true, false}) {
      for (const bool factors : {false, true}) {
        Problem p;
        p.store = store;
        p.run_tokens = {33, 0, 65, 131, 1};
        p.heads = apart ? 1 : 9;
        p.d_c = 64;
        p.stride = factors ? 96 : 0;
        p.with_sink = true;
        p.apart = apart;
        p.factors = factors;
        p.spread = 0.5f;
        p.Make(31);
        ExpectEveryKernelAgrees(&p, std::string(apart ? " apart" : "") + (factors ? " factors" : ""));
      }
    }
  }
}

TEST(CrossAttnValues, OneKeyForAllTokensGivesTheMeanOfTheValues) {
  Problem p;
  p.run_tokens = {3, 5};
  p.heads = 3;
  p.d_c = 16;
  p.apart = true;
  p.Make(32);
  std::vector<float> mean(p.d_c, 0.0f);
  for (CrossAttnRun& run : p.runs) {
    std::memset(const_cast<void*>(run.latents), 0, run.tokens * p.d_c * sizeof(float));
    std::memset(const_cast<void*>(run.keys), 0, run.tokens * p.d_r * sizeof(float));
    const float* values = static_cast<const float*>(run.values);
    for (size_t i = 0; i < run.tokens * p.d_c; ++i) mean[i % p.d_c] += values[i] / 8.0f;
  }
  for (const CrossAttnKernel kernel : KernelsHere()) {
    p.Into(&p.out, &p.lse, &p.mass);
    ASSERT_TRUE(CrossAttn(p.params, kernel, nullptr).ok());
    for (size_t i = 0; i < p.out.size(); ++i)
      ASSERT_NEAR(p.out[i], mean[i % p.d_c], 1e-5) << CrossAttnKernelName(kernel);
  }
}

}  // namespace
}  // namespace longview::test
