// A part of a film as a file of its own, copied packet by packet: nothing is decoded or encoded again.
#ifndef LONGVIEW_VISION_AV_CLIP_CUTTER_H_
#define LONGVIEW_VISION_AV_CLIP_CUTTER_H_

#include <string>

#include "core/base/progress.h"
#include "core/base/status.h"

namespace longview {

// Copies every picture, sound and subtitle stream of `video` that the format of `out` (by its extension) can hold, from
// the last keyframe at or before `start_s` to `end_s` (infinity: to the end); times as in video_reader.h, and the copy
// begins at 0. Written under a temporary name in the same folder and renamed once whole. progress: seconds copied.
// Errors, each beginning with a path: kInvalidArgument (end <= start, `out` is `video`), kUnsupported (no format for
// the extension, or it holds none of the streams), kOutOfRange (nothing within the span), kDamaged, kIo, kCancelled.
Status CopyClip(const std::string& video, double start_s, double end_s, const std::string& out, const JobContext& job);

}  // namespace longview

#endif  // LONGVIEW_VISION_AV_CLIP_CUTTER_H_
