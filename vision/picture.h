// Picture: one picture as a person would see it, with its time.
#ifndef LONGVIEW_VISION_PICTURE_H_
#define LONGVIEW_VISION_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace longview {

// RGB, 8 bits a channel, rows top to bottom without padding, upright, square pixels, BT.709/sRGB-like display values.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;          // height x width x 3
  double time_s = 0.0;               // from the start of the file's earliest stream
  std::optional<double> duration_s;  // how long it stays, where the file says so
  bool key = false;                  // decodes without any other picture

  bool empty() const { return rgb.empty(); }
  const uint8_t* Row(int y) const { return rgb.data() + static_cast<size_t>(y) * static_cast<size_t>(width) * 3; }
  uint8_t* Row(int y) { return rgb.data() + static_cast<size_t>(y) * static_cast<size_t>(width) * 3; }
};

}  // namespace longview

#endif  // LONGVIEW_VISION_PICTURE_H_
