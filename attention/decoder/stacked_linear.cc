// StackedLinear: joins rows as stored bytes, so that quantised blocks stay as they are.
#include "attention/decoder/stacked_linear.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace longview {
namespace {

// Which stored row holds row `row`. llama.cpp reshapes each head's rows from [2, dim/2] to [dim/2, 2].
size_t StoredRow(size_t row, size_t rows, size_t interleaved_heads) {
  if (interleaved_heads == 0) return row;
  const size_t dim = rows / interleaved_heads;
  const size_t head = row / dim;
  const size_t half = row % dim / (dim / 2);
  const size_t pair = row % (dim / 2);
  return head * dim + pair * 2 + half;
}

// Appends the rows of `part` to `bytes`.
Status AppendRows(const StackPart& part, std::vector<std::byte>* bytes) {
  LV_ASSIGN_OR_RETURN(const size_t row_bytes, DTypeBytes(part.weight.dtype, part.weight.shape[1]));
  const size_t rows = part.weight.shape[0];
  const auto* source = static_cast<const std::byte*>(part.weight.data);
  const size_t at = bytes->size();
  bytes->resize(at + rows * row_bytes);
  for (size_t row = 0; row < rows; ++row) {
    std::memcpy(bytes->data() + at + row * row_bytes, source + StoredRow(row, rows, part.interleaved_heads) * row_bytes,
                row_bytes);
  }
  return Status::Ok();
}

}  // namespace

Result<StackedLinear> StackedLinear::Make(std::span<const StackPart> parts, WeightStore store) {
  StackedLinear stack;
  for (size_t first = 0; first < parts.size();) {
    const TensorView& head = parts[first].weight;
    std::vector<std::byte> bytes;
    size_t rows = 0;
    size_t last = first;
    for (; last < parts.size() && parts[last].weight.dtype == head.dtype; ++last) {
      LV_RETURN_IF_ERROR(AppendRows(parts[last], &bytes));
      rows += parts[last].weight.shape[0];
    }
    const TensorView joined{head.dtype, {rows, head.shape[1]}, bytes.data()};
    LV_ASSIGN_OR_RETURN(Linear linear, Linear::Make(joined, {}, store, /*copy=*/true));
    stack.out_ += linear.out();
    stack.parts_.push_back(std::move(linear));
    first = last;
  }
  return stack;
}

size_t StackedLinear::bytes() const {
  size_t total = 0;
  for (const Linear& part : parts_) total += part.bytes();
  return total;
}

void StackedLinear::Forward(const float* x, size_t x_stride, size_t rows, float* y, size_t y_stride,
                            ThreadPool* pool) const {
  for (const Linear& part : parts_) {
    part.Forward(x, x_stride, rows, y, y_stride, pool);
    y += part.out();
  }
}

void StackedLinear::CopyRow(size_t index, float* out) const {
  for (const Linear& part : parts_) {
    if (index < part.out()) return part.CopyRow(index, out);
    index -= part.out();
  }
}

}  // namespace longview
