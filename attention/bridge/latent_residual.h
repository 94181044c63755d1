// LatentResidual: how much of a bridge's keys and values is lost where only the first numbers of a latent are kept,
// measured; and the choice of cuts that spends a given loss where it saves most. Behind `auto` latents and the cuts of
// mla_layers.
#ifndef LONGVIEW_ATTENTION_BRIDGE_LATENT_RESIDUAL_H_
#define LONGVIEW_ATTENTION_BRIDGE_LATENT_RESIDUAL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attention/bridge/bridge_weights.h"

namespace longview {

// The energy of a latent c is that of the keys and values made from it, |W_uk c|^2 + |W_uv c|^2 over all heads, each of
// a layer's two projections divided by its own size (squared Frobenius norm), so that layers and projections count
// alike. What a cut loses is the energy of what is beyond it: c with its first numbers set to zero. Immutable.
class LatentResidual {
 public:
  explicit LatentResidual(const BridgeWeights& weights);

  const std::vector<size_t>& cuts() const { return cuts_; }
  size_t layers() const { return grams_.size(); }

  // Of the tokens of one frame, bf16 [tokens, stride] with stride >= the largest cut: for each cut the share of the
  // energy of all layers that is lost, 0..: 0 at the largest.
  std::vector<double> FrameLoss(const uint16_t* latents, size_t tokens, size_t stride) const;
  // The same for each layer alone: [layer][cut].
  std::vector<std::vector<double>> LayerLoss(const uint16_t* latents, size_t tokens, size_t stride) const;

 private:
  std::vector<double> Loss(const std::vector<float>& gram, const std::vector<float>& latents, size_t tokens) const;
  std::vector<float> Widen(const uint16_t* latents, size_t tokens, size_t stride) const;

  size_t d_c_ = 0;
  std::vector<size_t> cuts_;
  std::vector<std::vector<float>> grams_;  // [layer][d_c, d_c]
  std::vector<float> sum_;                 // of all layers
};

// A cut for each item (a frame, a layer) such that together they lose no more than they would at the middle of the
// cuts (64 of 32, 64, 128), with as few numbers as a step-by-step choice finds: the cheapest loss for each number saved
// first. losses[item][cut]; cuts ascending. Never more numbers in all than with every item at the middle.
std::vector<size_t> ChooseCuts(const std::vector<std::vector<double>>& losses, const std::vector<size_t>& cuts);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_LATENT_RESIDUAL_H_
