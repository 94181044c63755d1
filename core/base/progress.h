// What every long call is handed: a way to tell how far it is, and a way to be stopped.
#ifndef LONGVIEW_CORE_BASE_PROGRESS_H_
#define LONGVIEW_CORE_BASE_PROGRESS_H_

#include <functional>
#include <stop_token>

namespace longview {

// How far a job is. `total` is 0 where it cannot be known yet (a file without a duration).
struct Progress {
  double done = 0.0;   // seconds of video read, or units of the job
  double total = 0.0;  // in the same unit
};

// Passed by const reference into long calls. Callbacks come from the thread that does the work.
struct JobContext {
  std::stop_token stop;                           // ask with stop.stop_requested(); then return Cancelled()
  std::function<void(const Progress&)> progress;  // may be empty
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BASE_PROGRESS_H_
