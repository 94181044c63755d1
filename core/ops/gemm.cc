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

bool HasBf16Gemm() { return ActiveSimdLevel() == SimdLevel::kAvx512Bf16; }

bool GemmBf16NT(size_t m, size_t n, size_t k, const uint16_t* a, size_t lda, const uint16_t* b, size_t ldb, float* c,
                size_t ldc) {
  if (m == 0 || n == 0) return true;
  return k > 0 && internal::DnnlBf16GemmNT(m, n, k, a, lda, b, ldb, c, ldc);
}

}  // namespace longview
