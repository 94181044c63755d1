// GpuWeights: one piece of memory on each side.
#include "core/backend/gpu_weights.h"

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
  std::memcpy(Grow(numbers.size_bytes(), &place), numbers.data(), numbers.size_bytes());
  return place;
}

size_t GpuWeights::AddBF16(std::span<const float> rows, size_t width, size_t to_width) {
  size_t place = 0;
  const size_t count = width == 0 ? 0 : rows.size() / width;
  std::byte* to = Grow(count * to_width * 2, &place);
  std::vector<uint16_t> narrow(to_width, 0);
  for (size_t row = 0; row < count; ++row) {
    for (size_t i = 0; i < width; ++i) narrow[i] = FloatToBF16(rows[row * width + i]);
    std::memcpy(to + row * to_width * 2, narrow.data(), to_width * 2);
  }
  return place;
}

Status GpuWeights::Upload(std::shared_ptr<GpuStream> stream) {
  LV_ASSIGN_OR_RETURN(device_, GpuBuffer::Make(stream, GpuStream::Memory::kDevice, host_.size()));
  LV_ASSIGN_OR_RETURN(const GpuBuffer staging, GpuBuffer::Make(stream, GpuStream::Memory::kPinned, host_.size()));
  std::memcpy(staging.As<std::byte>(), host_.data(), host_.size());
  LV_RETURN_IF_ERROR(stream->Upload(device_.As<std::byte>(), staging.As<std::byte>(), host_.size()));
  LV_RETURN_IF_ERROR(stream->Finish());
  host_ = {};
  return Status::Ok();
}

}  // namespace longview
