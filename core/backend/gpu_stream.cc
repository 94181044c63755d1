// GpuBuffer: memory that goes back to its stream.
#include "core/backend/gpu_stream.h"

#include <algorithm>
#include <utility>

namespace longview {

GpuBuffer::GpuBuffer(GpuBuffer&& other) noexcept { *this = std::move(other); }

GpuBuffer& GpuBuffer::operator=(GpuBuffer&& other) noexcept {
  std::swap(stream_, other.stream_);
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GpuBuffer::~GpuBuffer() {
  if (data_ != nullptr) stream_->Free(memory_, data_);
}

Result<GpuBuffer> GpuBuffer::Make(std::shared_ptr<GpuStream> stream, GpuStream::Memory memory, size_t bytes) {
  GpuBuffer buffer;
  buffer.bytes_ = std::max<size_t>(bytes, 256);
  LV_ASSIGN_OR_RETURN(buffer.data_, stream->Allocate(memory, buffer.bytes_));
  buffer.stream_ = std::move(stream);
  buffer.memory_ = memory;
  return buffer;
}

}  // namespace longview
