// DamageTracker: see the header.
#include "vision/av/damage_tracker.h"

#include <algorithm>

namespace longview::av {
namespace {

constexpr double kTouch_s = 0.002;      // spans closer than this are one
constexpr size_t kMaxWaiting = 4096;    // a stream whose packets give no pictures must not fill memory
constexpr double kSameTime_s = 0.0005;  // a picture's time and its packet's are the same number but for rounding

}  // namespace

void DamageTracker::Sent(double time_s, double duration_s) {
  waiting_[time_s] = time_s + std::max(duration_s, 0.0);
  if (waiting_.size() > kMaxWaiting) waiting_.erase(waiting_.begin());
}

bool DamageTracker::Came(double time_s, double duration_s, bool key, bool flawed) {
  std::optional<double> lost;
  double lost_end = time_s;
  while (!waiting_.empty() && waiting_.begin()->first <= time_s + kSameTime_s) {
    const auto [start, end] = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    if (start < time_s - kSameTime_s && !lost) lost = start;
    if (start < time_s - kSameTime_s) lost_end = std::clamp(end, start, time_s);
  }
  if (complaint_ > 0) {
    --complaint_;
    if (lost) {
      AddSpan(*lost, lost_end);
      smear_until_ = std::max(smear_until_, lost_end + kSmear_s);
      complaint_ = 0;
    }
  }
  if (key && !flawed) smear_until_ = -1.0e300;
  last_end_ = time_s + std::max(duration_s, 0.0);
  if (flawed) smear_until_ = std::max(smear_until_, *last_end_ + kSmear_s);
  if (!flawed && time_s >= smear_until_) return true;
  AddSpan(time_s, *last_end_);
  return false;
}

void DamageTracker::Ended(double end_s) {
  // Pictures still underway at the end were lost if the decoder complained.
  if (complaint_ > 0 && !waiting_.empty()) AddSpan(waiting_.begin()->first, end_s);
  waiting_.clear();
  complaint_ = 0;
}

void DamageTracker::Flushed() {
  waiting_.clear();
  complaint_ = 0;
  smear_until_ = -1.0e300;
  last_end_.reset();
}

void DamageTracker::AddSpan(double start_s, double end_s) {
  end_s = std::max(end_s, start_s);
  spans_.push_back({start_s, end_s});
  std::sort(spans_.begin(), spans_.end(),
            [](const DamagedSpan& a, const DamagedSpan& b) { return a.start_s < b.start_s; });
  std::vector<DamagedSpan> merged;
  for (const DamagedSpan& span : spans_) {
    if (!merged.empty() && span.start_s <= merged.back().end_s + kTouch_s) {
      merged.back().end_s = std::max(merged.back().end_s, span.end_s);
    } else {
      merged.push_back(span);
    }
  }
  spans_ = std::move(merged);
}

std::optional<double> DamageTracker::DamagedAt(double time_s) const {
  for (const DamagedSpan& span : spans_) {
    if (time_s >= span.start_s && time_s < span.end_s) return span.end_s;
  }
  return std::nullopt;
}

}  // namespace longview::av
