// The cross blocks' forward pass: absorption of the projections, the sweep over the latents, and evidence.
#include "attention/bridge/cross_blocks.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attention/bridge/retrieval_head.h"
#include "attention/kernels/cross_attn_ref.h"
#include "core/ops/elementwise.h"

namespace longview {
namespace {

constexpr float kNormEpsilon = 1e-5f;      // of the blocks' norms
constexpr float kTextNormEpsilon = 1e-6f;  // keeps a hidden state of zeros from dividing by zero

Status CheckCuts(const BridgeConfig& config, const CacheView& view, const std::vector<size_t>& layer_cuts) {
  const auto is_cut = [&](size_t n) {
    return std::find(config.cuts.begin(), config.cuts.end(), n) != config.cuts.end();
  };
  if (view.d_r != config.d_r || !is_cut(view.d_c)) {
    return InvalidArgument("a cache of " + std::to_string(view.d_c) + " + " + std::to_string(view.d_r) +
                           " numbers a token does not fit the bridge, whose latents have " +
                           std::to_string(config.d_c) + " and time keys " + std::to_string(config.d_r));
  }
  if (layer_cuts.empty()) return Status::Ok();
  if (layer_cuts.size() != config.cross_layers.size()) {
    return InvalidArgument(std::to_string(layer_cuts.size()) + " cuts for " +
                           std::to_string(config.cross_layers.size()) + " cross-attention layers");
  }
  for (const size_t cut : layer_cuts) {
    if (!is_cut(cut) || cut > view.d_c) {
      return InvalidArgument("a layer cannot use " + std::to_string(cut) + " numbers of latents of " +
                             std::to_string(view.d_c));
    }
  }
  return Status::Ok();
}

}  // namespace

struct CrossBlocks::Impl {
  std::shared_ptr<const BridgeWeights> weights;
  CacheView view;
  CrossBlocksOptions options;
  ThreadPool* pool = nullptr;
  std::vector<double> evidence;  // [frames]: sums over layers and rows
  double rows_seen = 0.0;        // rows x layers that were summed
  // Scratch of one call, kept because decoding calls once a layer and token.
  std::vector<float> x, q, q_time, q_c, sink, mixed, lse, mass, heads_out, wide;

