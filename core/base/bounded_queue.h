// BoundedQueue: hands items from some threads to others, never holding more than its capacity, and never leaving a
// thread waiting once it is closed or the job is stopped.
#ifndef LONGVIEW_CORE_BASE_BOUNDED_QUEUE_H_
#define LONGVIEW_CORE_BASE_BOUNDED_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/base/check.h"

namespace longview {

// What Push does where the queue is full.
enum class Overflow {
  kWait,        // waits for room: nothing is lost
  kDropOldest,  // makes room by dropping the oldest item: for live views
};

// Every function may be called from any thread.
template <typename T>
class BoundedQueue {
 public:
  // `capacity` >= 1.
  explicit BoundedQueue(size_t capacity, Overflow overflow = Overflow::kWait)
      : capacity_(capacity), overflow_(overflow) {
    LV_CHECK_GE(capacity, size_t{1});
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Adds an item, waiting for room with Overflow::kWait. False, and the item is dropped, where the queue is closed or
  // `stop` was asked for.
  bool Push(T item, std::stop_token stop = {}) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (overflow_ == Overflow::kWait) {
      const auto ready = [this] { return closed_ || items_.size() < capacity_; };
      if (!room_.wait(lock, stop, ready) || stop.stop_requested()) return false;
    } else if (!closed_ && items_.size() >= capacity_) {
      items_.pop_front();
      ++dropped_;
    }
    if (closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    item_.notify_one();
    return true;
  }

  // The oldest item, waiting for one. Nothing where the queue is closed and empty, or where `stop` was asked for.
  std::optional<T> Pop(std::stop_token stop = {}) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto ready = [this] { return closed_ || !items_.empty(); };
    if (!item_.wait(lock, stop, ready) || stop.stop_requested() || items_.empty()) return std::nullopt;
    return TakeFront(lock);
  }

  // The oldest item, or nothing where there is none at the moment.
  std::optional<T> TryPop() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (items_.empty()) return std::nullopt;
    return TakeFront(lock);
  }

  // No more items go in; those inside can still be taken. Wakes everyone.
  void Close() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    item_.notify_all();
  }

  bool closed() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return closed_;
  }
  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return items_.size();
  }
  size_t capacity() const { return capacity_; }
  // Items lost to Overflow::kDropOldest.
  size_t dropped() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return dropped_;
  }

 private:
  std::optional<T> TakeFront(std::unique_lock<std::mutex>& lock) {
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

  const size_t capacity_;
  const Overflow overflow_;
  mutable std::mutex mutex_;
  std::condition_variable_any room_;
  std::condition_variable_any item_;
  std::deque<T> items_;
  size_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BASE_BOUNDED_QUEUE_H_
