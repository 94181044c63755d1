// Fuzz target: the reader of safetensors files.
#include "core/io/safetensors.h"
#include "tests/fuzz/weights_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const longview::fuzz::MemoryFile input(data, size);
  const auto file = longview::SafetensorsFile::Open(input.path());
  if (file.ok()) longview::fuzz::ReadTensors(**file);
  return 0;
}
