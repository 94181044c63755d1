// What the launches that make pictures of a decoder's output are called with: plain data, the shape beside each
// pointer, all of it in the device's memory. Nothing is checked inside the kernels; GpuNet's users are the border.
#ifndef LONGVIEW_CORE_BACKEND_PICTURE_CALLS_H_
#define LONGVIEW_CORE_BACKEND_PICTURE_CALLS_H_

#include <cstddef>
#include <cstdint>

namespace longview {

// A decoded picture as it lies in the device's memory: NV12 or, deep, P010.
struct GpuSurface {
  const std::byte* luma = nullptr;    // [height, luma_pitch bytes]
  const std::byte* chroma = nullptr;  // [(height + 1) / 2, chroma_pitch bytes]: Cb and Cr side by side, one pair for
                                      // two samples each way, in their middle
  size_t luma_pitch = 0, chroma_pitch = 0;
  uint32_t width = 0, height = 0;
  bool deep = false;  // a sample is 16 bits, 256 of its steps are one of 8 bits; else 8 bits
};

// From a sample in steps of 8 bits to red, green and blue in 0..255, before they are clamped:
//   y = (Y - black) gain,  red = y + red_v (V - 128),  green = y + green_u (U - 128) + green_v (V - 128),
//   blue = y + blue_u (U - 128).
struct GpuColours {
  float black = 0.0f, gain = 1.0f;
  float red_v = 0.0f, green_u = 0.0f, green_v = 0.0f, blue_u = 0.0f;
};

// The whole picture stretched to size x size and normalised: what StretchPicture and PreprocessPicture (vision) make of
// it, in steps of 8 bits as they do.
struct GpuStretch {
  GpuSurface from;
  GpuColours colours;
  float* chw = nullptr;  // [3, size, size]: (red, green, blue / 255 - mean) / std
  uint32_t size = 0;
  float mean[3] = {}, std[3] = {};
};

// The whole picture shrunk to width x height (no larger than it is) by averaging over areas.
struct GpuShrink {
  GpuSurface from;
  GpuColours colours;
  uint8_t* rgb = nullptr;  // [height, width, 3]
  uint32_t width = 0, height = 0;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_BACKEND_PICTURE_CALLS_H_
