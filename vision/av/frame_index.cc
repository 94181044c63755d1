// FrameIndex: one pass over the packets.
#include "vision/av/frame_index.h"

#include <algorithm>
#include <cmath>

namespace longview::av {
namespace {

constexpr double kJumpBack_s = 0.25;   // a clock that falls by more than this was started again
constexpr size_t kReorderWindow = 32;  // more than any codec's depth of reordering
constexpr size_t kMaxSteps = 4096;     // different steps that are told apart

}  // namespace

FrameIndex::FrameIndex(double tick_s, int64_t fallback_ticks, bool stores_pts)
    : tick_s_(tick_s), fallback_ticks_(std::max<int64_t>(1, fallback_ticks)), stores_pts_(stores_pts) {}

void FrameIndex::Add(const Packet& packet) {
  // Decoding times rise within a segment; presentation times are reordered and serve only where there are no others.
  const std::optional<int64_t> order = packet.dts.has_value() ? packet.dts : packet.pts;
  const auto jump = static_cast<int64_t>(std::ceil(kJumpBack_s / tick_s_));
  if (segments_.empty() || (order && last_order_ && *order < *last_order_ - jump)) {
    Drain(0);
    last_shown_.reset();
    Segment segment;
    segment.position = segments_.empty() ? 0 : packet.position >= 0 ? packet.position : last_position_ + 1;
    last_dts_.reset();
    segment.first_key = keys_.size();
    segments_.push_back(segment);
  }
  if (order) last_order_ = order;
  if (packet.position >= 0) last_position_ = packet.position;
  Segment& segment = segments_.back();
  if (packet.key) {
    keys_.push_back({packet.pts.value_or(packet.dts.value_or(0)), packet.pts, packet.dts, packet.position});
  }
  if (packet.discard) return;
  ++count_;
  if (packet.dts) {
    min_dts_ = std::min(*packet.dts, min_dts_.value_or(*packet.dts));
    max_dts_ = std::max(max_dts_, *packet.dts);
    CountStep(last_dts_, *packet.dts, &dts_steps_);
    last_dts_ = packet.dts;
  } else {
    has_dts_ = false;
  }
  if (!packet.pts) {
    ++without_pts_;
    return;
  }
  segment.min_pts = std::min(*packet.pts, segment.min_pts.value_or(*packet.pts));
  const int64_t end = *packet.pts + packet.duration;
  if (!segment.end || end >= *segment.end) {
    segment.end = end;
    last_unsaid_ = packet.duration <= 0;
  }
  window_.push(*packet.pts);
  Drain(kReorderWindow);
}

void FrameIndex::Drain(size_t keep) {
  while (window_.size() > keep) {
    Step(window_.top());
    window_.pop();
  }
}

void FrameIndex::CountStep(std::optional<int64_t> from, int64_t to, std::map<int64_t, int64_t>* steps) {
  if (!from || to <= *from) return;
  const int64_t step = to - *from;
  if (steps->size() < kMaxSteps || steps->contains(step)) ++(*steps)[step];
}

void FrameIndex::Step(int64_t pts) {
  CountStep(last_shown_, pts, &steps_);
  last_shown_ = pts;
}

void FrameIndex::SummariseSteps() {
  int64_t total = 0;
  for (const auto& [step, times] : steps_) total += times;
  step_ticks_ = fallback_ticks_;
  int64_t seen = 0;
  for (const auto& [step, times] : steps_) {  // the median
    seen += times;
    if (2 * seen >= total) {
      step_ticks_ = step;
      break;
    }
  }
  int64_t odd = 0;
  for (const auto& [step, times] : steps_) {
    // A container's coarse clock (Matroska's milliseconds) rounds equal steps apart by a tick.
    const int64_t away = std::abs(step - step_ticks_);
    if (away > 2 && static_cast<double>(away) > 0.25 * static_cast<double>(step_ticks_)) odd += times;
  }
  vfr_ = odd * 100 > total;
}

void FrameIndex::Finish() {
  Drain(0);
  untimed_ = stores_pts_ ? 2 * without_pts_ > count_ : without_pts_ > 0;
  if (without_pts_ > 0) steps_ = dts_steps_;  // those between the pictures that have a time are too long
  SummariseSteps();
  if (untimed_) {
    has_dts_ = has_dts_ && segments_.size() == 1;
    step_ticks_ = fallback_ticks_;
    first_ticks_ = has_dts_ ? min_dts_.value_or(0) : 0;
    end_ticks_ = has_dts_ ? max_dts_ + fallback_ticks_ : count_ * fallback_ticks_;
    vfr_ = false;
    return;
  }
  std::optional<int64_t> end;  // of the segments before
  for (size_t i = 0; i < segments_.size(); ++i) {
    Segment& segment = segments_[i];
    if (!segment.min_pts) {
      segment.offset = i > 0 ? segments_[i - 1].offset : 0;
    } else {
      if (!end) {
        first_ticks_ = *segment.min_pts;
      } else {
        segment.offset = *end - *segment.min_pts;
      }
      end = *segment.end + segment.offset;
    }
    const size_t last_key = i + 1 < segments_.size() ? segments_[i + 1].first_key : keys_.size();
    for (size_t k = segment.first_key; k < last_key; ++k) keys_[k].ticks += segment.offset;
  }
  end_ticks_ = end.value_or(0);
  if (last_unsaid_) end_ticks_ += step_ticks_;
  // The last picture may be one without a time: there are at least as many steps as pictures.
  if (without_pts_ > 0) end_ticks_ = std::max(end_ticks_, first_ticks_ + count_ * step_ticks_);
  // Keyframes come in rising order but for odd files.
  std::stable_sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) { return a.ticks < b.ticks; });
}

std::optional<size_t> FrameIndex::KeyAt(int64_t ticks) const {
  const auto after =
      std::upper_bound(keys_.begin(), keys_.end(), ticks, [](int64_t t, const Key& key) { return t < key.ticks; });
  if (after == keys_.begin()) return std::nullopt;
  return static_cast<size_t>(after - keys_.begin()) - 1;
}

int64_t FrameIndex::OffsetAt(int64_t position) const {
  int64_t offset = segments_.empty() ? 0 : segments_.front().offset;
  for (const Segment& segment : segments_) {
    if (segment.position <= position) offset = segment.offset;
  }
  return offset;
}

}  // namespace longview::av
