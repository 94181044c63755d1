// Peaks first, then each kernel as design.md §4 defines it.
#include "app/engine/bench.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <utility>

#include "attention/decoder/text_decoder.h"
#include "attention/kernels/cross_attn.h"
#include "attention/mla/frame_cache.h"
#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/thread_pool.h"
#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"
#include "core/simd/level.h"
#include "core/tensor/dtype.h"
#include "vision/vit/vit_encoder.h"

namespace longview {
namespace {

constexpr size_t kRuns = 9;

// The median seconds of kRuns runs, after one that warms up.
double MedianSeconds(const std::function<void()>& run) {
  run();
  std::vector<double> seconds;
  for (size_t i = 0; i < kRuns; ++i) {
    const Clock::time_point started = Clock::now();
    run();
    seconds.push_back(SecondsSince(started));
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
  return seconds[kRuns / 2];
}

std::vector<float> RandomNumbers(size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& v : numbers) v = normal(random);
  return numbers;
}

// Runs the same on every thread of the pool at once.
void OnEach(ThreadPool* pool, const std::function<void(size_t slot)>& work) {
  const auto threads = static_cast<size_t>(pool->threads());
  pool->ParallelFor(threads, [&](size_t first, size_t last, int) {
    for (size_t i = first; i < last; ++i) work(i);
  });
}

class Bench {
 public:
  Bench(const BenchParts& parts, ThreadPool* pool, const JobContext& job) : parts_(parts), pool_(pool), job_(job) {}

  Result<BenchReport> Run() {
    MeasureMachine();
    LV_RETURN_IF_ERROR(Step());
    LV_RETURN_IF_ERROR(MeasureDecode("mla_decode_bf16_ns_per_token", CacheStore::kBF16));
    LV_RETURN_IF_ERROR(Step());
    LV_RETURN_IF_ERROR(MeasureDecode("mla_decode_int8_ns_per_token", CacheStore::kI8));
    LV_RETURN_IF_ERROR(Step());
    LV_RETURN_IF_ERROR(MeasureVit("vit_s14_bf16_ms", *parts_.vit));
    LV_RETURN_IF_ERROR(MeasureVit("vit_s14_int8_ms", *parts_.vit_int8));
    LV_RETURN_IF_ERROR(Step());
    LV_RETURN_IF_ERROR(MeasureText());
    LV_RETURN_IF_ERROR(Step());
    return std::move(report_);
  }

 private:
  Status Step() {
    constexpr double kSteps = 5.0;
    if (job_.progress) job_.progress({++done_, kSteps});
    return job_.stop.stop_requested() ? Cancelled() : Status::Ok();
  }

  void MeasureMachine() {
    BenchMachine& machine = report_.machine;
    machine.cpu = CpuName();
    machine.cores = UsableCores();
    machine.memory_bytes = MemoryBytes();
    machine.simd = std::string(SimdLevelName(ActiveSimdLevel()));
    machine.threads = pool_->threads();
    const auto threads = static_cast<double>(pool_->threads());
    constexpr size_t n = 768;
    constexpr double kFlop = 2.0 * n * n * n;
    const std::vector<float> a = RandomNumbers(n * n);
    std::vector<std::vector<float>> c(static_cast<size_t>(pool_->threads()), std::vector<float>(n * n));
    machine.gflops_fp32 =
        threads * kFlop * 1e-9 / MedianSeconds([&] {
          OnEach(pool_, [&](size_t i) { GemmNT(n, n, n, a.data(), n, a.data(), n, 0.0f, c[i].data(), n); });
        });
    if (HasBf16Gemm()) {
      std::vector<uint16_t> half(n * n);
      std::transform(a.begin(), a.end(), half.begin(), FloatToBF16);
      machine.gflops_bf16 =
          threads * kFlop * 1e-9 / MedianSeconds([&] {
            OnEach(pool_, [&](size_t i) { GemmBf16NT(n, n, n, half.data(), n, half.data(), n, c[i].data(), n); });
          });
    }
    constexpr size_t kNumbers = size_t{32} << 20;  // 128 MiB a thread
    std::vector<std::vector<float>> arrays(static_cast<size_t>(pool_->threads()), std::vector<float>(kNumbers, 1.0f));
    std::vector<float> sums(arrays.size());
    const double seconds = MedianSeconds([&] {
      OnEach(pool_, [&](size_t i) {
        const float* half = arrays[i].data() + kNumbers / 2;
        sums[i] = Dot(arrays[i].data(), half, kNumbers / 2);
      });
    });
    machine.gb_per_s = threads * static_cast<double>(kNumbers * sizeof(float)) * 1e-9 / seconds;
  }

  // Seconds that the peaks allow, over those taken. bf16 is the machine's fastest arithmetic that is measured here.
  double Share(double flop, double bytes, double seconds) const {
    const BenchMachine& m = report_.machine;
    const double peak = m.gflops_bf16.value_or(m.gflops_fp32) * 1e9;
    return std::max(flop / peak, bytes / (m.gb_per_s * 1e9)) / seconds;
  }

