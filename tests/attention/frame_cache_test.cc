// The cache in memory: what it keeps, what it costs, and which frames a view sees.
#include "attention/mla/frame_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "attention/kernels/cross_attn_ref.h"
#include "core/base/arena.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

// Random rows of one frame.
struct Rows {
  std::vector<float> latents, keys;
  FrameRows Frame(double time_s, double end_s, size_t tokens, size_t d_c) const {
    FrameRows rows;
    rows.time_s = time_s;
    rows.end_s = end_s;
    rows.tokens = tokens;
    rows.vectors = latents.data();
    rows.stride = d_c;
    rows.keys = keys.data();
    return rows;
  }
};

Rows RandomRows(size_t tokens, size_t d_c, size_t d_r, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Rows rows;
  rows.latents.resize(tokens * d_c);
  rows.keys.resize(tokens * d_r);
  for (float& v : rows.latents) v = normal(random);
  for (float& v : rows.keys) v = normal(random);
  return rows;
}

// The numbers that a view's token holds, as the kernels read them.
void ReadBack(const CacheView& view, size_t run, size_t token, std::vector<float>* latent, std::vector<float>* key) {
  CrossAttnParams params;
  params.d_c = view.shape.vectors[0];
  params.d_r = view.shape.d_r;
  params.store = view.shape.store;
  latent->resize(params.d_c);
  key->resize(params.d_r);
  CrossAttnReadToken(params, view.Runs()[run], token, latent->data(), key->data());
}

TEST(FrameCache, PredictedAndAllocatedBytesAgreeWithinOnePercent) {
  for (const CacheStore store : {CacheStore::kF32, CacheStore::kF16, CacheStore::kBF16, CacheStore::kI8}) {
    for (const size_t d_c : {size_t{32}, size_t{64}, size_t{128}}) {
      for (const bool announced : {false, true}) {
        for (const size_t frames : {size_t{1}, size_t{128}, size_t{300}, size_t{1500}}) {
          if (frames == 1 && !announced) continue;
          Arena arena;
          auto cache = FrameCache::Make({{d_c}, 32, store}, &arena);
          ASSERT_TRUE(cache.ok());
          CacheShape shape;
          shape.d_c = d_c;
          const size_t predicted = frames * 65 * CacheBytesPerToken(CacheMode::kMla, store, shape);
          if (announced) cache->ExpectBytes(predicted);
          const Rows rows = RandomRows(65, d_c, 32, 1);
          for (size_t i = 0; i < frames; ++i) {
            ASSERT_TRUE(cache->Append(rows.Frame(static_cast<double>(i), static_cast<double>(i) + 1, 65, d_c)).ok());
          }
          EXPECT_NEAR(static_cast<double>(cache->bytes()), static_cast<double>(predicted),
                      0.01 * static_cast<double>(predicted))
              << CacheStoreName(store) << " " << d_c << " " << frames << " frames, announced " << announced;
          EXPECT_GE(cache->bytes(), predicted);
          EXPECT_EQ(arena.total(), cache->bytes());
        }
      }
    }
  }
}

