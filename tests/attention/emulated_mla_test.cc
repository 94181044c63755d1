// The emulated backend for the device tests, and what can be seen on it alone: launches, blocks, memory.
#include "tests/attention/emulated_mla.h"

#include <gtest/gtest.h>

#include "tests/attention/mla_parity.h"

namespace longview::test {

std::shared_ptr<MlaBackend> MakeTestBackend(const MlaLimits& limits) { return std::make_shared<EmulatedMla>(limits); }

namespace {

TEST(EmulatedMla, ManyQueriesTakeTheWideBuildWhereItsMemorySuffices) {
  for (const uint32_t shared : {227u << 10, 64u << 10}) {
    MlaLimits limits = TestLimits();
    limits.block_shared = shared;
    const auto backend = std::make_shared<EmulatedMla>(limits);
    Problem p = MlaProblem(CacheStore::kBF16, 128, 32, 16, {65});
    p.Make(1);
    const auto mirror = MirrorOf(p, backend);
    ExpectMirrorAgrees(&p, mirror.get(), "wide");
    EXPECT_EQ(backend->sweeps, 1u);
    EXPECT_EQ(backend->wide_sweeps, shared > (64u << 10) ? 1u : 0u);
  }
}

TEST(EmulatedMla, ASmallCacheIsSpreadOverTheMachine) {
  const auto backend = std::make_shared<EmulatedMla>(TestLimits());
  Problem p = MlaProblem(CacheStore::kBF16, 32, 32, 1, {4096});
  p.Make(2);
  const auto mirror = MirrorOf(p, backend);
  ExpectMirrorAgrees(&p, mirror.get(), "spread");
  EXPECT_EQ(backend->blocks, 32u);  // two tiles of 64 tokens each
}

TEST(EmulatedMla, StreamingTakesOneLaunchAChunkAndLittleMemory) {
  const auto backend = std::make_shared<EmulatedMla>(TestLimits());
  Problem p = MlaProblem(CacheStore::kBF16, 32, 32, 1, {5000});
  p.Make(3);
  MlaMirrorOptions options;
  options.memory_bytes = 2 * MlaPageBytes(MlaStore::kBF16, 32, 32);
  const auto mirror = MirrorOf(p, backend, options);
  ExpectMirrorAgrees(&p, mirror.get(), "chunks");
  EXPECT_EQ(backend->sweeps, 5u);  // pages of 1,024 tokens
}

TEST(EmulatedMla, EverythingIsGivenBack) {
  const auto backend = std::make_shared<EmulatedMla>(TestLimits());
  Problem p = MlaProblem(CacheStore::kI8, 64, 32, 3, {200});
  p.Make(4);
  {
    const auto mirror = MirrorOf(p, backend);
    ExpectMirrorAgrees(&p, mirror.get(), "int8");
    EXPECT_GT(backend->live(), 0u);
  }
  EXPECT_EQ(backend->live(), 0u);
}

}  // namespace
}  // namespace longview::test
