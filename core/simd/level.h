// Which vector instructions the kernels use: what the CPU has, or what LONGVIEW_SIMD asks for.
#ifndef LONGVIEW_CORE_SIMD_LEVEL_H_
#define LONGVIEW_CORE_SIMD_LEVEL_H_

#include <string_view>

namespace longview {

enum class SimdLevel {
  kNone,        // plain scalar code: the reference
  kBaseline,    // what every CPU of this family has (SSE4 at most, NEON)
  kAvx2,        // AVX2, FMA and F16C
  kAvx512,      // AVX-512 F, BW, CD, DQ, VL
  kAvx512Bf16,  // and bf16 dot products (AVX512_BF16 or AMX): matrix products run in bf16
};

// "none", "baseline", "avx2", "avx512", "avx512_bf16"
std::string_view SimdLevelName(SimdLevel level);

// The level in use. Found once, at the first call: the CPU's, or the one named by the environment's LONGVIEW_SIMD where
// the CPU has it (a warning is logged, and the CPU's level used, where the name is unknown or more than the CPU has).
// Limits Highway's dispatch and oneDNN to that level. Thread-safe.
SimdLevel ActiveSimdLevel();

// What the processor has beside the levels, whatever LONGVIEW_SIMD says: conversions of fp16 (F16C), products in fp16
// (AVX512_FP16), and AMX's in bf16, which virtual machines may hide.
bool CpuHasF16c();
bool CpuHasAvx512Fp16();
bool CpuHasAmxBf16();

}  // namespace longview

#endif  // LONGVIEW_CORE_SIMD_LEVEL_H_
