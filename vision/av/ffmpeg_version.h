// Which FFmpeg the program runs with, for reports of problems.
#ifndef LONGVIEW_VISION_AV_FFMPEG_VERSION_H_
#define LONGVIEW_VISION_AV_FFMPEG_VERSION_H_

#include <string>

namespace longview {

// The release, as "5.1.6-0+deb12u1", of the libraries found at run time.
std::string FfmpegVersion();

}  // namespace longview

#endif  // LONGVIEW_VISION_AV_FFMPEG_VERSION_H_
