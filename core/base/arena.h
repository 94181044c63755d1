// Arena: aligned memory with an account of who holds how much, so that a memory panel shows what was measured, not
// guessed.
#ifndef LONGVIEW_CORE_BASE_ARENA_H_
#define LONGVIEW_CORE_BASE_ARENA_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace longview {

// Where a buffer begins: a cache line, and the widest vector.
inline constexpr size_t kBufferAlignment = 64;

namespace internal {
class MemoryAccount;
}

// Memory that an Arena handed out, given back on destruction. Move-only. May outlive its Arena.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  void* data() { return data_; }
  const void* data() const { return data_; }
  // Bytes asked for.
  size_t bytes() const { return bytes_; }

  // The whole buffer as numbers of type T (bytes() / sizeof(T) of them).
  template <typename T>
  std::span<T> as() {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  friend class Arena;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  std::string label_;
  std::shared_ptr<internal::MemoryAccount> account_;
};

// Thread-safe. Copies share one account.
class Arena {
 public:
  Arena();

  // The account of the whole process, for what has no owner of its own to ask (weights).
  static Arena& Process();

  // `bytes` of uninitialised memory, aligned to kBufferAlignment and readable up to the next multiple of it; 0 bytes
  // give an empty buffer. kResource where the system has no more. `label` says what it is for ("weights", "latents").
  Result<AlignedBuffer> Allocate(size_t bytes, std::string_view label);

  // Label -> bytes held now. Labels that hold nothing are left out.
  std::map<std::string, size_t> Snapshot() const;
  // The sum over all labels.
  size_t total() const;

 private:
  std::shared_ptr<internal::MemoryAccount> account_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BASE_ARENA_H_
