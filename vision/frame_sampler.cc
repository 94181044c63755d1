// FrameSampler: a grid in asked-for time, and a budget for shot changes.
#include "vision/frame_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace longview {
namespace {

constexpr double kSlack_s = 1e-6;  // a picture that is due at 3.0 may be stamped 2.9999999

}  // namespace

Result<FrameSampler> FrameSampler::Create(const SamplingOptions& options, double first_s, double end_s) {
  if (!std::isfinite(options.fps) || options.fps < 0.0) return InvalidArgument("samples a second must be 0 or more");
  if (options.max_frames < 0) return InvalidArgument("the greatest number of frames must be 0 (no limit) or more");
  if (options.fps == 0.0 && !options.scenes)
    return InvalidArgument("neither a rate nor shot changes: no frame would be kept");
  if (!std::isfinite(first_s) || !std::isfinite(end_s))
    return InvalidArgument("a film without a length cannot be sampled");
  for (const TimeRange& range : options.ranges) {
    if (!(range.end_s > range.start_s)) {
      return InvalidArgument("a time range must end after it starts: " + std::to_string(range.start_s) + " to " +
                             std::to_string(range.end_s));
    }
  }
  SamplingOptions sorted = options;
  std::sort(sorted.ranges.begin(), sorted.ranges.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.start_s < b.start_s; });
  std::vector<TimeRange> merged;
  for (const TimeRange& range : sorted.ranges) {
    if (!merged.empty() && range.start_s <= merged.back().end_s) {
      merged.back().end_s = std::max(merged.back().end_s, range.end_s);
    } else {
      merged.push_back(range);
    }
  }
  sorted.ranges = std::move(merged);
  return FrameSampler(std::move(sorted), first_s, std::max(first_s, end_s));
}

FrameSampler::FrameSampler(SamplingOptions options, double first_s, double end_s)
    : options_(std::move(options)), first_s_(first_s), end_s_(end_s) {
  const double asked = Asked(end_s_);
  if (options_.fps > 0.0) step_s_ = 1.0 / options_.fps;
  if (!options_.scenes) extra_cell_s_ = -1.0;
  if (options_.max_frames == 0 || asked <= 0.0) return;
  const auto cap = static_cast<double>(options_.max_frames);
  const double grid = step_s_ > 0.0 ? std::ceil(asked / step_s_ - kSlack_s) : 0.0;
  if (grid >= cap) {
    step_s_ = asked / cap;
    offset_s_ = grid > cap ? 0.5 * step_s_ : 0.0;
    extra_cell_s_ = -1.0;
  } else if (options_.scenes) {
    extra_cell_s_ = asked / (cap - grid);
  }
}

double FrameSampler::Asked(double time_s) const {
  if (options_.ranges.empty()) return time_s - first_s_;
  double asked = 0.0;
  for (const TimeRange& range : options_.ranges) {
    const double start = std::max(range.start_s, first_s_);
    const double end = std::min({range.end_s, end_s_, time_s});
    asked += std::max(0.0, end - start);
  }
  return asked;
}

int FrameSampler::RangeAt(double time_s) const {
  if (options_.ranges.empty()) return 0;
  for (size_t i = 0; i < options_.ranges.size(); ++i) {
    const TimeRange& range = options_.ranges[i];
    if (time_s >= range.start_s - kSlack_s && time_s < range.end_s) return static_cast<int>(i);
  }
  return -1;
}

bool FrameSampler::Offer(double time_s, bool new_shot) {
  const int range = RangeAt(time_s);
  // Without a grid the first picture of the film and of each range is kept like one that opens a shot.
  const bool opens = time_s <= first_s_ + kSlack_s || (last_range_ && *last_range_ != range);
  last_range_ = range;
  if (range < 0) return false;
  const double asked = Asked(time_s) + kSlack_s;
  if (step_s_ > 0.0 && asked >= offset_s_) {
    // The first picture on or after a grid point; several points that fall to one picture are one sample.
    const auto grid = static_cast<int64_t>(std::floor((asked - offset_s_) / step_s_));
    if (grid > last_grid_) {
      last_grid_ = grid;
      return true;
    }
  }
  if (step_s_ <= 0.0 && opens) new_shot = true;
  if (!new_shot || extra_cell_s_ < 0.0) return false;
  if (extra_cell_s_ == 0.0) return true;
  const auto cell = static_cast<int64_t>(std::floor(asked / extra_cell_s_));
  if (cell <= last_extra_) return false;
  last_extra_ = cell;
  return true;
}

double FrameSampler::WarmStart(double time_s) const {
  // The cells that the picture lies in begin at most this far back.
  const double back = std::max(step_s_, 0.0) + std::max(extra_cell_s_, 0.0);
  if (options_.ranges.empty()) return std::max(first_s_, time_s - back - 2.0 * kSlack_s);
  // Asked-for time stands still between ranges: go back until enough of it lies in between.
  double start = time_s;
  double missing = back + 2.0 * kSlack_s;
  for (auto range = options_.ranges.rbegin(); range != options_.ranges.rend() && missing > 0.0; ++range) {
    if (range->start_s >= start) continue;
    const double end = std::min(start, range->end_s);
    const double take = std::min(missing, end - range->start_s);
    start = end - take;
    missing -= take;
  }
  return std::max(first_s_, start);
}

std::vector<double> FrameSampler::Every(double first_s, double end_s, double step_s) {
  std::vector<double> times;
  if (!(step_s > 0.0) || !std::isfinite(first_s) || !std::isfinite(end_s)) return times;
  for (int64_t n = 0;; ++n) {  // by multiplication: no drift over hours
    const double time = first_s + static_cast<double>(n) * step_s;
    if (!(time < end_s - kSlack_s) && n > 0) return times;
    if (n == 0 && !(first_s < end_s)) return times;
    times.push_back(time);
  }
}

}  // namespace longview
