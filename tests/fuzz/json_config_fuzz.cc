// Fuzz target: JSON as a tree of values, and the part of config.json that describes the bridge.
#include <string_view>

#include "attention/bridge/bridge_config.h"
#include "core/io/json.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

void Walk(const longview::Json& json) {
  (void)json.AsBool();
  (void)json.AsInt();
  (void)json.AsUint();
  (void)json.AsDouble();
  (void)json.AsString();
  (void)json.AsDoubles();
  (void)json.AsStrings();
  for (size_t i = 0; i < json.size(); ++i) {
    const auto child = json.At(i);
    if (child.ok()) Walk(*child);
  }
  for (const std::string& key : json.Keys()) {
    if (!json.Has(key) || !json.Get(key).ok()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = longview::Json::Parse(text, "fuzz");
  if (json.ok()) Walk(*json);
  (void)longview::ParseBridgeConfig(text, "fuzz");
  return 0;
}
