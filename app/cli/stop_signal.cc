// A handler may do next to nothing: it writes one byte into a pipe, and the thread that reads the pipe, the only one in
// which the handler runs, does the rest.
#include "app/cli/stop_signal.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "app/cli/args.h"

namespace longview::cli {
namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr int kGraceMs = 1800;  // design.md: a stop takes at most two seconds

std::atomic<int> pipe_read{-1};
std::atomic<int> pipe_write{-1};
std::atomic<int> signals_seen{0};

extern "C" void OnStopSignal(int /*signal*/) {
  const int saved = errno;
  if (signals_seen.fetch_add(1) > 0) _exit(kExitCancelled);
  const char byte = 's';
  (void)!write(pipe_write.load(), &byte, 1);
  errno = saved;
}

// A signal that was ignored when the program began stays so: nohup, and shells for what they run in the background.
void SetHandler(void (*handler)(int)) {
  for (const int number : kStopSignals) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

void MaskStopSignals(int how) {
  sigset_t all;
  sigemptyset(&all);
  for (const int number : kStopSignals) sigaddset(&all, number);
  pthread_sigmask(how, &all, nullptr);
}

// The next byte, or 0 at a time-out; 'q' is the destructor's.
char NextByte(int fd, int timeout_ms) {
  pollfd entry{fd, POLLIN, 0};
  for (;;) {
    const int ready = poll(&entry, 1, timeout_ms);
    if (ready == 0) return 0;
    if (ready < 0 && errno == EINTR) continue;
    char byte = 'q';
    return read(fd, &byte, 1) == 1 ? byte : 'q';
  }
}

}  // namespace

StopSignal::StopSignal() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;  // the default action of the signals stays
  pipe_read = ends[0];
  pipe_write = ends[1];
  signals_seen = 0;
  MaskStopSignals(SIG_BLOCK);
  SetHandler(OnStopSignal);
  watcher_ = std::thread([this] {
    UnblockStopSignals();
    if (NextByte(pipe_read, -1) == 'q') return;
    source_.request_stop();
    if (NextByte(pipe_read, kGraceMs) != 0) return;
    constexpr std::string_view kNote = "longview: cancelled\n";
    (void)!write(STDERR_FILENO, kNote.data(), kNote.size());
    _exit(kExitCancelled);
  });
}

StopSignal::~StopSignal() {
  if (!watcher_.joinable()) return;
  SetHandler(SIG_DFL);
  const char byte = 'q';
  (void)!write(pipe_write, &byte, 1);
  watcher_.join();
  close(pipe_write.exchange(-1));
  close(pipe_read.exchange(-1));
  UnblockStopSignals();
}

void UnblockStopSignals() { MaskStopSignals(SIG_UNBLOCK); }

}  // namespace longview::cli
