// The slow and obvious twin of the sweep.
#include "attention/kernels/cross_attn_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/mla/stored_number.h"

namespace longview {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

using internal::ReadNumber;

double DotDouble(const float* a, const float* b, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// The first d_c numbers of a stored vector, scaled; zeros where the run holds fewer.
void ReadVector(const CrossAttnParams& params, const CrossAttnRun& run, const void* from, const float* scales,
                size_t token, float* to) {
  const size_t held = std::min<size_t>(run.d_c, params.d_c);
  const float scale = scales == nullptr ? 1.0f : scales[token];
  for (size_t j = 0; j < held; ++j) to[j] = scale * ReadNumber(params.store, from, token * run.latent_stride + j);
  std::fill(to + held, to + params.d_c, 0.0f);
}

}  // namespace

void CrossAttnReadToken(const CrossAttnParams& params, const CrossAttnRun& run, size_t token, float* latent,
                        float* key) {
  ReadVector(params, run, run.latents, run.scales, token, latent);
  const CacheStore key_store = TimeKeyStore(params.store);
  for (size_t j = 0; j < params.d_r; ++j) key[j] = ReadNumber(key_store, run.keys, token * params.d_r + j);
}

void CrossAttnReference(const CrossAttnParams& params) {
  std::vector<float> latent(params.d_c), key(std::max<size_t>(params.d_r, 1));
  std::vector<double> mass(params.run_mass == nullptr ? 0 : params.run_count, 0.0);
  std::vector<double> scores;
  std::vector<double> out(params.d_c);
  for (size_t i = 0; i < params.queries; ++i) {
    scores.clear();
    double max = -kInf;
    for (size_t run = 0; run < params.run_count; ++run) {
      for (size_t t = 0; t < params.runs[run].tokens; ++t) {
        CrossAttnReadToken(params, params.runs[run], t, latent.data(), key.data());
        const double dot = DotDouble(params.q_c + i * params.d_c, latent.data(), params.d_c) +
                           (params.d_r > 0 ? DotDouble(params.q_r + i * params.d_r, key.data(), params.d_r) : 0.0);
        scores.push_back(dot * params.scale);
        max = std::max(max, scores.back());
      }
    }
    std::fill(out.begin(), out.end(), 0.0);
    double sum = 0.0;
    for (const double score : scores) sum += std::exp(score - max);
    const double lse = scores.empty() ? -kInf : max + std::log(sum);
    const double kept = scores.empty() ? 0.0 : CrossAttnKept(params, i, lse);
    size_t at = 0;
    for (size_t run = 0; run < params.run_count; ++run) {
      for (size_t t = 0; t < params.runs[run].tokens; ++t, ++at) {
        const double weight = std::exp(scores[at] - lse) * kept;
        const CrossAttnRun& from = params.runs[run];
        const bool apart = from.values != nullptr;
        ReadVector(params, from, apart ? from.values : from.latents, apart ? from.value_scales : from.scales, t,
                   latent.data());
        for (size_t j = 0; j < params.d_c; ++j) out[j] += weight * latent[j];
        if (!mass.empty()) mass[run] += weight / static_cast<double>(params.queries);
      }
    }
    std::transform(out.begin(), out.end(), params.out + i * params.d_c, [](double v) { return static_cast<float>(v); });
    params.lse[i] = static_cast<float>(lse);
  }
  std::transform(mass.begin(), mass.end(), params.run_mass, [](double v) { return static_cast<float>(v); });
}

}  // namespace longview
