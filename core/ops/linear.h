// Linear: y = x W^T + b, with W in float, bf16 or a GGUF block type. Large products go to oneDNN, single rows to our
// own matrix-vector kernels (they are bound by memory, so the weights are read as stored).
#ifndef LONGVIEW_CORE_OPS_LINEAR_H_
#define LONGVIEW_CORE_OPS_LINEAR_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/tensor/tensor.h"

namespace longview {

// How a model keeps its weights in memory.
enum class WeightStore {
  kAsStored,  // quantised blocks stay quantised
  kBF16,      // everything becomes bf16
  kF32,       // everything becomes float: the reference
  kI8,        // int8 with a scale for each output; x is rounded to int8 with a scale for each row, sums are exact
};

// Immutable after Make; Forward may be called from several threads at once, each with its own pool or none.
class Linear {
 public:
  Linear() = default;
  // `weight` is [out, in]; `bias` is empty or has `out` numbers. With kAsStored the view's memory must outlive the
  // Linear unless `copy` is true; with the other stores the numbers are always copied.
  static Result<Linear> Make(const TensorView& weight, std::vector<float> bias, WeightStore store, bool copy = true);

  size_t in() const { return in_; }
  size_t out() const { return out_; }
  // Bytes of weights held or referred to.
  size_t bytes() const;

  // y[rows, out] = x[rows, in] W^T + b. x and y are row-major with strides in floats (>= in, >= out). Products are
  // accumulated in fp32. Up to 4 rows (matrix-vector kernels), a row's result depends on neither `rows` nor `pool`;
  // more go through GEMM, whose last bits may change with both. Weights in bf16 on a CPU that multiplies bf16 round x
  // to bf16 there.
  void Forward(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride, ThreadPool* pool) const;

  // Whether many rows may be given in bf16, rounded once for several Linears: weights in bf16, a CPU that multiplies
  // it.
  bool TakesBf16() const;
  // Forward of more than 4 rows that are bf16; only where TakesBf16().
  void ForwardBf16(const uint16_t* x, size_t x_stride, size_t rows, float* y, size_t y_stride, ThreadPool* pool) const;

  // The bias b [out], or nothing.
  std::vector<float> bias() const;

  // Row `index` of W as float, into out[in]: the embedding look-up.
  void CopyRow(size_t index, float* out) const;

 private:
  struct Data;
  size_t in_ = 0;
  size_t out_ = 0;
  std::shared_ptr<const Data> data_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_OPS_LINEAR_H_
