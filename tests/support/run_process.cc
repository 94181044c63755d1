// fork + exec with pipes; between the two only calls that are safe there (posix_spawn cannot set limits).
#include "tests/support/run_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>

extern char** environ;

namespace longview::test {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<std::string> Environment(const RunOptions& options) {
  std::vector<std::string> out;
  const auto replaced = [&options](const std::string& name) {
    for (const auto& [key, value] : options.environment) {
      if (key == name) return true;
    }
    for (const std::string& key : options.unset) {
      if (key == name) return true;
    }
    return false;
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!replaced(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [key, value] : options.environment) out.emplace_back(key).append("=").append(value);
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>* strings) {
  std::vector<char*> out;
  for (std::string& text : *strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void BecomeProgram(char* const* arguments, char* const* environment, int out, int err,
                                const RunOptions& options) {
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  if (!options.stdout_path.empty()) out = open(options.stdout_path.c_str(), O_WRONLY);
  dup2(out, 1);
  dup2(err, 2);
  // Tests may run in the background of a script, where SIGINT is ignored from the start.
  signal(SIGINT, SIG_DFL);
  if (options.file_size_limit >= 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{static_cast<rlim_t>(options.file_size_limit), static_cast<rlim_t>(options.file_size_limit)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (!options.working_folder.empty() && chdir(options.working_folder.c_str()) != 0) _exit(127);
  execvpe(arguments[0], arguments, environment);
  _exit(127);
}

// Reads what is there; false once both pipes are closed.
bool ReadSome(std::array<pollfd, 2>* pipes, int timeout_ms, RunOutcome* outcome) {
  if ((*pipes)[0].fd < 0 && (*pipes)[1].fd < 0) return false;
  if (poll(pipes->data(), pipes->size(), timeout_ms) <= 0) return true;
  std::array<char, 4096> buffer;
  for (size_t i = 0; i < pipes->size(); ++i) {
    pollfd& entry = (*pipes)[i];
    if (entry.fd < 0 || entry.revents == 0) continue;
    const ssize_t got = read(entry.fd, buffer.data(), buffer.size());
    if (got > 0) {
      (i == 0 ? outcome->out : outcome->err).append(buffer.data(), static_cast<size_t>(got));
    } else {
      close(entry.fd);
      entry.fd = -1;
    }
  }
  return true;
}

}  // namespace

RunOutcome RunProcess(const std::vector<std::string>& arguments, const RunOptions& options) {
  RunOutcome outcome;
  std::vector<std::string> argument_copy = arguments;
  std::vector<std::string> environment_copy = Environment(options);
  const std::vector<char*> argument_pointers = Pointers(&argument_copy);
  const std::vector<char*> environment_pointers = Pointers(&environment_copy);
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return outcome;
  const Clock::time_point start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0) BecomeProgram(argument_pointers.data(), environment_pointers.data(), out[1], err[1], options);
  close(out[1]);
  close(err[1]);
  std::array<pollfd, 2> pipes = {{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
  bool called = !options.on_started;
  Clock::time_point called_at = start;
  while (ReadSome(&pipes, 20, &outcome)) {
    const bool seen = outcome.err.find(options.wait_for) != std::string::npos ||
                      outcome.out.find(options.wait_for) != std::string::npos;
    if (!called && seen) {
      called = true;
      options.on_started(pid);
      called_at = Clock::now();
    }
    if (!outcome.timed_out && Since(start) > options.timeout_s) {
      outcome.timed_out = true;
      kill(pid, SIGKILL);
    }
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.seconds = Since(start);
  outcome.seconds_after_start_call = Since(called_at);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace longview::test
