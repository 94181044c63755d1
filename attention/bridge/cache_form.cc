// Forms against a bridge's sizes, and the expansion, pooling and cutting that fill them.
#include "attention/bridge/cache_form.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

size_t LatentOf(const BridgeConfig& config, const CacheForm& form) {
  return form.latent == 0 ? config.d_c : form.latent;
}

// [layers * groups * 2 * d_k, d_c]: for each layer and group the key's rows, then the value's; a group's are the means
// of its heads' rows of uk and uv. Projection is linear: the mean of heads' keys is the key of their mean projection.
std::vector<float> PooledProjections(const BridgeWeights& weights, size_t groups) {
  const BridgeConfig& c = weights.config;
  const size_t heads = c.heads / groups;
  const size_t block = c.d_k * c.d_c;  // numbers of one head's projection
  std::vector<float> pooled(weights.cross.size() * groups * 2 * block, 0.0f);
  float* to = pooled.data();
  for (const CrossLayerWeights& layer : weights.cross) {
    for (size_t g = 0; g < groups; ++g) {
      for (const std::vector<float>* from : {&layer.uk, &layer.uv}) {
        for (size_t h = g * heads; h < (g + 1) * heads; ++h) {
          Axpy(1.0f / static_cast<float>(heads), from->data() + h * block, block, to);
        }
        to += block;
      }
    }
  }
  return pooled;
}

}  // namespace

bool IsProjected(CacheMode mode) {
  return mode == CacheMode::kMha || mode == CacheMode::kGqa || mode == CacheMode::kMqa;
}

size_t FormGroups(const BridgeConfig& config, const CacheForm& form) {
  if (form.mode == CacheMode::kMha) return config.heads;
  if (form.mode == CacheMode::kMqa) return 1;
  return form.groups == 0 ? config.cache_shape().groups : form.groups;
}

Status CheckForm(const BridgeConfig& config, const CacheForm& form) {
  const auto is_cut = [&](size_t n) {
    return std::find(config.cuts.begin(), config.cuts.end(), n) != config.cuts.end();
  };
  const size_t latent = LatentOf(config, form);
  if (!is_cut(latent)) {
    return InvalidArgument("latents of " + std::to_string(latent) + " numbers are no size that this model has");
  }
  if (form.groups > 0 && config.heads % form.groups != 0) {
    return InvalidArgument(std::to_string(config.heads) + " heads cannot be parted into " +
                           std::to_string(form.groups) + " groups");
  }
  if (form.layer_cuts.empty()) return Status::Ok();
  if (form.layer_cuts.size() != config.cross_layers.size()) {
    return InvalidArgument(std::to_string(form.layer_cuts.size()) + " cuts for " +
                           std::to_string(config.cross_layers.size()) + " cross-attention layers");
  }
  for (const size_t cut : form.layer_cuts) {
    if (!is_cut(cut) || cut > latent) {
      return InvalidArgument("a layer cannot use " + std::to_string(cut) + " numbers of latents of " +
                             std::to_string(latent));
    }
  }
  return Status::Ok();
}

CacheShape FormShape(const BridgeConfig& config, const CacheForm& form) {
  CacheShape shape = config.cache_shape();
  shape.groups = FormGroups(config, form);
  shape.d_c = LatentOf(config, form);
  shape.layer_cuts = form.layer_cuts;
  return shape;
}

FrameCacheShape FormVectors(const BridgeConfig& config, const CacheForm& form) {
  FrameCacheShape shape;
  shape.d_r = config.d_r;
  shape.store = form.store;
  const size_t layers = config.cross_layers.size();
  if (IsProjected(form.mode)) {
    shape.vectors.assign(layers * FormGroups(config, form) * 2, config.d_k);
  } else if (form.mode == CacheMode::kMlaLayers) {
    shape.vectors = form.layer_cuts.empty() ? std::vector<size_t>(layers, LatentOf(config, form)) : form.layer_cuts;
  } else if (form.mode == CacheMode::kStates) {
    shape.vectors = {config.d_v};
    shape.factors = true;
  } else {
    shape.vectors = {LatentOf(config, form)};
  }
  return shape;
}

