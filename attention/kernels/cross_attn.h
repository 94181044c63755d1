// Absorbed cross-attention over a latent cache: one sweep serves every head and row, softmax online in fp32, the cache
// cut into parts that are swept by the pool's threads and merged by log-sum-exp (FlashDecoding; the absorption is
// DeepSeek-V2's multi-head latent attention, arXiv 2405.04434).
//
// The parts and the order of their merge depend on the sizes alone: the result is the same, bit for bit, with any pool.
#ifndef LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_H_
#define LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_H_

#include <string_view>

#include "attention/kernels/params.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {

// Which implementation answers. kAuto: the best that this machine and LONGVIEW_SIMD allow; kReference:
// cross_attn_ref.h; kPortable: the sweep in plain C++; kBaseline: SSE4 or NEON. The last three compute in narrow
// numbers: kAvx512Bf16 and kAvx512Fp16 for bf16 caches, kAvx512Vnni for int8 caches.
enum class CrossAttnKernel {
  kAuto,
  kReference,
  kPortable,
  kBaseline,
  kAvx2,
  kAvx512,
  kAvx512Bf16,
  kAvx512Fp16,
  kAvx512Vnni
};

// "auto", "reference", "portable", "baseline", "avx2", "avx512", "avx512_bf16", "avx512_fp16", "avx512_vnni".
std::string_view CrossAttnKernelName(CrossAttnKernel kernel);

// Whether this build and machine can run it (LONGVIEW_SIMD is not asked).
bool CrossAttnSupported(CrossAttnKernel kernel);

// Whether it reads caches of this storage type.
bool CrossAttnReads(CrossAttnKernel kernel, CacheStore store);

// What kAuto stands for at present.
CrossAttnKernel CrossAttnBest(CacheStore store);

// kInvalidArgument names the field that does not fit; sizes and pointers only, the memory behind them is the caller's
// word.
Status CheckCrossAttn(const CrossAttnParams& params);

// Computes params.out, lse and run_mass. kInvalidArgument as CheckCrossAttn, kUnsupported for a kernel this machine
// cannot run or that does not read this store, kResource where the work space (queries x parts) cannot be had.
// Thread-safe; `pool` may be null.
Status CrossAttn(const CrossAttnParams& params, CrossAttnKernel kernel, ThreadPool* pool);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CROSS_ATTN_H_
