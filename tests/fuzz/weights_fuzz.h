// What is done with every weight file that was accepted: each tensor read in full.
#ifndef LONGVIEW_TESTS_FUZZ_WEIGHTS_FUZZ_H_
#define LONGVIEW_TESTS_FUZZ_WEIGHTS_FUZZ_H_

#include <cstdlib>

#include "core/io/weights.h"
#include "tests/fuzz/fuzz_input.h"

namespace longview::fuzz {

inline void ReadTensors(const WeightFile& file) {
  for (const auto& [name, tensor] : file.tensors()) {
    const Result<std::vector<float>> numbers = file.GetFloat(name, tensor.shape);
    if (numbers.ok() && numbers->size() != tensor.count()) std::abort();
  }
  if (!file.CheckStillWhole().ok()) std::abort();
}

}  // namespace longview::fuzz

#endif  // LONGVIEW_TESTS_FUZZ_WEIGHTS_FUZZ_H_
