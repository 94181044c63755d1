// GpuStream: memory of a device, and work on it in the order in which it was asked for. What every backend stands on:
// CUDA implements it (cuda/cuda_stream.h), and the tests do in this process (tests/support/emulated_stream.h).
#ifndef LONGVIEW_CORE_BACKEND_GPU_STREAM_H_
#define LONGVIEW_CORE_BACKEND_GPU_STREAM_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "core/base/status.h"

namespace longview {

// Launches that were written down once and can be done again at little cost.
class GpuRecording {
 public:
  virtual ~GpuRecording() = default;
};

// One thread at a time. Work is done in the order of the calls, some time after them. Errors are kResource (memory) and
// kInternal (a failed launch), with the device's own words.
class GpuStream {
 public:
  enum class Memory { kDevice, kPinned };  // pinned: the host's, which the device copies from and to by itself

  virtual ~GpuStream() = default;

  // Zeroed, on a multiple of 256 bytes; kResource where there is not so much.
  virtual Result<void*> Allocate(Memory memory, size_t bytes) = 0;
  // From any thread.
  virtual void Free(Memory memory, void* p) = 0;

  // Between pinned and device memory.
  virtual Status Upload(void* device, const void* pinned, size_t bytes) = 0;
  virtual Status Download(void* pinned, const void* device, size_t bytes) = 0;
  // `rows` rows of `bytes`, `device_pitch` bytes apart, to rows without a gap.
  virtual Status DownloadRows(void* pinned, const void* device, size_t device_pitch, size_t bytes, size_t rows) = 0;
  // Between pieces of device memory that do not overlap.
  virtual Status Copy(void* to, const void* from, size_t bytes) = 0;

  // What `launches` asks for (no allocation), written down instead of done; and done.
  virtual Result<std::unique_ptr<GpuRecording>> Record(const std::function<Status()>& launches) = 0;
  virtual Status Replay(const GpuRecording& recording) = 0;

  // A place behind everything that was asked for so far; it is the stream's own, and moved by the next Mark.
  virtual Result<const void*> Mark() = 0;
  // Work asked for from now on begins when another stream of the same device has come to the place that its Mark gave.
  virtual Status Await(const void* mark) = 0;

  // Waits for everything.
  virtual Status Finish() = 0;
};

// Memory of a stream.
class GpuBuffer {
 public:
  GpuBuffer() = default;
  GpuBuffer(GpuBuffer&& other) noexcept;
  GpuBuffer& operator=(GpuBuffer&& other) noexcept;
  ~GpuBuffer();
  // At least 256 bytes, zeroed.
  static Result<GpuBuffer> Make(std::shared_ptr<GpuStream> stream, GpuStream::Memory memory, size_t bytes);

  template <class T>
  T* As(size_t byte_offset = 0) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(data_) + byte_offset);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<GpuStream> stream_;
  GpuStream::Memory memory_ = GpuStream::Memory::kDevice;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_GPU_STREAM_H_
