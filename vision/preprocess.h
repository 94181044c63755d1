// From a shown picture to what the ViT reads: stretched to a square, normalised, channels first.
#ifndef LONGVIEW_VISION_PREPROCESS_H_
#define LONGVIEW_VISION_PREPROCESS_H_

#include <array>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "vision/picture.h"

namespace longview {

// Sizes and constants come from the model's config; these are the defaults of longview-s (ImageNet statistics).
struct PreprocessSpec {
  int size = 224;
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};
  std::array<float, 3> std = {0.229f, 0.224f, 0.225f};
};

// The whole picture stretched to width x height, bicubic (OpenCV INTER_CUBIC, a = -0.75, no antialiasing: as in
// training), still 8-bit RGB; time and flags are kept. kInvalidArgument for an empty picture or a size < 1.
Result<Picture> StretchPicture(const Picture& picture, int width, int height);

// The width and height of a picture's thumbnail: its longer side is `long_side` (never enlarged), each side >= 1.
std::pair<int, int> ThumbnailSize(int width, int height, int long_side);

// A smaller copy whose longer side is `long_side` (area averaging), as ThumbnailSize says.
Result<Picture> Thumbnail(const Picture& picture, int long_side);

// [3, size, size] floats: (stretched / 255 - mean) / std, channel by channel.
Result<std::vector<float>> PreprocessPicture(const Picture& picture, const PreprocessSpec& spec);

}  // namespace longview

#endif  // LONGVIEW_VISION_PREPROCESS_H_
