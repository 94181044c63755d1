// The bodies of the kernels that make pictures of a decoder's output: stretched and normalised for the vision
// transformer, and shrunk for people. Written against simt.h: the same source runs on the device and, emulated, in the
// tests.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_PICTURE_KERNELS_H_
#define LONGVIEW_CORE_BACKEND_CUDA_PICTURE_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "core/backend/cuda/simt.h"
#include "core/backend/picture_calls.h"

namespace longview::LV_SIMT {

struct Rgb {
  float red, green, blue;
};

// Sample `x` of a row, in steps of 8 bits.
LV_DEVICE float SampleAt(const std::byte* row, int x, bool deep) {
  if (deep) return static_cast<float>(reinterpret_cast<const uint16_t*>(row)[x]) * (1.0f / 256.0f);
  return static_cast<float>(reinterpret_cast<const uint8_t*>(row)[x]);
}

LV_DEVICE int Between(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

// Clamped to 0..255 and rounded.
LV_DEVICE float ToStep(float v) {
  const float up = (v < 0.0f ? 0.0f : v > 255.0f ? 255.0f : v) + 0.5f;
  return static_cast<float>(static_cast<int>(up));
}

LV_DEVICE Rgb ToRgb(const GpuColours& c, float y, float u, float v) {
  y = (y - c.black) * c.gain;
  u -= 128.0f;
  v -= 128.0f;
  return {ToStep(y + c.red_v * v), ToStep(y + c.green_u * u + c.green_v * v), ToStep(y + c.blue_u * u)};
}

// Keys' cubic kernel for a place `t` behind the second of four samples; `a` is its slope at 1 (Keys 1981).
LV_DEVICE F4 CubicWeights(float t, float a) {
  const float s = 1.0f - t;
  F4 w;
  w.v[0] = ((a * (t + 1.0f) - 5.0f * a) * (t + 1.0f) + 8.0f * a) * (t + 1.0f) - 4.0f * a;
  w.v[1] = ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
  w.v[2] = ((a + 2.0f) * s - (a + 3.0f)) * s * s + 1.0f;
  w.v[3] = 1.0f - w.v[0] - w.v[1] - w.v[2];
  return w;
}

// The pixel (x, y) of a surface: chroma is brought to full size by the cubic kernel that the processor's scaler has.
LV_DEVICE Rgb PixelAt(const GpuSurface& s, const GpuColours& colours, int x, int y) {
  constexpr float kSlope = -0.6f;
  const int columns = static_cast<int>(s.width + 1) / 2, rows = static_cast<int>(s.height + 1) / 2;
  // The middle of pixel x lies at (x + 0.5) / 2 of the chroma row: a quarter behind one sample or before the next.
  const F4 across = CubicWeights(x % 2 == 0 ? 0.75f : 0.25f, kSlope);
  const F4 down = CubicWeights(y % 2 == 0 ? 0.75f : 0.25f, kSlope);
  float u = 0.0f, v = 0.0f;
  LV_UNROLL
  for (int j = 0; j < 4; ++j) {
    const int row = Between((y + 1) / 2 - 2 + j, 0, rows - 1);
    const std::byte* pairs = s.chroma + static_cast<size_t>(row) * s.chroma_pitch;
    LV_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int column = Between((x + 1) / 2 - 2 + i, 0, columns - 1);
      const float weight = down.v[j] * across.v[i];
      u += weight * SampleAt(pairs, 2 * column, s.deep);
      v += weight * SampleAt(pairs, 2 * column + 1, s.deep);
    }
  }
  return ToRgb(colours, SampleAt(s.luma + static_cast<size_t>(y) * s.luma_pitch, x, s.deep), u, v);
}

inline constexpr int kStretchThreads = 256;

// Pixels kStretchThreads * block.x and on of the square.
LV_DEVICE void StretchPixels(Block& block, const GpuStretch& call) {
  constexpr float kSlope = -0.75f;
  const GpuSurface& s = call.from;
  ForThreads<kStretchThreads>(block, [&](int thread) {
    const uint32_t at = block.x * kStretchThreads + thread, pixels = call.size * call.size;
    if (at >= pixels) return;
    const uint32_t to_row = at / call.size, to_column = at % call.size;
    const float size = static_cast<float>(call.size);
    const float x = (static_cast<float>(to_column) + 0.5f) * (static_cast<float>(s.width) / size) - 0.5f;
    const float y = (static_cast<float>(to_row) + 0.5f) * (static_cast<float>(s.height) / size) - 0.5f;
    // A place lies at -0.5 or later: one to the right, and truncation rounds down.
    const int left = static_cast<int>(x + 1.0f) - 1, top = static_cast<int>(y + 1.0f) - 1;
    const F4 across = CubicWeights(x - static_cast<float>(left), kSlope);
    const F4 down = CubicWeights(y - static_cast<float>(top), kSlope);
    float sums[3] = {0.0f, 0.0f, 0.0f};
    for (int j = 0; j < 4; ++j) {
      const int row = Between(top - 1 + j, 0, static_cast<int>(s.height) - 1);
      for (int i = 0; i < 4; ++i) {
        const int column = Between(left - 1 + i, 0, static_cast<int>(s.width) - 1);
        const Rgb pixel = PixelAt(s, call.colours, column, row);
        const float weight = down.v[j] * across.v[i];
        sums[0] += weight * pixel.red;
        sums[1] += weight * pixel.green;
        sums[2] += weight * pixel.blue;
      }
    }
    LV_UNROLL
    for (int c = 0; c < 3; ++c) {
      call.chw[static_cast<size_t>(c) * pixels + at] = (ToStep(sums[c]) / 255.0f - call.mean[c]) / call.std[c];
    }
  });
}

// A stretch of samples, the outer ones in part.
struct Stretch {
  float from, to;
  int first, count;

