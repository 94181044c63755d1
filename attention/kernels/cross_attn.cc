// Checks, choice of kernel, the cut into parts and the merge of their results.
#include "attention/kernels/cross_attn.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "attention/kernels/cross_attn_ref.h"
#include "attention/kernels/cross_attn_sweep.h"
#include "core/base/check.h"
#include "core/simd/level.h"

namespace longview {
namespace {

using internal::kSweepLargestTile;
using internal::kSweepPad;
using internal::MassTask;
using internal::SweepKernel;
using internal::SweepTask;

// A part is worth a thread's while, and the parts' outputs stay small beside the cache.
constexpr size_t kPartTokens = 1024;
constexpr size_t kMaxParts = 256;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2 = 0.693147180559945309f;
constexpr float kInf = std::numeric_limits<float>::infinity();

SweepKernel KernelOf(CrossAttnKernel kernel) {
  switch (kernel) {
    case CrossAttnKernel::kPortable:
      return internal::PortableSweepKernel();
    case CrossAttnKernel::kBaseline:
      return internal::BaselineSweepKernel();
    case CrossAttnKernel::kAvx2:
      return internal::Avx2SweepKernel();
    case CrossAttnKernel::kAvx512:
      return internal::Avx512SweepKernel();
    case CrossAttnKernel::kAvx512Bf16:
      return internal::Avx512Bf16SweepKernel();
    case CrossAttnKernel::kAvx512Fp16:
      return internal::Avx512Fp16SweepKernel();
    case CrossAttnKernel::kAvx512Vnni:
      return internal::Avx512VnniSweepKernel();
    case CrossAttnKernel::kAuto:
    case CrossAttnKernel::kReference:
      break;
  }
  return {};
}

// Whether the processor has what the kernel's code uses, whatever LONGVIEW_SIMD says.
bool CpuRuns(CrossAttnKernel kernel) {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  switch (kernel) {
    case CrossAttnKernel::kBaseline:
      return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
    case CrossAttnKernel::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
             CpuHasF16c();
    case CrossAttnKernel::kAvx512:
      return avx512;
    case CrossAttnKernel::kAvx512Bf16:
      return avx512 && __builtin_cpu_supports("avx512bf16");
    case CrossAttnKernel::kAvx512Fp16:
      return avx512 && CpuHasAvx512Fp16();
    case CrossAttnKernel::kAvx512Vnni:
      return avx512 && __builtin_cpu_supports("avx512vnni");
    default:
      return true;
  }
#else
  (void)kernel;
  return true;
#endif
}

// Cache-line aligned numbers, or null.
struct FreeAligned {
  void operator()(void* p) const { ::operator delete(p, std::align_val_t(64)); }
};
using Floats = std::unique_ptr<float[], FreeAligned>;
using Bytes = std::unique_ptr<std::byte[], FreeAligned>;
void* NewAligned(size_t bytes) {
  return ::operator new(std::max<size_t>(bytes, 1), std::align_val_t(64), std::nothrow);
}
Floats NewFloats(size_t count) { return Floats(static_cast<float*>(NewAligned(count * sizeof(float)))); }

// What a call needs beside its parameters.
struct Work {
  size_t queries = 0, c_width = 0, r_width = 0, mass_stride = 0, parts = 0;
  size_t value_at = 0, row_width = 0;
  std::vector<size_t> part_begin;  // [parts + 1], runs
  Floats q;                        // [queries, c_width + r_width]
  Bytes packed;                    // the same as the kernel reads it
  Floats out;                      // [parts, queries, c_width]
  Floats max, sum;                 // [parts, queries]
  Floats run_max, run_sum;         // [run_count, mass_stride] or null
  Floats merged_max, weight;       // [mass_stride]

