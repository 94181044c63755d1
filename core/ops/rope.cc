// Frequencies, angles and rotations of rotary position embeddings.
#include "core/ops/rope.h"

#include <cmath>
#include <numbers>

#include "core/base/check.h"

namespace longview {

std::vector<double> RopePositionFrequencies(size_t width, double base) {
  std::vector<double> frequencies(width / 2);
  for (size_t j = 0; j < frequencies.size(); ++j) {
    frequencies[j] = std::pow(base, -2.0 * static_cast<double>(j) / static_cast<double>(width));
  }
  return frequencies;
}

std::vector<double> RopeTimeFrequencies(size_t width, double min_wavelength_s, double max_wavelength_s) {
  std::vector<double> frequencies(width / 2);
  const double steps = static_cast<double>(frequencies.size()) - 1.0;
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const double part = steps > 0.0 ? static_cast<double>(j) / steps : 0.0;
    const double wavelength = min_wavelength_s * std::pow(max_wavelength_s / min_wavelength_s, part);
    frequencies[j] = 2.0 * std::numbers::pi / wavelength;
  }
  return frequencies;
}

void RopeAngles(const std::vector<double>& frequencies, double position, float* cos_out, float* sin_out) {
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const double angle = frequencies[j] * position;
    cos_out[j] = static_cast<float>(std::cos(angle));
    sin_out[j] = static_cast<float>(std::sin(angle));
  }
}

void RopeRotate(const float* cos_row, const float* sin_row, size_t heads, size_t width, float* x, size_t stride) {
  const size_t half = width / 2;
  for (size_t h = 0; h < heads; ++h) {
    float* a = x + h * stride;
    float* b = a + half;
    for (size_t j = 0; j < half; ++j) {
      const float first = a[j];
      const float second = b[j];
      a[j] = first * cos_row[j] - second * sin_row[j];
      b[j] = first * sin_row[j] + second * cos_row[j];
    }
  }
}

RopeTable::RopeTable(size_t width, double base, size_t positions)
    : half_(width / 2), positions_(positions), cos_(positions * half_), sin_(positions * half_) {
  const std::vector<double> frequencies = RopePositionFrequencies(width, base);
  for (size_t p = 0; p < positions; ++p) {
    RopeAngles(frequencies, static_cast<double>(p), cos_.data() + p * half_, sin_.data() + p * half_);
  }
}

void RopeTable::Rotate(size_t position, size_t heads, float* x, size_t stride) const {
  LV_CHECK_LT(position, positions_);
  RopeRotate(cos(position), sin(position), heads, 2 * half_, x, stride);
}

}  // namespace longview
