// Which moments of a video are encoded: N per second plus shot changes, within ranges, under a cap. Pure.
#ifndef LONGVIEW_VISION_FRAME_SAMPLER_H_
#define LONGVIEW_VISION_FRAME_SAMPLER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"

namespace longview {

struct TimeRange {
  double start_s = 0.0;  // inclusive
  double end_s = 0.0;    // exclusive
};

struct SamplingOptions {
  double fps = 1.0;               // samples a second, on a grid that starts at the first picture; 0: shot changes only
  bool scenes = true;             // and the first picture of every shot
  int64_t max_frames = 0;         // 0: no cap. Otherwise at most so many, spread over the whole film (or the ranges)
  std::vector<TimeRange> ranges;  // empty: all. Otherwise only pictures in one of these
};

// Decides picture by picture, in order of time. The decision for a picture depends only on the options, the film's
// span, and pictures since WarmStart(its time): two runs from different places agree from there on.
//
// With a cap, the span is cut into max_frames equal cells and the first picture from the middle of each on is kept
// where the grid would need more than the cap; otherwise what the grid leaves free goes to shot changes, at most one
// per equal part.
class FrameSampler {
 public:
  // The film runs from first_s to end_s. kInvalidArgument for a negative or non-finite fps, a negative cap, a range
  // that ends before it starts, or options that can never keep a picture.
  static Result<FrameSampler> Create(const SamplingOptions& options, double first_s, double end_s);

  // `new_shot`: the picture at time_s opens a shot. True: keep it.
  bool Offer(double time_s, bool new_shot);

  // Pictures from this time on must be offered for the decisions from `time_s` on to be those of a run from the start.
  double WarmStart(double time_s) const;

  // The times in [first, end) on the grid, for `--every`; `step_s` > 0.
  static std::vector<double> Every(double first_s, double end_s, double step_s);

 private:
  FrameSampler(SamplingOptions options, double first_s, double end_s);
  // Seconds of asked-for film before time_s: ranges laid end to end, so that cells span ranges only.
  double Asked(double time_s) const;
  // The number of the range that the time lies in, -1 for none; 0 where there are no ranges.
  int RangeAt(double time_s) const;

  SamplingOptions options_;
  double first_s_;
  double end_s_;
  double step_s_ = 0.0;        // of the grid, in asked-for seconds; 0: no grid
  double offset_s_ = 0.0;      // of the grid's first point
  double extra_cell_s_ = 0.0;  // one shot change per so many asked-for seconds; 0: no bound; < 0: none
  int64_t last_grid_ = -1;     // the last grid point that a picture was kept or passed for
  int64_t last_extra_ = -1;
  std::optional<int> last_range_;  // that of the picture before
};

}  // namespace longview

#endif  // LONGVIEW_VISION_FRAME_SAMPLER_H_