  // One query row of 9 heads over 262,144 tokens of 128 + 32.
  Status MeasureDecode(const char* name, CacheStore store) {
    constexpr size_t kTokens = 262144, kFrame = 64, kHeads = 9, kLatent = 128, kTimeKey = 32;
    Arena arena;
    LV_ASSIGN_OR_RETURN(FrameCache cache, FrameCache::Make({{kLatent}, kTimeKey, store}, &arena));
    cache.ExpectBytes(cache.shape().FrameBytes(kTokens));
    const std::vector<float> latents = RandomNumbers(kFrame * kLatent), keys = RandomNumbers(kFrame * kTimeKey);
    for (size_t t = 0; t < kTokens; t += kFrame) {
      FrameRows rows;
      rows.time_s = static_cast<double>(t);
      rows.end_s = rows.time_s + 1.0;
      rows.tokens = kFrame;
      rows.vectors = latents.data();
      rows.stride = kLatent;
      rows.keys = keys.data();
      LV_RETURN_IF_ERROR(cache.Append(rows));
    }
    const std::vector<CrossAttnRun> runs = cache.View().Runs();
    const std::vector<float> q_c = RandomNumbers(kHeads * kLatent), q_r = RandomNumbers(kHeads * kTimeKey);
    std::vector<float> out(kHeads * kLatent), lse(kHeads);
    CrossAttnParams params;
    params.q_c = q_c.data();
    params.q_r = q_r.data();
    params.queries = kHeads;
    params.d_c = kLatent;
    params.d_r = kTimeKey;
    params.scale = 1.0f / std::sqrt(96.0f);
    params.store = store;
    params.runs = runs.data();
    params.run_count = runs.size();
    params.out = out.data();
    params.lse = lse.data();
    Status status;
    const double seconds = MedianSeconds([&] { status = CrossAttn(params, CrossAttnKernel::kAuto, pool_); });
    LV_RETURN_IF_ERROR(status);
    const double flop = 2.0 * kTokens * kHeads * (2 * kLatent + kTimeKey);
    report_.kernels.push_back({name, seconds * 1e9 / kTokens, "ns",
                               Share(flop, static_cast<double>(cache.bytes()), seconds),
                               std::string(CrossAttnKernelName(CrossAttnBest(store)))});
    return Status::Ok();
  }

  Status MeasureVit(const char* name, const VitEncoder& vit) {
    const VitConfig& c = vit.config();
    const std::vector<float> picture = RandomNumbers(3 * c.image * c.image);
    std::vector<float> tokens(c.tokens() * c.out_width());
    Status status;
    const double seconds =
        MedianSeconds([&] { status = vit.Encode(picture.data(), 1, tokens.data(), pool_, job_.stop); });
    LV_RETURN_IF_ERROR(status);
    const auto n = static_cast<double>(c.tokens()), width = static_cast<double>(c.width);
    const double layer =
        2.0 * n * (4.0 * width * width + 2.0 * width * static_cast<double>(c.mlp)) + 4.0 * n * n * width;
    const double flop = static_cast<double>(c.depth()) * layer;
    report_.kernels.push_back({name, seconds * 1e3, "ms", Share(flop, 0.0, seconds), ""});
    return Status::Ok();
  }

  // A prompt of 128, then plain decoding behind it, token after token.
  Status MeasureText() {
    const TextDecoder& decoder = *parts_.decoder;
    const TextDecoderConfig& c = decoder.config();
    std::vector<int32_t> prompt(128);
    for (size_t i = 0; i < prompt.size(); ++i) {
      prompt[i] = static_cast<int32_t>((100 + 37 * i) % c.vocabulary);
    }
    KvCache kv;
    Status status;
    const auto read = [&](std::span<const int32_t> tokens) {
      ForwardCall call;
      call.tokens = tokens;
      call.stop = job_.stop;
      const auto result = decoder.Forward(call, &kv, pool_);
      if (!result.ok()) status = result.status();
    };
    const double prompt_s = MedianSeconds([&] {
      kv.Truncate(0);
      read(prompt);
    });
    LV_RETURN_IF_ERROR(status);
    const auto tokens = static_cast<double>(prompt.size());
    const auto numbers = static_cast<double>(
        c.layers * c.width * (2 * c.width + 2 * c.kv_heads * c.head_dim + 3 * c.ffn) * prompt.size() +
        c.width * c.vocabulary);
    report_.kernels.push_back(
        {"text_prompt_tokens_per_s", tokens / prompt_s, "tokens/s", Share(2.0 * numbers, 0.0, prompt_s), ""});
    const double seconds = MedianSeconds([&] { read(std::span(prompt).first(1)); });
    LV_RETURN_IF_ERROR(status);
    const auto bytes = static_cast<double>(decoder.weight_bytes());
    report_.kernels.push_back({"text_decode_tokens_per_s", 1.0 / seconds, "tokens/s", Share(0.0, bytes, seconds), ""});
    return Status::Ok();
  }

  const BenchParts& parts_;
  ThreadPool* pool_;
  const JobContext& job_;
  double done_ = 0.0;
  BenchReport report_;
};

}  // namespace

Result<BenchReport> RunBench(const BenchParts& parts, ThreadPool* pool, const JobContext& job) {
  return Bench(parts, pool, job).Run();
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

uint64_t MemoryBytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace longview
