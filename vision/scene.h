// Shot changes and near-identical pictures, told from small pictures (VideoReader::Small). Pure; no state beyond what
// the classes hold, and that state reaches back at most kSceneMemory_s, so that a resumed run decides as an undisturbed
// one.
#ifndef LONGVIEW_VISION_SCENE_H_
#define LONGVIEW_VISION_SCENE_H_

#include <array>
#include <optional>

#include "vision/picture.h"

namespace longview {

// The size that the thresholds were set for.
inline constexpr int kSmallWidth = 64;
inline constexpr int kSmallHeight = 36;

// How far back in time a decision of SceneDetector can depend on pictures.
inline constexpr double kSceneMemory_s = 2.0;

// How two small pictures of the same size differ.
struct SmallDifference {
  double mean = 0.0;       // mean |difference| of all channels, 0..255
  double histogram = 0.0;  // half the L1 distance of their colour histograms (8 x 8 x 8 bins), 0..1
  double block = 0.0;      // the largest mean |difference| in an 8 x 6 grid of blocks, 0..255
};
SmallDifference Compare(const Picture& a, const Picture& b);

// Tells where a new shot begins. A cut is a step between neighbours that is large in pixels and in colours (motion
// keeps the colours, a change of light keeps the edges), large against the step before it, and not within 0.4 s of
// another candidate.
class SceneDetector {
 public:
  // `small` is the next picture in order of time. True where it opens a new shot; the first one does not.
  bool Offer(const Picture& small);
  void Reset();

 private:
  std::optional<Picture> previous_;
  double previous_step_ = 0.0;
  std::optional<double> last_candidate_s_;
};

// Whether `b` shows nothing that `a` does not: no block differs visibly. Sensor noise and compression pass as equal.
bool NearlyIdentical(const Picture& a, const Picture& b);

}  // namespace longview

#endif  // LONGVIEW_VISION_SCENE_H_
