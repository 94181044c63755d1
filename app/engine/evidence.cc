// Merging the attention of frames into spans.
#include "app/engine/evidence.h"

#include <algorithm>
#include <cmath>

namespace longview {
namespace {

// A still or a last frame may stand for no time at all; evidence always has some.
constexpr double kShortestSpan = 0.001;

}  // namespace

std::vector<EvidenceSpan> MergeEvidence(std::span<const FrameMass> frames, const EvidenceOptions& options) {
  double best = 0.0;
  double total = 0.0;
  for (const FrameMass& frame : frames) {
    best = std::max(best, frame.mass);
    total += frame.mass;
  }
  if (!(best > 0.0) || !std::isfinite(total)) return {};
  if (frames.size() > options.few && best < options.stand_out * total / static_cast<double>(frames.size())) return {};

  std::vector<EvidenceSpan> spans;
  bool open = false;
  for (size_t i = 0; i < frames.size(); ++i) {
    const FrameMass& frame = frames[i];
    if (frame.mass < options.hot_share * best) {
      open = false;
      continue;
    }
    const bool joins = open && !frame.shot_start && frames[i - 1].video == frame.video;
    const double end = std::max(frame.end, frame.start + kShortestSpan);
    if (joins) {
      spans.back().end = std::max(spans.back().end, end);
      spans.back().weight += frame.mass;
    } else {
      spans.push_back({frame.video, frame.start, end, frame.mass});
    }
    open = true;
  }
  const double threshold = std::min(options.threshold, options.many_times * total / static_cast<double>(frames.size()));
  std::erase_if(spans, [&](const EvidenceSpan& span) { return span.weight < threshold; });
  std::stable_sort(spans.begin(), spans.end(),
                   [](const EvidenceSpan& a, const EvidenceSpan& b) { return a.weight > b.weight; });
  if (spans.size() > options.limit) spans.resize(options.limit);
  for (EvidenceSpan& span : spans) span.weight = std::clamp(span.weight, 0.0, 1.0);
  return spans;
}

}  // namespace longview
