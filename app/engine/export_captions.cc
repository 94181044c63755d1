// The table of formats, and the call of each one's writer.
#include "app/engine/export_captions.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/engine/caption_digest.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"

namespace longview {
namespace {

constexpr std::array<CaptionFormat, 10> kAll = {CaptionFormat::kSrt,      CaptionFormat::kVtt, CaptionFormat::kJsonl,
                                                CaptionFormat::kTxt,      CaptionFormat::kCsv, CaptionFormat::kSummary,
                                                CaptionFormat::kChapters, CaptionFormat::kEdl, CaptionFormat::kFcpxml,
                                                CaptionFormat::kXmp};

// The formats that are one of SubtitleFormat.
std::optional<SubtitleFormat> AsSubtitle(CaptionFormat format) {
  switch (format) {
    case CaptionFormat::kSrt:
      return SubtitleFormat::kSrt;
    case CaptionFormat::kVtt:
      return SubtitleFormat::kVtt;
    case CaptionFormat::kJsonl:
      return SubtitleFormat::kJsonl;
    case CaptionFormat::kTxt:
      return SubtitleFormat::kTxt;
    case CaptionFormat::kCsv:
      return SubtitleFormat::kCsv;
    default:
      return std::nullopt;
  }
}

double RoundedSeconds(double seconds) { return static_cast<double>(ToMilliseconds(seconds)) / 1000.0; }

std::string WriteSummary(const CaptionDigest& digest, std::string_view video) {
  nlohmann::ordered_json chapters = nlohmann::ordered_json::array();
  for (const Chapter& chapter : digest.chapters) {
    chapters.push_back({{"title", ValidUtf8(chapter.title)},
                        {"start", RoundedSeconds(chapter.start_s)},
                        {"end", RoundedSeconds(chapter.end_s)}});
  }
  const nlohmann::ordered_json object = {
      {"video", ValidUtf8(video)}, {"summary", ValidUtf8(digest.summary)}, {"chapters", chapters}};
  return object.dump(2) + "\n";
}

}  // namespace

std::string_view CaptionFormatName(CaptionFormat format) {
  if (const auto subtitle = AsSubtitle(format)) return SubtitleFormatName(*subtitle);
  switch (format) {
    case CaptionFormat::kSummary:
      return "summary";
    case CaptionFormat::kChapters:
      return "chapters";
    case CaptionFormat::kEdl:
      return "edl";
    case CaptionFormat::kFcpxml:
      return "fcpxml";
    default:
      return "xmp";
  }
}

Result<CaptionFormat> ParseCaptionFormat(std::string_view name) {
  std::string names;
  for (const CaptionFormat format : kAll) {
    if (CaptionFormatName(format) == name) return format;
    names += (names.empty() ? "" : ", ") + std::string(CaptionFormatName(format));
  }
  return InvalidArgument("format '" + PrintableText(name) + "' is none of " + names);
}

std::span<const CaptionFormat> CaptionFormats() { return kAll; }

std::string CaptionSuffix(CaptionFormat format) {
  switch (format) {
    case CaptionFormat::kSummary:
      return ".visual.en.summary.json";
    case CaptionFormat::kChapters:
      return ".visual.en.chapters.vtt";
    case CaptionFormat::kXmp:
      return ".xmp";
    default:
      return ".visual.en." + std::string(CaptionFormatName(format));
  }
}

bool NeedsMediaInfo(CaptionFormat format) { return format == CaptionFormat::kEdl || format == CaptionFormat::kFcpxml; }

std::string WriteCaptions(CaptionFormat format, std::span<const Cue> cues, const TimelineMedia& media,
                          std::string_view video) {
  if (const auto subtitle = AsSubtitle(format)) return WriteSubtitles(*subtitle, cues, media.end_s, video);
  if (format == CaptionFormat::kEdl) return WriteEdl(cues, media);
  const CaptionDigest digest = DigestCaptions(cues, media.end_s);
  switch (format) {
    case CaptionFormat::kSummary:
      return WriteSummary(digest, video);
    case CaptionFormat::kFcpxml:
      return WriteFcpxml(cues, digest.chapters, media);
    case CaptionFormat::kChapters: {
      std::vector<Cue> chapters;
      for (const Chapter& chapter : digest.chapters)
        chapters.push_back({chapter.start_s, chapter.end_s, chapter.title});
      return WriteSubtitles(SubtitleFormat::kVtt, chapters, media.end_s, video);
    }
    default:
      return {};
  }
}

}  // namespace longview