  bool Allocate(const CrossAttnParams& params) {
    const auto want = [](Floats* to, std::optional<size_t> count) {
      if (!count || *count > std::numeric_limits<size_t>::max() / (2 * sizeof(float))) return false;
      *to = NewFloats(*count);
      return *to != nullptr;
    };
    if (!want(&q, MulSize(queries, c_width + r_width)) || !want(&out, MulSize(parts, queries, c_width)) ||
        !want(&max, MulSize(parts, queries)) || !want(&sum, MulSize(parts, queries)) ||
        !want(&merged_max, mass_stride) || !want(&weight, mass_stride)) {
      return false;
    }
    packed = Bytes(static_cast<std::byte*>(NewAligned(SweepKernel::PackedBytes(queries, c_width + r_width))));
    if (packed == nullptr) return false;
    if (params.run_mass == nullptr) return true;
    return want(&run_max, MulSize(params.run_count, mass_stride)) &&
           want(&run_sum, MulSize(params.run_count, mass_stride));
  }
};

// Cuts the runs into parts of near-equal tokens; depends on the sizes alone.
void MakeParts(const CrossAttnParams& params, Work* work) {
  size_t tokens = 0;
  for (size_t i = 0; i < params.run_count; ++i) tokens += params.runs[i].tokens;
  work->parts = std::clamp<size_t>(tokens / kPartTokens, 1, kMaxParts);
  work->part_begin.assign(work->parts + 1, params.run_count);
  work->part_begin[0] = 0;
  size_t part = 1, before = 0;
  for (size_t i = 0; i < params.run_count && part < work->parts; ++i) {
    // 64-bit products: at most 2^32 runs of 2^32 tokens would overflow, far beyond any memory.
    while (part < work->parts && before * work->parts >= part * tokens) work->part_begin[part++] = i;
    before += params.runs[i].tokens;
  }
}

void PackQueries(const CrossAttnParams& params, const SweepKernel& kernel, Work* work) {
  const size_t width = work->c_width + work->r_width;
  std::memset(work->q.get(), 0, work->queries * width * sizeof(float));
  const float scale = params.scale * kLog2E;
  for (size_t i = 0; i < params.queries; ++i) {
    float* to = work->q.get() + i * width;
    for (size_t j = 0; j < params.d_c; ++j) to[j] = params.q_c[i * params.d_c + j] * scale;
    for (size_t j = 0; j < params.d_r; ++j) to[work->c_width + j] = params.q_r[i * params.d_r + j] * scale;
  }
  if (kernel.pack != nullptr) {
    kernel.pack(work->q.get(), work->queries, work->c_width, work->r_width, work->packed.get());
  }
}

// Joins the parts' outputs in their order, takes the sink's share off and writes out and lse.
void Merge(const CrossAttnParams& params, Work* work) {
  std::fill_n(work->merged_max.get(), work->mass_stride, 0.0f);
  std::fill_n(work->weight.get(), work->mass_stride, 0.0f);
  for (size_t i = 0; i < params.queries; ++i) {
    float* out = params.out + i * params.d_c;
    std::fill_n(out, params.d_c, 0.0f);
    float max = -kInf, sum = 0.0f;
    for (size_t part = 0; part < work->parts; ++part) max = std::max(max, work->max[part * work->queries + i]);
    if (max == -kInf) {
      params.lse[i] = -kInf;
      continue;
    }
    for (size_t part = 0; part < work->parts; ++part) {
      const size_t at = part * work->queries + i;
      const float share = std::exp2(work->max[at] - max);
      sum += work->sum[at] * share;
      const float* from = work->out.get() + at * work->c_width;
      for (size_t j = 0; j < params.d_c; ++j) out[j] += from[j] * share;
    }
    const float lse = (max + std::log2(sum)) * kLn2;
    const float kept = params.sink == nullptr ? 1.0f : 1.0f / (1.0f + std::exp(params.sink[i] - lse));
    params.lse[i] = lse;
    for (size_t j = 0; j < params.d_c; ++j) out[j] *= kept / sum;
    work->merged_max[i] = max;
    work->weight[i] = kept / sum / static_cast<float>(params.queries);
  }
}

// Scratch of one thread: the tile, the probabilities and what they add up to.
struct Scratch {
  explicit Scratch(const Work& work)
      : tile(NewFloats(kSweepLargestTile * work.row_width)),
        p(NewFloats(work.queries * kSweepLargestTile)),
        lane_sums(NewFloats(work.queries * kSweepPad)) {}
  bool ok() const { return tile != nullptr && p != nullptr && lane_sums != nullptr; }
  Floats tile, p, lane_sums;
};

Status SweepAll(const CrossAttnParams& params, const SweepKernel& kernel, ThreadPool* pool, Work* work) {
  const int slots = pool == nullptr ? 1 : pool->threads();
  std::vector<Scratch> scratch;
  for (int i = 0; i < slots; ++i) {
    scratch.emplace_back(*work);
    if (!scratch.back().ok()) return ResourceError("no memory for the attention's scratch");
  }
  const auto sweep = [&](size_t first, size_t last, int slot) {
    for (size_t part = first; part < last; ++part) {
      SweepTask task;
      task.params = &params;
      task.first_run = work->part_begin[part];
      task.last_run = work->part_begin[part + 1];
      task.queries = work->queries;
      task.c_width = work->c_width;
      task.r_width = work->r_width;
      task.value_at = work->value_at;
      task.row_width = work->row_width;
      task.q = work->q.get();
      task.packed = work->packed.get();
      task.tile = scratch[static_cast<size_t>(slot)].tile.get();
      task.p = scratch[static_cast<size_t>(slot)].p.get();
      task.lane_sums = scratch[static_cast<size_t>(slot)].lane_sums.get();
      task.out = work->out.get() + part * work->queries * work->c_width;
      task.max = work->max.get() + part * work->queries;
      task.sum = work->sum.get() + part * work->queries;
      task.run_max = work->run_max.get();
      task.run_sum = work->run_sum.get();
      task.mass_stride = work->mass_stride;
      if (!kernel.sweep(task)) kernel.fallback(task);
    }
  };
  if (pool == nullptr) {
    sweep(0, work->parts, 0);
  } else {
    pool->ParallelFor(work->parts, sweep);
  }
  return Status::Ok();
}

void SumMass(const CrossAttnParams& params, const SweepKernel& kernel, ThreadPool* pool, const Work& work) {
  MassTask task;
  task.run_max = work.run_max.get();
  task.run_sum = work.run_sum.get();
  task.max = work.merged_max.get();
  task.weight = work.weight.get();
  task.mass_stride = work.mass_stride;
  task.mass = params.run_mass;
  if (pool == nullptr) {
    kernel.mass(task, 0, params.run_count);
  } else {
    pool->ParallelFor(params.run_count, [&](size_t first, size_t last, int) { kernel.mass(task, first, last); });
  }
}

// Whether tokens have values beside their latents; said by the first run that has tokens.
bool ValuesApart(const CrossAttnParams& params) {
  const CrossAttnRun* end = params.runs + params.run_count;
  const CrossAttnRun* run = std::find_if(params.runs, end, [](const CrossAttnRun& r) { return r.tokens > 0; });
  return run != end && run->values != nullptr;
}

// Whether tokens have factors that bf16 dot products of rows as stored would leave out.
bool HasFactors(const CrossAttnParams& params) {
  return std::any_of(params.runs, params.runs + params.run_count,
                     [](const CrossAttnRun& run) { return run.scales != nullptr || run.value_scales != nullptr; });
}

// Whether the call's shape suits a kernel of narrow numbers: whole vectors, and in bf16 rows that count as they are
// stored.
bool Fits(CrossAttnKernel kernel, const CrossAttnParams& params) {
  switch (kernel) {
    case CrossAttnKernel::kAvx512Bf16:
    case CrossAttnKernel::kAvx512Fp16:
      return params.d_c % 32 == 0 && params.d_r % 32 == 0 && !HasFactors(params);
    case CrossAttnKernel::kAvx512Vnni:
      return params.d_c % 64 == 0 && params.d_r % 32 == 0;
    default:
      return true;
  }
}

Status Wrong(const std::string& what) { return InvalidArgument("cross-attention: " + what); }

Status CheckRun(const CrossAttnParams& params, size_t index) {
  const CrossAttnRun& run = params.runs[index];
  if (run.tokens == 0) return Status::Ok();
  const std::string at = "runs[" + std::to_string(index) + "]";
  if (run.latents == nullptr) return Wrong(at + " has no latents");
  if (run.keys == nullptr && params.d_r > 0) return Wrong(at + " has no time keys");
  if (run.scales == nullptr && params.store == CacheStore::kI8) return Wrong(at + " has no scales");
  if (run.d_c == 0 || run.latent_stride < run.d_c) return Wrong(at + ": d_c and latent_stride do not fit");
  if ((run.values != nullptr) != ValuesApart(params)) return Wrong(at + ": all runs have values apart, or none");
  if (run.values != nullptr && run.value_scales == nullptr && params.store == CacheStore::kI8) {
    return Wrong(at + " has no scales of its values");
  }
  return Status::Ok();
}

}  // namespace

std::string_view CrossAttnKernelName(CrossAttnKernel kernel) {
  switch (kernel) {
    case CrossAttnKernel::kAuto:
      return "auto";
    case CrossAttnKernel::kReference:
      return "reference";
    case CrossAttnKernel::kPortable:
      return "portable";
    case CrossAttnKernel::kBaseline:
      return "baseline";
    case CrossAttnKernel::kAvx2:
      return "avx2";
    case CrossAttnKernel::kAvx512:
      return "avx512";
    case CrossAttnKernel::kAvx512Bf16:
      return "avx512_bf16";
    case CrossAttnKernel::kAvx512Fp16:
      return "avx512_fp16";
    case CrossAttnKernel::kAvx512Vnni:
      return "avx512_vnni";
  }
  return "?";
}

bool CrossAttnSupported(CrossAttnKernel kernel) {
  if (kernel == CrossAttnKernel::kAuto || kernel == CrossAttnKernel::kReference) return true;
  return KernelOf(kernel).sweep != nullptr && CpuRuns(kernel);
}

bool CrossAttnReads(CrossAttnKernel kernel, CacheStore store) {
  switch (kernel) {
    case CrossAttnKernel::kAvx512Bf16:
    case CrossAttnKernel::kAvx512Fp16:
      return store == CacheStore::kBF16;
    case CrossAttnKernel::kAvx512Vnni:
      return store == CacheStore::kI8;
    default:
      return true;
  }
}

CrossAttnKernel CrossAttnBest(CacheStore store) {
  const SimdLevel level = ActiveSimdLevel();
  if (level == SimdLevel::kNone) return CrossAttnKernel::kReference;
  const struct {
    CrossAttnKernel kernel;
    SimdLevel needs;
  } order[] = {{CrossAttnKernel::kAvx512Vnni, SimdLevel::kAvx512Bf16},
               {CrossAttnKernel::kAvx512Fp16, SimdLevel::kAvx512Bf16},
               {CrossAttnKernel::kAvx512Bf16, SimdLevel::kAvx512Bf16},
               {CrossAttnKernel::kAvx512, SimdLevel::kAvx512},
               {CrossAttnKernel::kAvx2, SimdLevel::kAvx2},
               {CrossAttnKernel::kBaseline, SimdLevel::kBaseline}};
  for (const auto& entry : order) {
    if (level >= entry.needs && CrossAttnReads(entry.kernel, store) && CrossAttnSupported(entry.kernel)) {
      return entry.kernel;
    }
  }
  return CrossAttnKernel::kPortable;
}

Status CheckCrossAttn(const CrossAttnParams& params) {
  if (params.d_c < 8 || params.d_c > 1024 || params.d_c % 8 != 0) {
    return Wrong("d_c " + std::to_string(params.d_c) + " is not a multiple of 8 from 8 to 1024");
  }
  if (params.d_r > 256 || params.d_r % 8 != 0) {
    return Wrong("d_r " + std::to_string(params.d_r) + " is not a multiple of 8 from 0 to 256");
  }
  if (params.queries > (size_t{1} << 20)) return Wrong("more than 2^20 queries");
  if (!std::isfinite(params.scale)) return Wrong("the scale is not finite");
  if (params.queries > 0 && (params.q_c == nullptr || params.out == nullptr || params.lse == nullptr)) {
    return Wrong("q_c, out and lse must be given");
  }
  if (params.queries > 0 && params.d_r > 0 && params.q_r == nullptr) return Wrong("q_r must be given");
  if (params.run_count > 0 && params.runs == nullptr) return Wrong("runs must be given");
  for (size_t i = 0; i < params.run_count; ++i) LV_RETURN_IF_ERROR(CheckRun(params, i));
  return Status::Ok();
}

Status CrossAttn(const CrossAttnParams& params, CrossAttnKernel kernel, ThreadPool* pool) {
  LV_RETURN_IF_ERROR(CheckCrossAttn(params));
  if (kernel == CrossAttnKernel::kAuto) kernel = CrossAttnBest(params.store);
  if (!CrossAttnSupported(kernel)) {
    return Unsupported("cross-attention: this machine cannot run kernel " + std::string(CrossAttnKernelName(kernel)));
  }
  if (!CrossAttnReads(kernel, params.store)) {
    return Unsupported("cross-attention: kernel " + std::string(CrossAttnKernelName(kernel)) +
                       " does not read caches of type " + std::string(CacheStoreName(params.store)));
  }
  if (params.queries == 0) {
    if (params.run_mass != nullptr) std::fill_n(params.run_mass, params.run_count, 0.0f);
    return Status::Ok();
  }
  if (kernel == CrossAttnKernel::kReference) {
    CrossAttnReference(params);
    return Status::Ok();
  }

  if (!Fits(kernel, params)) kernel = CrossAttnKernel::kAvx512;
  return internal::SweepAndMerge(params, KernelOf(kernel), pool);
}

Status internal::SweepAndMerge(const CrossAttnParams& params, const SweepKernel& kernel, ThreadPool* pool) {
  Work work;
  work.queries = RoundUp(params.queries, kSweepQueryGroup);
  work.c_width = RoundUp(params.d_c, kSweepPad);
  work.r_width = RoundUp(params.d_r, kSweepPad);
  work.value_at = params.run_count > 0 && ValuesApart(params) ? work.c_width + work.r_width : 0;
  work.row_width = work.value_at == 0 ? work.c_width + work.r_width : work.value_at + work.c_width;
  work.mass_stride = RoundUp(work.queries, kSweepPad);
  MakeParts(params, &work);
  if (!work.Allocate(params)) return ResourceError("no memory for the attention's work space");
  PackQueries(params, kernel, &work);
  if (params.run_mass != nullptr) {
    // Runs without tokens and queries that pad a vector are never written by the sweep.
    std::fill_n(work.run_max.get(), params.run_count * work.mass_stride, -kInf);
    std::fill_n(work.run_sum.get(), params.run_count * work.mass_stride, 0.0f);
  }
  LV_RETURN_IF_ERROR(SweepAll(params, kernel, pool, &work));
  Merge(params, &work);
  if (params.run_mass != nullptr) SumMass(params, kernel, pool, work);
  return Status::Ok();
}

}  // namespace longview
