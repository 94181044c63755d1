// Down-projection and norm of the latents; turning of the time keys, with angles in double.
#include "attention/mla/compressor.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"
#include "core/ops/rope.h"

namespace longview {
namespace {

// Of the latents' norm (torch.nn.functional.rms_norm in training).
constexpr float kNormEpsilon = 1e-6f;

}  // namespace

Result<TimeRope> TimeRope::Make(size_t d_r, double min_wavelength_s, double max_wavelength_s) {
  TimeRope rope;
  if (d_r == 0) return rope;
  if (d_r % 2 != 0 || d_r < 4 || d_r > 1024) {
    return InvalidArgument("a time key of " + std::to_string(d_r) +
                           " numbers cannot be: an even number from 4 to 1024 is needed");
  }
  if (!std::isfinite(min_wavelength_s) || !std::isfinite(max_wavelength_s) || min_wavelength_s <= 0.0 ||
      max_wavelength_s <= min_wavelength_s) {
    return InvalidArgument("the wavelengths of time keys must be positive and ascending, not " +
                           std::to_string(min_wavelength_s) + " to " + std::to_string(max_wavelength_s) + " s");
  }
  rope.frequencies_ = RopeTimeFrequencies(d_r, min_wavelength_s, max_wavelength_s);
  return rope;
}

void TimeRope::Apply(double t_s, float* x, size_t rows, size_t stride) const {
  if (frequencies_.empty()) return;
  std::vector<float> cosines(frequencies_.size()), sines(frequencies_.size());
  RopeAngles(frequencies_, t_s, cosines.data(), sines.data());
  RopeRotate(cosines.data(), sines.data(), rows, d_r(), x, stride);
}

Result<Compressor> Compressor::Make(const TensorView& down, std::vector<float> norm, const TensorView& time_key,
                                    TimeRope rope, WeightStore store) {
  if (down.shape.size() != 2 || time_key.shape.size() != 2 || down.shape[0] != norm.size() ||
      time_key.shape[0] != rope.d_r() || time_key.shape[1] != down.shape[1]) {
    return InvalidArgument("the compressor's weights do not fit: down " + down.ShapeText() + ", norm [" +
                           std::to_string(norm.size()) + "], time_key " + time_key.ShapeText() + " for d_r " +
                           std::to_string(rope.d_r()));
  }
  Compressor made;
  LV_ASSIGN_OR_RETURN(made.down_, Linear::Make(down, {}, store));
  LV_ASSIGN_OR_RETURN(made.time_key_, Linear::Make(time_key, {}, store));
  made.norm_ = std::move(norm);
  made.rope_ = std::move(rope);
  made.scaled_down_.resize(made.d_c() * made.d_v());
  for (size_t i = 0; i < made.d_c(); ++i) {
    float* row = made.scaled_down_.data() + i * made.d_v();
    made.down_.CopyRow(i, row);
    for (size_t j = 0; j < made.d_v(); ++j) row[j] *= made.norm_[i];
  }
  return made;
}

size_t Compressor::bytes() const {
  return down_.bytes() + time_key_.bytes() + (norm_.size() + scaled_down_.size()) * sizeof(float);
}

void Compressor::NormFactors(const float* x, size_t tokens, float* factors) const {
  std::vector<float> latents(tokens * d_c());
  down_.Forward(x, d_v(), tokens, latents.data(), d_c(), nullptr);
  for (size_t t = 0; t < tokens; ++t) {
    const float* row = latents.data() + t * d_c();
    factors[t] = 1.0f / std::sqrt(Dot(row, row, d_c()) / static_cast<float>(d_c()) + kNormEpsilon);
  }
}

void Compressor::ToStates(const float* q, size_t rows, float* states) const {
  GemmNN(rows, d_v(), d_c(), q, d_c(), scaled_down_.data(), d_v(), 0.0f, states, d_v());
}

void Compressor::FromStates(const float* states, size_t rows, float* latents) const {
  GemmNT(rows, d_c(), d_v(), states, d_v(), scaled_down_.data(), d_v(), 0.0f, latents, d_c());
}

void Compressor::Compress(const float* x, size_t tokens, double t_s, float* latents, float* keys,
                          ThreadPool* pool) const {
  if (tokens == 0) return;
  down_.Forward(x, d_v(), tokens, latents, d_c(), pool);
  RmsNorm(latents, d_c(), norm_.data(), kNormEpsilon, tokens, d_c(), latents, d_c());
  time_key_.Forward(x, d_v(), tokens, keys, d_r(), pool);
  rope_.Apply(t_s, keys, tokens, d_r());
}

}  // namespace longview
