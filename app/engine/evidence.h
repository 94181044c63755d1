// From attention to moments: which spans of video an answer drew on. Pure functions, tested without a model.
#ifndef LONGVIEW_APP_ENGINE_EVIDENCE_H_
#define LONGVIEW_APP_ENGINE_EVIDENCE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace longview {

// One kept frame and the attention that it got.
struct FrameMass {
  size_t video = 0;    // index into the videos asked about
  double start = 0.0;  // the span of time for which the frame stands, in seconds
  double end = 0.0;
  bool shot_start = false;  // first kept frame of a shot
  double mass = 0.0;        // share of attention, all frames and the sinks together being 1
};

struct EvidenceSpan {
  size_t video = 0;
  double start = 0.0;
  double end = 0.0;     // > start
  double weight = 0.0;  // 0..1
};

struct EvidenceOptions {
  size_t limit = 8;         // spans at most
  double threshold = 0.02;  // weight below which a span is no evidence ...
  double many_times = 8.0;  // ... unless it has this many times the mean frame's: over hours every share is small
  double hot_share = 0.35;  // a frame belongs to a span where its mass is at least this share of the best frame's
  double stand_out = 1.5;   // with more than `few` frames the best must have this many times the mean
  size_t few = 16;
};

// Frames in order of (video, time). Neighbouring hot frames of one shot become one span whose weight is their sum;
// spans come best first, equal weights in order of time. Empty where nothing stands out.
std::vector<EvidenceSpan> MergeEvidence(std::span<const FrameMass> frames, const EvidenceOptions& options = {});

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_EVIDENCE_H_
