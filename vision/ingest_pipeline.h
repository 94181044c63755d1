// From a video to what the ViT reads: decoding, choosing, and preprocessing run side by side through bounded queues.
#ifndef LONGVIEW_VISION_INGEST_PIPELINE_H_
#define LONGVIEW_VISION_INGEST_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/status.h"
#include "vision/av/video_reader.h"
#include "vision/frame_sampler.h"
#include "vision/preprocess.h"

namespace longview {

struct IngestOptions {
  ReaderOptions reader;  // target sizes are ignored here
  SamplingOptions sampling;
  PreprocessSpec preprocess;
  bool merge_identical = true;  // near-identical samples of one shot are one frame with a longer span
  int thumbnail = 0;            // > 0: longer side of the RGB thumbnail delivered with each frame
  int batch = 8;                // frames per call of the consumer (fewer at the end)
  int queue = 4;                // pictures waiting between two stages
  // Set: only frames later than this, decided exactly as in a run from the start. Give the time_s of the last frame
  // kept.
  std::optional<double> start_after_s;
};

// One kept frame.
struct IngestFrame {
  double time_s = 0.0;       // the decoded picture's own time
  double end_s = 0.0;        // the frame stands for [time_s, end_s): to the next kept frame, shot change, or the end
  bool scene_start = false;  // the first kept frame of a shot (the film's first frame is one)
  bool key = false;          // was coded as a keyframe
  std::vector<float> chw;    // [3, size, size], normalised; empty where they lie on a device
  std::shared_ptr<const GpuBuffer> device_chw;  // the same in the memory of the GPU that decoded the video, else null
  Picture thumbnail;                            // empty unless asked for
};

struct IngestSummary {
  VideoInfo info;
  int64_t decoded = 0;  // pictures decoded
  int64_t kept = 0;     // frames delivered
  int64_t merged = 0;   // samples that were near-identical to the frame before
  DamageReport damage;
  ReaderCounters counters;
};

// Called on the thread that called IngestVideo, in order of time. An error ends the run and is returned.
using IngestConsumer = std::function<Status(std::vector<IngestFrame> frames)>;

// Asked where the device's way of reading (options.reader.hardware) ended in a failure: the frame after which the
// processor is to read on, null for none. Frames that the consumer was given after that one come again.
using IngestReturn = std::function<std::optional<double>()>;

// Reads `path` and hands its frames to `consumer`. Memory does not grow with the length of the video. Progress is in
// seconds of video, from the calling thread, and ends at done == total. Errors: those of VideoReader::Open and Next,
// the consumer's, and kCancelled; frames delivered before stay valid. With options.reader.hardware any failure but a
// stop and the system's is said in the log, and the processor reads on.
Result<IngestSummary> IngestVideo(const std::string& path, const IngestOptions& options, const JobContext& job,
                                  const IngestConsumer& consumer, const IngestReturn& return_to = {});

}  // namespace longview

#endif  // LONGVIEW_VISION_INGEST_PIPELINE_H_
