// ThreadPool: workers wait on a generation counter; a loop is announced by raising it. Ranges are fixed, but whoever is
// awake takes the next one, so a worker that the system has not woken yet is never waited for. Everyone spins for a few
// microseconds before sleeping, because a token's forward pass is hundreds of short loops in a row.
#include "core/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace longview {
namespace {

constexpr int kSpins = 2000;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Returns once `value` is no longer `old`.
void WaitWhileEqual(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
}

// The first index of range `slot` of `slots` over `count`: the first count % slots ranges are longer by one.
size_t RangeStart(size_t count, size_t slots, size_t slot) {
  return slot * (count / slots) + std::min(slot, count % slots);
}

}  // namespace

struct ThreadPool::Impl {
  using Body = std::function<void(size_t, size_t, int)>;

  int threads = 1;
  std::vector<std::thread> workers;
  std::atomic<bool> busy{false};
  std::atomic<bool> quit{false};
  std::atomic<uint32_t> generation{0};  // of the current loop; raised for each, and to quit
  std::atomic<uint64_t> next{0};  // the generation in the upper half, its next range that nobody has taken in the lower
  std::atomic<uint32_t> left{0};  // ranges of the current loop that are not finished
  const Body* body = nullptr;     // of the current loop; published by `next`, valid for whoever took a range
  size_t count = 0;

  void RunSlot(const Body& loop, size_t loop_count, int slot) const {
    const size_t slots = static_cast<size_t>(threads);
    const size_t first = RangeStart(loop_count, slots, static_cast<size_t>(slot));
    const size_t last = RangeStart(loop_count, slots, static_cast<size_t>(slot) + 1);
    if (first < last) loop(first, last, slot);
  }

  // Takes ranges of loop `loop` and runs them until none is left. Who is late to a loop finds it taken or gone.
  void TakeRanges(uint32_t loop) {
    uint64_t seen = next.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(seen >> 32) == loop && static_cast<int>(seen & 0xFFFFFFFF) < threads) {
      if (!next.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      RunSlot(*body, count, static_cast<int>(seen & 0xFFFFFFFF));
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) left.notify_one();
      seen = next.load(std::memory_order_acquire);
    }
  }

  void Work() {
    uint32_t seen = 0;
    while (true) {
      WaitWhileEqual(generation, seen);
      if (quit.load(std::memory_order_acquire)) return;
      seen = generation.load(std::memory_order_acquire);
      TakeRanges(seen);
    }
  }
};

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
  return count > 0 ? count : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  if (threads <= 0) threads = UsableCores();
  impl_->threads = threads;
  impl_->workers.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) {
    impl_->workers.emplace_back([impl = impl_.get()] { impl->Work(); });
  }
}

ThreadPool::~ThreadPool() {
  impl_->quit.store(true, std::memory_order_release);
  impl_->generation.fetch_add(1, std::memory_order_release);
  impl_->generation.notify_all();
  for (std::thread& worker : impl_->workers) worker.join();
}

int ThreadPool::threads() const { return impl_->threads; }

void ThreadPool::ParallelFor(size_t count, const std::function<void(size_t first, size_t last, int slot)>& body) {
  if (count == 0) return;
  Impl& impl = *impl_;
  const bool alone = impl.workers.empty() || count == 1 || impl.busy.exchange(true, std::memory_order_acquire);
  if (alone) {
    for (int slot = 0; slot < impl.threads; ++slot) impl.RunSlot(body, count, slot);
    return;
  }
  impl.body = &body;
  impl.count = count;
  impl.left.store(static_cast<uint32_t>(impl.threads), std::memory_order_relaxed);
  const uint32_t loop = impl.generation.load(std::memory_order_relaxed) + 1;
  impl.next.store(static_cast<uint64_t>(loop) << 32, std::memory_order_release);
  impl.generation.store(loop, std::memory_order_release);
  impl.generation.notify_all();
  impl.TakeRanges(loop);
  for (uint32_t left = impl.left.load(std::memory_order_acquire); left != 0;) {
    WaitWhileEqual(impl.left, left);
    left = impl.left.load(std::memory_order_acquire);
  }
  impl.busy.store(false, std::memory_order_release);
}

}  // namespace longview
