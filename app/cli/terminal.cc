// Plain write() calls: no buffering between stdout and stderr to get out of order, and errors seen where they happen.
#include "app/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/engine/time_format.h"
#include "app/engine/time_text.h"
#include "app/engine/utf8.h"
#include "core/base/clock.h"

namespace longview::cli {
namespace {

constexpr std::chrono::milliseconds kShowEvery(100);
constexpr size_t kBarWidth = 20;

// 0 or errno.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

// At most `columns` characters, the end cut off.
std::string FirstCharacters(std::string_view text, size_t columns) {
  size_t at = 0;
  for (size_t i = 0; i < columns && at < text.size(); ++i) at += NextCharacter(text, at).bytes;
  return std::string(text.substr(0, at));
}

// As PrintableText, but lines and tabs stay.
std::string PrintableLines(std::string_view text) {
  std::string out;
  for (size_t from = 0;;) {
    const size_t end = std::min(text.find_first_of("\n\t", from), text.size());
    out += PrintableText(text.substr(from, end - from));
    if (end == text.size()) return out;
    out += text[end];
    from = end + 1;
  }
}

}  // namespace

std::string ProgressLine(std::string_view label, const Progress& progress, double elapsed_s, size_t width) {
  std::string state;
  if (progress.total > 0.0) {
    const double share = std::clamp(progress.done / progress.total, 0.0, 1.0);
    const auto filled = static_cast<size_t>(share * kBarWidth);
    state = " [" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] " +
            std::to_string(static_cast<int>(share * 100.0)) + " %";
    const double left_s = share > 0.0 ? elapsed_s * (1.0 - share) / share : 0.0;
    if (elapsed_s > 2.0 && share > 0.01 && share < 1.0) state += ", " + FormatDuration(left_s) + " left";
  } else if (progress.done > 0.0) {
    state = " " + FormatTime(progress.done);
  }
  state = FirstCharacters(state, width);
  return FirstCharacters(PrintableText(label), width - state.size()) + state;
}

Terminal::Terminal() : interactive_(isatty(STDERR_FILENO) == 1) {}

Terminal::~Terminal() { ClearProgress(); }

void Terminal::LogJson() {
  const std::lock_guard lock(mutex_);
  interactive_ = false;
  log_json_ = true;
}

void Terminal::Event(std::string_view json_object) {
  const std::lock_guard lock(mutex_);
  if (log_json_) WriteAll(STDERR_FILENO, std::string(json_object) + "\n");
}

void Terminal::Message(std::string_view message) {
  const std::lock_guard lock(mutex_);
  ClearProgressLocked();
  if (log_json_) {
    const nlohmann::ordered_json event = {{"event", "message"}, {"text", ValidUtf8(message)}};
    WriteAll(STDERR_FILENO, event.dump() + "\n");
    return;
  }
  WriteAll(STDERR_FILENO, "longview: " + PrintableText(message) + "\n");
}

void Terminal::PrintError(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  ClearProgressLocked();
  WriteAll(STDERR_FILENO, PrintableLines(lines));
}

void Terminal::Remark(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!interactive_) return;
  ClearProgressLocked();
  WriteAll(STDERR_FILENO, PrintableText(text) + "\n");
}

void Terminal::ShowProgress(std::string_view label, const Progress& progress, std::string_view detail) {
  const std::lock_guard lock(mutex_);
  if (!interactive_) return;
  const Clock::time_point now = Clock::now();
  if (label != label_) {
    label_ = label;
    label_since_ = now;
  } else if (now - last_shown_ < kShowEvery) {
    return;
  }
  last_shown_ = now;
  const double elapsed_s = std::chrono::duration<double>(now - label_since_).count();
  const std::string shown = std::string(label) + (detail.empty() ? "" : " ") + std::string(detail);
  // One column is left free: a line that fills the last one wraps on some terminals.
  WriteAll(STDERR_FILENO, "\r\x1b[K" + ProgressLine(shown, progress, elapsed_s, TerminalWidth() - 1));
  line_shown_ = true;
}

void Terminal::ClearProgress() {
  const std::lock_guard lock(mutex_);
  ClearProgressLocked();
}

void Terminal::ClearProgressLocked() {
  if (line_shown_) WriteAll(STDERR_FILENO, "\r\x1b[K");
  line_shown_ = false;
  label_.clear();
}

void Terminal::Print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  ClearProgressLocked();
  if (print_error_ == 0) print_error_ = WriteAll(STDOUT_FILENO, PrintableLines(text));
}

Status Terminal::Finish() {
  const std::lock_guard lock(mutex_);
  ClearProgressLocked();
  if (print_error_ == 0 || print_error_ == EPIPE) return Status::Ok();
  return IoError("stdout: cannot be written: " + std::generic_category().message(print_error_));
}

}  // namespace longview::cli
