// Pictures made of a decoder's output on a device against plain loops in double, on the device that this program is
// linked with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/backend/gpu_stream.h"
#include "tests/support/test_net.h"

namespace longview::test {
namespace {

using Memory = GpuStream::Memory;

// A picture at random with rows that are longer than it is wide; samples in steps of 8 bits.
struct Plane {
  size_t width, height;
  std::vector<double> samples;  // [height, width]
  double At(int x, int y) const {
    const int column = std::clamp(x, 0, static_cast<int>(width) - 1),
              row = std::clamp(y, 0, static_cast<int>(height) - 1);
    return samples[static_cast<size_t>(row) * width + static_cast<size_t>(column)];
  }
};

struct Film {
  Plane y, u, v;
  GpuBuffer device;
  GpuSurface surface;
};

Film MakeFilm(const std::shared_ptr<GpuNet>& net, uint32_t width, uint32_t height, bool deep) {
  Film film;
  std::mt19937 random(width + height);
  const size_t half_width = (width + 1) / 2, half_height = (height + 1) / 2, sample = deep ? 2 : 1;
  const size_t pitch = (2 * half_width * sample + 63) / 64 * 64 + 64;
  film.y = {width, height, {}};
  film.u = film.v = {half_width, half_height, {}};
  std::vector<uint8_t> bytes(pitch * (height + half_height), 0xEE);
  const auto put = [&](size_t row, size_t column) {
    const uint32_t value = deep ? random() % 1024 : random() % 256;
    if (deep) {
      const auto stored = static_cast<uint16_t>(value << 6);
      std::memcpy(bytes.data() + row * pitch + column * 2, &stored, 2);
    } else {
      bytes[row * pitch + column] = static_cast<uint8_t>(value);
    }
    return deep ? value / 4.0 : value;
  };
  for (size_t row = 0; row < height; ++row) {
    for (size_t column = 0; column < width; ++column) film.y.samples.push_back(put(row, column));
  }
  for (size_t row = 0; row < half_height; ++row) {
    for (size_t column = 0; column < half_width; ++column) {
      film.u.samples.push_back(put(height + row, 2 * column));
      film.v.samples.push_back(put(height + row, 2 * column + 1));
    }
  }
  auto device = GpuBuffer::Make(net, Memory::kDevice, bytes.size());
  auto pinned = GpuBuffer::Make(net, Memory::kPinned, bytes.size());
  EXPECT_TRUE(device.ok() && pinned.ok());
  std::copy(bytes.begin(), bytes.end(), pinned->As<uint8_t>());
  EXPECT_TRUE(net->Upload(device->As<uint8_t>(), pinned->As<uint8_t>(), bytes.size()).ok() && net->Finish().ok());
  film.device = std::move(*device);
  film.surface = {
      film.device.As<std::byte>(), film.device.As<std::byte>(pitch * height), pitch, pitch, width, height, deep};
  return film;
}

constexpr GpuColours kBt709 = {16.0f, 255.0f / 219.0f, 1.7927f, -0.2132f, -0.5329f, 2.1124f};

double Step(double v) { return std::floor(std::clamp(v, 0.0, 255.0) + 0.5); }

std::vector<double> ToRgb(const GpuColours& c, double y, double u, double v) {
  const double light = (y - c.black) * c.gain;
  return {Step(light + c.red_v * (v - 128.0)), Step(light + c.green_u * (u - 128.0) + c.green_v * (v - 128.0)),
          Step(light + c.blue_u * (u - 128.0))};
}

// Keys' kernel as it is written in his paper.
double Keys(double distance, double a) {
  const double d = std::abs(distance);
  if (d < 1.0) return (a + 2.0) * d * d * d - (a + 3.0) * d * d + 1.0;
  return d < 2.0 ? a * d * d * d - 5.0 * a * d * d + 8.0 * a * d - 4.0 * a : 0.0;
}

// A plane's value between its samples.
template <class F>
double Between(double x, double y, double a, const F& at) {
  double sum = 0.0;
  const int left = static_cast<int>(std::floor(x)) - 1, top = static_cast<int>(std::floor(y)) - 1;
  for (int j = top; j < top + 4; ++j) {
    for (int i = left; i < left + 4; ++i) sum += Keys(x - i, a) * Keys(y - j, a) * at(i, j);
  }
  return sum;
}

// The picture in full size, [height, width] of three numbers.
std::vector<std::vector<double>> PixelsOf(const Film& film) {
  std::vector<std::vector<double>> pixels;
  for (int y = 0; y < static_cast<int>(film.y.height); ++y) {
    for (int x = 0; x < static_cast<int>(film.y.width); ++x) {
      const auto chroma = [&](const Plane& plane) {
        return Between((x + 0.5) / 2 - 0.5, (y + 0.5) / 2 - 0.5, -0.6, [&](int i, int j) { return plane.At(i, j); });
      };
      pixels.push_back(ToRgb(kBt709, film.y.At(x, y), chroma(film.u), chroma(film.v)));
    }
  }
  return pixels;
}

std::vector<float> StretchReference(const Film& film, const GpuStretch& call) {
  const int width = static_cast<int>(film.y.width), height = static_cast<int>(film.y.height);
  const std::vector<std::vector<double>> pixels = PixelsOf(film);
  const size_t size = call.size;
  std::vector<float> chw(3 * size * size);
  for (size_t i = 0; i < size * size; ++i) {
    const double x = (static_cast<double>(i % size) + 0.5) * width / static_cast<double>(size) - 0.5;
    const double y = (static_cast<double>(i / size) + 0.5) * height / static_cast<double>(size) - 0.5;
    for (size_t c = 0; c < 3; ++c) {
      const double v = Between(x, y, -0.75, [&](int column, int row) {
        return pixels[static_cast<size_t>(std::clamp(row, 0, height - 1) * width + std::clamp(column, 0, width - 1))]
                     [c];
      });
      chw[c * size * size + i] = static_cast<float>((Step(v) / 255.0 - call.mean[c]) / call.std[c]);
    }
  }
  return chw;
}

template <class T>
std::vector<T> Fetch(GpuNet& net, const std::shared_ptr<GpuNet>& owner, const GpuBuffer& from, size_t count) {
  auto pinned = GpuBuffer::Make(owner, Memory::kPinned, count * sizeof(T));
  EXPECT_TRUE(pinned.ok());
  EXPECT_TRUE(net.Download(pinned->template As<T>(), from.As<T>(), count * sizeof(T)).ok() && net.Finish().ok());
  return std::vector<T>(pinned->template As<T>(), pinned->template As<T>() + count);
}

void ExpectStretched(const std::shared_ptr<GpuNet>& net, uint32_t width, uint32_t height, bool deep, uint32_t size) {
  const Film film = MakeFilm(net, width, height, deep);
  const size_t numbers = 3 * size_t{size} * size;
  auto chw = GpuBuffer::Make(net, Memory::kDevice, numbers * sizeof(float));
  ASSERT_TRUE(chw.ok());
  const GpuStretch call{
      film.surface, kBt709, chw->As<float>(), size, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
  ASSERT_TRUE(net->StretchPicture(call).ok());
  const std::vector<float> got = Fetch<float>(*net, net, *chw, numbers), expected = StretchReference(film, call);
  size_t different = 0;
  for (size_t i = 0; i < numbers; ++i) {
    const float steps = std::abs(got[i] - expected[i]) * 255.0f * call.std[i / (numbers / 3)];
    ASSERT_LE(steps, 2.01f) << width << "x" << height << " at " << i;  // two roundings that fell the other way
    different += steps > 0.01f ? 1 : 0;
  }
  EXPECT_LE(different, numbers / 200 + 1) << width << "x" << height;
}

TEST_F(NetDevice, PicturesAreStretchedAsInDouble) {
  ExpectStretched(net_, 96, 54, false, 32);
  ExpectStretched(net_, 96, 54, true, 32);
  ExpectStretched(net_, 33, 17, false, 28);
  ExpectStretched(net_, 2, 2, false, 14);
  ExpectStretched(net_, 1, 3, true, 14);
}

void ExpectShrunk(const std::shared_ptr<GpuNet>& net, uint32_t width, uint32_t height, bool deep, uint32_t to_width,
                  uint32_t to_height) {
  const Film film = MakeFilm(net, width, height, deep);
  const size_t bytes = size_t{to_width} * to_height * 3;
  auto rgb = GpuBuffer::Make(net, Memory::kDevice, bytes);
  ASSERT_TRUE(rgb.ok());
  ASSERT_TRUE(net->ShrinkPicture({film.surface, kBt709, rgb->As<uint8_t>(), to_width, to_height}).ok());
  const std::vector<uint8_t> got = Fetch<uint8_t>(*net, net, *rgb, bytes);
  // What a sample at `i` adds to part `to` of `parts`.
  const auto share = [](size_t i, uint32_t to, uint32_t parts, uint32_t samples) {
    const double each = double{1} * samples / parts, at = static_cast<double>(i);
    return std::max(0.0, std::min(at + 1.0, each * (to + 1)) - std::max(at, each * to)) / each;
  };
  const std::vector<std::vector<double>> pixels = PixelsOf(film);
  for (size_t i = 0; i < bytes; ++i) {
    const auto column = static_cast<uint32_t>(i / 3 % to_width), row = static_cast<uint32_t>(i / 3 / to_width);
    double expected = 0.0;
    for (size_t at = 0; at < pixels.size(); ++at) {
      expected +=
          share(at % width, column, to_width, width) * share(at / width, row, to_height, height) * pixels[at][i % 3];
    }
    ASSERT_NEAR(got[i], expected, 0.51) << column << ", " << row << " channel " << i % 3;
  }
}

TEST_F(NetDevice, PicturesAreShrunkAsInDouble) {
  ExpectShrunk(net_, 96, 54, false, 16, 9);
  ExpectShrunk(net_, 96, 54, true, 37, 11);
  ExpectShrunk(net_, 33, 17, false, 33, 17);
  ExpectShrunk(net_, 3, 1, false, 1, 1);
}

}  // namespace
}  // namespace longview::test
