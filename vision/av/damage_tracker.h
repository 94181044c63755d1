// DamageTracker: tells which stretches of a film gave no sound picture. Pure; times in seconds.
//
// A decoder says that something was wrong, but not when, least of all with several threads. So the packets given to it
// are noted; where it has complained, the pictures that never came out are the damage. Pictures that follow a damaged
// one are built on it, so they are dropped too, until a keyframe or for kSmear_s (a stream that mends itself piece by
// piece has no keyframes).
#ifndef LONGVIEW_VISION_AV_DAMAGE_TRACKER_H_
#define LONGVIEW_VISION_AV_DAMAGE_TRACKER_H_

#include <map>
#include <optional>
#include <vector>

#include "vision/av/video_reader.h"

namespace longview::av {

class DamageTracker {
 public:
  static constexpr double kSmear_s = 1.0;

  // A packet that ought to give a picture at this time went to the decoder.
  void Sent(double time_s, double duration_s);
  // The decoder complained about something it was given before now.
  void Failed() { complaint_ = kPatience; }
  // A picture came out; `flawed` where the decoder marked it as patched up. True: show it.
  bool Came(double time_s, double duration_s, bool key, bool flawed);
  // No picture will come any more; the film ends at end_s.
  void Ended(double end_s);
  // The decoder was emptied for a seek: what was underway is forgotten, what was found stays.
  void Flushed();

  const std::vector<DamagedSpan>& spans() const { return spans_; }
  // The end of the damage that covers this time, if any.
  std::optional<double> DamagedAt(double time_s) const;

 private:
  static constexpr int kPatience = 32;  // pictures that may come before the one that the complaint was about is missed

  void AddSpan(double start_s, double end_s);

  std::map<double, double> waiting_;  // time -> end of pictures not yet come
  int complaint_ = 0;
  double smear_until_ = -1.0e300;
  std::optional<double> last_end_;  // of the last picture that came
  std::vector<DamagedSpan> spans_;
};

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_DAMAGE_TRACKER_H_
