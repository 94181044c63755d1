// The only door to oneDNN (2.x or 3.x): single-threaded matrix products. Private to core/ops; callers use gemm.h.
#ifndef LONGVIEW_CORE_OPS_DNNL_GEMM_H_
#define LONGVIEW_CORE_OPS_DNNL_GEMM_H_

#include <cstddef>
#include <cstdint>

namespace longview::internal {

// Row-major c[m, n] = a[m, k] b + beta c, on the calling thread alone, whatever oneDNN's own runtime would use. b is
// [n, k] where transpose_b, else [k, n]. All sizes >= 1; leading dimensions in numbers. False, and c unspecified, where
// oneDNN refused.
bool DnnlSgemm(bool transpose_b, size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
               float beta, float* c, size_t ldc);

// c[m, n] = a[m, k] b with a and b in bf16 and sums in fp32; same rules.
bool DnnlBf16Gemm(bool transpose_b, size_t m, size_t n, size_t k, const uint16_t* a, size_t lda, const uint16_t* b,
                  size_t ldb, float* c, size_t ldc);

// c[m, n] = (a[m, k] - a_offset) b[n, k]^T with a in uint8, b in int8 and sums in int32; same rules.
bool DnnlInt8GemmNT(size_t m, size_t n, size_t k, const uint8_t* a, size_t lda, uint8_t a_offset, const int8_t* b,
                    size_t ldb, int32_t* c, size_t ldc);

}  // namespace longview::internal

#endif  // LONGVIEW_CORE_OPS_DNNL_GEMM_H_
