// TensorView: text of a shape, and the copy to float.
#include "core/tensor/tensor.h"

#include "core/base/check.h"

namespace longview {

std::string TensorView::ShapeText() const {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

Result<std::vector<float>> TensorView::CopyToFloat() const {
  size_t numbers = 1;
  for (uint64_t d : shape) {
    const auto product = MulSize(numbers, static_cast<size_t>(d), sizeof(float));
    if (!product) return Damaged("a tensor of shape " + ShapeText() + " is larger than any memory");
    numbers = *product / sizeof(float);
  }
  std::vector<float> out(numbers);
  LV_RETURN_IF_ERROR(ConvertToFloat(dtype, data, out));
  return out;
}

}  // namespace longview
