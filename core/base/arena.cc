// Arena: aligned allocation, and the ledger of labels behind it.
#include "core/base/arena.h"

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/check.h"

namespace longview {
namespace {

// A request of a terabyte is a broken size; sanitizers and some systems would end the process over it.
constexpr size_t kMaxBytes = size_t{1} << 40;

// Large pages spare a sweep over hundreds of megabytes most of its address translations. Only whole ones within the
// buffer are asked for, so that no more memory is held than was accounted for; a system without them changes nothing.
void PreferLargePages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr size_t kLargePage = size_t{2} << 20;
  void* first = data;
  size_t left = bytes;
  if (std::align(kLargePage, kLargePage, first, left) == nullptr) return;
  (void)::madvise(first, left / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

}  // namespace

namespace internal {

class MemoryAccount {
 public:
  void Add(const std::string& label, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    held_[label] += bytes;
  }
  void Remove(const std::string& label, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto it = held_.find(label);
    LV_CHECK(it != held_.end() && it->second >= bytes);
    it->second -= bytes;
    if (it->second == 0) held_.erase(it);
  }
  std::map<std::string, size_t> Snapshot() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, size_t> held_;
};

}  // namespace internal

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      label_(std::move(other.label_)),
      account_(std::move(other.account_)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    AlignedBuffer old(std::move(*this));
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    label_ = std::move(other.label_);
    account_ = std::move(other.account_);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ == nullptr) return;
  account_->Remove(label_, bytes_);
  std::free(data_);
}

Arena::Arena() : account_(std::make_shared<internal::MemoryAccount>()) {}

Arena& Arena::Process() {
  static Arena* arena = new Arena();  // never destroyed: static objects may give memory back at exit
  return *arena;
}

Result<AlignedBuffer> Arena::Allocate(size_t bytes, std::string_view label) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  const size_t blocks = bytes < kMaxBytes ? (bytes + kBufferAlignment - 1) / kBufferAlignment : 0;
  void* data = blocks > 0 ? std::aligned_alloc(kBufferAlignment, blocks * kBufferAlignment) : nullptr;
  if (data == nullptr) {
    return ResourceError("no memory for " + std::to_string(bytes) + " bytes of " + std::string(label) +
                         "; close other programs or choose smaller settings");
  }
  PreferLargePages(data, bytes);
  buffer.data_ = data;
  buffer.bytes_ = bytes;
  buffer.label_ = std::string(label);
  buffer.account_ = account_;
  account_->Add(buffer.label_, bytes);
  return buffer;
}

std::map<std::string, size_t> Arena::Snapshot() const { return account_->Snapshot(); }

size_t Arena::total() const {
  size_t sum = 0;
  for (const auto& [label, bytes] : account_->Snapshot()) sum += bytes;
  return sum;
}

}  // namespace longview
