// Matrix products on the calling thread: oneDNN, or the reference with LONGVIEW_SIMD=none. Callers split the work.
#ifndef LONGVIEW_CORE_OPS_GEMM_H_
#define LONGVIEW_CORE_OPS_GEMM_H_

#include <cstddef>
#include <cstdint>

namespace longview {

// Row-major, fp32: c[m, n] = a[m, k] b[n, k]^T + beta * c. Leading dimensions in floats; sizes may be 0 (k = 0: c =
// beta * c). With beta = 0, c is not read. c must not overlap a or b. Thread-safe.
void GemmNT(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb, float beta, float* c,
            size_t ldc);

// The same with b [k, n].
void GemmNN(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb, float beta, float* c,
            size_t ldc);

// True where the CPU multiplies bf16, and faster than floats: GemmBf16NT and GemmBf16NN may then be called.
bool HasBf16Gemm();

// c[m, n] = a[m, k] b[n, k]^T with bf16 inputs, sums in fp32. False, and c unspecified, where oneDNN refused.
bool GemmBf16NT(size_t m, size_t n, size_t k, const uint16_t* a, size_t lda, const uint16_t* b, size_t ldb, float* c,
                size_t ldc);

// The same with b [k, n].
bool GemmBf16NN(size_t m, size_t n, size_t k, const uint16_t* a, size_t lda, const uint16_t* b, size_t ldb, float* c,
                size_t ldc);

// c[m, n] = (a[m, k] - a_offset) b[n, k]^T, exactly: a in uint8, b in int8, k below 2^16. Sizes may be 0. Fast where
// the CPU has dot products of bytes.
void GemmInt8NT(size_t m, size_t n, size_t k, const uint8_t* a, size_t lda, uint8_t a_offset, const int8_t* b,
                size_t ldb, int32_t* c, size_t ldc);

}  // namespace longview

#endif  // LONGVIEW_CORE_OPS_GEMM_H_
