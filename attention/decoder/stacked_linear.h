// StackedLinear: matrices that read the same input, run as one where they are stored alike.
#ifndef LONGVIEW_ATTENTION_DECODER_STACKED_LINEAR_H_
#define LONGVIEW_ATTENTION_DECODER_STACKED_LINEAR_H_

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/ops/linear.h"
#include "core/tensor/tensor.h"

namespace longview {

// One matrix of a stack.
struct StackPart {
  TensorView weight;  // [out, in]
  // 0: rows as they are. Otherwise the rows are those of so many heads, stored for interleaved RoPE as llama.cpp does
  // (pairs in neighbouring rows), and are put back for half-split RoPE.
  size_t interleaved_heads = 0;
};

// y = the parts' products side by side. One split over threads instead of one per part, which counts for single rows.
class StackedLinear {
 public:
  StackedLinear() = default;
  // The parts are copied; their shapes must have been checked. Failures are Linear::Make's.
  static Result<StackedLinear> Make(std::span<const StackPart> parts, WeightStore store);

  size_t out() const { return out_; }
  size_t bytes() const;
  // y[rows, out()] from x[rows, in]; strides in floats.
  void Forward(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride, ThreadPool* pool) const;
  // Row `index` of the parts one below the other, as float, into out[in].
  void CopyRow(size_t index, float* out) const;

 private:
  std::vector<Linear> parts_;
  size_t out_ = 0;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_STACKED_LINEAR_H_
