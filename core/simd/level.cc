// Finds the level through Highway's CPU detection, and limits Highway to it.
#include "core/simd/level.h"

#include <hwy/highway.h>
#include <hwy/targets.h>
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/log.h"

namespace longview {
namespace {

constexpr SimdLevel kAllLevels[] = {SimdLevel::kNone, SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512,
                                    SimdLevel::kAvx512Bf16};

SimdLevel CpuLevel() {
#if HWY_ARCH_X86
  const int64_t targets = hwy::SupportedTargets();
  if ((targets & HWY_AVX3) != 0) {
    return __builtin_cpu_supports("avx512bf16") ? SimdLevel::kAvx512Bf16 : SimdLevel::kAvx512;
  }
  if ((targets & HWY_AVX2) != 0) return SimdLevel::kAvx2;
#endif
  return SimdLevel::kBaseline;
}

// Takes from Highway's choice what is above `level`.
void LimitHighway(SimdLevel level) {
#if HWY_ARCH_X86
  constexpr int64_t kAbove2 = HWY_AVX3 | HWY_AVX3_DL;
  if (level == SimdLevel::kAvx2) hwy::DisableTargets(kAbove2);
  if (level == SimdLevel::kBaseline) hwy::DisableTargets(kAbove2 | HWY_AVX2);
#endif
  if (level == SimdLevel::kNone) hwy::DisableTargets(~int64_t{0});  // Highway keeps its lowest target
}

SimdLevel Choose() {
  const SimdLevel cpu = CpuLevel();
  const char* wanted = std::getenv("LONGVIEW_SIMD");
  if (wanted == nullptr || *wanted == '\0') return cpu;
  for (const SimdLevel level : kAllLevels) {
    if (SimdLevelName(level) != wanted) continue;
    if (level <= cpu) {
      LimitHighway(level);
      return level;
    }
  }
  LogWarning("LONGVIEW_SIMD=" + std::string(wanted) + " is not known or more than this CPU has (" +
             std::string(SimdLevelName(cpu)) + "); using that");
  return cpu;
}

// Bit `bit` of what the processor says of its features in EDX (leaf 7).
bool CpuFeature(unsigned bit) {
#if HWY_ARCH_X86
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx >> bit & 1u) != 0;
#else
  (void)bit;
  return false;
#endif
}

}  // namespace

bool CpuHasF16c() {
#if HWY_ARCH_X86
  static const bool has = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> 29u & 1u) != 0;
  }();
  return has;
#else
  return false;
#endif
}
// Asked by every product: a virtual machine answers CPUID in tens of microseconds.
bool CpuHasAvx512Fp16() {
  static const bool has = CpuFeature(23);
  return has;
}
bool CpuHasAmxBf16() {
  static const bool has = CpuFeature(22);
  return has;
}

std::string_view SimdLevelName(SimdLevel level) {
  switch (level) {
    case SimdLevel::kNone:
      return "none";
    case SimdLevel::kBaseline:
      return "baseline";
    case SimdLevel::kAvx2:
      return "avx2";
    case SimdLevel::kAvx512:
      return "avx512";
    case SimdLevel::kAvx512Bf16:
      return "avx512_bf16";
  }
  return "unknown";
}

SimdLevel ActiveSimdLevel() {
  static const SimdLevel level = [] {
    const SimdLevel chosen = Choose();
    LogInfo("vector instructions: " + std::string(SimdLevelName(chosen)));
    return chosen;
  }();
  return level;
}

}  // namespace longview
