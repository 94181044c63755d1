// Every form in which captions leave Longview, by one name each: subtitles and tables (export_subtitles.h), a summary
// with chapters (caption_digest.h), markers for editing programs (export_timeline.h), a sidecar (export_xmp.h).
#ifndef LONGVIEW_APP_ENGINE_EXPORT_CAPTIONS_H_
#define LONGVIEW_APP_ENGINE_EXPORT_CAPTIONS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/export_subtitles.h"
#include "app/engine/export_timeline.h"
#include "core/base/status.h"

namespace longview {

enum class CaptionFormat { kSrt, kVtt, kJsonl, kTxt, kCsv, kSummary, kChapters, kEdl, kFcpxml, kXmp };

// "srt", "vtt", "jsonl", "txt", "csv", "summary", "chapters", "edl", "fcpxml", "xmp": the names on the command line.
std::string_view CaptionFormatName(CaptionFormat format);
// kInvalidArgument lists the choices.
Result<CaptionFormat> ParseCaptionFormat(std::string_view name);
// All of them, in the order above.
std::span<const CaptionFormat> CaptionFormats();
// What follows a file's stem in the name of its output: ".visual.en.srt" and so on, and ".xmp" for the sidecar, whose
// name is settled by those who read it.
std::string CaptionSuffix(CaptionFormat format);
// Whether the writer needs the film's rate and size (TimelineMedia beyond `file` and `end_s`).
bool NeedsMediaInfo(CaptionFormat format);

// The file's bytes for every format but kXmp, which is merged (export_xmp.h). `video` is the film's name as it was
// given. kSummary is a JSON object {"video", "summary", "chapters": [{"title", "start", "end"}]}; kChapters is WebVTT
// whose cues are the chapters.
std::string WriteCaptions(CaptionFormat format, std::span<const Cue> cues, const TimelineMedia& media,
                          std::string_view video);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_EXPORT_CAPTIONS_H_
