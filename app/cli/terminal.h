// What a person sees: results on stdout, everything else on stderr, progress only where stderr is a terminal.
#ifndef LONGVIEW_APP_CLI_TERMINAL_H_
#define LONGVIEW_APP_CLI_TERMINAL_H_

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/progress.h"
#include "core/base/status.h"

namespace longview::cli {

// A line of progress for a person: `label  [####....]  42 %  0:42 of 1:40, 12 s left`, at most `width` columns (bytes
// that are not ASCII count one a character). `elapsed_s` since the job began gives the time left; total 0 shows how far
// it is only.
std::string ProgressLine(std::string_view label, const Progress& progress, double elapsed_s, size_t width);

// Thread-safe. Text from files and models never reaches a terminal with its control characters.
class Terminal {
 public:
  Terminal();
  // Removes a progress line that is still there.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // From now on messages are JSON objects {"event": "message", "text"} on stderr, and progress is not drawn.
  void LogJson();
  // One line of JSON for machines; nothing before LogJson().
  void Event(std::string_view json_object);

  // `longview: message` as one line on stderr.
  void Message(std::string_view message);
  // Whole lines on stderr.
  void PrintError(std::string_view lines);
  // A line for people who watch: on stderr, only where it is a terminal.
  void Remark(std::string_view text);

  // Shows how far the job `label` is, at most ten times a second; a new label starts a new clock. Nothing where stderr
  // is no terminal.
  // `detail` stands behind the label and may change.
  void ShowProgress(std::string_view label, const Progress& progress, std::string_view detail = {});
  void ClearProgress();

  // Results. Line breaks and tabs pass, other control characters are written as \x1b. A failure is kept for Finish().
  void Print(std::string_view text);
  // Flushes stdout. kIo where not all could be written; Ok where a reader went away, for it took what it wanted.
  Status Finish();

 private:
  void ClearProgressLocked();

  std::mutex mutex_;
  bool interactive_;  // stderr is a terminal, and a person reads it
  bool log_json_ = false;
  bool line_shown_ = false;
  std::string label_;
  std::chrono::steady_clock::time_point label_since_;
  std::chrono::steady_clock::time_point last_shown_;
  int print_error_ = 0;  // errno of the first failed write to stdout
};

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_TERMINAL_H_
