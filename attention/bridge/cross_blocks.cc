// The cross blocks' forward pass: absorption of the projections, the sweep over the latents, and evidence.
#include "attention/bridge/cross_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "attention/bridge/cross_device.h"
#include "attention/kernels/cross_attn_ref.h"
#include "attention/kernels/cuda/mla_mirror.h"
#include "core/base/log.h"
#include "core/ops/elementwise.h"

namespace longview {
namespace {

constexpr float kNormEpsilon = 1e-5f;  // of the blocks' norms

Status CheckView(const BridgeConfig& config, const CacheView& view, const CrossBlocksOptions& options) {
  LV_RETURN_IF_ERROR(CheckForm(config, options.form));
  if (options.reference && options.form.mode != CacheMode::kMla) {
    return InvalidArgument("the reference expands latents, not a cache of mode " +
                           std::string(CacheModeName(options.form.mode)));
  }
  const FrameCacheShape expected = FormVectors(config, options.form);
  if (view.shape == expected) return Status::Ok();
  const auto numbers = [](const FrameCacheShape& shape) {
    return std::to_string(shape.vectors.size()) + " vectors of " + std::to_string(shape.vectors[0]) + " + " +
           std::to_string(shape.d_r) + " numbers in " + std::string(CacheStoreName(shape.store));
  };
  return InvalidArgument("a cache of " + numbers(view.shape) + " a token is not what mode " +
                         std::string(CacheModeName(options.form.mode)) +
                         " keeps for this bridge: " + numbers(expected));
}

}  // namespace

struct CrossBlocks::Impl {
  // A block's launches for one row, on the decoder's device.
  struct Recorded {
    GpuNet* net = nullptr;
    float* h = nullptr;
    std::unique_ptr<GpuRecording> recording;
  };

  std::shared_ptr<const BridgeWeights> weights;
  CacheView view;
  CrossBlocksOptions options;
  ThreadPool* pool = nullptr;
  std::vector<double> evidence;       // [frames]: sums over layers and rows
  double rows_seen = 0.0;             // rows x layers that were summed
  std::shared_ptr<MlaMirror> mirror;  // of the view, where a device attends to it
  GpuLatents latents;                 // of the view on the decoder's device; no tokens: the blocks act here
  std::vector<float> cosines, sines;  // of the question's time, for that device
  std::vector<Recorded> recorded;     // by block
  std::vector<CrossAttnRun> runs;     // of the vectors named by run_keys and run_values
  size_t run_keys = SIZE_MAX, run_values = SIZE_MAX;
  // Scratch of one call, kept because decoding calls once a layer and token.
  std::vector<float> x, q, q_time, q_c, states, sink, mixed, lse, mass, heads_out, wide;
  std::vector<float> group_q, group_time, group_sink, group_out;

