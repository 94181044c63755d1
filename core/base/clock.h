// The clock that durations are measured with.
#ifndef LONGVIEW_CORE_BASE_CLOCK_H_
#define LONGVIEW_CORE_BASE_CLOCK_H_

#include <chrono>

namespace longview {

// Steady: changes of the time of day do not touch it.
using Clock = std::chrono::steady_clock;

// Seconds that have passed since `start`, which lies in the past.
inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace longview

#endif  // LONGVIEW_CORE_BASE_CLOCK_H_
