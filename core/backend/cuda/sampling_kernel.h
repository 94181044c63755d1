// The body of the kernel that chooses the next token from logits: repetition penalty, the most likely token, or a draw
// from the smallest set that holds a share of the probability (top-p, Holtzman et al. 2019). Written against simt.h:
// the same source runs on the device and, emulated, in the tests.
//
// Nothing is sorted: the tokens' order (the likelier first, of equals the lower number) is searched for the first one
// up to which the weights add up to enough, first by weight and then by number.
#ifndef LONGVIEW_CORE_BACKEND_CUDA_SAMPLING_KERNEL_H_
#define LONGVIEW_CORE_BACKEND_CUDA_SAMPLING_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "core/backend/cuda/simt.h"
#include "core/backend/net_calls.h"

namespace longview::LV_SIMT {

// One block does all of it; its threads meet in groups of 32 when something is added up.
inline constexpr int kSampleThreads = 1024, kSampleGroups = kSampleThreads / 32;

// Bytes of shared memory: a sum and a token of each thread.
inline constexpr uint32_t kSampleShared = kSampleThreads * (sizeof(double) + sizeof(uint32_t));

class Sampling {
 public:
  LV_DEVICE Sampling(Block& block, const GpuSample& call)
      : block_(block),
        call_(call),
        sums_(reinterpret_cast<double*>(block.shared)),
        best_(reinterpret_cast<uint32_t*>(block.shared + kSampleThreads * sizeof(double))) {}

  LV_DEVICE void Run() {
    Penalise();
    FindBest();
    const uint32_t best = best_[0];
    const float top = call_.logits[best];
    block_.Sync();  // before logits become weights
    if (call_.temperature == 0.0f || !(top - top == 0.0f)) {
      Tell(best);
      return;
    }
    Weigh(top);
    const double all = SumUpTo(0, call_.count);
    const Place last = Find(static_cast<double>(call_.top_p) * all, false);
    const double kept = SumUpTo(last.weight, last.token);
    const Place drawn = Find(call_.draw * kept, true);
    // Sums that were rounded may leave the draw behind the last token of the set.
    Tell(SumUpTo(drawn.weight, drawn.token) > kept ? last.token : drawn.token);
  }

 private:
  // A token's place in the order.
  struct Place {
    uint32_t weight;  // the bits of its weight: of numbers above 0 they have the same order
    uint32_t token;
  };

  LV_DEVICE void Tell(uint32_t token) {
    ForThreads<kSampleThreads>(block_, [&](int thread) {
      if (thread == 0) *call_.token = static_cast<int32_t>(token);
    });
  }

  // Once for a token, however often it was seen.
  LV_DEVICE void Penalise() {
    ForThreads<kSampleThreads>(block_, [&](int thread) {
      for (uint32_t i = thread; i < call_.seen_count; i += kSampleThreads) {
        const int32_t token = call_.seen[i];
        bool first = token >= 0 && static_cast<uint32_t>(token) < call_.count;
        for (uint32_t j = 0; j < i; ++j) first = first && call_.seen[j] != token;
        if (!first) continue;
        const float logit = call_.logits[token];
        call_.logits[token] = logit > 0.0f ? logit / call_.penalty : logit * call_.penalty;
      }
    });
    block_.Sync();
  }

  // Whether token a comes before token b; NaN is behind everything.
  LV_DEVICE bool Before(uint32_t a, uint32_t b) const {
    const float x = call_.logits[a], y = call_.logits[b];
    if (x > y || (x == x && y != y)) return true;
    return !(y > x || (y == y && x != x)) && a < b;
  }

  // The first token in order, in best_[0].
  LV_DEVICE void FindBest() {
    ForThreads<kSampleThreads>(block_, [&](int thread) {
      uint32_t best = static_cast<uint32_t>(thread) < call_.count ? thread : 0;
      for (uint32_t i = thread; i < call_.count; i += kSampleThreads) best = Before(i, best) ? i : best;
      best_[thread] = best;
    });
    block_.Sync();
    for (int step = kSampleThreads / 2; step > 0; step /= 2) {
      ForThreads<kSampleThreads>(block_, [&](int thread) {
        if (thread < step && Before(best_[thread + step], best_[thread])) best_[thread] = best_[thread + step];
      });
      block_.Sync();
    }
  }

  // Logits become weights relative to the best token's; what is below e^-40 of it cannot be drawn.
  LV_DEVICE void Weigh(float top) {
    constexpr float kLog2E = 1.44269504088896341f;
    ForThreads<kSampleThreads>(block_, [&](int thread) {
      for (uint32_t i = thread; i < call_.count; i += kSampleThreads) {
        const float exponent = (call_.logits[i] - top) / call_.temperature;
        call_.logits[i] = exponent > -40.0f ? Exp2(exponent * kLog2E) : 0.0f;
      }
    });
    block_.Sync();
  }

  // The weights of all tokens up to this place, the same in every thread.
  LV_DEVICE double SumUpTo(uint32_t weight, uint32_t token) {
    ForThreads<kSampleThreads>(block_, [&](int thread) {
      double sum = 0.0;
      for (uint32_t i = thread; i < call_.count; i += kSampleThreads) {
        const uint32_t bits = BitsOf(call_.logits[i]);
        if (bits > weight || (bits == weight && i <= token)) sum += static_cast<double>(call_.logits[i]);
      }
      sums_[thread] = sum;
    });
    block_.Sync();
    ForThreads<kSampleThreads>(block_, [&](int thread) {
      if (thread % 32 != 0) return;
      for (int i = 1; i < 32; ++i) sums_[thread] += sums_[thread + i];
    });
    block_.Sync();
    double sum = 0.0;
    for (size_t i = 0; i < kSampleGroups; ++i) sum += sums_[32 * i];
    block_.Sync();  // the sums may be written anew
    return sum;
  }

  // The first place up to which the weights add up to `limit`, or `beyond` it.
  LV_DEVICE Place Find(double limit, bool beyond) {
    const auto enough = [&](uint32_t weight, uint32_t token) {
      const double sum = SumUpTo(weight, token);
      return beyond ? sum > limit : sum >= limit;
    };
    uint32_t weight = 1, above = BitsOf(1.0f) + 1;  // enough at the lower end or nowhere, never at the upper
    while (above - weight > 1) {
      const uint32_t middle = weight + (above - weight) / 2;
      enough(middle, call_.count) ? weight = middle : above = middle;
    }
    uint32_t first = 0, token = call_.count - 1;  // enough at `token` or nowhere
    while (first < token) {
      const uint32_t middle = first + (token - first) / 2;
      enough(weight, middle) ? token = middle : first = middle + 1;
    }
    return {weight, token};
  }

  Block& block_;
  const GpuSample& call_;
  double* const sums_;    // [kSampleThreads]
  uint32_t* const best_;  // [kSampleThreads]
};

LV_DEVICE void SampleToken(Block& block, const GpuSample& call) { Sampling(block, call).Run(); }

}  // namespace longview::LV_SIMT

#endif  // LONGVIEW_CORE_BACKEND_CUDA_SAMPLING_KERNEL_H_
