// Compressor: frame tokens to latents and time keys (design §2): C = rmsnorm(X W_dkv) * weight, R = rope(X W_kr, t).
#ifndef LONGVIEW_ATTENTION_MLA_COMPRESSOR_H_
#define LONGVIEW_ATTENTION_MLA_COMPRESSOR_H_

#include <cstddef>
#include <vector>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/ops/linear.h"
#include "core/tensor/tensor.h"

namespace longview {

// The angles of decoupled time keys: d_r / 2 wavelengths in geometric steps. Immutable, thread-safe.
class TimeRope {
 public:
  TimeRope() = default;
  // kInvalidArgument unless d_r is even and 4..1024 (0: no time keys) and 0 < min < max, both finite.
  static Result<TimeRope> Make(size_t d_r, double min_wavelength_s, double max_wavelength_s);

  size_t d_r() const { return frequencies_.size() * 2; }

  // Turns `rows` vectors x [rows, stride] in place by the angles of time `t_s` (seconds; angles in double): the pair
  // (a, b) = (x[j], x[j + d_r / 2]) becomes (a cos - b sin, a sin + b cos), angle = 2 pi t / wavelength_j, wavelength_j
  // = min * (max / min)^(j / (d_r / 2 - 1)).
  void Apply(double t_s, float* x, size_t rows, size_t stride) const;

 private:
  std::vector<double> frequencies_;  // 2 pi / wavelength
};

// Immutable after Make; thread-safe.
class Compressor {
 public:
  Compressor() = default;
  // `down` [d_c, d_v], `norm` [d_c], `time_key` [d_r, d_v]. Shapes are checked; kInvalidArgument says which is off.
  static Result<Compressor> Make(const TensorView& down, std::vector<float> norm, const TensorView& time_key,
                                 TimeRope rope, WeightStore store);

  size_t d_v() const { return down_.in(); }
  size_t d_c() const { return down_.out(); }
  size_t d_r() const { return rope_.d_r(); }
  size_t bytes() const;

  // The weights, for a device.
  const Linear& down() const { return down_; }
  const Linear& time_key() const { return time_key_; }
  const std::vector<float>& norm() const { return norm_; }

  // The tokens x [tokens, d_v] of one frame at `t_s` -> latents [tokens, d_c] (normed over all d_c: a cut takes the
  // first numbers of them) and keys [tokens, d_r]. Dense, row-major.
  void Compress(const float* x, size_t tokens, double t_s, float* latents, float* keys, ThreadPool* pool) const;

  // What the norm multiplies with, apart from its weights: latents = norm o (x W_dkv) * factor, row by row.
  void NormFactors(const float* x, size_t tokens, float* factors) const;
  // Absorption of the compression itself, for a cache of frame tokens: q . latent = ToStates(q) . x * factor, and
  // FromStates(sum of p * factor * x) = sum of p * latent. q, latents [rows, d_c]; states [rows, d_v]; dense.
  void ToStates(const float* q, size_t rows, float* states) const;
  void FromStates(const float* states, size_t rows, float* latents) const;

 private:
  Linear down_;
  Linear time_key_;
  std::vector<float> norm_;
  std::vector<float> scaled_down_;  // [d_c, d_v]: W_dkv's rows times the norm's weights
  TimeRope rope_;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_MLA_COMPRESSOR_H_
