// Reading files for their hashes: plain pread, so that a file on a share that goes away is an error and not a SIGBUS.
#include "app/engine/fingerprint.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace longview {
namespace {

constexpr uint64_t kWholeFileLimit = uint64_t{64} << 20;
constexpr uint64_t kBlockBytes = uint64_t{256} << 10;
constexpr uint64_t kBlocks = 256;

struct FdCloser {
  int fd = -1;
  ~FdCloser() {
    if (fd >= 0) close(fd);
  }
};

using BytesSink = std::function<void(std::span<const unsigned char>)>;

std::string Hex(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char b : bytes) {
    text.push_back(kDigits[b >> 4]);
    text.push_back(kDigits[b & 15]);
  }
  return text;
}

Status Refused(const std::filesystem::path& path, const char* what, int error) {
  const StatusReason reason = ReasonOfErrno(error);
  Status status = reason == StatusReason::kNoSuchFile
                      ? NotFound(path.string() + ": no such file")
                      : IoError(path.string() + ": " + what + ": " + std::strerror(error));
  return std::move(status).About(path.string(), reason);
}

Result<FileStamp> StampOf(const std::filesystem::path& path, const struct stat& info) {
  if (S_ISDIR(info.st_mode)) return InvalidArgument(path.string() + ": is a folder, not a file");
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path.string() + ": is not a regular file");
  if (info.st_size <= 0)
    return Damaged(path.string() + ": the file is empty").About(path.string(), StatusReason::kEmptyFile);
  FileStamp stamp;
  stamp.bytes = static_cast<uint64_t>(info.st_size);
  stamp.mtime_ns = static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  return stamp;
}

// Gives [offset, offset + length) of the file to `sink`.
Status ReadRange(int fd, const std::filesystem::path& path, uint64_t offset, uint64_t length, const JobContext& job,
                 std::vector<unsigned char>* buffer, const BytesSink& sink) {
  buffer->resize(1 << 20);
  while (length > 0) {
    if (job.stop.stop_requested()) return Cancelled();
    const size_t want = static_cast<size_t>(std::min<uint64_t>(length, buffer->size()));
    const ssize_t got = pread(fd, buffer->data(), want, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      return Refused(path, "cannot be read", errno);
    }
    if (got == 0) return Damaged(path.string() + ": became shorter while it was read").About(path.string());
    sink(std::span(buffer->data(), static_cast<size_t>(got)));
    offset += static_cast<uint64_t>(got);
    length -= static_cast<uint64_t>(got);
  }
  return Status::Ok();
}

Status OpenFile(const std::filesystem::path& path, FdCloser* file, FileStamp* stamp) {
  LV_ASSIGN_OR_RETURN(*stamp, StampFile(path));
  file->fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file->fd < 0) return Refused(path, "cannot be opened", errno);
  struct stat info {};
  if (fstat(file->fd, &info) != 0) return Refused(path, "cannot be read", errno);
  LV_ASSIGN_OR_RETURN(*stamp, StampOf(path, info));
  return Status::Ok();
}

}  // namespace

Result<FileStamp> StampFile(const std::filesystem::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return Refused(path, "cannot be read", errno);
  LV_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(path, info));
  if (access(path.c_str(), R_OK) != 0) return Refused(path, "cannot be read", errno);
  return stamp;
}

Result<std::string> Fingerprint(const std::filesystem::path& path, const JobContext& job) {
  FdCloser file;
  FileStamp stamp;
  LV_RETURN_IF_ERROR(OpenFile(path, &file, &stamp));
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), XXH3_freeState);
  if (state == nullptr) return ResourceError("out of memory while hashing " + path.string());
  XXH3_128bits_reset(state.get());
  XXH3_128bits_update(state.get(), &stamp.bytes, sizeof stamp.bytes);
  const BytesSink sink = [&](std::span<const unsigned char> bytes) {
    XXH3_128bits_update(state.get(), bytes.data(), bytes.size());
  };
  std::vector<unsigned char> buffer;
  if (stamp.bytes <= kWholeFileLimit) {
    LV_RETURN_IF_ERROR(ReadRange(file.fd, path, 0, stamp.bytes, job, &buffer, sink));
  } else {
    const uint64_t last = stamp.bytes - kBlockBytes;
    for (uint64_t i = 0; i < kBlocks; ++i) {
      // last * i fits: i < 256 and files end below 2^55 bytes.
      LV_RETURN_IF_ERROR(ReadRange(file.fd, path, last * i / (kBlocks - 1), kBlockBytes, job, &buffer, sink));
    }
  }
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state.get()));
  return Hex(std::span(canonical.digest, sizeof canonical.digest));
}

Result<std::string> Sha256OfFile(const std::filesystem::path& path, const JobContext& job) {
  FdCloser file;
  FileStamp stamp;
  LV_RETURN_IF_ERROR(OpenFile(path, &file, &stamp));
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) {
    return InternalError("SHA-256 cannot be started");
  }
  std::vector<unsigned char> buffer;
  LV_RETURN_IF_ERROR(ReadRange(file.fd, path, 0, stamp.bytes, job, &buffer, [&](std::span<const unsigned char> bytes) {
    EVP_DigestUpdate(context.get(), bytes.data(), bytes.size());
  }));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_DigestFinal_ex(context.get(), digest.data(), &length) != 1) return InternalError("SHA-256 failed");
  return Hex(std::span(digest.data(), length));
}

std::string Sha256OfText(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr);
  return Hex(std::span(digest.data(), length));
}

}  // namespace longview
