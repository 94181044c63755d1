// GpuStream whose device is this process: the kernels' own bodies with blocks and threads emulated. Work is put off
// until it is waited for, as a device may.
#ifndef LONGVIEW_TESTS_SUPPORT_EMULATED_STREAM_H_
#define LONGVIEW_TESTS_SUPPORT_EMULATED_STREAM_H_

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/backend/gpu_stream.h"

namespace longview::test {

// `Interface` derives from GpuStream.
template <class Interface>
class EmulatedStream : public Interface {
 public:
  using Memory = GpuStream::Memory;

  explicit EmulatedStream(size_t device_bytes) : device_bytes_(device_bytes) {}
  ~EmulatedStream() override {
    for (const auto& [p, bytes] : memory_) ::operator delete(p, std::align_val_t(256));
  }

  // Pieces of memory that were not given back.
  size_t live() const {
    const std::scoped_lock lock(mutex_);
    return memory_.size();
  }

  Result<void*> Allocate(Memory memory, size_t bytes) override {
    const std::scoped_lock lock(mutex_);
    if (memory == Memory::kDevice && taken_ + bytes > device_bytes_) {
      return ResourceError("the emulated device has no more memory");
    }
    void* p = ::operator new(bytes, std::align_val_t(256));
    std::memset(p, 0, bytes);
    if (memory == Memory::kDevice) taken_ += bytes;
    memory_[p] = bytes;
    return p;
  }
  void Free(Memory memory, void* p) override {
    const std::scoped_lock lock(mutex_);
    if (memory == Memory::kDevice) taken_ -= memory_.at(p);
    memory_.erase(p);
    ::operator delete(p, std::align_val_t(256));
  }

  Status Upload(void* device, const void* pinned, size_t bytes) override { return Copy(device, pinned, bytes); }
  Status Download(void* pinned, const void* device, size_t bytes) override { return Copy(pinned, device, bytes); }
  Status DownloadRows(void* pinned, const void* device, size_t device_pitch, size_t bytes, size_t rows) override {
    return Later([=] {
      for (size_t row = 0; row < rows; ++row) {
        std::memcpy(static_cast<std::byte*>(pinned) + row * bytes,
                    static_cast<const std::byte*>(device) + row * device_pitch, bytes);
      }
    });
  }
  Status Copy(void* to, const void* from, size_t bytes) override {
    return Later([to, from, bytes] { std::memcpy(to, from, bytes); });
  }

  Result<std::unique_ptr<GpuRecording>> Record(const std::function<Status()>& launches) override {
    auto recording = std::make_unique<Recording>();
    target_ = &recording->work;
    const Status status = launches();
    target_ = &queue_;
    LV_RETURN_IF_ERROR(status);
    return std::unique_ptr<GpuRecording>(std::move(recording));
  }
  Status Replay(const GpuRecording& recording) override {
    const auto& work = static_cast<const Recording&>(recording).work;
    queue_.insert(queue_.end(), work.begin(), work.end());
    return Status::Ok();
  }

  // Whoever waits lets the other come to the end at once: the order between the two streams is right, and nothing more
  // is promised.
  Result<const void*> Mark() override { return static_cast<const void*>(static_cast<GpuStream*>(this)); }
  Status Await(const void* mark) override { return static_cast<GpuStream*>(const_cast<void*>(mark))->Finish(); }

  Status Finish() override {
    for (const auto& work : std::exchange(queue_, {})) work();
    return Status::Ok();
  }

 protected:
  Status Later(std::function<void()> work) {
    target_->push_back(std::move(work));
    return Status::Ok();
  }

 private:
  using Work = std::vector<std::function<void()>>;
  struct Recording : GpuRecording {
    Work work;
  };

  const size_t device_bytes_;
  mutable std::mutex mutex_;  // of the two below
  size_t taken_ = 0;
  std::map<void*, size_t> memory_;
  Work queue_;
  Work* target_ = &queue_;
};

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_SUPPORT_EMULATED_STREAM_H_
