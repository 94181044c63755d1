// Pictures to and from PNG and JPEG.
#ifndef LONGVIEW_VISION_PICTURE_IO_H_
#define LONGVIEW_VISION_PICTURE_IO_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "vision/picture.h"

namespace longview {

enum class PictureFormat { kPng, kJpeg };

// The picture as a file in memory. `jpeg_quality` 1..100. kInvalidArgument for an empty picture.
Result<std::vector<uint8_t>> EncodePicture(const Picture& picture, PictureFormat format, int jpeg_quality = 85);

// The reverse, as stored (an orientation tag is not applied; VideoReader does that for files). Refuses, before
// decoding, a header size above `max_pixels` (kResource) and what is neither PNG nor JPEG (kUnsupported); kDamaged
// where it does not decode.
Result<Picture> DecodePicture(std::span<const uint8_t> bytes, int64_t max_pixels = int64_t{8192} * 8192);

// Writes through a temporary name in the same folder and renames, so that a half-written picture never has the final
// name. The format follows the extension (.png, .jpg, .jpeg). kIo with the file's name where the system refuses.
Status WritePicture(const Picture& picture, const std::string& path, int jpeg_quality = 85);

// Width and height from the first bytes of a PNG, JPEG, GIF, BMP or WebP; zeros where it is none of these.
// `animated_webp` is set for a WebP that declares an animation.
struct StillHeader {
  int64_t width = 0;
  int64_t height = 0;
  bool animated_webp = false;
};
StillHeader ReadStillHeader(std::span<const uint8_t> bytes);

}  // namespace longview

#endif  // LONGVIEW_VISION_PICTURE_IO_H_
