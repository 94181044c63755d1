// Short forms for the tests that read the inputs of tests/cases.
#ifndef LONGVIEW_TESTS_VISION_VIDEO_TEST_UTIL_H_
#define LONGVIEW_TESTS_VISION_VIDEO_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/tiny_video.h"
#include "vision/av/video_reader.h"

namespace longview::test {

// The open reader of an input; fails the test and gives null where it does not open.
inline std::unique_ptr<VideoReader> OpenCase(const std::string& name, const ReaderOptions& options = {}) {
  Result<std::unique_ptr<VideoReader>> reader = VideoReader::Open(Case(name), options, {});
  if (!reader.ok()) {
    ADD_FAILURE() << reader.status().message();
    return nullptr;
  }
  return std::move(reader).value();
}

// Why an input does not open.
inline Status OpenFailure(const std::string& path) {
  Result<std::unique_ptr<VideoReader>> reader = VideoReader::Open(path, {}, {});
  return reader.ok() ? Status() : reader.status();
}

inline int Number(const Picture& p, int bits = 8) { return ReadBlocks(p.rgb.data(), p.width, p.height, bits); }

// The colour at a place given in shares of width and height.
inline const uint8_t* At(const Picture& p, double x, double y) {
  return p.Row(static_cast<int>(y * p.height)) + ptrdiff_t{3} * static_cast<int>(x * p.width);
}
inline std::string Colour(const Picture& p, double x = 0.5, double y = 0.75) { return ColourName(At(p, x, y)); }

// The number of the picture at a time; -1 (and a failure) where there is none.
inline int NumberAt(VideoReader& reader, double time_s, int bits = 8) {
  Result<Picture> picture = reader.PictureAt(time_s);
  if (!picture.ok()) {
    ADD_FAILURE() << picture.status().message();
    return -1;
  }
  return Number(*picture, bits);
}

// All the pictures from here on.
inline std::vector<Picture> ReadAll(VideoReader& reader) {
  std::vector<Picture> pictures;
  while (true) {
    Result<std::optional<Picture>> next = reader.Next();
    if (!next.ok()) ADD_FAILURE() << next.status().message();
    if (!next.ok() || !next->has_value()) return pictures;
    pictures.push_back(std::move(**next));
  }
}

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_VISION_VIDEO_TEST_UTIL_H_
