// Runs a program for a test: its arguments, environment and limits in; its exit code and everything it printed out.
#ifndef LONGVIEW_TESTS_SUPPORT_RUN_PROCESS_H_
#define LONGVIEW_TESTS_SUPPORT_RUN_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace longview::test {

struct RunOptions {
  std::vector<std::pair<std::string, std::string>> environment;  // added to or replacing the test's own
  std::vector<std::string> unset;                                // names removed from it
  std::string working_folder;                                    // empty: the test's
  double timeout_s = 600.0;                                      // then SIGKILL, and timed_out is set
  int64_t file_size_limit = -1;  // RLIMIT_FSIZE with SIGXFSZ ignored, as a full disk; -1: none
  std::string stdout_path;       // instead of collecting stdout (for /dev/full)
  // Called with the process id once the program has printed `wait_for` on stderr or stdout ("": at once).
  std::string wait_for;
  std::function<void(int pid)> on_started;
};

struct RunOutcome {
  int exit_code = -1;  // 128 + N where signal N ended it; 127 where it could not be started
  bool timed_out = false;
  double seconds = 0.0;
  double seconds_after_start_call = 0.0;  // from on_started's return to the end
  std::string out;
  std::string err;
};

// `arguments[0]` is looked up in PATH where it has no '/'. stdin is /dev/null.
RunOutcome RunProcess(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_SUPPORT_RUN_PROCESS_H_
