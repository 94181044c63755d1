// One decoding step's cross-attention over a long cache: 9 heads, one layer, softmax and merge included. Read
// `ns/token` (of the thread's own processor time where it is one thread, so that a shared machine disturbs it less) and
// `GB/s` of cache read.
//
//   cross_attn_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "attention/kernels/cross_attn.h"
#include "attention/mla/frame_cache.h"
#include "core/base/arena.h"
#include "core/base/thread_pool.h"

namespace longview {
namespace {

constexpr size_t kFrameTokens = 64;

struct Shape {
  size_t tokens, d_c, d_r, queries;
  CacheStore store;
  size_t vectors = 1;  // of d_c numbers each
};

// A cache of random frames and queries for it.
struct Setup {
  Arena arena;
  std::unique_ptr<FrameCache> cache;
  std::vector<CrossAttnRun> runs;
  std::vector<float> q_c, q_r, out, lse, mass;
  CrossAttnParams params;

  explicit Setup(const Shape& shape) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto make = [&](size_t n) {
      std::vector<float> v(n);
      for (float& x : v) x = normal(random);
      return v;
    };
    auto made = FrameCache::Make({std::vector<size_t>(shape.vectors, shape.d_c), shape.d_r, shape.store}, &arena);
    cache = std::make_unique<FrameCache>(std::move(*made));
    cache->ExpectBytes(cache->shape().FrameBytes(shape.tokens));
    const std::vector<float> latents = make(kFrameTokens * shape.d_c * shape.vectors),
                             keys = make(kFrameTokens * shape.d_r);
    for (size_t t = 0; t < shape.tokens; t += kFrameTokens) {
      FrameRows rows;
      rows.time_s = static_cast<double>(t);
      rows.end_s = rows.time_s + 1;
      rows.tokens = kFrameTokens;
      rows.vectors = latents.data();
      rows.stride = shape.d_c * shape.vectors;
      rows.keys = keys.data();
      (void)cache->Append(rows);
    }
    runs = cache->View().Runs();
    q_c = make(shape.queries * shape.d_c);
    q_r = make(shape.queries * shape.d_r);
    out.resize(shape.queries * shape.d_c);
    lse.resize(shape.queries);
    mass.resize(runs.size());
    params.q_c = q_c.data();
    params.q_r = q_r.data();
    params.queries = shape.queries;
    params.d_c = shape.d_c;
    params.d_r = shape.d_r;
    params.scale = 1.0f / std::sqrt(96.0f);
    params.store = shape.store;
    params.runs = runs.data();
    params.run_count = runs.size();
    params.out = out.data();
    params.lse = lse.data();
  }
};

// Arguments: tokens, threads, with mass (0 or 1).
void MlaDecode(benchmark::State& state, CacheStore store, size_t d_c, size_t d_r, size_t queries) {
  Setup setup({static_cast<size_t>(state.range(0)), d_c, d_r, queries, store});
  ThreadPool pool(static_cast<int>(state.range(1)));
  if (state.range(2) != 0) setup.params.run_mass = setup.mass.data();
  for (auto _ : state) {
    const Status status = CrossAttn(setup.params, CrossAttnKernel::kAuto, state.range(1) > 1 ? &pool : nullptr);
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  }
  const double tokens = static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.SetLabel(std::string(CrossAttnKernelName(CrossAttnBest(store))));
  state.counters["tokens/s"] = benchmark::Counter(tokens, benchmark::Counter::kIsRate);
  state.counters["s/token"] = benchmark::Counter(tokens, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bytes"] = static_cast<double>(setup.cache->bytes());
  state.counters["B/s"] =
      benchmark::Counter(static_cast<double>(setup.cache->tokens()) * static_cast<double>(state.iterations()) *
                             static_cast<double>(setup.cache->bytes()) / static_cast<double>(setup.cache->tokens()),
                         benchmark::Counter::kIsRate);
}

void Lengths(benchmark::internal::Benchmark* b) {
  for (const int64_t tokens : {10240, 131072, 2097152}) b->Args({tokens, 1, 0});
}

void Crossing(benchmark::internal::Benchmark* b) {
  for (int64_t tokens = 1024; tokens <= 262144; tokens *= 4) b->Args({tokens, 1, 0});
}

// A layer of 32 heads of 128 whose keys and values are kept, one query row: what its latents of 512 + 64 stand for.
void MhaDecode(benchmark::State& state) {
  constexpr size_t kHeads = 32, kWidth = 128;
  Setup setup({static_cast<size_t>(state.range(0)), kWidth, 64, 1, CacheStore::kBF16, 2 * kHeads});
  ThreadPool pool(static_cast<int>(state.range(1)));
  for (auto _ : state) {
    for (size_t head = 0; head < kHeads; ++head) {
      setup.runs = setup.cache->View().Runs(2 * head, 2 * head + 1);
      setup.params.runs = setup.runs.data();
      const Status status = CrossAttn(setup.params, CrossAttnKernel::kAuto, state.range(1) > 1 ? &pool : nullptr);
      if (!status.ok()) state.SkipWithError(status.message().c_str());
    }
  }
  const double tokens = static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.counters["s/token"] = benchmark::Counter(tokens, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(MlaDecode, bf16, CacheStore::kBF16, 128, 32, 9)
    ->Args({262144, 1, 0})
    ->Args({262144, 1, 1})
    ->Args({65536, 1, 0})
    ->Args({2097152, 1, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MlaDecode, bf16_threads, CacheStore::kBF16, 128, 32, 9)
    ->Args({262144, 2, 0})
    ->Args({2097152, 2, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MlaDecode, int8, CacheStore::kI8, 128, 32, 9)->Args({262144, 1, 0})->Unit(benchmark::kMillisecond);
// Ten hours, a frame a second, of 65 and of 256 tokens.
BENCHMARK_CAPTURE(MlaDecode, ten_hours, CacheStore::kBF16, 128, 32, 9)
    ->Args({int64_t{36000} * 65, 2, 0})
    ->Args({int64_t{36000} * 256, 2, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
// Wider time keys.
BENCHMARK_CAPTURE(MlaDecode, time_keys_32, CacheStore::kBF16, 128, 32, 9)
    ->Apply(Lengths)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MlaDecode, time_keys_64, CacheStore::kBF16, 128, 64, 9)
    ->Apply(Lengths)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MlaDecode, time_keys_128, CacheStore::kBF16, 128, 128, 9)
    ->Apply(Lengths)
    ->Unit(benchmark::kMillisecond);
// Width 4096: 32 heads of 128, latents of 512 + 64.
BENCHMARK_CAPTURE(MlaDecode, seed_mla, CacheStore::kBF16, 512, 64, 32)->Apply(Crossing)->Unit(benchmark::kMillisecond);
BENCHMARK(MhaDecode)->Name("seed_mha")->Apply(Crossing)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MlaDecode, bf16_long, CacheStore::kBF16, 32, 32, 9)
    ->Args({262144, 1, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MlaDecode, bf16_prompt_rows, CacheStore::kBF16, 128, 32, size_t{5} * 9)
    ->Args({16384, 1, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MlaDecode, bf16_512_64_16_heads, CacheStore::kBF16, 512, 64, 16)
    ->Args({65536, 1, 0})
    ->Args({65536, 2, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MlaDecode, int8_512_64_16_heads, CacheStore::kI8, 512, 64, 16)
    ->Args({65536, 1, 0})
    ->Args({65536, 2, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace longview
