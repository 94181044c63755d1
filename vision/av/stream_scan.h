// What the packets of a file say, against its header. Private to vision/av.
#ifndef LONGVIEW_VISION_AV_STREAM_SCAN_H_
#define LONGVIEW_VISION_AV_STREAM_SCAN_H_

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "core/base/status.h"
#include "vision/av/demuxer.h"
#include "vision/av/frame_index.h"
#include "vision/av/video_reader.h"

namespace longview::av {

// Where the film stream starts and ends. With `index` the whole file was read; without, the header agreed with both
// ends of a large file.
struct StreamSpan {
  std::optional<FrameIndex> index;
  int64_t first_ticks = 0;
  int64_t end_ticks = 0;
  int64_t step_ticks = 1;
  double fps_avg = 0.0;
  bool vfr = false;
};

// `demuxer` is the open file; the packets are read through another. Files up to 256 MiB, formats whose clocks jump, and
// files whose header is silent or contradicted by their last packets are read to the end.
Result<StreamSpan> ScanStream(const Demuxer& demuxer, const ReaderOptions& options, std::stop_token stop);

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_STREAM_SCAN_H_
