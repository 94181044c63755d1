// ToneMapRow: two tables (signal to light, light to display) around a matrix and a curve.
#include "vision/av/tone_map.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace longview::av {
namespace {

constexpr double kReferenceWhite = 203.0;  // cd/m2, ITU-R BT.2408
constexpr double kPeak = 1000.0 / kReferenceWhite;
constexpr size_t kCodes = 65536;

// SMPTE ST 2084: signal 0..1 to light in units of reference white.
double PqLight(double v) {
  constexpr double m1 = 2610.0 / 16384, m2 = 2523.0 / 4096 * 128;
  constexpr double c1 = 3424.0 / 4096, c2 = 2413.0 / 4096 * 32, c3 = 2392.0 / 4096 * 32;
  const double p = std::pow(v, 1.0 / m2);
  return 10000.0 * std::pow(std::max(p - c1, 0.0) / (c2 - c3 * p), 1.0 / m1) / kReferenceWhite;
}

// ARIB STD-B67 inverse OETF: signal 0..1 to scene light 0..1.
double HlgScene(double v) {
  constexpr double a = 0.17883277, b = 1.0 - 4.0 * a;
  const double c = 0.5 - a * std::log(4.0 * a);
  return v <= 0.5 ? v * v / 3.0 : (std::exp((v - c) / a) + b) / 12.0;
}

std::vector<float> LightTable(HdrTransfer transfer) {
  std::vector<float> table(kCodes);
  for (size_t i = 0; i < kCodes; ++i) {
    const double v = static_cast<double>(i) / (kCodes - 1);
    table[i] = static_cast<float>(transfer == HdrTransfer::kPq ? PqLight(v) : HlgScene(v));
  }
  return table;
}

// Light 0..1 to an 8-bit sRGB code.
std::vector<uint8_t> DisplayTable() {
  std::vector<uint8_t> table(kCodes);
  for (size_t i = 0; i < kCodes; ++i) {
    const double l = static_cast<double>(i) / (kCodes - 1);
    const double v = l <= 0.0031308 ? 12.92 * l : 1.055 * std::pow(l, 1.0 / 2.4) - 0.055;
    table[i] = static_cast<uint8_t>(std::lround(255.0 * v));
  }
  return table;
}

// The factor that takes a light of `x` to its place under the curve: identity below the knee, kPeak to 1.
float MobiusGain(float x) {
  constexpr double j = 0.3;
  constexpr double a = -j * j * (kPeak - 1.0) / (j * j - 2.0 * j + kPeak);
  constexpr double b = (j * j - 2.0 * j * kPeak + kPeak) / (kPeak - 1.0);
  constexpr double scale = (b * b + 2.0 * b * j + j * j) / (b - a);
  if (x <= static_cast<float>(j)) return 1.0f;
  return static_cast<float>(scale) * (x + static_cast<float>(a)) / ((x + static_cast<float>(b)) * x);
}

struct Light {
  float r, g, b;
};

// ITU-R BT.2087: BT.2020 to BT.709 primaries, linear light.
Light ToBt709(Light c) {
  return {1.6605f * c.r - 0.5877f * c.g - 0.0728f * c.b, -0.1246f * c.r + 1.1330f * c.g - 0.0084f * c.b,
          -0.0182f * c.r - 0.1006f * c.g + 1.1187f * c.b};
}

}  // namespace

void ToneMapRow(const uint16_t* rgb16, uint8_t* rgb8, size_t pixels, HdrTransfer transfer) {
  static const std::vector<float> pq = LightTable(HdrTransfer::kPq);
  static const std::vector<float> hlg = LightTable(HdrTransfer::kHlg);
  static const std::vector<uint8_t> display = DisplayTable();
  const std::vector<float>& light = transfer == HdrTransfer::kPq ? pq : hlg;
  const auto code = [](float v) {
    return display[static_cast<size_t>(std::clamp(v, 0.0f, 1.0f) * static_cast<float>(kCodes - 1) + 0.5f)];
  };
  for (size_t i = 0; i < pixels; ++i) {
    Light c = {light[rgb16[3 * i]], light[rgb16[3 * i + 1]], light[rgb16[3 * i + 2]]};
    if (transfer == HdrTransfer::kHlg) {
      // BT.2100 OOTF for a 1,000 cd/m2 display.
      const float y = 0.2627f * c.r + 0.6780f * c.g + 0.0593f * c.b;
      const float gain = static_cast<float>(kPeak) * std::pow(std::max(y, 1e-6f), 0.2f);
      c = {c.r * gain, c.g * gain, c.b * gain};
    }
    c = ToBt709(c);
    const float gain = MobiusGain(std::max({c.r, c.g, c.b}));
    rgb8[3 * i] = code(c.r * gain);
    rgb8[3 * i + 1] = code(c.g * gain);
    rgb8[3 * i + 2] = code(c.b * gain);
  }
}

}  // namespace longview::av
