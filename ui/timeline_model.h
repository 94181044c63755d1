// TimelineModel: what the timeline shows of one film, and where. Pure; tested without a display.
#ifndef LONGVIEW_UI_TIMELINE_MODEL_H_
#define LONGVIEW_UI_TIMELINE_MODEL_H_

#include <optional>
#include <vector>

#include "app/engine/events.h"
#include "app/engine/settings.h"

namespace longview::ui {

struct TimelineModel {
  double duration_s = 0.0;
  double read_until_s = 0.0;
  double position_s = 0.0;
  std::vector<KeptFrame> frames;   // in order of time
  std::vector<Evidence> evidence;  // of the answer that is shown
  std::vector<Evidence> looked;    // frames that it attended to
  std::optional<TimeSpan> range;   // what questions are limited to

  // The kept frame shown at a time: the last with start <= time, else the first; null without frames.
  const KeptFrame* frameAt(double time_s) const;
  // Where shots begin, the film's own beginning left out.
  std::vector<double> shots() const;
  // Attention over time in `columns` equal parts, smoothed, the highest being 1; all 0 where nothing was looked at.
  std::vector<double> heat(int columns) const;
};

// Times on a line of `width` pixels.
struct TimeScale {
  double duration_s = 0.0;
  double width = 0.0;

  double x(double time_s) const;   // clamped to the line
  double time(double at_x) const;  // clamped to the film
};

// Times of equal round steps (1, 2, 5, 10, 15, 30 s, min, h) for labels that are at least `label_width` pixels apart.
std::vector<double> ticks(const TimeScale& scale, double label_width);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_TIMELINE_MODEL_H_
