// GpuWeights: a network's weights in a device's memory, gathered on the host and copied there once.
#ifndef LONGVIEW_CORE_BACKEND_GPU_WEIGHTS_H_
#define LONGVIEW_CORE_BACKEND_GPU_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/backend/gpu_stream.h"
#include "core/base/status.h"

namespace longview {

class GpuWeights {
 public:
  // Add numbers; what they give back is where At finds them. `rows` are padded with zeros from `width` to `to_width`
  // numbers each, in bf16.
  size_t AddFloats(std::span<const float> numbers);
  size_t AddBF16(std::span<const float> rows, size_t width, size_t to_width);
  // The same with `count` rows of `width` numbers given one after another: row(i, to) writes row i.
  size_t AddRows(size_t count, size_t width, size_t to_width, const std::function<void(size_t, float*)>& row);
  size_t AddBF16(std::span<const float> numbers) { return AddBF16(numbers, numbers.size(), numbers.size()); }

  // Copies everything to the device; nothing is added afterwards.
  Status Upload(const std::shared_ptr<GpuStream>& stream);

  // After Upload.
  template <class T>
  const T* At(size_t place) const {
    return device_.As<T>(place);
  }
  size_t bytes() const { return device_.bytes(); }

 private:
  // Room for `bytes` more, on a multiple of 256.
  std::byte* Grow(size_t bytes, size_t* place);

  std::vector<std::byte> host_;
  GpuBuffer device_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_GPU_WEIGHTS_H_