TEST(FrameCache, KeepsWhatItIsGivenAsFarAsTheStoreCan) {
  const Rows rows = RandomRows(65, 128, 32, 2);
  const struct {
    CacheStore store;
    float latent_error, key_error;  // relative to the row's largest number
  } cases[] = {{CacheStore::kF32, 0.0f, 0.0f},
               {CacheStore::kF16, 1.0f / 2048, 1.0f / 2048},
               {CacheStore::kBF16, 1.0f / 256, 1.0f / 256},
               {CacheStore::kI8, 0.5f / 127 * 1.001f, 1.0f / 256}};
  for (const auto& c : cases) {
    Arena arena;
    auto cache = FrameCache::Make({{128}, 32, c.store}, &arena);
    ASSERT_TRUE(cache.ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(cache->Append(rows.Frame(i, i + 1, 65, 128)).ok());
    const CacheView view = cache->View();
    ASSERT_EQ(view.frames.size(), 3u);
    EXPECT_EQ(view.tokens, 195u);
    float worst = 0.0f;
    std::vector<float> latent, key;
    for (size_t t = 0; t < 65; ++t) {
      ReadBack(view, 2, t, &latent, &key);
      float peak = 0.0f, key_peak = 0.0f;
      for (size_t j = 0; j < 128; ++j) peak = std::max(peak, std::abs(rows.latents[t * 128 + j]));
      for (size_t j = 0; j < 32; ++j) key_peak = std::max(key_peak, std::abs(rows.keys[t * 32 + j]));
      for (size_t j = 0; j < 128; ++j) {
        const float error = std::abs(latent[j] - rows.latents[t * 128 + j]) / peak;
        worst = std::max(worst, error);
        ASSERT_LE(error, c.latent_error) << CacheStoreName(c.store);
      }
      for (size_t j = 0; j < 32; ++j) {
        ASSERT_LE(std::abs(key[j] - rows.keys[t * 32 + j]) / key_peak, c.key_error) << CacheStoreName(c.store);
      }
    }
    // A store that lost nothing would not be the one asked for.
    EXPECT_GE(worst, 0.2f * c.latent_error);
  }
}

TEST(FrameCache, TakesTheFirstNumbersOfWiderBf16RowsUnchanged) {
  // As they come from an index of 128 for a cache of 32.
  std::vector<uint16_t> latents(4 * 128), keys(4 * 32);
  for (size_t i = 0; i < latents.size(); ++i) latents[i] = FloatToBF16(static_cast<float>(i) * 0.37f - 20.0f);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = FloatToBF16(static_cast<float>(i) * -0.11f);
  FrameRows rows;
  rows.time_s = 1.0;
  rows.end_s = 2.0;
  rows.tokens = 4;
  rows.type = CacheStore::kBF16;
  rows.vectors = latents.data();
  rows.stride = 128;
  rows.keys = keys.data();
  for (const CacheStore store : {CacheStore::kBF16, CacheStore::kF32}) {
    Arena arena;
    auto cache = FrameCache::Make({{32}, 32, store}, &arena);
    ASSERT_TRUE(cache.ok() && cache->Append(rows).ok());
    std::vector<float> latent, key;
    for (size_t t = 0; t < 4; ++t) {
      ReadBack(cache->View(), 0, t, &latent, &key);
      for (size_t j = 0; j < 32; ++j) {
        ASSERT_EQ(latent[j], BF16ToFloat(latents[t * 128 + j]));
        ASSERT_EQ(key[j], BF16ToFloat(keys[t * 32 + j]));
      }
    }
  }
}

TEST(FrameCache, Int8RowsOfZerosStayZeros) {
  Arena arena;
  auto cache = FrameCache::Make({{32}, 8, CacheStore::kI8}, &arena);
  Rows rows;
  rows.latents.assign(32, 0.0f);
  rows.keys.assign(8, 0.0f);
  ASSERT_TRUE(cache.ok() && cache->Append(rows.Frame(0, 1, 1, 32)).ok());
  std::vector<float> latent, key;
  ReadBack(cache->View(), 0, 0, &latent, &key);
  for (const float v : latent) EXPECT_EQ(v, 0.0f);
}

TEST(FrameCache, ViewsByTimeAndByList) {
  Arena arena;
  auto cache = FrameCache::Make({{32}, 8, CacheStore::kBF16}, &arena);
  ASSERT_TRUE(cache.ok());
  for (int i = 0; i < 10; ++i) {
    const Rows rows = RandomRows(3 + static_cast<size_t>(i), 32, 8, static_cast<uint32_t>(i));
    ASSERT_TRUE(cache->Append(rows.Frame(2.0 * i, 2.0 * i + 2.0, 3 + static_cast<size_t>(i), 32)).ok());
  }
  const auto frames_of = [](const CacheView& view) {
    std::vector<uint32_t> frames;
    for (const ViewFrame& f : view.frames) frames.push_back(f.frame);
    return frames;
  };
  // Frame 2 is shown from 4 until before 6; frame 5 begins at 10.
  EXPECT_EQ(frames_of(cache->ViewBetween(5.0, 10.0)), (std::vector<uint32_t>{2, 3, 4, 5}));
  EXPECT_EQ(frames_of(cache->ViewBetween(6.0, 6.0)), (std::vector<uint32_t>{3}));
  EXPECT_TRUE(frames_of(cache->ViewBetween(20.0, 30.0)).empty());
  const uint32_t list[] = {7, 0, 7};
  const auto view = cache->ViewOf(list);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(frames_of(*view), (std::vector<uint32_t>{7, 0, 7}));
  EXPECT_EQ(view->tokens, 10u + 3 + 10);
  const std::vector<CrossAttnRun> runs = view->Runs();
  EXPECT_EQ(runs[1].tokens, 3u);
  EXPECT_EQ(runs[0].latents, runs[2].latents);
  const uint32_t beyond[] = {10};
  EXPECT_EQ(cache->ViewOf(beyond).status().code(), StatusCode::kOutOfRange);
}

TEST(FrameCache, AStillIsSeenAtItsTime) {
  Arena arena;
  auto cache = FrameCache::Make({{32}, 8, CacheStore::kF32}, &arena);
  const Rows rows = RandomRows(2, 32, 8, 3);
  ASSERT_TRUE(cache.ok() && cache->Append(rows.Frame(0, 0, 2, 32)).ok());
  EXPECT_EQ(cache->ViewBetween(0.0, 0.0).frames.size(), 1u);
  EXPECT_EQ(cache->ViewBetween(0.1, 1.0).frames.size(), 0u);
}

TEST(FrameCache, ViewsOutliveGrowth) {
  Arena arena;
  auto cache = FrameCache::Make({{128}, 32, CacheStore::kF32}, &arena);
  const Rows first = RandomRows(65, 128, 32, 4), other = RandomRows(65, 128, 32, 5);
  ASSERT_TRUE(cache.ok() && cache->Append(first.Frame(0, 1, 65, 128)).ok());
  const CacheView view = cache->View();
  for (int i = 1; i < 500; ++i) ASSERT_TRUE(cache->Append(other.Frame(i, i + 1, 65, 128)).ok());
  std::vector<float> latent, key;
  ReadBack(view, 0, 64, &latent, &key);
  for (size_t j = 0; j < 128; ++j) ASSERT_EQ(latent[j], first.latents[64 * 128 + j]);
}

TEST(FrameCache, KeepsSeveralVectorsOfATokenApart) {
  // Two vectors of 16 and one of 8, with a factor a token: each is found again under its own number.
  const Rows rows = RandomRows(5, 40, 8, 8);
  const std::vector<float> factors = {0.5f, 2.0f, 1.0f, 3.0f, 0.25f};
  for (const CacheStore store : {CacheStore::kF32, CacheStore::kI8}) {
    Arena arena;
    FrameCacheShape shape;
    shape.vectors = {16, 16, 8};
    shape.d_r = 8;
    shape.store = store;
    shape.factors = true;
    auto cache = FrameCache::Make(shape, &arena);
    ASSERT_TRUE(cache.ok());
    FrameRows frame = rows.Frame(0, 1, 5, 40);
    EXPECT_FALSE(cache->Append(frame).ok()) << "factors are missing";
    frame.factors = factors.data();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(cache->Append(frame).ok());
    EXPECT_EQ(cache->bytes(), 2 * shape.FrameBytes(5));
    const CacheView view = cache->View();
    const size_t begins[] = {0, 16, 32};
    for (size_t v = 0; v < 3; ++v) {
      CrossAttnParams params;
      params.d_c = shape.vectors[v];
      params.d_r = 8;
      params.store = store;
      std::vector<float> vector(params.d_c), key(8);
      for (size_t t = 0; t < 5; ++t) {
        CrossAttnReadToken(params, view.Runs(v, v)[1], t, vector.data(), key.data());
        for (size_t j = 0; j < params.d_c; ++j) {
          const float expected = rows.latents[t * 40 + begins[v] + j] * factors[t];
          ASSERT_NEAR(vector[j], expected, store == CacheStore::kF32 ? 1e-6 : 0.02 * factors[t]) << v << " " << t;
        }
        for (size_t j = 0; j < 8; ++j) ASSERT_NEAR(key[j], rows.keys[t * 8 + j], 0.01 * std::abs(key[j]) + 1e-6);
      }
    }
    // Keys of one vector, values of another.
    const CrossAttnRun run = view.Runs(1, 0)[0];
    EXPECT_EQ(run.latents, view.Runs(1, 1)[0].latents);
    EXPECT_EQ(run.values, view.Runs(0, 0)[0].latents);
  }
}

TEST(FrameCache, FramesMayKeepFewerNumbers) {
  Arena arena;
  auto cache = FrameCache::Make({{64}, 8, CacheStore::kF32}, &arena);
  const Rows rows = RandomRows(3, 64, 8, 9);
  ASSERT_TRUE(cache.ok());
  for (const size_t numbers : {size_t{64}, size_t{32}, size_t{0}}) {
    FrameRows frame = rows.Frame(0, 1, 3, 64);
    frame.numbers = numbers;
    ASSERT_TRUE(cache->Append(frame).ok());
  }
  EXPECT_EQ(cache->shape().FrameBytes(3, 32), 3 * (32 + 8) * 4u);
  EXPECT_EQ(cache->bytes(), 3 * (64 + 8 + 32 + 8 + 64 + 8) * 4u);
  for (size_t frame = 0; frame < 3; ++frame) {
    std::vector<float> latent, key;
    ReadBack(cache->View(), frame, 2, &latent, &key);
    for (size_t j = 0; j < 64; ++j) {
      ASSERT_EQ(latent[j], frame == 1 && j >= 32 ? 0.0f : rows.latents[2 * 64 + j]) << frame << " " << j;
    }
    for (size_t j = 0; j < 8; ++j) ASSERT_EQ(key[j], rows.keys[2 * 8 + j]);
  }
}

TEST(FrameCache, JoinsVideosOfOneShapeOnly) {
  Arena arena;
  auto a = FrameCache::Make({{32}, 8, CacheStore::kBF16}, &arena);
  auto b = FrameCache::Make({{32}, 8, CacheStore::kBF16}, &arena);
  auto c = FrameCache::Make({{32}, 8, CacheStore::kF16}, &arena);
  const Rows rows = RandomRows(2, 32, 8, 6);
  for (auto* cache : {&a, &b, &c}) ASSERT_TRUE(cache->ok() && (*cache)->Append(rows.Frame(0, 1, 2, 32)).ok());
  CacheView view;
  ASSERT_TRUE(view.Append(a->View()).ok());
  ASSERT_TRUE(view.Append(b->View()).ok());
  EXPECT_EQ(view.frames[0].source, 0u);
  EXPECT_EQ(view.frames[1].source, 1u);
  EXPECT_EQ(view.tokens, 4u);
  EXPECT_EQ(view.Append(c->View()).code(), StatusCode::kInvalidArgument);
}

TEST(FrameCache, RefusesWhatDoesNotFit) {
  Arena arena;
  for (const FrameCacheShape& shape :
       {FrameCacheShape{{}, 32}, FrameCacheShape{{0}, 32}, FrameCacheShape{{128, 12}, 32}, FrameCacheShape{{2048}, 32},
        FrameCacheShape{{128}, 31}, FrameCacheShape{{128}, 512}, FrameCacheShape{std::vector<size_t>(5000, 8), 0}}) {
    EXPECT_EQ(FrameCache::Make(shape, &arena).status().code(), StatusCode::kInvalidArgument);
  }
  auto cache = FrameCache::Make({{32}, 8, CacheStore::kBF16}, &arena);
  const Rows rows = RandomRows(2, 32, 8, 7);
  ASSERT_TRUE(cache.ok() && cache->Append(rows.Frame(5, 6, 2, 32)).ok());
  EXPECT_FALSE(cache->Append(rows.Frame(4, 6, 2, 32)).ok());
  EXPECT_FALSE(cache->Append(rows.Frame(7, 6, 2, 32)).ok());
  EXPECT_FALSE(cache->Append(rows.Frame(std::nan(""), 6, 2, 32)).ok());
  EXPECT_FALSE(cache->Append(rows.Frame(7, HUGE_VAL, 2, 32)).ok());
  EXPECT_FALSE(cache->Append(rows.Frame(7, 8, 0, 32)).ok());
  EXPECT_FALSE(cache->Append(rows.Frame(7, 8, 2, 16)).ok());  // rows narrower than the latents
  FrameRows cut = rows.Frame(7, 8, 2, 32);
  cut.numbers = 40;  // more than a vector has
  EXPECT_FALSE(cache->Append(cut).ok());
  cut.numbers = 12;
  EXPECT_FALSE(cache->Append(cut).ok());
  EXPECT_EQ(cache->frames(), 1u);
  EXPECT_EQ(cache->tokens(), 2u);
  EXPECT_TRUE(cache->Append(rows.Frame(5, 5, 2, 32)).ok());  // equal times are allowed
}

}  // namespace
}  // namespace longview
