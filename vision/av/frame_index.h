// FrameIndex: what the packets of a film stream say about its times: span, rate, keyframes, and where the clock jumps
// back. Pure; knows nothing of FFmpeg. Its memory is one entry per keyframe and per jump.
//
// Joined files may start their clock again. Each such stretch is a segment; its times are moved so that it goes on
// where the one before it ended. "Ticks" below are moved ticks of the stream's time base, "raw" ticks are the
// container's.
#ifndef LONGVIEW_VISION_AV_FRAME_INDEX_H_
#define LONGVIEW_VISION_AV_FRAME_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <vector>

namespace longview::av {

class FrameIndex {
 public:
  struct Packet {
    std::optional<int64_t> pts;  // raw ticks
    std::optional<int64_t> dts;
    int64_t duration = 0;   // ticks; 0: not said
    int64_t position = -1;  // byte in the file; -1: not said
    bool key = false;
    bool discard = false;  // decoded but not shown (cut off by an edit list)
  };
  struct Key {
    int64_t ticks = 0;
    std::optional<int64_t> pts;
    std::optional<int64_t> dts;
    int64_t position = -1;
  };

  // `tick_s`: seconds a tick. `fallback_ticks`: the length of a picture where no packet says it and there is no other
  // to tell from; > 0.
  // `stores_pts`: the container has presentation times (AVI and raw streams do not: there one that is missing means
  // that the others are guesses).
  FrameIndex(double tick_s, int64_t fallback_ticks, bool stores_pts = true);

  // In the file's (decoding) order; then Finish() once.
  void Add(const Packet& packet);
  void Finish();

  // After Finish. Pictures shown, and whether presentation times are missing. Then the n-th picture gets the n-th
  // decoding time where every packet has one (an AVI with gaps), else n times the step.
  int64_t count() const { return count_; }
  bool untimed() const { return untimed_; }
  bool has_dts() const { return has_dts_; }
  // First picture's ticks, and the end of the last.
  int64_t first_ticks() const { return first_ticks_; }
  int64_t end_ticks() const { return end_ticks_; }
  // The usual step between pictures.
  int64_t step_ticks() const { return step_ticks_; }
  // More than one step in a hundred is a quarter away from the usual one.
  bool vfr() const { return vfr_; }
  const std::vector<Key>& keys() const { return keys_; }

  // The number of the last keyframe with ticks <= t; nothing where there is none.
  std::optional<size_t> KeyAt(int64_t ticks) const;
  // What to add to raw ticks of a picture whose packet stood at this byte.
  int64_t OffsetAt(int64_t position) const;
  size_t segments() const { return segments_.size(); }

 private:
  struct Segment {
    int64_t position = 0;  // of its first packet
    size_t first_key = 0;
    std::optional<int64_t> min_pts;
    std::optional<int64_t> end;
    int64_t offset = 0;
  };
  static void CountStep(std::optional<int64_t> from, int64_t to, std::map<int64_t, int64_t>* steps);
  void Step(int64_t pts);
  void Drain(size_t keep);
  void SummariseSteps();

  double tick_s_;
  int64_t fallback_ticks_;
  bool stores_pts_;
  int64_t count_ = 0;
  int64_t without_pts_ = 0;
  int64_t last_position_ = 0;
  bool untimed_ = false;
  bool has_dts_ = true;
  std::optional<int64_t> min_dts_;
  int64_t max_dts_ = 0;
  bool last_unsaid_ = false;  // the latest picture's length was not said
  int64_t first_ticks_ = 0;
  int64_t end_ticks_ = 0;
  int64_t step_ticks_ = 0;
  bool vfr_ = false;
  std::optional<int64_t> last_order_;
  std::optional<int64_t> last_shown_;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> window_;  // puts presentation times in order
  std::map<int64_t, int64_t> steps_;                                           // step -> how often
  std::map<int64_t, int64_t> dts_steps_;
  std::optional<int64_t> last_dts_;
  std::vector<Key> keys_;
  std::vector<Segment> segments_;
};

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_FRAME_INDEX_H_
