// The choice between oneDNN and the reference, and the empty cases.
#include "core/ops/gemm.h"

#include "core/ops/dnnl_gemm.h"
#include "core/ops/reference.h"
#include "core/simd/level.h"

namespace longview {
namespace {

void Gemm(bool transpose_b, size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
          float beta, float* c, size_t ldc) {
  if (m == 0 || n == 0) return;
  const bool fast = k > 0 && ActiveSimdLevel() != SimdLevel::kNone;
  if (fast && internal::DnnlSgemm(transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc)) return;
  reference::Gemm(transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace

void GemmNT(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb, float beta, float* c,
            size_t ldc) {
  Gemm(true, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

void GemmNN(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb, float beta, float* c,
            size_t ldc) {
  Gemm(false, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

bool HasBf16Gemm() {
  // Where AVX512_FP16 is, the vector units' bf16 dot products were measured at half the speed of floats: only AMX,
  // which virtual machines may hide, makes bf16 worth while.
  if (CpuHasAvx512Fp16() && !CpuHasAmxBf16()) return false;
  return ActiveSimdLevel() == SimdLevel::kAvx512Bf16;
}

bool GemmBf16NT(size_t m, size_t n, size_t k, const uint16_t* a, size_t lda, const uint16_t* b, size_t ldb, float* c,
                size_t ldc) {
  if (m == 0 || n == 0) return true;
  return k > 0 && internal::DnnlBf16Gemm(true, m, n, k, a, lda, b, ldb, c, ldc);
}

bool GemmBf16NN(size_t m, size_t n, size_t k, const uint16_t* a, size_t lda, const uint16_t* b, size_t ldb, float* c,
                size_t ldc) {
  if (m == 0 || n == 0) return true;
  return k > 0 && internal::DnnlBf16Gemm(false, m, n, k, a, lda, b, ldb, c, ldc);
}

void GemmInt8NT(size_t m, size_t n, size_t k, const uint8_t* a, size_t lda, uint8_t a_offset, const int8_t* b,
                size_t ldb, int32_t* c, size_t ldc) {
  if (m == 0 || n == 0) return;
  // Without the dot product of bytes, which all CPUs of this level have, oneDNN's sums of pairs may saturate.
  const bool fast = k > 0 && ActiveSimdLevel() == SimdLevel::kAvx512Bf16;
  if (fast && internal::DnnlInt8GemmNT(m, n, k, a, lda, a_offset, b, ldb, c, ldc)) return;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (size_t l = 0; l < k; ++l) sum += (int32_t{a[i * lda + l]} - a_offset) * b[j * ldb + l];
      c[i * ldc + j] = sum;
    }
  }
}

}  // namespace longview
