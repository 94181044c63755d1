// Attention without absorption: keys and values are built from the latents, block by block.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attention/kernels/cross_attn_ref.h"
#include "core/ops/elementwise.h"
#include "core/ops/gemm.h"

namespace longview {
namespace {

// Tokens that are expanded at once.
constexpr size_t kExpandTokens = 128;

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
      const double kept = CrossAttnKept(p_, query, p_.lse[query]);
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
