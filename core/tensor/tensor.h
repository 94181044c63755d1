// TensorView: where a tensor's numbers lie, their type and shape. It owns nothing.
#ifndef LONGVIEW_CORE_TENSOR_TENSOR_H_
#define LONGVIEW_CORE_TENSOR_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/dtype.h"

namespace longview {

// A contiguous row-major tensor in somebody else's memory (usually a mapped file). shape[0] varies slowest; a matrix of
// a linear layer is [out, in] as in PyTorch, whatever order its file uses.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
  const void* data = nullptr;

  uint64_t count() const {
    uint64_t n = 1;
    for (uint64_t d : shape) n *= d;
    return n;
  }
  // "[576, 192]"
  std::string ShapeText() const;
  // A copy of the numbers as float.
  Result<std::vector<float>> CopyToFloat() const;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_TENSOR_TENSOR_H_