Result<CacheBuilder> CacheBuilder::Make(std::shared_ptr<const BridgeWeights> weights, const CacheForm& form) {
  LV_RETURN_IF_ERROR(CheckForm(weights->config, form));
  CacheBuilder builder;
  builder.form_ = form;
  builder.shape_ = FormVectors(weights->config, form);
  builder.latent_ = LatentOf(weights->config, form);
  if (IsProjected(form.mode)) builder.projections_ = PooledProjections(*weights, FormGroups(weights->config, form));
  builder.weights_ = std::move(weights);
  return builder;
}

// rows_ [tokens, vectors * d_k] = latents . projections^T, the pool's threads taking columns.
void CacheBuilder::Expand(const IndexedFrame& frame, ThreadPool* pool) {
  const size_t d_c = weights_->config.d_c;
  latents_.resize(frame.tokens * latent_);
  for (size_t t = 0; t < frame.tokens; ++t) {
    for (size_t j = 0; j < latent_; ++j) latents_[t * latent_ + j] = BF16ToFloat(frame.latents[t * frame.stride + j]);
  }
  const size_t width = projections_.size() / d_c;
  rows_.resize(frame.tokens * width);
  const auto columns = [&](size_t first, size_t last, int) {
    GemmNT(frame.tokens, last - first, latent_, latents_.data(), latent_, projections_.data() + first * d_c, d_c, 0.0f,
           rows_.data() + first, width);
  };
  if (pool == nullptr) {
    columns(0, width, 0);
  } else {
    pool->ParallelFor(width, columns);
  }
}

// cuts_ [tokens, sum of cuts]: the first numbers of the latent, once for each layer.
void CacheBuilder::CopyCuts(const IndexedFrame& frame) {
  cuts_.clear();
  for (size_t t = 0; t < frame.tokens; ++t) {
    const uint16_t* latent = frame.latents + t * frame.stride;
    for (const size_t cut : shape_.vectors) cuts_.insert(cuts_.end(), latent, latent + cut);
  }
}

Status CacheBuilder::Append(const IndexedFrame& frame, FrameCache* cache, ThreadPool* pool) {
  FrameRows rows;
  rows.time_s = frame.time_s;
  rows.end_s = frame.end_s;
  rows.tokens = frame.tokens;
  rows.numbers = form_.mode == CacheMode::kMla ? frame.numbers : 0;
  if (form_.mode != CacheMode::kStates && (frame.latents == nullptr || frame.stride < latent_)) {
    return InvalidArgument("latents of " + std::to_string(frame.stride) + " numbers are kept, " +
                           std::to_string(latent_) + " are needed");
  }
  if (form_.mode == CacheMode::kMla || form_.mode == CacheMode::kMlaLayers) {
    rows.type = CacheStore::kBF16;
    rows.vectors = frame.latents;
    rows.stride = frame.stride;
    rows.keys = frame.keys;
    if (form_.mode == CacheMode::kMlaLayers) {
      CopyCuts(frame);
      rows.vectors = cuts_.data();
      rows.stride = cuts_.size() / frame.tokens;
    }
    return cache->Append(rows);
  }
  const size_t key_numbers = frame.tokens * shape_.d_r;
  keys_.resize(key_numbers);
  std::transform(frame.keys, frame.keys + key_numbers, keys_.begin(), BF16ToFloat);
  rows.type = CacheStore::kF32;
  rows.keys = keys_.data();
  if (form_.mode == CacheMode::kStates) {
    if (frame.states == nullptr) return InvalidArgument("mode states needs the frame tokens themselves");
    factors_.resize(frame.tokens);
    weights_->compressor.NormFactors(frame.states, frame.tokens, factors_.data());
    rows.vectors = frame.states;
    rows.stride = shape_.vectors[0];
    rows.factors = factors_.data();
  } else {
    Expand(frame, pool);
    rows.vectors = rows_.data();
    rows.stride = rows_.size() / frame.tokens;
  }
  return cache->Append(rows);
}

}  // namespace longview
