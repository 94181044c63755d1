// Reading the arenas and /proc.
#include "app/engine/memory_report.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "app/engine/engine.h"

namespace longview {
namespace {

// A line "VmRSS:   1234 kB" of `path`, in bytes; 0 where there is none.
uint64_t ProcBytes(const char* path, const std::string& key) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind(key + ":", 0) != 0) continue;
    std::istringstream rest(line.substr(key.size() + 1));
    uint64_t kilobytes = 0;
    rest >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

MemoryReport MakeMemoryReport(const std::vector<const Arena*>& arenas) {
  std::map<std::string, uint64_t> bytes;
  for (const Arena* arena : arenas) {
    for (const auto& [label, held] : arena->Snapshot()) bytes[label] += held;
  }
  MemoryReport report;
  for (const auto& [label, held] : bytes) report.items.push_back({label, held});
  std::stable_sort(report.items.begin(), report.items.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  report.resident_bytes = ProcBytes("/proc/self/status", "VmRSS");
  report.peak_resident_bytes = ProcBytes("/proc/self/status", "VmHWM");
  return report;
}

uint64_t AvailableMemory() {
  uint64_t available = ProcBytes("/proc/meminfo", "MemAvailable");
  // A container's own limit: control groups 2, then 1. "max", or a file that is not there, reads as no number.
  for (const auto& [limit_path, used_path] :
       {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        std::pair{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
    uint64_t limit = 0, used = 0;
    if (!(std::ifstream(limit_path) >> limit) || !(std::ifstream(used_path) >> used)) continue;
    available = std::min(available, limit > used ? limit - used : 0);
  }
  return available;
}

std::chrono::steady_clock::time_point ProcessStart() {
  const auto now = std::chrono::steady_clock::now();
  std::ifstream in("/proc/self/stat");
  std::string line;
  std::getline(in, line);
  // The second field, the program's name in brackets, may hold blanks: count from behind it.
  const size_t bracket = line.rfind(')');
  timespec boot{};
  if (bracket == std::string::npos || clock_gettime(CLOCK_BOOTTIME, &boot) != 0) return now;
  std::istringstream rest(line.substr(bracket + 1));
  std::string skipped;
  constexpr int kFieldsBetween = 19;  // state is field 3, starttime field 22
  for (int i = 0; i < kFieldsBetween; ++i) rest >> skipped;
  double ticks = 0.0;
  if (!(rest >> ticks)) return now;
  const double since_boot = static_cast<double>(boot.tv_sec) + static_cast<double>(boot.tv_nsec) * 1e-9;
  const double age = std::max(0.0, since_boot - ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
  return now - std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(age));
}

}  // namespace longview
