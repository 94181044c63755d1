// Lookups and curves of the timeline.
#include "ui/timeline_model.h"

#include <algorithm>
#include <cmath>

namespace longview::ui {

const KeptFrame* TimelineModel::frameAt(double time_s) const {
  if (frames.empty()) return nullptr;
  const auto after = std::upper_bound(frames.begin(), frames.end(), time_s,
                                      [](double time, const KeptFrame& frame) { return time < frame.start; });
  return after == frames.begin() ? &frames.front() : &*std::prev(after);
}

std::vector<double> TimelineModel::shots() const {
  std::vector<double> times;
  for (size_t i = 1; i < frames.size(); ++i) {
    if (frames[i].shot_start) times.push_back(frames[i].start);
  }
  return times;
}

std::vector<double> TimelineModel::heat(int columns) const {
  std::vector<double> raw(static_cast<size_t>(std::max(columns, 0)), 0.0);
  if (raw.empty() || !(duration_s > 0.0)) return raw;
  const double per_second = columns / duration_s;
  for (const Evidence& frame : looked) {
    // A frame shorter than a column still shows.
    const auto first = static_cast<int>(std::floor(frame.start * per_second));
    const auto last = std::max(first, static_cast<int>(std::ceil(frame.end * per_second)) - 1);
    for (int column = std::max(first, 0); column <= std::min(last, columns - 1); ++column) {
      double& value = raw[static_cast<size_t>(column)];
      value = std::max(value, frame.weight);
    }
  }
  // A triangle of a fiftieth of the line to each side, so that single frames of a long film are seen as peaks.
  const int reach = std::max(1, columns / 50);
  std::vector<double> smooth(raw.size(), 0.0);
  for (int column = 0; column < columns; ++column) {
    for (int d = -reach; d <= reach; ++d) {
      const int from = column + d;
      if (from < 0 || from >= columns) continue;
      const double share = 1.0 - std::abs(d) / (reach + 1.0);
      smooth[static_cast<size_t>(column)] =
          std::max(smooth[static_cast<size_t>(column)], raw[static_cast<size_t>(from)] * share);
    }
  }
  const double top = *std::max_element(smooth.begin(), smooth.end());
  if (top > 0.0) {
    for (double& value : smooth) value /= top;
  }
  return smooth;
}

double TimeScale::x(double time_s) const {
  return duration_s > 0.0 ? std::clamp(time_s / duration_s, 0.0, 1.0) * width : 0.0;
}

double TimeScale::time(double at_x) const {
  return width > 0.0 ? std::clamp(at_x / width, 0.0, 1.0) * duration_s : 0.0;
}

std::vector<double> ticks(const TimeScale& scale, double label_width) {
  std::vector<double> times;
  if (!(scale.duration_s > 0.0) || !(scale.width > 0.0)) return times;
  const double wanted = scale.duration_s * label_width / scale.width;
  double step = 0.0;
  for (const double candidate : {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 18000, 36000, 86400}) {
    step = candidate;
    if (candidate >= wanted) break;
  }
  while (step < wanted) step *= 2.0;
  for (int i = 0; i * step <= scale.duration_s; ++i) times.push_back(i * step);
  return times;
}

}  // namespace longview::ui
