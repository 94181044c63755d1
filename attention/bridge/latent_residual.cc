// Gram matrices of the projections, and a greedy choice of cuts.
#include "attention/bridge/latent_residual.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"
#include "core/tensor/dtype.h"

namespace longview {

LatentResidual::LatentResidual(const BridgeWeights& weights)
    : d_c_(weights.config.d_c), cuts_(weights.config.cuts), sum_(d_c_ * d_c_, 0.0f) {
  const size_t rows = weights.config.heads * weights.config.d_k;
  std::vector<float> turned(d_c_ * rows);
  for (const CrossLayerWeights& layer : weights.cross) {
    std::vector<float> gram(d_c_ * d_c_, 0.0f);
    for (const std::vector<float>* u : {&layer.uk, &layer.uv}) {
      const float energy = Dot(u->data(), u->data(), u->size());
      if (!(energy > 0.0f)) continue;
      for (size_t r = 0; r < rows; ++r) {
        for (size_t j = 0; j < d_c_; ++j) turned[j * rows + r] = (*u)[r * d_c_ + j] / energy;
      }
      GemmNN(d_c_, d_c_, rows, turned.data(), rows, u->data(), d_c_, 1.0f, gram.data(), d_c_);
    }
    Add(gram.data(), gram.size(), sum_.data());
    grams_.push_back(std::move(gram));
  }
}

std::vector<float> LatentResidual::Widen(const uint16_t* latents, size_t tokens, size_t stride) const {
  std::vector<float> rows(tokens * d_c_);
  for (size_t t = 0; t < tokens; ++t) {
    for (size_t j = 0; j < d_c_; ++j) rows[t * d_c_ + j] = BF16ToFloat(latents[t * stride + j]);
  }
  return rows;
}

std::vector<double> LatentResidual::Loss(const std::vector<float>& gram, const std::vector<float>& latents,
                                         size_t tokens) const {
  std::vector<float> turned(tokens * d_c_);
  // The energy of the numbers from `first` on.
  const auto energy = [&](size_t first) {
    const size_t width = d_c_ - first;
    double sum = 0.0;
    if (width == 0) return sum;
    GemmNN(tokens, width, width, latents.data() + first, d_c_, gram.data() + first * d_c_ + first, d_c_, 0.0f,
           turned.data(), width);
    for (size_t t = 0; t < tokens; ++t) {
      sum += static_cast<double>(Dot(latents.data() + t * d_c_ + first, turned.data() + t * width, width));
    }
    return std::max(sum, 0.0);
  };
  const double whole = energy(0);
  std::vector<double> losses;
  for (const size_t cut : cuts_) losses.push_back(whole > 0.0 ? energy(cut) / whole : 0.0);
  return losses;
}

std::vector<double> LatentResidual::FrameLoss(const uint16_t* latents, size_t tokens, size_t stride) const {
  return Loss(sum_, Widen(latents, tokens, stride), tokens);
}

std::vector<std::vector<double>> LatentResidual::LayerLoss(const uint16_t* latents, size_t tokens,
                                                           size_t stride) const {
  const std::vector<float> rows = Widen(latents, tokens, stride);
  std::vector<std::vector<double>> losses;
  for (const std::vector<float>& gram : grams_) losses.push_back(Loss(gram, rows, tokens));
  return losses;
}

std::vector<size_t> ChooseCuts(const std::vector<std::vector<double>>& losses, const std::vector<size_t>& cuts) {
  const size_t middle = cuts.size() / 2;
  double allowed = 0.0;
  for (const std::vector<double>& loss : losses) allowed += loss[middle];
  // Every item begins with all its numbers; steps down are taken in order of what they lose for each number saved.
  std::vector<size_t> at(losses.size(), cuts.size() - 1);
  struct Step {
    double price;
    size_t item;
    bool operator>(const Step& other) const { return std::pair(price, item) > std::pair(other.price, other.item); }
  };
  std::priority_queue<Step, std::vector<Step>, std::greater<>> steps;
  const auto offer = [&](size_t item) {
    const size_t cut = at[item];
    if (cut == 0) return;
    steps.push({(losses[item][cut - 1] - losses[item][cut]) / static_cast<double>(cuts[cut] - cuts[cut - 1]), item});
  };
  for (size_t i = 0; i < losses.size(); ++i) offer(i);
  double lost = 0.0;
  while (!steps.empty()) {
    const size_t item = steps.top().item, cut = at[item];
    steps.pop();
    const double more = losses[item][cut - 1] - losses[item][cut];
    if (lost + more > allowed) continue;
    lost += more;
    --at[item];
    offer(item);
  }
  size_t numbers = 0;
  std::vector<size_t> chosen;
  for (const size_t cut : at) {
    chosen.push_back(cuts[cut]);
    numbers += cuts[cut];
  }
  if (numbers > losses.size() * cuts[middle]) chosen.assign(losses.size(), cuts[middle]);
  return chosen;
}

}  // namespace longview
