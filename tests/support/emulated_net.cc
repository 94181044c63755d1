// The emulated device for the tests of networks.
#include "tests/support/emulated_net.h"

#include "tests/support/test_net.h"

namespace longview::test {

std::shared_ptr<GpuNet> MakeTestNet() { return std::make_shared<EmulatedNet>(); }

}  // namespace longview::test
