// Tone mapping and deinterlacing as pure functions.
#include "vision/av/tone_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "vision/av/deinterlace.h"

namespace longview::av {
namespace {

// SMPTE ST 2084, cd/m2 to a 16-bit code.
uint16_t Pq(double light) {
  const double y = std::pow(light / 10000.0, 2610.0 / 16384);
  const double v =
      std::pow((3424.0 / 4096 + 2413.0 / 4096 * 32 * y) / (1 + 2392.0 / 4096 * 32 * y), 2523.0 / 4096 * 128);
  return static_cast<uint16_t>(std::lround(65535.0 * v));
}

std::array<int, 3> Map(double r, double g, double b) {
  const uint16_t in[3] = {Pq(r), Pq(g), Pq(b)};
  uint8_t out[3] = {};
  ToneMapRow(in, out, 1, HdrTransfer::kPq);
  return {out[0], out[1], out[2]};
}

TEST(ToneMap, GreysStayGreyRiseAndKeepTheirPlaces) {
  EXPECT_EQ(Map(0, 0, 0), (std::array<int, 3>{0, 0, 0}));
  int last = -1;
  for (const double light : {0.1, 1.0, 5.0, 20.0, 60.0, 100.0, 203.0, 400.0, 700.0, 1000.0}) {
    const auto p = Map(light, light, light);
    EXPECT_LE(*std::max_element(p.begin(), p.end()) - *std::min_element(p.begin(), p.end()), 1);
    EXPECT_GT(p[1], last) << light;
    last = p[1];
  }
  EXPECT_EQ(Map(1000, 1000, 1000)[1], 255);
  EXPECT_EQ(Map(9000, 9000, 9000)[1], 255);
  // Below the knee light is only scaled: 20.3 cd/m2 is a tenth of reference white, sRGB 0.1 -> 89.
  EXPECT_NEAR(Map(20.3, 20.3, 20.3)[1], 89, 1);
  EXPECT_NEAR(Map(203, 203, 203)[1], 215, 4);
}

TEST(ToneMap, ABt709RedInsideBt2020IsRedAgain) {
  const auto p = Map(203 * 0.6274, 203 * 0.0691, 203 * 0.0164);
  EXPECT_GT(p[0], 200);
  EXPECT_LE(p[1], 10);
  EXPECT_LE(p[2], 10);
}

TEST(ToneMap, HlgReferenceWhiteIsWhereThatOfPqIs) {
  const auto code = static_cast<uint16_t>(std::lround(0.75 * 65535));  // BT.2408: 75 % HLG is 203 cd/m2
  const uint16_t in[6] = {code, code, code, 0, 0, 0};
  uint8_t out[6] = {};
  ToneMapRow(in, out, 2, HdrTransfer::kHlg);
  EXPECT_NEAR(out[1], Map(203, 203, 203)[1], 3);
  EXPECT_EQ(out[4], 0);
}

TEST(Deinterlace, OneFieldFillsTheFrame) {
  for (const bool top : {true, false}) {
    std::vector<uint8_t> plane(16 * 9);
    for (int y = 0; y < 9; ++y) {
      for (int x = 0; x < 16; ++x) plane[static_cast<size_t>(y * 16 + x)] = (y % 2 == 0) == top ? 100 : 7;
    }
    KeepField(plane.data(), 16, 15, 9, 1, 255, top);
    for (int y = 0; y < 9; ++y) {
      for (int x = 0; x < 15; ++x) EXPECT_EQ(plane[static_cast<size_t>(y * 16 + x)], 100) << y;
      EXPECT_EQ(plane[static_cast<size_t>(y * 16 + 15)], (y % 2 == 0) == top ? 100 : 7) << "padding is not touched";
    }
  }
}

TEST(Deinterlace, ASlopeStaysASlopeAndSixteenBitsAreRead) {
  std::vector<uint16_t> plane(2 * 12);
  for (int y = 0; y < 12; ++y) plane[static_cast<size_t>(2 * y)] = static_cast<uint16_t>(y % 2 == 0 ? 60 * y : 1023);
  KeepField(reinterpret_cast<uint8_t*>(plane.data()), 4, 1, 12, 2, 1023, true);
  for (int y = 3; y < 8; ++y) EXPECT_NEAR(plane[static_cast<size_t>(2 * y)], 60 * y, 1) << y;
  uint8_t one[4] = {1, 2, 3, 4};
  KeepField(one, 4, 4, 1, 1, 255, true);
  EXPECT_EQ(one[0], 1);
}

}  // namespace
}  // namespace longview::av
