// Private to attention/kernels: one part's sweep, and the table of its implementations.
#ifndef LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_SWEEP_H_
#define LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_SWEEP_H_

#include <cstddef>
#include <cstdint>

#include "attention/kernels/params.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview::internal {

// Tokens that are widened to float and attended to at once: 32 rows of 128 + 32 floats stay in a 32 KiB first-level
// cache beside nine queries.
inline constexpr size_t kSweepTile = 32;
// The most that any kernel takes.
inline constexpr size_t kSweepLargestTile = 64;
// Queries come in groups of three: 3 x 4 sums, 4 operands and a query fill sixteen vector registers.
inline constexpr size_t kSweepQueryGroup = 3;
// Rows of floats are padded with zeros to whole vectors of any instruction set.
inline constexpr size_t kSweepPad = 16;

constexpr size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// One part of the cache: runs [first_run, last_run) of `params`. Scores are kept in base 2: the queries carry scale *
// log2(e).
struct SweepTask {
  const CrossAttnParams* params = nullptr;
  size_t first_run = 0;
  size_t last_run = 0;
  size_t queries = 0;            // params->queries rounded up to kSweepQueryGroup
  size_t c_width = 0;            // d_c rounded up to kSweepPad
  size_t r_width = 0;            // d_r rounded up to kSweepPad
  size_t value_at = 0;           // where a token's value begins in its row of the tile: 0, or behind the time key
  size_t row_width = 0;          // numbers of a row of the tile: c_width + r_width, and c_width of values apart
  const float* q = nullptr;      // [queries, c_width + r_width], padded with zeros
  const void* packed = nullptr;  // what the kernel's `pack` made of q, at a cache line
  float* tile = nullptr;         // scratch [kSweepLargestTile, row_width]
  float* p = nullptr;            // scratch [queries, kSweepLargestTile]
  float* lane_sums = nullptr;    // scratch [queries, kSweepPad]
  float* out = nullptr;          // [queries, c_width]: sums of 2^(score - max) * latent
  float* max = nullptr;          // [queries]: highest score, or one not far below it; -inf without tokens
  float* sum = nullptr;          // [queries]: sum of 2^(score - max)
  float* run_max = nullptr;      // [run_count, mass_stride] or null: the `max` that run_sum refers to
  float* run_sum = nullptr;      // [run_count, mass_stride]
  size_t mass_stride = 0;        // queries rounded up to kSweepPad
};

// Where number j of query i (of `width` each) lies where whole groups of queries stand side by side: for a group
// [width / unit, group, unit]; the queries that are no whole group follow as rows.
constexpr size_t GroupedAt(size_t i, size_t j, size_t queries, size_t width, size_t group, size_t unit) {
  if (i >= queries / group * group) return i * width + j;
  return i / group * group * width + (j / unit * group + i % group) * unit + j % unit;
}

// Adds up the shares of runs [first, last): mass[run] = sum over queries of run_sum * 2^(run_max - max[q]) * weight[q].
struct MassTask {
  const float* run_max = nullptr;
  const float* run_sum = nullptr;
  const float* max = nullptr;     // [mass_stride]
  const float* weight = nullptr;  // [mass_stride], zeros in the padding
  size_t mass_stride = 0;
  float* mass = nullptr;  // [run_count]
};

struct SweepKernel {
  // False where the part's numbers do not fit what the kernel computes with: `fallback` is to sweep it.
  bool (*sweep)(const SweepTask& task) = nullptr;
  void (*mass)(const MassTask& task, size_t first, size_t last) = nullptr;
  // Writes q [queries, c_width + r_width] as the sweep reads it, PackedBytes at most; null where it reads q itself.
  void (*pack)(const float* q, size_t queries, size_t c_width, size_t r_width, void* to) = nullptr;
  bool (*fallback)(const SweepTask& task) = nullptr;  // null where `sweep` always answers

  static constexpr size_t PackedBytes(size_t queries, size_t width) { return queries * (2 * width + 16); }
};

// The implementations that Highway compiles. A null `sweep` where this build has none.
SweepKernel PortableSweepKernel();
SweepKernel BaselineSweepKernel();
SweepKernel Avx2SweepKernel();
SweepKernel Avx512SweepKernel();
// With bf16 dot products; for bf16 caches without factors whose d_c and d_r are multiples of
// 32.
SweepKernel Avx512Bf16SweepKernel();
// The same with the dot product spelled out for AVX2: for tests on machines without the instruction.
SweepKernel EmulatedBf16SweepKernel();
// In fp16 arithmetic; for the same caches, on processors with AVX512_FP16. And spelled out for AVX2.
SweepKernel Avx512Fp16SweepKernel();
SweepKernel EmulatedFp16SweepKernel();
// With int8 dot products; for int8 caches whose d_c is a multiple of 64 and d_r of 32, on processors with AVX512_VNNI.
// And spelled out for AVX2.
SweepKernel Avx512VnniSweepKernel();
SweepKernel EmulatedVnniSweepKernel();

// What CrossAttn does once the call is checked and a kernel chosen: cuts the cache into parts, sweeps and merges them.
// kResource where the work space cannot be had. params.queries > 0.
Status SweepAndMerge(const CrossAttnParams& params, const SweepKernel& kernel, ThreadPool* pool);

}  // namespace longview::internal

#endif  // LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_SWEEP_H_
