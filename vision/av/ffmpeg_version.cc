// One call into libavutil, here because only this folder may include FFmpeg.
#include "vision/av/ffmpeg_version.h"

extern "C" {
#include <libavutil/avutil.h>
}

namespace longview {

std::string FfmpegVersion() { return av_version_info(); }

}  // namespace longview