  Status Attend(const CrossLayerWeights& layer, size_t cut, size_t rows);
  void Absorb(const CrossLayerWeights& layer, size_t cut, size_t rows);
  void Unabsorb(const CrossLayerWeights& layer, size_t cut, size_t rows);
};

// q_c[query, cut] = q[query, d_k] . uk[head]: the key projection moves to the query.
void CrossBlocks::Impl::Absorb(const CrossLayerWeights& layer, size_t cut, size_t rows) {
  const BridgeConfig& c = weights->config;
  q_c.assign(rows * c.heads * cut, 0.0f);
  for (size_t query = 0; query < rows * c.heads; ++query) {
    const float* uk = layer.uk.data() + query % c.heads * c.d_k * c.d_c;
    for (size_t j = 0; j < c.d_k; ++j) Axpy(q[query * c.d_k + j], uk + j * c.d_c, cut, q_c.data() + query * cut);
  }
}

// heads_out[query, d_k] = mixed[query, cut] . uv[head]^T.
void CrossBlocks::Impl::Unabsorb(const CrossLayerWeights& layer, size_t cut, size_t rows) {
  const BridgeConfig& c = weights->config;
  for (size_t query = 0; query < rows * c.heads; ++query) {
    const float* uv = layer.uv.data() + query % c.heads * c.d_k * c.d_c;
    for (size_t j = 0; j < c.d_k; ++j) {
      heads_out[query * c.d_k + j] = Dot(mixed.data() + query * cut, uv + j * c.d_c, cut);
    }
  }
}

// From the normed rows in x to heads_out [rows, heads * d_k].
Status CrossBlocks::Impl::Attend(const CrossLayerWeights& layer, size_t cut, size_t rows) {
  const BridgeConfig& c = weights->config;
  const size_t queries = rows * c.heads;
  q.resize(queries * c.d_k);
  q_time.resize(queries * c.d_r);
  layer.q.Forward(x.data(), c.width, rows, q.data(), c.heads * c.d_k, pool);
  layer.q_time.Forward(x.data(), c.width, rows, q_time.data(), c.heads * c.d_r, pool);
  weights->rope.Apply(options.question_time_s, q_time.data(), queries, c.d_r);

  sink.resize(queries);
  for (size_t i = 0; i < queries; ++i) sink[i] = layer.sink[i % c.heads];
  lse.resize(queries);
  heads_out.resize(queries * c.d_k);
  CrossAttnParams params;
  params.q_r = q_time.data();
  params.queries = queries;
  params.d_c = cut;
  params.d_r = c.d_r;
  params.scale = 1.0f / std::sqrt(static_cast<float>(c.d_k + c.d_r));
  params.store = view.store;
  params.runs = view.runs.data();
  params.run_count = view.runs.size();
  params.sink = sink.data();
  params.lse = lse.data();
  if (options.collect_evidence) {
    mass.resize(view.runs.size());
    params.run_mass = mass.data();
  }
  if (options.mode == CacheMode::kMha) {
    CrossAttnExpanded expanded;
    expanded.q = q.data();
    expanded.uk = layer.uk.data();
    expanded.uv = layer.uv.data();
    expanded.u_stride = c.d_c;
    expanded.rows = rows;
    expanded.heads = c.heads;
    expanded.d_k = c.d_k;
    expanded.out = heads_out.data();
    LV_RETURN_IF_ERROR(CrossAttnExpandedReference(params, expanded, pool));
  } else {
    Absorb(layer, cut, rows);
    mixed.resize(queries * cut);
    params.q_c = q_c.data();
    params.out = mixed.data();
    LV_RETURN_IF_ERROR(CrossAttn(params, options.kernel, pool));
    Unabsorb(layer, cut, rows);
  }
  if (options.collect_evidence) {
    for (size_t i = 0; i < mass.size(); ++i) evidence[i] += static_cast<double>(mass[i]) * static_cast<double>(rows);
    rows_seen += static_cast<double>(rows);
  }
  return Status::Ok();
}

CrossBlocks::CrossBlocks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CrossBlocks::~CrossBlocks() = default;

Result<std::unique_ptr<CrossBlocks>> CrossBlocks::Make(std::shared_ptr<const BridgeWeights> weights, CacheView view,
                                                       const CrossBlocksOptions& options, ThreadPool* pool) {
  if (options.mode != CacheMode::kMla && options.mode != CacheMode::kMha) {
    return Unsupported("cache mode " + std::string(CacheModeName(options.mode)) +
                       " cannot be attended to here: use mla or mha");
  }
  if (!std::isfinite(options.question_time_s)) return InvalidArgument("the question's time is not finite");
  if (view.tokens > 0) LV_RETURN_IF_ERROR(CheckCuts(weights->config, view, options.layer_cuts));
  auto impl = std::make_unique<Impl>();
  impl->evidence.assign(view.runs.size(), 0.0);
  impl->weights = std::move(weights);
  impl->view = std::move(view);
  impl->options = options;
  impl->pool = pool;
  return std::unique_ptr<CrossBlocks>(new CrossBlocks(std::move(impl)));
}

Status CrossBlocks::BeforeLayer(int layer, float* h, size_t rows, size_t width) {
  Impl& s = *impl_;
  const BridgeConfig& c = s.weights->config;
  if (s.view.tokens == 0 || rows == 0) return Status::Ok();
  const auto found = std::find_if(s.weights->cross.begin(), s.weights->cross.end(),
                                  [&](const CrossLayerWeights& w) { return w.layer == layer; });
  if (found == s.weights->cross.end()) return Status::Ok();
  if (width != c.width) {
    return InvalidArgument("the bridge was made for hidden states of " + std::to_string(c.width) +
                           " numbers, the text decoder has " + std::to_string(width));
  }
  const size_t index = static_cast<size_t>(found - s.weights->cross.begin());
  const size_t cut = s.options.layer_cuts.empty() ? s.view.d_c : s.options.layer_cuts[index];

  s.x.resize(rows * width);
  RmsNorm(h, width, found->norm_weight.data(), kNormEpsilon, rows, width, s.x.data(), width);
  LV_RETURN_IF_ERROR(s.Attend(*found, cut, rows));
  found->o.Forward(s.heads_out.data(), c.heads * c.d_k, rows, s.x.data(), width, s.pool);
  Add(s.x.data(), rows * width, h);

  RmsNorm(h, width, found->mlp_norm.data(), kNormEpsilon, rows, width, s.x.data(), width);
  s.wide.resize(rows * c.mlp);
  found->up.Forward(s.x.data(), width, rows, s.wide.data(), c.mlp, s.pool);
  Gelu(s.wide.data(), s.wide.size(), s.wide.data());
  found->down.Forward(s.wide.data(), c.mlp, rows, s.x.data(), width, s.pool);
  Add(s.x.data(), rows * width, h);
  return Status::Ok();
}

const CacheView& CrossBlocks::view() const { return impl_->view; }

std::vector<double> CrossBlocks::Evidence() const {
  std::vector<double> shares(impl_->evidence.size(), 0.0);
  if (impl_->rows_seen == 0.0) return shares;
  for (size_t i = 0; i < shares.size(); ++i) shares[i] = impl_->evidence[i] / impl_->rows_seen;
  return shares;
}

double CrossBlocks::SinkShare() const {
  double taken = 0.0;
  for (const double share : Evidence()) taken += share;
  return std::clamp(1.0 - taken, 0.0, 1.0);
}

void CrossBlocks::ResetEvidence() {
  std::fill(impl_->evidence.begin(), impl_->evidence.end(), 0.0);
  impl_->rows_seen = 0.0;
}

Result<std::vector<float>> TextVector(const BridgeWeights& weights, const float* hidden, size_t rows, size_t width) {
  if (!weights.text_head) return Unsupported("this bridge has no retrieval heads");
  if (rows == 0 || width != weights.config.width) {
    return InvalidArgument("a text vector needs hidden states of " + std::to_string(weights.config.width) +
                           " numbers, not " + std::to_string(rows) + " of " + std::to_string(width));
  }
  std::vector<float> row(width), mean(width, 0.0f);
  for (size_t i = 0; i < rows; ++i) {
    RmsNorm(hidden + i * width, width, nullptr, kTextNormEpsilon, 1, width, row.data(), width);
    Axpy(1.0f / static_cast<float>(rows), row.data(), width, mean.data());
  }
  return internal::ApplyRetrievalHead(*weights.text_head, mean.data());
}

}  // namespace longview
