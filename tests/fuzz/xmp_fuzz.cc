// Fuzz target: merging into a sidecar: what was merged is found again, and a second time changes nothing.
#include <string>
#include <string_view>

#include "app/engine/export_xmp.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)longview::AssessXmp(text, "s", "i");
  const auto once = longview::MergeXmp(text, {"A summary.", "s", "i"});
  if (!once.ok()) return 0;
  const auto state = longview::AssessXmp(*once, "s", "i");
  if (!state.ok() || *state != longview::XmpState::kFinished) std::abort();
  const auto twice = longview::MergeXmp(*once, {"A summary.", "s", "i"});
  if (!twice.ok() || *twice != *once) std::abort();
  return 0;
}