  LV_DEVICE float Share(int i) const {
    const float begin = static_cast<float>(first + i), end = begin + 1.0f;
    return (end < to ? end : to) - (begin > from ? begin : from);
  }
};

// What part `i` of `parts` covers of `samples`.
LV_DEVICE Stretch PartOf(uint32_t i, uint32_t parts, float samples) {
  const float each = samples / static_cast<float>(parts);
  Stretch s;
  s.from = each * static_cast<float>(i);
  s.to = i + 1 == parts ? samples : each * static_cast<float>(i + 1);
  s.first = static_cast<int>(s.from);
  s.count = static_cast<int>(s.to) - s.first;
  if (static_cast<float>(s.first + s.count) < s.to) ++s.count;
  return s;
}

// Pixels of one block: one a warp.
inline constexpr int kShrinkWarps = 8;

// Pixels kShrinkWarps * block.x and on of row block.y.
LV_DEVICE void ShrinkPixels(Block& block, const GpuShrink& call) {
  const GpuSurface& s = call.from;
  ForWarps<kShrinkWarps>(block, [&](int warp) {
    const uint32_t column = block.x * kShrinkWarps + warp;
    if (column >= call.width) return;
    const Stretch x = PartOf(column, call.width, static_cast<float>(s.width));
    const Stretch y = PartOf(block.y, call.height, static_cast<float>(s.height));
    PerLane<float> red, green, blue;
    ForLanes([&](int lane) {
      red[lane] = green[lane] = blue[lane] = 0.0f;
      for (int i = lane; i < x.count * y.count; i += 32) {
        const Rgb pixel = PixelAt(s, call.colours, x.first + i % x.count, y.first + i / x.count);
        const float share = x.Share(i % x.count) * y.Share(i / x.count);
        red[lane] += share * pixel.red;
        green[lane] += share * pixel.green;
        blue[lane] += share * pixel.blue;
      }
    });
    WarpSum(red);
    WarpSum(green);
    WarpSum(blue);
    ForLanes([&](int lane) {
      if (lane != 0) return;
      const float area = (x.to - x.from) * (y.to - y.from);
      uint8_t* to = call.rgb + (static_cast<size_t>(block.y) * call.width + column) * 3;
      to[0] = static_cast<uint8_t>(ToStep(red[lane] / area));
      to[1] = static_cast<uint8_t>(ToStep(green[lane] / area));
      to[2] = static_cast<uint8_t>(ToStep(blue[lane] / area));
    });
  });
}

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_PICTURE_KERNELS_H_
