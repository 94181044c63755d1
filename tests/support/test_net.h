// The device that tests of networks run on: emulated in every build, a GPU in gpu_tests.
#ifndef LONGVIEW_TESTS_SUPPORT_TEST_NET_H_
#define LONGVIEW_TESTS_SUPPORT_TEST_NET_H_

#include <gtest/gtest.h>

#include <memory>

#include "core/backend/gpu_net.h"

namespace longview::test {

// Null where there is no such device.
std::shared_ptr<GpuNet> MakeTestNet();

// Tests on a device; skipped by name without one.
class NetDevice : public testing::Test {
 protected:
  void SetUp() override {
    net_ = MakeTestNet();
    if (net_ == nullptr) GTEST_SKIP() << "skipped: no GPU";
  }
  std::shared_ptr<GpuNet> net_;
};

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_SUPPORT_TEST_NET_H_
