// Differences between small pictures, and what follows from them.
#include "vision/scene.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace longview {
namespace {

constexpr int kBins = 8;  // a channel of the histogram
constexpr int kBlockColumns = 8;
constexpr int kBlockRows = 6;

// A cut. Set on the demo clip and on synthetic cuts, pans and flashes (scene_test.cc).
constexpr double kCutMean = 16.0;
constexpr double kCutHistogram = 0.35;
constexpr double kCutAgainstBefore = 2.5;  // times the step before
constexpr double kCutApart_s = 0.4;
constexpr double kNeighbours_s = 1.0;  // pictures further apart tell nothing of the pace of motion

// Near-identical.
constexpr double kSameMean = 2.0;
constexpr double kSameBlock = 6.0;

std::vector<float> Histogram(const Picture& p) {
  std::vector<float> bins(kBins * kBins * kBins, 0.0f);
  const size_t pixels = p.rgb.size() / 3;
  const float share = pixels > 0 ? 1.0f / static_cast<float>(pixels) : 0.0f;
  // Each channel falls between two bins and counts for both, so that a slight change of light moves little weight.
  for (size_t i = 0; i < pixels; ++i) {
    int low[3];
    float part[3];
    for (int c = 0; c < 3; ++c) {
      const float at = static_cast<float>(p.rgb[3 * i + static_cast<size_t>(c)]) * (kBins - 1) / 255.0f;
      low[c] = std::min(static_cast<int>(at), kBins - 2);
      part[c] = at - static_cast<float>(low[c]);
    }
    for (int corner = 0; corner < 8; ++corner) {
      float weight = share;
      int bin = 0;
      for (int c = 0; c < 3; ++c) {
        const int up = corner >> c & 1;
        weight *= up != 0 ? part[c] : 1.0f - part[c];
        bin = bin * kBins + low[c] + up;
      }
      bins[static_cast<size_t>(bin)] += weight;
    }
  }
  return bins;
}

bool Comparable(const Picture& a, const Picture& b) {
  return a.width == b.width && a.height == b.height && a.rgb.size() == b.rgb.size() && !a.rgb.empty();
}

// The mean and the largest block; the histogram is dear and often not needed.
void ComparePixels(const Picture& a, const Picture& b, SmallDifference* d) {
  std::array<int, kBlockColumns* kBlockRows> sums = {};
  std::array<int, kBlockColumns* kBlockRows> counts = {};
  for (int y = 0; y < a.height; ++y) {
    const uint8_t* pa = a.Row(y);
    const uint8_t* pb = b.Row(y);
    for (int column = 0; column < kBlockColumns; ++column) {
      const int first = 3 * (column * a.width / kBlockColumns);
      const int last = 3 * ((column + 1) * a.width / kBlockColumns);
      int sum = 0;
      for (int i = first; i < last; ++i) sum += std::abs(pa[i] - pb[i]);
      const auto block = static_cast<size_t>(y * kBlockRows / a.height * kBlockColumns + column);
      sums[block] += sum;
      counts[block] += last - first;
    }
  }
  double total = 0.0;
  for (size_t i = 0; i < sums.size(); ++i) {
    total += sums[i];
    if (counts[i] > 0) d->block = std::max(d->block, static_cast<double>(sums[i]) / counts[i]);
  }
  d->mean = total / static_cast<double>(a.rgb.size());
}

double HistogramDistance(const Picture& a, const Picture& b) {
  const std::vector<float> ha = Histogram(a);
  const std::vector<float> hb = Histogram(b);
  double sum = 0.0;
  for (size_t i = 0; i < ha.size(); ++i) sum += std::abs(ha[i] - hb[i]);
  return std::min(1.0, 0.5 * sum);
}

constexpr SmallDifference kNothingInCommon = {255.0, 1.0, 255.0};

}  // namespace

SmallDifference Compare(const Picture& a, const Picture& b) {
  if (!Comparable(a, b)) return kNothingInCommon;
  SmallDifference d;
  ComparePixels(a, b, &d);
  d.histogram = HistogramDistance(a, b);
  return d;
}

bool SceneDetector::Offer(const Picture& small) {
  bool cut = false;
  if (previous_) {
    SmallDifference d = kNothingInCommon;
    if (Comparable(*previous_, small)) ComparePixels(*previous_, small, &d);
    const bool candidate =
        d.mean >= kCutMean && (!Comparable(*previous_, small) || HistogramDistance(*previous_, small) >= kCutHistogram);
    // A string of candidates (flashing) is one cut, at its first. Each candidate counts, also one that is no cut, so
    // that the decision never depends on more than the last moments.
    const bool apart = !last_candidate_s_ || small.time_s - *last_candidate_s_ >= kCutApart_s;
    const bool near = small.time_s - previous_->time_s <= kNeighbours_s;
    cut = candidate && apart && (!near || d.mean >= kCutAgainstBefore * previous_step_);
    if (candidate) last_candidate_s_ = small.time_s;
    previous_step_ = near ? d.mean : 0.0;
  }
  previous_ = small;
  return cut;
}

void SceneDetector::Reset() {
  previous_.reset();
  previous_step_ = 0.0;
  last_candidate_s_.reset();
}

bool NearlyIdentical(const Picture& a, const Picture& b) {
  if (!Comparable(a, b)) return false;
  SmallDifference d;
  ComparePixels(a, b, &d);
  return d.mean <= kSameMean && d.block <= kSameBlock;
}

}  // namespace longview
