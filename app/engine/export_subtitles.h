// Captions as subtitle files and plain text: pure functions from cues to the bytes of a file.
//
// All writers give UTF-8 without a byte order mark, lines end in '\n', and the bytes depend on the arguments alone. The
// formats: SRT (SubRip as FFmpeg and players read it), WebVTT (W3C, https://www.w3.org/TR/webvtt1/), JSONL (design.md
// §4: one object a line with video, start, end, text), TXT (one line a caption: `[MM:SS.mmm - MM:SS.mmm] text`), CSV
// (RFC 4180 but for its line ends: a head line `video,start,end,text`, times in seconds).
#ifndef LONGVIEW_APP_ENGINE_EXPORT_SUBTITLES_H_
#define LONGVIEW_APP_ENGINE_EXPORT_SUBTITLES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview {

// A text and the part of the film that it is about, in seconds.
struct Cue {
  double start_s = 0.0;
  double end_s = 0.0;
  std::string text;  // any bytes; what is no UTF-8 is written as U+FFFD
};

// The same in whole milliseconds, as every format stores it.
struct TimedCue {
  int64_t start_ms = 0;
  int64_t end_ms = 0;
  std::string text;
};

enum class SubtitleFormat { kSrt, kVtt, kJsonl, kTxt, kCsv };

// "srt", "vtt", "jsonl", "txt", "csv": the name on the command line and the extension of the file.
std::string_view SubtitleFormatName(SubtitleFormat format);
// kInvalidArgument lists the choices.
Result<SubtitleFormat> ParseSubtitleFormat(std::string_view name);

// The cues that every writer starts from. Times are rounded to milliseconds once; cues are in order of their start
// (equal ones in the order given), inside [0, film_end_s], each with end > start and none before the end of the one
// before it: an overlap shortens the earlier cue, and a cue without length gets what there is up to the next one, at
// most a second. Left out: cues whose text shows nothing (only blanks and control characters), that start at or after
// the film's end, or whose times are not numbers. film_end_s <= 0 means that the end is not known. Texts stay as they
// are.
std::vector<TimedCue> ArrangeCues(std::span<const Cue> cues, double film_end_s);

// The file's bytes. `video` is the value of "video" in JSONL and CSV and unused elsewhere.
//  - SRT, VTT: line breaks of any kind separate lines, blank lines and control characters go; a text that is only a
//  number
//    gets a full stop (readers would take it for a cue's number).
//  - SRT has no escapes: "-->" becomes U+2192, an arrow.
//  - VTT: & < > become &amp; &lt; &gt;.
//  - JSONL: the text unchanged. Line separators that are not '\n' (U+0085, U+2028, U+2029) are escaped.
//  - TXT: the text on one line.
//  - CSV: texts in quotes, a quote doubled; line breaks become blanks.
std::string WriteSubtitles(SubtitleFormat format, std::span<const Cue> cues, double film_end_s, std::string_view video);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_EXPORT_SUBTITLES_H_
