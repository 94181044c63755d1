// A fixed set of threads that split one loop at a time.
#ifndef LONGVIEW_CORE_BASE_THREAD_POOL_H_
#define LONGVIEW_CORE_BASE_THREAD_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>

namespace longview {

// Thread-safe for one caller at a time; a second concurrent caller runs its loop on its own thread alone.
// The processor cores that this process may use, at least 1: its affinity counts, as set by taskset or a container.
int UsableCores();

class ThreadPool {
 public:
  // `threads` >= 1 counts the calling thread; 0 takes the machine's cores.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Runs body(first, last, slot) over [0, count) cut into `threads()` near-equal ranges that depend only on count and
  // threads() (so that results never depend on timing); slot in [0, threads()). Ranges may be empty and are then not
  // run. Returns when all are done. `body` must not throw.
  void ParallelFor(size_t count, const std::function<void(size_t first, size_t last, int slot)>& body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BASE_THREAD_POOL_H_
