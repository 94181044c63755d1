// open() gives the lowest number that is free: going upwards, that is the one found closed.
#include "core/base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace longview {

void OpenStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    (void)open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace longview