  Status MakeMirror();
  Status MoveToDevice();
  bool OnDevice() const { return latents.tokens > 0 || (mirror != nullptr && !cosines.empty()); }
  Status Attend(size_t layer, size_t rows);
  Status AttendAbsorbed(size_t layer, size_t rows);
  Status AttendProjected(size_t layer, size_t rows);
  Status AttendReference(size_t layer, size_t rows);
  size_t CutOf(size_t layer) const;
  CrossAttnParams Params(size_t keys, size_t values, size_t width, size_t queries);
  void CountMass(double share);
  void Absorb(const CrossLayerWeights& layer, size_t cut, size_t rows);
  void Unabsorb(const CrossLayerWeights& layer, size_t cut, size_t rows);
};

// Numbers of a latent that a layer uses.
size_t CrossBlocks::Impl::CutOf(size_t layer) const {
  const CacheForm& form = options.form;
  if (!form.layer_cuts.empty()) return form.layer_cuts[layer];
  return form.latent == 0 ? weights->config.d_c : form.latent;
}

// The view on a device, or why it is not there.
Status CrossBlocks::Impl::MakeMirror() {
  const BridgeConfig& c = weights->config;
  if (options.reference || options.form.mode != CacheMode::kMla) {
    return Unsupported("a device attends to latents that all layers share, not to mode " +
                       std::string(CacheModeName(options.form.mode)));
  }
  const auto make = [&](std::shared_ptr<MlaBackend> backend) -> Result<std::unique_ptr<MlaMirror>> {
    const MlaLimits limits = backend->Limits();
    for (size_t layer = 0; layer < weights->cross.size(); ++layer) {
      LV_RETURN_IF_ERROR(MlaMirror::Supports(limits, view.shape.store, CutOf(layer), c.d_r));
    }
    MlaMirrorOptions wanted;
    wanted.store = view.shape.store;
    wanted.latent_stride = view.shape.vectors[0];
    wanted.d_r = c.d_r;
    const std::vector<CrossAttnRun> all = view.Runs();
    LV_ASSIGN_OR_RETURN(auto made, MlaMirror::Make(std::move(backend), all, wanted));
    LogDebug("attention on " + limits.name + (made->streams() ? ": the cache streams from host memory" : ""));
    return made;
  };
  LV_ASSIGN_OR_RETURN(mirror, options.mirrors->Get(options.mirror_key, make));
  return Status::Ok();
}

// Lets the device's blocks act, where they take what is attended to: a mirror, or few latents, which are copied.
Status CrossBlocks::Impl::MoveToDevice() {
  const bool few = !options.reference && options.form.mode == CacheMode::kMla && !options.collect_evidence &&
                   view.tokens <= GpuCrossBlocks::kMostTokens;
  if (mirror == nullptr && !few) return Status::Ok();
  if (mirror == nullptr) {
    LV_ASSIGN_OR_RETURN(latents, CopyView(*options.device, view, weights->config.d_c));
  } else if (options.collect_evidence) {
    LV_RETURN_IF_ERROR(mirror->ResetMass());
  }
  // The turn of (1, 0).
  const size_t half = weights->config.d_r / 2;
  std::vector<float> turned(2 * half, 0.0f);
  std::fill_n(turned.begin(), half, 1.0f);
  weights->rope.Apply(options.question_time_s, turned.data(), 1, turned.size());
  cosines.assign(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(half));
  sines.assign(turned.begin() + static_cast<std::ptrdiff_t>(half), turned.end());
  return Status::Ok();
}

// A call over vectors `keys` and `values`, which keep `width` numbers; queries and outputs are the caller's to set.
CrossAttnParams CrossBlocks::Impl::Params(size_t keys, size_t values, size_t width, size_t queries) {
  const BridgeConfig& c = weights->config;
  if (keys != run_keys || values != run_values) {
    runs = view.Runs(keys, values);
    run_keys = keys;
    run_values = values;
  }
  lse.resize(queries);
  CrossAttnParams params;
  params.queries = queries;
  params.d_c = width;
  params.d_r = c.d_r;
  params.scale = 1.0f / std::sqrt(static_cast<float>(c.d_k + c.d_r));
  params.store = view.shape.store;
  params.runs = runs.data();
  params.run_count = runs.size();
  params.q_r = q_time.data();
  params.sink = sink.data();
  params.lse = lse.data();
  if (options.collect_evidence) {
    mass.resize(runs.size());
    params.run_mass = mass.data();
  }
  return params;
}

void CrossBlocks::Impl::CountMass(double share) {
  if (!options.collect_evidence) return;
  for (size_t i = 0; i < mass.size(); ++i) evidence[i] += static_cast<double>(mass[i]) * share;
}

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

// One sweep for all heads: over latents, or over the frame tokens that they are made from.
Status CrossBlocks::Impl::AttendAbsorbed(size_t layer, size_t rows) {
  const BridgeConfig& c = weights->config;
  const CrossLayerWeights& w = weights->cross[layer];
  const size_t queries = rows * c.heads;
  const bool of_states = options.form.mode == CacheMode::kStates;
  // States have no cut: a latent's numbers beyond it are absorbed as zeros.
  const size_t cut = CutOf(layer), width = of_states ? c.d_c : cut;
  Absorb(w, cut, rows);
  const size_t vector = options.form.mode == CacheMode::kMlaLayers ? layer : 0;
  mixed.resize(queries * width);
  CrossAttnParams params = Params(vector, vector, of_states ? c.d_v : cut, queries);
  params.q_c = q_c.data();
  params.out = mixed.data();
  if (!of_states) {
    LV_RETURN_IF_ERROR(mirror != nullptr ? mirror->Attend(params) : CrossAttn(params, options.kernel, pool));
    Unabsorb(w, cut, rows);
    CountMass(static_cast<double>(rows));
    return Status::Ok();
  }
  std::vector<float> whole(queries * width, 0.0f);
  for (size_t i = 0; i < queries; ++i) std::copy_n(q_c.data() + i * cut, cut, whole.data() + i * width);
  states.resize(2 * queries * c.d_v);
  weights->compressor.ToStates(whole.data(), queries, states.data());
  params.q_c = states.data();
  params.out = states.data() + queries * c.d_v;
  LV_RETURN_IF_ERROR(CrossAttn(params, options.kernel, pool));
  weights->compressor.FromStates(params.out, queries, whole.data());
  for (size_t i = 0; i < queries; ++i) std::copy_n(whole.data() + i * width, cut, mixed.data() + i * cut);
  Unabsorb(w, cut, rows);
  CountMass(static_cast<double>(rows));
  return Status::Ok();
}

// One sweep for each group of heads over its own keys and values.
Status CrossBlocks::Impl::AttendProjected(size_t layer, size_t rows) {
  const BridgeConfig& c = weights->config;
  const size_t groups = FormGroups(c, options.form);
  const size_t heads = c.heads / groups, queries = rows * heads;
  group_q.resize(queries * c.d_k);
  group_time.resize(queries * c.d_r);
  group_sink.resize(queries);
  group_out.resize(queries * c.d_k);
  for (size_t g = 0; g < groups; ++g) {
    for (size_t row = 0; row < rows; ++row) {
      const size_t from = row * c.heads + g * heads, to = row * heads;
      std::copy_n(q.data() + from * c.d_k, heads * c.d_k, group_q.data() + to * c.d_k);
      std::copy_n(q_time.data() + from * c.d_r, heads * c.d_r, group_time.data() + to * c.d_r);
      std::copy_n(sink.data() + from, heads, group_sink.data() + to);
    }
    const size_t keys = 2 * (layer * groups + g);
    CrossAttnParams params = Params(keys, keys + 1, c.d_k, queries);
    params.q_c = group_q.data();
    params.q_r = group_time.data();
    params.sink = group_sink.data();
    params.out = group_out.data();
    LV_RETURN_IF_ERROR(CrossAttn(params, options.kernel, pool));
    CountMass(static_cast<double>(rows) / static_cast<double>(groups));
    for (size_t row = 0; row < rows; ++row) {
      std::copy_n(group_out.data() + row * heads * c.d_k, heads * c.d_k,
                  heads_out.data() + (row * c.heads + g * heads) * c.d_k);
    }
  }
  return Status::Ok();
}

Status CrossBlocks::Impl::AttendReference(size_t layer, size_t rows) {
  const BridgeConfig& c = weights->config;
  const CrossAttnParams params = Params(0, 0, CutOf(layer), rows * c.heads);
  CrossAttnExpanded expanded;
  expanded.q = q.data();
  expanded.uk = weights->cross[layer].uk.data();
  expanded.uv = weights->cross[layer].uv.data();
  expanded.u_stride = c.d_c;
  expanded.rows = rows;
  expanded.heads = c.heads;
  expanded.d_k = c.d_k;
  expanded.out = heads_out.data();
  LV_RETURN_IF_ERROR(CrossAttnExpandedReference(params, expanded, pool));
  CountMass(static_cast<double>(rows));
  return Status::Ok();
}

// From the normed rows in x to heads_out [rows, heads * d_k].
Status CrossBlocks::Impl::Attend(size_t layer, size_t rows) {
  const BridgeConfig& c = weights->config;
  const CrossLayerWeights& w = weights->cross[layer];
  const size_t queries = rows * c.heads;
  q.resize(queries * c.d_k);
  q_time.resize(queries * c.d_r);
  w.q.Forward(x.data(), c.width, rows, q.data(), c.heads * c.d_k, pool);
  w.q_time.Forward(x.data(), c.width, rows, q_time.data(), c.heads * c.d_r, pool);
  weights->rope.Apply(options.question_time_s, q_time.data(), queries, c.d_r);
  sink.resize(queries);
  for (size_t i = 0; i < queries; ++i) sink[i] = w.sink[i % c.heads];
  heads_out.resize(queries * c.d_k);
  rows_seen += static_cast<double>(rows);
  if (options.reference) return AttendReference(layer, rows);
  return IsProjected(options.form.mode) ? AttendProjected(layer, rows) : AttendAbsorbed(layer, rows);
}

CrossBlocks::CrossBlocks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CrossBlocks::~CrossBlocks() = default;

Result<std::unique_ptr<CrossBlocks>> CrossBlocks::Make(std::shared_ptr<const BridgeWeights> weights, CacheView view,
                                                       const CrossBlocksOptions& options, ThreadPool* pool) {
  if (!std::isfinite(options.question_time_s)) return InvalidArgument("the question's time is not finite");
  if (view.tokens > 0) LV_RETURN_IF_ERROR(CheckView(weights->config, view, options));
  auto impl = std::make_unique<Impl>();
  impl->evidence.assign(view.frames.size(), 0.0);
  impl->weights = std::move(weights);
  impl->view = std::move(view);
  impl->options = options;
  impl->pool = pool;
  if (options.mirrors != nullptr && impl->view.tokens > 0) {
    if (const Status status = impl->MakeMirror(); !status.ok()) {
      LogInfo("attention stays with the processor: " + status.message());
    }
  }
  if (options.device != nullptr && impl->view.tokens > 0) {
    if (const Status status = impl->MoveToDevice(); !status.ok()) {
      LogInfo("the cross blocks stay with the processor: " + status.message());
    }
  }
  return std::unique_ptr<CrossBlocks>(new CrossBlocks(std::move(impl)));
}

bool CrossBlocks::ActsBefore(int layer) const {
  const auto& cross = impl_->weights->cross;
  return impl_->view.tokens > 0 &&
         std::any_of(cross.begin(), cross.end(), [&](const CrossLayerWeights& w) { return w.layer == layer; });
}

Result<int> CrossBlocks::BlockBefore(int layer, size_t rows, size_t width) const {
  const std::vector<CrossLayerWeights>& cross = impl_->weights->cross;
  if (impl_->view.tokens == 0 || rows == 0) return -1;
  const auto found =
      std::find_if(cross.begin(), cross.end(), [&](const CrossLayerWeights& w) { return w.layer == layer; });
  if (found == cross.end()) return -1;
  if (width != impl_->weights->config.width) {
    return InvalidArgument("the bridge was made for hidden states of " + std::to_string(impl_->weights->config.width) +
                           " numbers, the text decoder has " + std::to_string(width));
  }
  return static_cast<int>(found - cross.begin());
}

bool CrossBlocks::OnDevice() const { return impl_->OnDevice(); }

Status CrossBlocks::BeforeLayerOn(GpuNet* net, int layer, float* h, size_t rows, size_t width) {
  LV_ASSIGN_OR_RETURN(const int block, BlockBefore(layer, rows, width));
  if (block < 0) return Status::Ok();
  const auto index = static_cast<size_t>(block);
  Impl& s = *impl_;
  CrossTokens tokens;
  if (s.mirror == nullptr) {
    tokens.few = &s.latents;
  } else {
    tokens.many = s.mirror.get();
    if (s.options.collect_evidence) tokens.mass_factor = static_cast<float>(rows);
    s.rows_seen += static_cast<double>(rows);
  }
  const auto add = [&] {
    return s.options.device->Add(net, index, tokens, {s.cosines, s.sines, s.CutOf(index)}, h, rows);
  };
  if (rows > 1 || s.mirror != nullptr) return add();
  // Writing an answer asks for the same launches once a token. They are made once before they are recorded.
  s.recorded.resize(s.weights->cross.size());
  Impl::Recorded& recorded = s.recorded[index];
  if (recorded.net != net || recorded.h != h) {
    recorded = {net, h, nullptr};
    return add();
  }
  if (recorded.recording == nullptr) {
    LV_ASSIGN_OR_RETURN(recorded.recording, net->Record(add));
  }
  return net->Replay(*recorded.recording);
}

Status CrossBlocks::BeforeLayer(int layer, float* h, size_t rows, size_t width) {
  Impl& s = *impl_;
  const BridgeConfig& c = s.weights->config;
  LV_ASSIGN_OR_RETURN(const int block, BlockBefore(layer, rows, width));
  if (block < 0) return Status::Ok();
  const auto index = static_cast<size_t>(block);
  const CrossLayerWeights* found = &s.weights->cross[index];

  s.x.resize(rows * width);
  RmsNorm(h, width, found->norm_weight.data(), kNormEpsilon, rows, width, s.x.data(), width);
  LV_RETURN_IF_ERROR(s.Attend(index, rows));
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
  std::vector<double> sums = impl_->evidence;
  if (impl_->OnDevice() && impl_->options.collect_evidence) {
    const Result<std::vector<float>> mass = impl_->mirror->Mass();
    if (!mass.ok()) LogWarning("the device's part of the evidence is lost: " + mass.status().message());
    for (size_t i = 0; mass.ok() && i < sums.size(); ++i) sums[i] += static_cast<double>((*mass)[i]);
  }
  for (size_t i = 0; i < shares.size(); ++i) shares[i] = sums[i] / impl_->rows_seen;
  return shares;
}

double CrossBlocks::SinkShare() const {
  double taken = 0.0;
  for (const double share : Evidence()) taken += share;
  return std::clamp(1.0 - taken, 0.0, 1.0);
}

void CrossBlocks::ResetEvidence() {
  std::fill(impl_->evidence.begin(), impl_->evidence.end(), 0.0);
  if (impl_->OnDevice() && impl_->options.collect_evidence) {
    if (const Status status = impl_->mirror->ResetMass(); !status.ok()) {
      LogWarning("the device's part of the evidence is not forgotten: " + status.message());
    }
  }
  impl_->rows_seen = 0.0;
}

}  // namespace longview
