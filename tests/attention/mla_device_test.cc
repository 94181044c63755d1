// Attention on a device against the reference in double, on the backend that this program is linked with.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attention/kernels/cuda/mla_fp8.h"
#include "core/tensor/dtype.h"
#include "tests/attention/mla_parity.h"

namespace longview::test {
namespace {

std::string Describe(const Problem& p) {
  return std::string(CacheStoreName(p.store)) + " " + std::to_string(p.d_c) + " + " + std::to_string(p.d_r) + ", " +
         std::to_string(p.queries()) + " queries";
}

TEST_F(MlaDevice, AgreesWithTheReferenceInEverySizeAndStore) {
  const std::vector<std::vector<size_t>> token_lists = {
      {1}, {2}, {31, 1}, {63, 0, 65}, {64}, {65, 65, 65}, {1, 1, 1, 1, 60}, {127, 0, 131}, {300, 1, 7}, {33, 900, 211}};
  uint32_t seed = 1;
  for (const CacheStore store : {CacheStore::kBF16, CacheStore::kI8}) {
    for (const size_t d_c : {32u, 64u, 128u, 512u}) {
      for (const size_t d_r : {32u, 64u, 128u}) {
        Problem p = MlaProblem(store, d_c, d_r, seed % 3 == 0 ? 5 : 1, token_lists[seed % token_lists.size()]);
        p.heads = std::vector<size_t>{9, 16, 1}[seed % 3];
        p.with_sink = seed % 2 == 0;
        p.stride = seed % 2 == 0 ? 0 : p.d_c + 40;
        p.Make(seed++);
        const auto mirror = MirrorOf(p, backend_);
        ASSERT_NE(mirror, nullptr);
        ExpectMirrorAgrees(&p, mirror.get(), Describe(p));
      }
    }
  }
}

// Numbers that E4M3 holds exactly, so that the reference knows them: each token's largest becomes 1.75 times a power of
// two, which makes the factor one.
void SnapToE4M3(Problem* p) {
  for (size_t r = 0; r < p->runs.size(); ++r) {
    auto* numbers = reinterpret_cast<uint16_t*>(const_cast<void*>(p->runs[r].latents));
    for (size_t t = 0; t < p->runs[r].tokens; ++t, numbers += p->stride) {
      size_t largest = 0;
      for (size_t i = 0; i < p->d_c; ++i) {
        if (std::abs(BF16ToFloat(numbers[i])) > std::abs(BF16ToFloat(numbers[largest]))) largest = i;
      }
      const float scale = std::exp2(std::floor(std::log2(std::abs(BF16ToFloat(numbers[largest])))) - 8.0f);
      numbers[largest] = FloatToBF16(kE4M3Max * scale);
      for (size_t i = 0; i < p->d_c; ++i) {
        numbers[i] = FloatToBF16(E4M3ToFloat(FloatToE4M3(BF16ToFloat(numbers[i]) / scale)) * scale);
      }
    }
  }
}

TEST_F(MlaDevice, LatentsInE4M3) {
  uint32_t seed = 200;
  for (const size_t d_c : {32u, 64u, 128u, 512u}) {
    for (const size_t rows : {1u, 7u}) {
      Problem p = MlaProblem(CacheStore::kBF16, d_c, 32, rows, {65, 1, 300});
      p.with_sink = true;
      p.stride = d_c + 40;
      p.Make(seed++);
      SnapToE4M3(&p);
      MlaMirrorOptions options;
      options.e4m3 = true;
      const auto mirror = MirrorOf(p, backend_, options);
      ASSERT_NE(mirror, nullptr);
      ExpectMirrorAgrees(&p, mirror.get(), "E4M3 " + Describe(p));
    }
  }
  // Numbers as they come: three bits behind the first.
  Problem p = MlaProblem(CacheStore::kBF16, 128, 32, 1, {65, 200});
  p.Make(seed);
  std::vector<float> out, lse, mass;
  p.Into(&out, &lse, &mass);
  CrossAttnReference(p.params);
  p.Into(&p.out, &p.lse, &p.mass);
  MlaMirrorOptions options;
  options.e4m3 = true;
  const auto mirror = MirrorOf(p, backend_, options);
  ASSERT_NE(mirror, nullptr);
  ASSERT_TRUE(mirror->Attend(p.params).ok());
  const Difference d = Compare(p.out, out);
  EXPECT_GE(d.cosine, 0.995);
  EXPECT_LE(d.cosine, 0.99999) << "E4M3 cannot be that exact";
  p.params.store = options.store = CacheStore::kI8;
  EXPECT_EQ(MlaMirror::Make(backend_, {p.params.runs, p.params.run_count}, options).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(MlaFp8, RoundsToTheNearestEvenNumber) {
  for (int code = 0; code < 0x7F; ++code) {
    const float v = E4M3ToFloat(static_cast<uint8_t>(code));
    EXPECT_EQ(FloatToE4M3(v), code);
    EXPECT_EQ(FloatToE4M3(-v), code | 0x80);
    if (code == 0x7E) break;
    const float next = E4M3ToFloat(static_cast<uint8_t>(code + 1)), half = (v + next) / 2;
    EXPECT_EQ(FloatToE4M3(half), code + code % 2) << v;
    EXPECT_EQ(FloatToE4M3(std::nextafter(half, 0.0f)), code);
    EXPECT_EQ(FloatToE4M3(std::nextafter(half, 500.0f)), code + 1);
  }
  EXPECT_EQ(E4M3ToFloat(0x01), 0x1p-9f);
  EXPECT_EQ(E4M3ToFloat(0x38), 1.0f);
  EXPECT_EQ(E4M3ToFloat(0xFE), -448.0f);
  EXPECT_EQ(FloatToE4M3(1e9f), 0x7E);
}

TEST_F(MlaDevice, QueriesThatFillTilesOrDoNot) {
  for (const auto& [rows, heads] :
       std::vector<std::pair<size_t, size_t>>{{1, 9}, {2, 9}, {1, 16}, {1, 17}, {7, 9}, {16, 9}}) {
    for (const CacheStore store : {CacheStore::kBF16, CacheStore::kI8}) {
      Problem p = MlaProblem(store, 128, 32, rows, {65, 65, 65, 40});
      p.heads = heads;
      p.with_sink = true;
      p.Make(static_cast<uint32_t>(100 + rows));
      const auto mirror = MirrorOf(p, backend_);
      ASSERT_NE(mirror, nullptr);
      ExpectMirrorAgrees(&p, mirror.get(), Describe(p));
    }
  }
}

TEST_F(MlaDevice, TimeKeysOfOtherSizesArePadded) {
  for (const size_t d_r : {0u, 8u, 40u}) {
    Problem p = MlaProblem(CacheStore::kBF16, 64, d_r, 2, {65, 3});
    p.Make(6);
    const auto mirror = MirrorOf(p, backend_);
    ASSERT_NE(mirror, nullptr);
    ExpectMirrorAgrees(&p, mirror.get(), Describe(p));
  }
}

TEST_F(MlaDevice, ManyPartsAreJoinedInGroups) {
  Problem p = MlaProblem(CacheStore::kBF16, 32, 32, 1, {});
  for (size_t i = 0; i < 90; ++i) p.run_tokens.push_back(i % 7 == 0 ? 0 : 64 + i % 3);
  p.with_sink = true;
  p.Make(7);
  const auto mirror = MirrorOf(p, backend_);
  ASSERT_NE(mirror, nullptr);
  ASSERT_GT(mirror->tokens(), 2u * 64 * kMlaGroupParts);
  ExpectMirrorAgrees(&p, mirror.get(), "groups");
}

TEST_F(MlaDevice, ThreeStagesAgreeAsTwoDo) {
  for (const size_t tokens : {1u, 64u, 129u, 700u}) {
    Problem p = MlaProblem(CacheStore::kI8, 64, 32, 1, {tokens, 30});
    p.Make(8);
    MlaMirrorOptions options;
    options.stages = 3;
    const auto mirror = MirrorOf(p, backend_, options);
    ASSERT_NE(mirror, nullptr);
    ExpectMirrorAgrees(&p, mirror.get(), std::to_string(tokens));
  }
}

TEST_F(MlaDevice, ACacheThatDoesNotFitStreams) {
  for (const CacheStore store : {CacheStore::kBF16, CacheStore::kI8}) {
    Problem p = MlaProblem(store, 32, 32, 1, {});
    for (size_t i = 0; i < 70; ++i) p.run_tokens.push_back(66);
    p.with_sink = true;
    p.Make(9);
    MlaMirrorOptions options;
    options.memory_bytes = 2 * MlaPageBytes(store == CacheStore::kBF16 ? MlaStore::kBF16 : MlaStore::kI8, 32, 32);
    const auto mirror = MirrorOf(p, backend_, options);
    ASSERT_NE(mirror, nullptr);
    EXPECT_TRUE(mirror->streams());
    for (int round = 0; round < 2; ++round) ExpectMirrorAgrees(&p, mirror.get(), "streamed");
  }
}

TEST_F(MlaDevice, DecodingReplaysItsLaunchesWithNewQueries) {
  Problem p = MlaProblem(CacheStore::kBF16, 128, 32, 1, {65, 65, 300});
  p.with_sink = true;
  p.Make(10);
  const auto mirror = MirrorOf(p, backend_);
  ASSERT_NE(mirror, nullptr);
  for (size_t round = 0; round < 4; ++round) {
    for (float& v : p.q_c) v = -v * 0.9f;
    for (float& v : p.sink) v += 0.5f;
    ExpectMirrorAgrees(&p, mirror.get(), "round " + std::to_string(round));
    EXPECT_EQ(mirror->replays(), round);
  }
  // Another scale is another launch.
  p.params.scale *= 0.5f;
  ExpectMirrorAgrees(&p, mirror.get(), "another scale");
  EXPECT_EQ(mirror->replays(), 3u);
}

TEST_F(MlaDevice, ACutUsesTheFirstNumbersAndFramesMayKeepFewer) {
  Problem p = MlaProblem(CacheStore::kBF16, 128, 32, 1, {65, 40, 65});
  p.stride = 128;
  p.Make(11);
  p.runs[1].d_c = 32;
  p.params.runs = p.runs.data();
  const auto mirror = MirrorOf(p, backend_);
  ASSERT_NE(mirror, nullptr);
  ExpectMirrorAgrees(&p, mirror.get(), "128");
  for (const size_t cut : {64u, 32u, 128u}) {
    p.d_c = p.params.d_c = cut;
    ExpectMirrorAgrees(&p, mirror.get(), std::to_string(cut));
  }
}

TEST_F(MlaDevice, SharesOfManyQueriesAreAddedBatchByBatch) {
  Problem p = MlaProblem(CacheStore::kBF16, 32, 32, 16, {65, 65, 65});
  p.Make(12);
  MlaMirrorOptions options;
  options.share_bytes = 1;  // 64 queries at a time
  const auto mirror = MirrorOf(p, backend_, options);
  ASSERT_NE(mirror, nullptr);
  ExpectMirrorAgrees(&p, mirror.get(), "batches");
  // Without shares there is one batch.
  std::vector<float> expected = p.out;
  p.Into(&p.out, &p.lse, &p.mass);
  p.params.run_mass = nullptr;
  ASSERT_TRUE(mirror->Attend(p.params).ok());
  ExpectClose(p.out, expected, 1e-5, "without shares");
}

TEST_F(MlaDevice, QueriesMayLieOnTheDevice) {
  Problem p = MlaProblem(CacheStore::kBF16, 64, 32, 16, {65, 0, 65, 300});
  p.with_sink = true;
  p.Make(17);
  MlaMirrorOptions options;
  options.share_bytes = 1;  // 64 queries at a time
  const auto mirror = MirrorOf(p, backend_, options);
  ASSERT_NE(mirror, nullptr);
  p.Into(&p.out, &p.lse, &p.mass);
  ASSERT_TRUE(mirror->Attend(p.params).ok());
  // The work of another stream, and its memory.
  const auto stream = MakeTestBackend(TestLimits());
  const size_t content = p.q_c.size(), time = p.q_r.size(), queries = p.queries();
  const size_t bytes = (content + time + queries) * sizeof(float);
  auto device = GpuBuffer::Make(stream, GpuStream::Memory::kDevice, bytes + content * sizeof(float));
  auto pinned = GpuBuffer::Make(stream, GpuStream::Memory::kPinned, bytes);
  ASSERT_TRUE(device.ok() && pinned.ok());
  std::copy(p.q_c.begin(), p.q_c.end(), pinned->As<float>());
  std::copy(p.q_r.begin(), p.q_r.end(), pinned->As<float>() + content);
  std::copy(p.sink.begin(), p.sink.end(), pinned->As<float>() + content + time);
  ASSERT_TRUE(stream->Upload(device->As<float>(), pinned->As<float>(), bytes).ok());
  MlaDeviceCall call;
  call.q_c = device->As<float>();
  call.q_r = call.q_c + content;
  call.sink = call.q_r + time;
  call.queries = queries;
  call.d_c = p.d_c;
  call.scale = p.params.scale;
  call.out = device->As<float>(bytes);
  call.mass_factor = 3.0f;
  ASSERT_TRUE(mirror->ResetMass().ok());
  for (int again = 0; again < 2; ++again) ASSERT_TRUE(mirror->AttendOn(stream.get(), call).ok());
  ASSERT_TRUE(stream->Download(pinned->As<float>(), call.out, content * sizeof(float)).ok() && stream->Finish().ok());
  ExpectClose(std::vector<float>(pinned->As<float>(), pinned->As<float>() + content), p.out, 1e-5, "results");
  const auto mass = mirror->Mass();
  ASSERT_TRUE(mass.ok()) << mass.status().message();
  std::vector<float> six = p.mass;
  for (float& share : six) share *= 6.0f;
  ExpectClose(*mass, six, 1e-4, "shares");
  ASSERT_TRUE(mirror->ResetMass().ok());
  EXPECT_EQ(*mirror->Mass(), std::vector<float>(4, 0.0f));
  call.d_c = 96;
  EXPECT_EQ(mirror->AttendOn(stream.get(), call).code(), StatusCode::kUnsupported);
}

TEST_F(MlaDevice, HugeScoresNeitherOverflowNorLoseTheirOrder) {
  Problem p = MlaProblem(CacheStore::kBF16, 128, 32, 1, {64, 64, 7});
  p.spread = 300.0f;
  p.with_sink = true;
  p.Make(13);
  // Whole numbers up to 256 are exact in bf16: the order is that of the reference.
  for (float& v : p.q_c) v = std::round(v / 8.0f);
  for (float& v : p.q_r) v = std::round(v / 8.0f);
  std::vector<float> out, lse, mass;
  p.Into(&out, &lse, &mass);
  CrossAttnReference(p.params);
  p.Into(&p.out, &p.lse, &p.mass);
  const auto mirror = MirrorOf(p, backend_);
  ASSERT_NE(mirror, nullptr);
  ASSERT_TRUE(mirror->Attend(p.params).ok());
  for (const float v : p.out) ASSERT_TRUE(std::isfinite(v));
  for (size_t q = 0; q < lse.size(); ++q) EXPECT_NEAR(p.lse[q] / lse[q], 1.0, 1e-2);
}

TEST_F(MlaDevice, NoTokensAndNoQueries) {
  Problem p = MlaProblem(CacheStore::kBF16, 128, 32, 1, {0, 0});
  p.Make(14);
  const auto mirror = MirrorOf(p, backend_);
  ASSERT_NE(mirror, nullptr);
  ASSERT_TRUE(mirror->Attend(p.params).ok());
  for (const float v : p.out) EXPECT_EQ(v, 0.0f);
  for (const float v : p.lse) EXPECT_EQ(v, -std::numeric_limits<float>::infinity());
  for (const float v : p.mass) EXPECT_EQ(v, 0.0f);
  p.params.queries = 0;
  EXPECT_TRUE(mirror->Attend(p.params).ok());
}

TEST_F(MlaDevice, RefusesWhatItHasNoKernelForAndSaysWhy) {
  const MlaLimits limits = TestLimits();
  EXPECT_TRUE(MlaMirror::Supports(limits, CacheStore::kBF16, 128, 32).ok());
  const auto refusal = [&](CacheStore store, size_t d_c, size_t d_r) {
    const Status status = MlaMirror::Supports(limits, store, d_c, d_r);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    return status.message();
  };
  EXPECT_NE(refusal(CacheStore::kF32, 128, 32).find("fp32"), std::string::npos);
  EXPECT_NE(refusal(CacheStore::kBF16, 96, 32).find("96"), std::string::npos);
  EXPECT_NE(refusal(CacheStore::kBF16, 128, 136).find("time keys of 136"), std::string::npos);
  MlaLimits small = limits;
  small.block_shared = 99 << 10;
  EXPECT_TRUE(MlaMirror::Supports(small, CacheStore::kBF16, 512, 64).ok());
  EXPECT_NE(MlaMirror::Supports(small, CacheStore::kBF16, 512, 128).message().find("shared memory"), std::string::npos);

  Problem p = MlaProblem(CacheStore::kBF16, 128, 32, 1, {65});
  p.Make(15);
  const auto mirror = MirrorOf(p, backend_);
  ASSERT_NE(mirror, nullptr);
  p.params.store = CacheStore::kI8;
  EXPECT_EQ(mirror->Attend(p.params).code(), StatusCode::kInvalidArgument);

  Problem apart = MlaProblem(CacheStore::kBF16, 128, 32, 1, {65});
  apart.apart = true;
  apart.Make(16);
  EXPECT_EQ(MlaMirror::Make(backend_, {apart.params.runs, apart.params.run_count}, {}).status().code(),
            StatusCode::kUnsupported);
}

}  // namespace
}  // namespace longview::test
