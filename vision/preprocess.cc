// Resizing by OpenCV and normalisation.
#include "vision/preprocess.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <string>

namespace longview {
namespace {

Result<Picture> Resize(const Picture& picture, int width, int height, int interpolation) {
  const auto expected = static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3;
  if (picture.width < 1 || picture.height < 1 || picture.rgb.size() != expected) {
    return InvalidArgument("an empty picture cannot be resized");
  }
  if (width < 1 || height < 1) {
    return InvalidArgument("a picture cannot be resized to " + std::to_string(width) + "x" + std::to_string(height));
  }
  Picture out;
  out.width = width;
  out.height = height;
  out.time_s = picture.time_s;
  out.duration_s = picture.duration_s;
  out.key = picture.key;
  if (width == picture.width && height == picture.height) {
    out.rgb = picture.rgb;
    return out;
  }
  try {
    out.rgb.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
    const cv::Mat from(picture.height, picture.width, CV_8UC3, const_cast<uint8_t*>(picture.rgb.data()));
    cv::Mat to(height, width, CV_8UC3, out.rgb.data());
    cv::resize(from, to, to.size(), 0, 0, interpolation);
  } catch (const std::exception& e) {
    return ResourceError(std::string("a picture could not be resized: ") + e.what());
  }
  return out;
}

}  // namespace

Result<Picture> StretchPicture(const Picture& picture, int width, int height) {
  return Resize(picture, width, height, cv::INTER_CUBIC);
}

std::pair<int, int> ThumbnailSize(int width, int height, int long_side) {
  const double scale = std::min(1.0, static_cast<double>(long_side) / std::max({width, height, 1}));
  const auto side = [scale](int v) { return std::max(1, static_cast<int>(std::lround(v * scale))); };
  return {side(width), side(height)};
}

Result<Picture> Thumbnail(const Picture& picture, int long_side) {
  if (long_side < 1) return InvalidArgument("a thumbnail needs a size of at least 1");
  const auto [width, height] = ThumbnailSize(picture.width, picture.height, long_side);
  return Resize(picture, width, height, cv::INTER_AREA);
}

Result<std::vector<float>> PreprocessPicture(const Picture& picture, const PreprocessSpec& spec) {
  LV_ASSIGN_OR_RETURN(const Picture square, StretchPicture(picture, spec.size, spec.size));
  const auto pixels = static_cast<size_t>(spec.size) * static_cast<size_t>(spec.size);
  std::vector<float> chw(3 * pixels);
  for (size_t c = 0; c < 3; ++c) {
    // In the order of the training code: divide, subtract, divide, each rounded to float.
    std::array<float, 256> table;
    for (size_t v = 0; v < table.size(); ++v) {
      table[v] = (static_cast<float>(v) / 255.0f - spec.mean[c]) / spec.std[c];
    }
    float* plane = chw.data() + c * pixels;
    for (size_t i = 0; i < pixels; ++i) plane[i] = table[square.rgb[3 * i + c]];
  }
  return chw;
}

}  // namespace longview
