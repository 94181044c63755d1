// GpuWeights: one piece of memory on each side.
#include "core/backend/gpu_weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/tensor/dtype.h"

namespace longview {

std::byte* GpuWeights::Grow(size_t bytes, size_t* place) {
  *place = (host_.size() + 255) / 256 * 256;
  host_.resize(*place + bytes);
  return host_.data() + *place;
}

size_t GpuWeights::AddFloats(std::span<const float> numbers) {
  size_t place = 0;
  const auto bytes = std::as_bytes(numbers);
  std::copy(bytes.begin(), bytes.end(), Grow(numbers.size_bytes(), &place));
  return place;
}

size_t GpuWeights::AddRows(size_t count, size_t width, size_t to_width,
                           const std::function<void(size_t, float*)>& row) {
  size_t place = 0;
  std::byte* to = Grow(count * to_width * 2, &place);
  std::vector<float> numbers(width);
  std::vector<uint16_t> narrow(to_width, 0);
  for (size_t i = 0; i < count; ++i) {
    row(i, numbers.data());
    for (size_t j = 0; j < width; ++j) narrow[j] = FloatToBF16(numbers[j]);
    std::memcpy(to + i * to_width * 2, narrow.data(), to_width * 2);
  }
  return place;
}

size_t GpuWeights::AddBF16(std::span<const float> rows, size_t width, size_t to_width) {
  return AddRows(width == 0 ? 0 : rows.size() / width, width, to_width,
                 [&](size_t i, float* to) { std::copy_n(rows.data() + i * width, width, to); });
}

Status GpuWeights::Upload(const std::shared_ptr<GpuStream>& stream) {
  LV_ASSIGN_OR_RETURN(device_, GpuBuffer::Make(stream, GpuStream::Memory::kDevice, host_.size()));
  LV_ASSIGN_OR_RETURN(const GpuBuffer staging, GpuBuffer::Make(stream, GpuStream::Memory::kPinned, host_.size()));
  std::memcpy(staging.As<std::byte>(), host_.data(), host_.size());
  LV_RETURN_IF_ERROR(stream->Upload(device_.As<std::byte>(), staging.As<std::byte>(), host_.size()));
  LV_RETURN_IF_ERROR(stream->Finish());
  host_ = {};
  return Status::Ok();
}

}  // namespace longview
