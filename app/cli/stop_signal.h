// SIGINT, SIGTERM and SIGHUP as a request to stop.
#ifndef LONGVIEW_APP_CLI_STOP_SIGNAL_H_
#define LONGVIEW_APP_CLI_STOP_SIGNAL_H_

#include <stop_token>
#include <thread>

namespace longview::cli {

// While it lives, the first SIGINT, SIGTERM or SIGHUP (those of them that were not ignored when the program began) asks
// the token's holders to stop; whoever has not ended the process two seconds later is ended with exit code 130 (every
// file of ours is written aside and renamed, so nothing half-written is left under a final name). A second signal ends
// the process at once. One object at a time, made before other threads are: the signals are blocked in its own thread,
// and so in those made later, and come to a thread of its own alone. oneDNN's kernels use the stack pointer for numbers
// of their own, so that a handler on top of one writes its frame into the heap.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::thread watcher_;
};

// Lets this thread, and a program that takes its place, have the signals again.
void UnblockStopSignals();

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_STOP_SIGNAL_H_
