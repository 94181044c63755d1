// One pass puts the cues in order, then one small writer per format.
#include "app/engine/export_subtitles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/engine/time_format.h"
#include "app/engine/utf8.h"

namespace longview {
namespace {

constexpr int64_t kLongestRepairMs = 1000;  // given at most to a cue that came without a length
constexpr std::array<SubtitleFormat, 5> kFormats = {SubtitleFormat::kSrt, SubtitleFormat::kVtt, SubtitleFormat::kJsonl,
                                                    SubtitleFormat::kTxt, SubtitleFormat::kCsv};

bool IsLineBreak(uint32_t c) { return (c >= 0x0A && c <= 0x0D) || c == 0x85 || c == 0x2028 || c == 0x2029; }

bool IsDroppedControl(uint32_t c) { return (c < 0x20 && c != '\t') || (c >= 0x7F && c < 0xA0); }

std::string_view TrimSpaces(std::string_view line) {
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
  return line;
}

bool IsNumber(std::string_view line) {
  if (!line.empty() && (line.front() == '-' || line.front() == '+')) line.remove_prefix(1);
  return !line.empty() && line.find_first_not_of("0123456789") == std::string_view::npos;
}

// The lines of a text that show something, well-formed and without control characters. The callers leave out cues that
// show nothing, so there is at least one.
std::vector<std::string> PayloadLines(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  const auto finish = [&] {
    if (!ShowsNothing(line)) lines.emplace_back(TrimSpaces(line));
    line.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = NextCharacter(text, at);
    if (IsLineBreak(step.code_point)) {
      finish();
    } else if (!step.valid) {
      line += "\xEF\xBF\xBD";
    } else if (step.code_point == '\t') {
      line += ' ';
    } else if (!IsDroppedControl(step.code_point)) {
      line += text.substr(at, step.bytes);
    }
    at += step.bytes;
  }
  finish();
  return lines;
}

void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

// The payload of an SRT or VTT cue, without the line break after its last line.
std::string Payload(SubtitleFormat format, std::string_view text) {
  std::string payload;
  for (std::string& line : PayloadLines(text)) {
    if (IsNumber(line)) line += '.';
    if (format == SubtitleFormat::kSrt) {
      ReplaceAll("-->", "\xE2\x86\x92", &line);
    } else {
      ReplaceAll("&", "&amp;", &line);
      ReplaceAll("<", "&lt;", &line);
      ReplaceAll(">", "&gt;", &line);
    }
    if (!payload.empty()) payload += '\n';
    payload += line;
  }
  return payload;
}

std::string WriteSrt(const std::vector<TimedCue>& cues) {
  std::string out;
  for (size_t i = 0; i < cues.size(); ++i) {
    out += std::to_string(i + 1) + "\n" + FormatTimestamp(cues[i].start_ms, ',') + " --> " +
           FormatTimestamp(cues[i].end_ms, ',') + "\n" + Payload(SubtitleFormat::kSrt, cues[i].text) + "\n\n";
  }
  return out;
}

std::string WriteVtt(const std::vector<TimedCue>& cues) {
  std::string out = "WEBVTT\n\n";
  for (const TimedCue& cue : cues) {
    out += FormatTimestamp(cue.start_ms, '.') + " --> " + FormatTimestamp(cue.end_ms, '.') + "\n" +
           Payload(SubtitleFormat::kVtt, cue.text) + "\n\n";
  }
  return out;
}

std::string WriteJsonl(const std::vector<TimedCue>& cues, std::string_view video) {
  std::string out;
  const std::string video_text = ValidUtf8(video);
  for (const TimedCue& cue : cues) {
    const nlohmann::ordered_json line = {{"video", video_text},
                                         {"start", static_cast<double>(cue.start_ms) / 1000.0},
                                         {"end", static_cast<double>(cue.end_ms) / 1000.0},
                                         {"text", ValidUtf8(cue.text)}};
    std::string text = line.dump();
    // Many readers split lines at these too; inside JSON they can only stand in a string, where an escape is the same.
    ReplaceAll("\xC2\x85", "\\u0085", &text);
    ReplaceAll("\xE2\x80\xA8", "\\u2028", &text);
    ReplaceAll("\xE2\x80\xA9", "\\u2029", &text);
    out += text + "\n";
  }
  return out;
}

std::string WriteTxt(const std::vector<TimedCue>& cues) {
  // MM:SS.mmm until the first hour, then with hours, as people write times.
  const auto stamp = [](int64_t ms) { return FormatTimestamp(ms, '.').substr(ms < 3600000 ? 3 : 0); };
  std::string out;
  for (const TimedCue& cue : cues) {
    out += "[" + stamp(cue.start_ms) + " - " + stamp(cue.end_ms) + "]";
    for (const std::string& line : PayloadLines(cue.text)) out += " " + line;
    out += "\n";
  }
  return out;
}

std::string CsvField(std::string_view text) {
  std::string quoted = ValidUtf8(text);
  std::replace_if(
      quoted.begin(), quoted.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  ReplaceAll("\"", "\"\"", &quoted);
  return "\"" + quoted + "\"";
}

std::string WriteCsv(const std::vector<TimedCue>& cues, std::string_view video) {
  std::string out = "video,start,end,text\n";
  const std::string name = CsvField(video);
  const auto seconds = [](int64_t ms) { return FormatNumber(static_cast<double>(ms) / 1000.0, 3); };
  for (const TimedCue& cue : cues) {
    std::string text;
    for (const std::string& line : PayloadLines(cue.text)) text += (text.empty() ? "" : " ") + line;
    out += name + "," + seconds(cue.start_ms) + "," + seconds(cue.end_ms) + "," + CsvField(text) + "\n";
  }
  return out;
}

}  // namespace

std::string_view SubtitleFormatName(SubtitleFormat format) {
  switch (format) {
    case SubtitleFormat::kSrt:
      return "srt";
    case SubtitleFormat::kVtt:
      return "vtt";
    case SubtitleFormat::kJsonl:
      return "jsonl";
    case SubtitleFormat::kTxt:
      return "txt";
    case SubtitleFormat::kCsv:
      return "csv";
  }
  return "srt";
}

Result<SubtitleFormat> ParseSubtitleFormat(std::string_view name) {
  for (const SubtitleFormat format : kFormats) {
    if (SubtitleFormatName(format) == name) return format;
  }
  return InvalidArgument("format '" + PrintableText(name) + "' is none of srt, vtt, jsonl, txt, csv");
}

std::vector<TimedCue> ArrangeCues(std::span<const Cue> cues, double film_end_s) {
  // Cut, not rounded: a last cue must not end after the film. The small term is for ends such as 2.3 that have no exact
  // binary form.
  const int64_t film_end_ms =
      film_end_s > 0.0 ? std::max<int64_t>(1, static_cast<int64_t>(std::min(film_end_s * 1000.0 + 1e-3, 9e15)))
                       : std::numeric_limits<int64_t>::max();
  std::vector<TimedCue> out;
  for (const Cue& cue : cues) {
    if (!std::isfinite(cue.start_s) || !std::isfinite(cue.end_s) || ShowsNothing(cue.text)) continue;
    const int64_t start_ms = ToMilliseconds(cue.start_s);
    if (start_ms < film_end_ms) out.push_back({start_ms, ToMilliseconds(cue.end_s), cue.text});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const TimedCue& a, const TimedCue& b) { return a.start_ms < b.start_ms; });
  int64_t free_from = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    TimedCue& cue = out[i];
    cue.start_ms = std::max(cue.start_ms, free_from);
    if (cue.start_ms >= film_end_ms) {
      out.resize(i);  // more cues than milliseconds: those that no longer fit are left out
      break;
    }
    const int64_t next = i + 1 < out.size() ? out[i + 1].start_ms : std::numeric_limits<int64_t>::max();
    if (cue.end_ms <= cue.start_ms) cue.end_ms = cue.start_ms + kLongestRepairMs;
    cue.end_ms = std::max(std::min({cue.end_ms, next, film_end_ms}), cue.start_ms + 1);
    free_from = cue.end_ms;
  }
  return out;
}

std::string WriteSubtitles(SubtitleFormat format, std::span<const Cue> cues, double film_end_s,
                           std::string_view video) {
  const std::vector<TimedCue> arranged = ArrangeCues(cues, film_end_s);
  switch (format) {
    case SubtitleFormat::kSrt:
      return WriteSrt(arranged);
    case SubtitleFormat::kVtt:
      return WriteVtt(arranged);
    case SubtitleFormat::kJsonl:
      return WriteJsonl(arranged, video);
    case SubtitleFormat::kTxt:
      return WriteTxt(arranged);
    case SubtitleFormat::kCsv:
      return WriteCsv(arranged, video);
  }
  return {};
}

}  // namespace longview
