// PNG and JPEG by OpenCV; headers of stills by hand.
#include "vision/picture_io.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string_view>
#include <system_error>

#include "core/io/replace_file.h"

namespace longview {
namespace {

int64_t Big(std::span<const uint8_t> b, size_t at, size_t n) {
  int64_t v = 0;
  for (size_t i = 0; i < n; ++i) v = v << 8 | b[at + i];
  return v;
}

int64_t Little(std::span<const uint8_t> b, size_t at, size_t n) {
  int64_t v = 0;
  for (size_t i = n; i-- > 0;) v = v << 8 | b[at + i];
  return v;
}

bool Has(std::span<const uint8_t> b, size_t at, std::string_view text) {
  return b.size() >= at + text.size() && std::memcmp(b.data() + at, text.data(), text.size()) == 0;
}

// The first frame header (SOFn) of a JPEG.
StillHeader JpegHeader(std::span<const uint8_t> b) {
  size_t at = 2;
  while (at + 9 <= b.size() && b[at] == 0xff) {
    const uint8_t marker = b[at + 1];
    if (marker == 0xff) {
      ++at;
      continue;
    }
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) return {Big(b, at + 7, 2), Big(b, at + 5, 2), false};
    if (marker == 0xd8 || marker == 0x01) {
      at += 2;
    } else {
      at += 2 + static_cast<size_t>(Big(b, at + 2, 2));
    }
  }
  return {};
}

// RIFF....WEBP with a VP8X, VP8L or VP8 chunk.
StillHeader WebpHeader(std::span<const uint8_t> b) {
  if (b.size() < 30) return {};
  if (Has(b, 12, "VP8X")) return {Little(b, 24, 3) + 1, Little(b, 27, 3) + 1, (b[20] & 2) != 0};
  if (Has(b, 12, "VP8L")) {
    const int64_t bits = Little(b, 21, 4);
    return {(bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1, false};
  }
  if (Has(b, 12, "VP8 ")) return {Little(b, 26, 2) & 0x3fff, Little(b, 28, 2) & 0x3fff, false};
  return {};
}

bool EndsWith(std::string_view path, std::string_view extension) {
  if (path.size() < extension.size()) return false;
  return std::equal(extension.begin(), extension.end(), path.end() - static_cast<std::ptrdiff_t>(extension.size()),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

Status SystemError(const std::string& path, const char* what) {
  const int error = errno;
  return IoError(path + ": " + what + ": " + std::generic_category().message(error)).About(path, ReasonOfErrno(error));
}

}  // namespace

StillHeader ReadStillHeader(std::span<const uint8_t> b) {
  if (b.size() >= 24 && Has(b, 0, "\x89PNG\r\n\x1a\n") && Has(b, 12, "IHDR"))
    return {Big(b, 16, 4), Big(b, 20, 4), false};
  if (b.size() >= 10 && (Has(b, 0, "GIF87a") || Has(b, 0, "GIF89a"))) return {Little(b, 6, 2), Little(b, 8, 2), false};
  if (b.size() >= 26 && Has(b, 0, "BM") && Little(b, 14, 4) >= 40) {
    const auto height = static_cast<int32_t>(Little(b, 22, 4));  // negative: rows from the top
    return {Little(b, 18, 4), height < 0 ? -static_cast<int64_t>(height) : height, false};
  }
  if (Has(b, 0, "RIFF") && Has(b, 8, "WEBP")) return WebpHeader(b);
  if (b.size() >= 4 && b[0] == 0xff && b[1] == 0xd8 && b[2] == 0xff) return JpegHeader(b);
  return {};
}

Result<std::vector<uint8_t>> EncodePicture(const Picture& picture, PictureFormat format, int jpeg_quality) {
  if (picture.width < 1 || picture.height < 1) return InvalidArgument("an empty picture cannot be encoded");
  const bool png = format == PictureFormat::kPng;
  try {
    const cv::Mat rgb(picture.height, picture.width, CV_8UC3, const_cast<uint8_t*>(picture.rgb.data()));
    cv::Mat bgr;
    cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
    std::vector<uint8_t> bytes;
    const std::vector<int> options =
        png ? std::vector<int>{} : std::vector<int>{cv::IMWRITE_JPEG_QUALITY, std::clamp(jpeg_quality, 1, 100)};
    if (!cv::imencode(png ? ".png" : ".jpg", bgr, bytes, options)) {
      return InternalError(std::string("a picture could not be encoded as ") + (png ? "PNG" : "JPEG"));
    }
    return bytes;
  } catch (const std::exception& e) {
    return ResourceError(std::string("a picture could not be encoded: ") + e.what());
  }
}

Result<Picture> DecodePicture(std::span<const uint8_t> bytes, int64_t max_pixels) {
  const bool png = Has(bytes, 0, "\x89PNG\r\n\x1a\n");
  const bool jpeg = bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
  if (!png && !jpeg) return Unsupported("neither a PNG nor a JPEG");
  const StillHeader header = ReadStillHeader(bytes);
  if (header.width < 1 || header.height < 1) return Damaged("a picture without a size in its header");
  if (header.width > max_pixels / header.height) {
    return ResourceError("a picture of " + std::to_string(header.width) + "x" + std::to_string(header.height) +
                         " is above the limit");
  }
  try {
    const cv::Mat raw(1, static_cast<int>(bytes.size()), CV_8UC1, const_cast<uint8_t*>(bytes.data()));
    const cv::Mat bgr = cv::imdecode(raw, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
    if (bgr.empty()) return Damaged("a picture that cannot be decoded");
    Picture picture;
    picture.width = bgr.cols;
    picture.height = bgr.rows;
    picture.rgb.resize(bgr.total() * 3);
    cv::Mat rgb(bgr.rows, bgr.cols, CV_8UC3, picture.rgb.data());
    cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
    return picture;
  } catch (const std::exception& e) {
    return Damaged(std::string("a picture that cannot be decoded: ") + e.what());
  }
}

Status WritePicture(const Picture& picture, const std::string& path, int jpeg_quality) {
  const bool png = EndsWith(path, ".png");
  if (!png && !EndsWith(path, ".jpg") && !EndsWith(path, ".jpeg")) {
    return InvalidArgument(path + ": pictures are written as .png or .jpg");
  }
  LV_ASSIGN_OR_RETURN(const auto bytes,
                      EncodePicture(picture, png ? PictureFormat::kPng : PictureFormat::kJpeg, jpeg_quality));
  LV_ASSIGN_OR_RETURN(const ReplaceTarget target, FindReplaceTarget(path));
  std::string temporary = (target.path.parent_path() / ".longview-picture-XXXXXX").string();
  const int fd = mkstemp(temporary.data());
  if (fd < 0) return SystemError(path, "cannot be written");
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = write(fd, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
  }
  Status status;
  if (done < bytes.size()) status = SystemError(path, "cannot be written");
  if (fchmod(fd, 0644) != 0 && status.ok()) status = SystemError(path, "cannot be written");
  if (close(fd) != 0 && status.ok()) status = SystemError(path, "cannot be written");
  if (status.ok()) return PutInPlace(temporary, target);
  unlink(temporary.c_str());
  return status;
}

}  // namespace longview
