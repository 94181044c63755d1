// The parity tests of attention on a device: one body, run by the emulated kernels in every build and by a GPU where
// there is one.
#ifndef LONGVIEW_TESTS_ATTENTION_MLA_PARITY_H_
#define LONGVIEW_TESTS_ATTENTION_MLA_PARITY_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "attention/kernels/cuda/mla_mirror.h"
#include "tests/attention/cross_attn_problem.h"

namespace longview::test {

// What the tests run on, as much of `limits` as the machine leaves to choose; null where there is no such device.
std::shared_ptr<MlaBackend> MakeTestBackend(const MlaLimits& limits);

// A large machine, so that a small cache is cut into many parts.
inline MlaLimits TestLimits() { return {"the tests' device", size_t{4} << 30, 132, 227 << 10, 228 << 10}; }

// Tests on a device; skipped by name without one.
class MlaDevice : public testing::Test {
 protected:
  void SetUp() override {
    backend_ = MakeTestBackend(TestLimits());
    if (backend_ == nullptr) GTEST_SKIP() << "skipped: no GPU";
  }
  std::shared_ptr<MlaBackend> backend_;
};

// A problem whose cache a device can hold.
inline Problem MlaProblem(CacheStore store, size_t d_c, size_t d_r, size_t rows, std::vector<size_t> run_tokens) {
  Problem p;
  p.store = store;
  p.d_c = d_c;
  p.d_r = d_r;
  p.rows = rows;
  p.run_tokens = std::move(run_tokens);
  // Scores as they are in use: a few units, whatever the width.
  p.spread = 10.0f / std::sqrt(static_cast<float>(d_c + d_r));
  return p;
}

inline std::unique_ptr<MlaMirror> MirrorOf(const Problem& p, std::shared_ptr<MlaBackend> backend,
                                           MlaMirrorOptions options = {}) {
  options.store = p.store;
  options.latent_stride = std::max(options.latent_stride == 128 ? size_t{0} : options.latent_stride, p.d_c);
  options.d_r = p.d_r;
  auto mirror = MlaMirror::Make(std::move(backend), {p.params.runs, p.params.run_count}, options);
  EXPECT_TRUE(mirror.ok()) << mirror.status().message();
  return mirror.ok() ? std::move(*mirror) : nullptr;
}

// Outputs, logarithms and shares against the reference in double. Queries and probabilities are rounded to bf16: the
// lower bound fails where they no longer are, or where the device's result is the reference's.
inline void ExpectMirrorAgrees(Problem* p, MlaMirror* mirror, const std::string& what) {
  std::vector<float> out, lse, mass;
  p->Into(&out, &lse, &mass);
  CrossAttnReference(p->params);
  p->Into(&p->out, &p->lse, &p->mass);
  const Status status = mirror->Attend(p->params);
  ASSERT_TRUE(status.ok()) << what << ": " << status.message();
  const Difference d = Compare(p->out, out);
  EXPECT_LE(d.max_error, 2e-2) << what << ", worst at " << d.worst;
  if (mirror->tokens() > 1) {
    EXPECT_GE(d.cosine, 0.9999) << what;
    EXPECT_GT(d.max_error, 1e-7) << what;
  }
  ExpectClose(p->mass, mass, 2e-2, what + " mass");
  for (size_t q = 0; q < lse.size(); ++q) {
    if (std::isinf(lse[q])) {
      EXPECT_EQ(p->lse[q], lse[q]) << what;
    } else {
      EXPECT_NEAR(p->lse[q], lse[q], 2e-2) << what << " query " << q;
    }
  }
  double total = 0.0, kept = 0.0;
  for (const float share : p->mass) total += share;
  for (size_t q = 0; q < p->queries(); ++q) {
    kept += !p->with_sink ? 1.0 : 1.0 / (1.0 + std::exp(static_cast<double>(p->sink[q]) - p->lse[q]));
  }
  if (mirror->tokens() == 0) return;
  EXPECT_NEAR(total, kept / static_cast<double>(p->queries()), 1e-4) << what;
}

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_ATTENTION_MLA_PARITY_H_
