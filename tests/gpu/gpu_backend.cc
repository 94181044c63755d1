// The tests of attention on a device get a real one here; without a GPU they are skipped.
#include "attention/kernels/cuda/cuda_mla.h"
#include "tests/attention/mla_parity.h"

namespace longview::test {

// The machine's own limits count, not the test's.
std::shared_ptr<MlaBackend> MakeTestBackend(const MlaLimits&) {
  auto backend = OpenCudaMla(0);
  if (backend.ok()) return *backend;
  EXPECT_EQ(backend.status().code(), StatusCode::kNotFound) << backend.status().message();
  return nullptr;
}

}  // namespace longview::test
