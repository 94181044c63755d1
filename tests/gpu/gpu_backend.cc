// The tests of attention and of networks on a device get a real one here; without a GPU they are skipped.
#include "attention/kernels/cuda/cuda_mla.h"
#include "core/backend/cuda/cuda_net.h"
#include "tests/attention/mla_parity.h"
#include "tests/support/test_net.h"

namespace longview::test {

// The machine's own limits count, not the test's.
std::shared_ptr<MlaBackend> MakeTestBackend(const MlaLimits&) {
  auto backend = OpenCudaMla(0);
  if (backend.ok()) return *backend;
  EXPECT_EQ(backend.status().code(), StatusCode::kNotFound) << backend.status().message();
  return nullptr;
}

std::shared_ptr<GpuNet> MakeTestNet() {
  auto net = OpenCudaNet(0);
  if (net.ok()) return *net;
  EXPECT_EQ(net.status().code(), StatusCode::kNotFound) << net.status().message();
  return nullptr;
}

}  // namespace longview::test
