// Rotary position embeddings in the half-split form: pairs (x[j], x[j + width/2]), j < width/2,
// (a, b) -> (a cos - b sin, a sin + b cos). Angles are taken in double, then rounded to float as cosine and sine.
#ifndef LONGVIEW_CORE_OPS_ROPE_H_
#define LONGVIEW_CORE_OPS_ROPE_H_

#include <cstddef>
#include <vector>

namespace longview {

// Angle of pair j at position p: p * base^(-2j / width) (RoFormer, arXiv 2104.09864, as in llama; width even).
std::vector<double> RopePositionFrequencies(size_t width, double base);

// Angle of pair j at t seconds: 2 pi t / wavelength_j, wavelength_j = min_s * (max_s / min_s)^(j / (width/2 - 1))
// seconds (one pair: min_s). width even.
std::vector<double> RopeTimeFrequencies(size_t width, double min_wavelength_s, double max_wavelength_s);

// Cosines and sines of frequencies * position into cos_out and sin_out (frequencies.size() floats each).
void RopeAngles(const std::vector<double>& frequencies, double position, float* cos_out, float* sin_out);

// Rotates `heads` vectors of `width` floats (`stride` apart, in place) by one row of angles (width / 2 each).
void RopeRotate(const float* cos_row, const float* sin_row, size_t heads, size_t width, float* x, size_t stride);

// Cosines and sines for positions 0, 1, ..., made once (for a decoder).
class RopeTable {
 public:
  RopeTable() = default;
  RopeTable(size_t width, double base, size_t positions);

  size_t positions() const { return positions_; }
  // width / 2 numbers; position < positions().
  const float* cos(size_t position) const { return cos_.data() + position * half_; }
  const float* sin(size_t position) const { return sin_.data() + position * half_; }
  // Rotates `heads` vectors at x in place.
  void Rotate(size_t position, size_t heads, float* x, size_t stride) const;

 private:
  size_t half_ = 0;
  size_t positions_ = 0;
  std::vector<float> cos_;
  std::vector<float> sin_;
};

}  // namespace longview

#endif  // LONGVIEW_CORE_OPS_ROPE_H_
