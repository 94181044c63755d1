// Calls into oneDNN. Debian's build runs on OpenMP; one thread is asked for around each call, so that our pool alone
// decides how many cores are busy.
#include "core/ops/dnnl_gemm.h"

#include <omp.h>

#include <dnnl.hpp>
#include <exception>

#include "core/base/log.h"
#include "core/simd/level.h"

namespace longview::internal {
namespace {

// OpenMP's thread count is a setting of each thread: takes it to one, and back.
class OneOmpThread {
 public:
  OneOmpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOmpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOmpThread(const OneOmpThread&) = delete;
  OneOmpThread& operator=(const OneOmpThread&) = delete;

 private:
  int before_;
};

// Holds oneDNN to the level in use; it listens only before its first kernel.
void LimitIsaOnce() {
  static const bool done = [] {
    const SimdLevel level = ActiveSimdLevel();
    if (level == SimdLevel::kBaseline) (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
    if (level == SimdLevel::kAvx2) (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
    if (level == SimdLevel::kAvx512) (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core);
    return true;
  }();
  (void)done;
}

dnnl::engine& CpuEngine() {
  static auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::matmul MakeMatmul(const dnnl::memory::desc& a, const dnnl::memory::desc& b, const dnnl::memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul(dnnl::matmul::primitive_desc(CpuEngine(), a, b, c));
#else
  return dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), CpuEngine()));
#endif
}

}  // namespace

bool DnnlSgemm(bool transpose_b, size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b, size_t ldb,
               float beta, float* c, size_t ldc) {
  LimitIsaOnce();
  const OneOmpThread one;
  const auto i = [](size_t value) { return static_cast<dnnl_dim_t>(value); };
  return dnnl_sgemm('N', transpose_b ? 'T' : 'N', i(m), i(n), i(k), 1.0f, a, i(lda), b, i(ldb), beta, c, i(ldc)) ==
         dnnl_success;
}

bool DnnlBf16Gemm(bool transpose_b, size_t m, size_t n, size_t k, const uint16_t* a, size_t lda, const uint16_t* b,
                  size_t ldb, float* c, size_t ldc) {
  using dnnl::memory;
  LimitIsaOnce();
  const OneOmpThread one;
  const auto i = [](size_t value) { return static_cast<memory::dim>(value); };
  try {
    const memory::desc a_desc({i(m), i(k)}, memory::data_type::bf16, memory::dims{i(lda), 1});
    const memory::dims b_strides = transpose_b ? memory::dims{1, i(ldb)} : memory::dims{i(ldb), 1};
    const memory::desc b_desc({i(k), i(n)}, memory::data_type::bf16, b_strides);
    const memory::desc c_desc({i(m), i(n)}, memory::data_type::f32, memory::dims{i(ldc), 1});
    const dnnl::matmul product = MakeMatmul(a_desc, b_desc, c_desc);  // oneDNN keeps compiled ones and finds them again
    dnnl::stream stream(CpuEngine());
    const memory a_memory(a_desc, CpuEngine(), const_cast<uint16_t*>(a));
    const memory b_memory(b_desc, CpuEngine(), const_cast<uint16_t*>(b));
    const memory c_memory(c_desc, CpuEngine(), c);
    product.execute(stream, {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}});
    stream.wait();
    return true;
  } catch (const std::exception& error) {
    LogWarning(std::string("oneDNN refused a bf16 product: ") + error.what());
    return false;
  }
}

bool DnnlInt8GemmNT(size_t m, size_t n, size_t k, const uint8_t* a, size_t lda, uint8_t a_offset, const int8_t* b,
                    size_t ldb, int32_t* c, size_t ldc) {
  LimitIsaOnce();
  const OneOmpThread one;
  const auto i = [](size_t value) { return static_cast<dnnl_dim_t>(value); };
  const int32_t c_offset = 0;
  return dnnl_gemm_u8s8s32('N', 'T', 'F', i(m), i(n), i(k), 1.0f, a, i(lda), a_offset, b, i(ldb), 0, 0.0f, c, i(ldc),
                           &c_offset) == dnnl_success;
}

}  // namespace longview::internal
