// The fold of projections into each other, and stored numbers as floats.
#include "attention/bridge/cross_device.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "attention/mla/stored_number.h"
#include "core/ops/gemm.h"

namespace longview {
namespace {

std::vector<float> FloatsOf(const Linear& linear) {
  std::vector<float> floats(linear.out() * linear.in());
  for (size_t row = 0; row < linear.out(); ++row) linear.CopyRow(row, floats.data() + row * linear.in());
  return floats;
}

CrossBlockFloats Fold(const BridgeConfig& c, const CrossLayerWeights& w) {
  CrossBlockFloats floats;
  floats.norm = w.norm_weight;
  floats.mlp_norm = w.mlp_norm;
  floats.sink = w.sink;
  floats.up = FloatsOf(w.up);
  floats.up_bias = w.up.bias();
  floats.down = FloatsOf(w.down);
  const std::vector<float> q = FloatsOf(w.q), q_time = FloatsOf(w.q_time), o = FloatsOf(w.o);
  floats.q.resize(c.heads * c.d_c * c.width);
  floats.out.resize(c.width * c.heads * c.d_c);
  std::vector<float> turned(c.d_c * c.d_k);  // W_uk of a head, transposed
  for (size_t head = 0; head < c.heads; ++head) {
    const float* uk = w.uk.data() + head * c.d_k * c.d_c;
    for (size_t j = 0; j < c.d_k; ++j) {
      for (size_t i = 0; i < c.d_c; ++i) turned[i * c.d_k + j] = uk[j * c.d_c + i];
    }
    GemmNN(c.d_c, c.width, c.d_k, turned.data(), c.d_k, q.data() + head * c.d_k * c.width, c.width, 0.0f,
           floats.q.data() + head * c.d_c * c.width, c.width);
    GemmNN(c.width, c.d_c, c.d_k, o.data() + head * c.d_k, c.heads * c.d_k, w.uv.data() + head * c.d_k * c.d_c, c.d_c,
           0.0f, floats.out.data() + head * c.d_c, c.heads * c.d_c);
  }
  floats.q.insert(floats.q.end(), q_time.begin(), q_time.end());
  return floats;
}

}  // namespace

Result<std::shared_ptr<const GpuCrossBlocks>> MakeGpuCrossBlocks(const BridgeWeights& weights,
                                                                 std::shared_ptr<GpuNet> net) {
  std::vector<CrossBlockFloats> blocks;
  blocks.reserve(weights.cross.size());
  for (const CrossLayerWeights& layer : weights.cross) blocks.push_back(Fold(weights.config, layer));
  LV_ASSIGN_OR_RETURN(auto made, GpuCrossBlocks::Make(std::move(net), weights.config, blocks));
  return std::shared_ptr<const GpuCrossBlocks>(std::move(made));
}

Result<GpuLatents> CopyView(const GpuCrossBlocks& blocks, const CacheView& view, size_t d_c) {
  const CacheStore store = view.shape.store;
  const CacheStore key_store = store == CacheStore::kI8 ? CacheStore::kBF16 : store;
  const size_t d_r = view.shape.d_r;
  std::vector<float> latents, keys;
  latents.reserve(view.tokens * d_c);
  keys.reserve(view.tokens * d_r);
  for (const CrossAttnRun& run : view.Runs()) {
    for (size_t token = 0; token < run.tokens; ++token) {
      const float scale = run.scales == nullptr ? 1.0f : run.scales[token];
      for (size_t i = 0; i < d_c; ++i) {
        const bool kept = i < run.d_c;
        latents.push_back(kept ? scale * internal::ReadNumber(store, run.latents, token * run.latent_stride + i)
                               : 0.0f);
      }
      for (size_t i = 0; i < d_r; ++i) keys.push_back(internal::ReadNumber(key_store, run.keys, token * d_r + i));
    }
  }
  return blocks.Copy(latents, keys);
}

}  // namespace longview
