// What this machine can do, and how near the kernels come to it: the numbers of `longview bench` (design.md §4).
#ifndef LONGVIEW_APP_ENGINE_BENCH_H_
#define LONGVIEW_APP_ENGINE_BENCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {

class TextDecoder;
class VitEncoder;

struct BenchMachine {
  std::string cpu;
  int cores = 0;
  uint64_t memory_bytes = 0;
  std::string simd;  // the vector level in use
  int threads = 0;   // that everything here was measured with
  // Measured now, all threads together: products of 768 x 768 matrices, and reading arrays far larger than any cache.
  double gflops_fp32 = 0.0;
  std::optional<double> gflops_bf16;  // where the processor multiplies bf16
  double gb_per_s = 0.0;
};

struct BenchKernel {
  std::string name;
  std::optional<double> value;  // median; absent where this build has no such kernel
  std::string unit;
  // The least time that the machine's measured peaks allow for the kernel's operations and bytes, whichever takes
  // longer, over the time taken.
  std::optional<double> peak_share;
  std::string note;
};

struct BenchReport {
  BenchMachine machine;
  std::vector<BenchKernel> kernels;
};

// What it runs; all loaded.
struct BenchParts {
  std::shared_ptr<const VitEncoder> vit;       // weights in bf16
  std::shared_ptr<const VitEncoder> vit_int8;  // the same in int8
  std::shared_ptr<const TextDecoder> decoder;
};

// Medians of 9 runs each, some seconds in all. progress: kernels. kCancelled; kResource where memory is short.
Result<BenchReport> RunBench(const BenchParts& parts, ThreadPool* pool, const JobContext& job);

// The processor as the system names it; empty where it does not.
std::string CpuName();
// Of the whole machine.
uint64_t MemoryBytes();

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_BENCH_H_
