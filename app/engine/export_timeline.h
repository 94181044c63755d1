// Captions for editing programs: markers on a cut of the film as it is, which link to the film's own file.
//
// Pure functions. Frames are counted from the film's time 0 at its nominal rate; a caption begins on the frame that is
// shown at its start. Formats: CMX 3600 (an event for each caption, with the comments by which Avid and Premiere
// (* LOC:) and Resolve (|C: |M: |D:) know markers), and FCPXML 1.8 (Apple's DTD: times are rational seconds, whole
// multiples of the frame's duration).
#ifndef LONGVIEW_APP_ENGINE_EXPORT_TIMELINE_H_
#define LONGVIEW_APP_ENGINE_EXPORT_TIMELINE_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "app/engine/caption_digest.h"
#include "app/engine/export_subtitles.h"
#include "app/engine/settings.h"

namespace longview {

// A frame lasts num / den seconds; timecode counts `timebase` frames a second.
struct FrameRate {
  int64_t num = 1;
  int64_t den = 25;
  int64_t timebase = 25;
  bool drop = false;  // drop-frame timecode (SMPTE 12M): frame numbers left out so that it keeps pace with the clock
};

// The rate that a measured one stands for: within 0.1 % one of 23.976 (24000/1001), 24, 25, 29.97 (30000/1001),
// 30, 47.952, 48, 50, 59.94, 60, 100, 119.88, 120; else to a thousandth. 29.97 and 59.94 count in drop-frame. Not above
// 0: 25.
FrameRate NominalRate(double fps);

// NominalRate of a film; where the timecode that its file has (empty: none) does not count in drop-frame, this does not
// either.
FrameRate FilmRate(double fps, std::string_view timecode);

// `frame` (>= 0) as HH:MM:SS:FF, with ';' before the frames in drop-frame. After 23 hours come 0: timecode is that of a
// day. It keeps the film's time only where the rate is `timebase` frames a second, or drops.
std::string Timecode(int64_t frame, const FrameRate& rate);
// The frame that a timecode such as 01:00:00:00 or 01:00:00;00 names; -1 where it is none.
int64_t ParseTimecode(std::string_view text, const FrameRate& rate);

// The film that the markers are on.
struct TimelineMedia {
  std::filesystem::path file;  // absolute, for the link
  double end_s = 0.0;          // of the film
  double fps = 0.0;            // measured average; 0 for a still
  int width = 0;
  int height = 0;
  bool audio = false;
  std::string timecode;  // of the first frame, as the file has it; empty: 00:00:00:00
};

// A CMX 3600 list. Source times are the file's own timecode, record times begin at 01:00:00:00. A film whose rate is no
// whole number of frames a second and none of NTSC's, or above 100, is counted at 25, 30, 50 or 60 instead.
std::string WriteEdl(std::span<const Cue> cues, const TimelineMedia& media);

// A CMX 3600 list that cuts `moments` (seconds, in the order given) of the film one behind the other, each at least a
// frame long; record times begin at 00:00:00:00.
std::string WriteCutEdl(std::span<const TimeSpan> moments, const TimelineMedia& media);

// A project with the film as one clip, a marker for each caption and a chapter marker for each chapter.
std::string WriteFcpxml(std::span<const Cue> cues, std::span<const Chapter> chapters, const TimelineMedia& media);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_EXPORT_TIMELINE_H_
