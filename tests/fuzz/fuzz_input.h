// What every fuzz target shares: its input as a file without a disk.
//
// A target is one function, LLVMFuzzerTestOneInput (libFuzzer's contract): it must not crash, hang, leak or abort,
// whatever the bytes. Errors are right answers; that nothing outside the file's own bytes is read is the sanitizers' to
// see. In ordinary builds the same function is compiled under a name of its own and replays the corpus (replay.cc).
#ifndef LONGVIEW_TESTS_FUZZ_FUZZ_INPUT_H_
#define LONGVIEW_TESTS_FUZZ_FUZZ_INPUT_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace longview::fuzz {

// An anonymous file that holds the input, gone with the object.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : fd_(memfd_create("longview-fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
    for (size_t done = 0; done < size;) {
      const ssize_t wrote = write(fd_, data + done, size - done);
      if (wrote <= 0) std::abort();
      done += static_cast<size_t>(wrote);
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Reads every byte of a buffer, so that a sanitizer sees one that is not the caller's.
inline void Touch(const void* data, size_t bytes) {
  volatile uint8_t sum = 0;
  const auto* at = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < bytes; ++i) sum = static_cast<uint8_t>(sum + at[i]);
}

}  // namespace longview::fuzz

#endif  // LONGVIEW_TESTS_FUZZ_FUZZ_INPUT_H_
