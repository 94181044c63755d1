// The slow and obvious twins of the sweep.
#include "attention/kernels/cross_attn_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attention/mla/stored_number.h"
#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Tokens that are expanded at once.
constexpr size_t kExpandTokens = 128;

using internal::ReadNumber;

double DotDouble(const float* a, const float* b, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// The share of the softmax that the sink leaves to the tokens.
double Kept(const CrossAttnParams& params, size_t query, double lse) {
  return params.sink == nullptr ? 1.0 : 1.0 / (1.0 + std::exp(static_cast<double>(params.sink[query]) - lse));
}

// The first d_c numbers of a stored vector, scaled; zeros where the run holds fewer.
void ReadVector(const CrossAttnParams& params, const CrossAttnRun& run, const void* from, const float* scales,
                size_t token, float* to) {
  const size_t held = std::min<size_t>(run.d_c, params.d_c);
  const float scale = scales == nullptr ? 1.0f : scales[token];
  for (size_t j = 0; j < held; ++j) to[j] = scale * ReadNumber(params.store, from, token * run.latent_stride + j);
  std::fill(to + held, to + params.d_c, 0.0f);
}

// A block of tokens as float, read once for all heads of a thread.
struct LatentBlock {
  std::vector<float> latents;    // [kExpandTokens, d_c]
  std::vector<float> time_keys;  // [kExpandTokens, d_r]
  size_t run = 0;
  size_t tokens = 0;

  explicit LatentBlock(const CrossAttnParams& params)
      : latents(kExpandTokens * params.d_c), time_keys(kExpandTokens * std::max<size_t>(params.d_r, 1)) {}

  // Up to kExpandTokens tokens of a run from `token` on.
  void Read(const CrossAttnParams& params, size_t from_run, size_t token) {
    run = from_run;
    tokens = std::min<size_t>(kExpandTokens, params.runs[run].tokens - token);
    for (size_t t = 0; t < tokens; ++t) {
      CrossAttnReadToken(params, params.runs[run], token + t, latents.data() + t * params.d_c,
                         time_keys.data() + t * params.d_r);
    }
  }
};

// One head's expanded attention: keys and values of a block, online softmax over blocks.
class ExpandedHead {
 public:
  // `mass` [run_count] collects this head's shares where it is not null.
  ExpandedHead(const CrossAttnParams& params, const CrossAttnExpanded& expanded, size_t head, std::vector<double>* mass)
      : p_(params),
        e_(expanded),
        head_(head),
        mass_(mass),
        max_(e_.rows, -std::numeric_limits<float>::infinity()),
        sum_(e_.rows, 0.0f),
        out_(e_.rows * e_.d_k, 0.0f),
        keys_(kExpandTokens * e_.d_k),
        values_(kExpandTokens * e_.d_k),
        scores_(kExpandTokens) {
    if (mass_ != nullptr) run_parts_.assign(p_.run_count * e_.rows, {-std::numeric_limits<float>::infinity(), 0.0f});
  }

  void Attend(const LatentBlock& block) {
    const size_t at = head_ * e_.d_k * e_.u_stride;
    GemmNT(block.tokens, e_.d_k, p_.d_c, block.latents.data(), p_.d_c, e_.uk + at, e_.u_stride, 0.0f, keys_.data(),
           e_.d_k);
    GemmNT(block.tokens, e_.d_k, p_.d_c, block.latents.data(), p_.d_c, e_.uv + at, e_.u_stride, 0.0f, values_.data(),
           e_.d_k);
    for (size_t row = 0; row < e_.rows; ++row) {
      const float share = AttendBlock(row, block);
      if (mass_ == nullptr) continue;
      auto& [max, sum] = run_parts_[block.run * e_.rows + row];
      sum = sum * std::exp(max - max_[row]) + share;
      max = max_[row];
    }
  }

  // After the last block: out and lse, and the shares of the runs.
  void Finish() {
    for (size_t row = 0; row < e_.rows; ++row) {
      const size_t query = row * e_.heads + head_;
      float* out = e_.out + query * e_.d_k;
      if (sum_[row] == 0.0f) {
        std::fill_n(out, e_.d_k, 0.0f);
        p_.lse[query] = -std::numeric_limits<float>::infinity();
        continue;
      }
      p_.lse[query] = max_[row] + std::log(sum_[row]);
      const double kept = Kept(p_, query, p_.lse[query]);
      for (size_t j = 0; j < e_.d_k; ++j) out[j] = static_cast<float>(out_[row * e_.d_k + j] / sum_[row] * kept);
      if (mass_ == nullptr) continue;
      for (size_t run = 0; run < p_.run_count; ++run) {
        const auto& [max, sum] = run_parts_[run * e_.rows + row];
        (*mass_)[run] += std::exp(static_cast<double>(max) - p_.lse[query]) * sum * kept;
      }
    }
  }

 private:
  // Returns the sum of exp(score - max) that the block's tokens added, `max` as it is after them.
  float AttendBlock(size_t row, const LatentBlock& block) {
    const size_t n = block.tokens;
    const size_t query = row * e_.heads + head_;
    float high = max_[row];
    for (size_t t = 0; t < n; ++t) {
      float score = Dot(e_.q + query * e_.d_k, keys_.data() + t * e_.d_k, e_.d_k);
      if (p_.d_r > 0) score += Dot(p_.q_r + query * p_.d_r, block.time_keys.data() + t * p_.d_r, p_.d_r);
      scores_[t] = score * p_.scale;
      high = std::max(high, scores_[t]);
    }
    const float shrink = std::exp(max_[row] - high);
    float* out = out_.data() + row * e_.d_k;
    for (size_t j = 0; j < e_.d_k; ++j) out[j] *= shrink;
    float added = 0.0f;
    for (size_t t = 0; t < n; ++t) {
      const float weight = std::exp(scores_[t] - high);
      added += weight;
      Axpy(weight, values_.data() + t * e_.d_k, e_.d_k, out);
    }
    sum_[row] = sum_[row] * shrink + added;
    max_[row] = high;
    return added;
  }

  const CrossAttnParams& p_;
  const CrossAttnExpanded& e_;
  const size_t head_;
  std::vector<double>* const mass_;
  std::vector<float> max_, sum_, out_, keys_, values_, scores_;
  std::vector<std::pair<float, float>> run_parts_;  // (max, sum) of each run and row
};

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
    const double kept = scores.empty() ? 0.0 : Kept(params, i, lse);
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

Status CrossAttnExpandedReference(const CrossAttnParams& params, const CrossAttnExpanded& expanded, ThreadPool* pool) {
  if (params.queries != expanded.rows * expanded.heads || expanded.u_stride < params.d_c || expanded.d_k == 0) {
    return InvalidArgument("expanded attention: " + std::to_string(params.queries) + " queries, " +
                           std::to_string(expanded.rows) + " rows, " + std::to_string(expanded.heads) + " heads, d_c " +
                           std::to_string(params.d_c) + " and u_stride " + std::to_string(expanded.u_stride) +
                           " do not fit");
  }
  std::vector<std::vector<double>> mass(expanded.heads);
  const auto work = [&](size_t first, size_t last, int) {
    std::vector<ExpandedHead> heads;
    heads.reserve(last - first);
    for (size_t head = first; head < last; ++head) {
      if (params.run_mass != nullptr) mass[head].assign(params.run_count, 0.0);
      heads.emplace_back(params, expanded, head, params.run_mass == nullptr ? nullptr : &mass[head]);
    }
    LatentBlock block(params);
    for (size_t run = 0; run < params.run_count; ++run) {
      for (size_t token = 0; token < params.runs[run].tokens; token += kExpandTokens) {
        block.Read(params, run, token);
        for (ExpandedHead& head : heads) head.Attend(block);
      }
    }
    for (ExpandedHead& head : heads) head.Finish();
  };
  if (pool == nullptr) {
    work(0, expanded.heads, 0);
  } else {
    pool->ParallelFor(expanded.heads, work);
  }
  if (params.run_mass == nullptr) return Status::Ok();
  for (size_t run = 0; run < params.run_count; ++run) {
    double sum = 0.0;
    for (const auto& head : mass) sum += head[run];
    params.run_mass[run] = params.queries == 0 ? 0.0f : static_cast<float>(sum / static_cast<double>(params.queries));
  }
  return Status::Ok();
}

}  // namespace longview
