// Frame arithmetic in whole numbers, then two writers.
#include "app/engine/export_timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <pugixml.hpp>
#include <sstream>
#include <vector>

#include "app/engine/caption_merge.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"
#include "app/engine/xml_text.h"

namespace longview {
namespace {

// A caption's frames [first, last) and its text on one line.
struct Marker {
  int64_t first = 0;
  int64_t last = 0;
  std::string text;
};

// The frame shown at a time. A hundredth of a frame for times that were rounded to milliseconds or less.
int64_t FrameAt(double time_s, const FrameRate& rate) {
  const double frames = time_s * static_cast<double>(rate.den) / static_cast<double>(rate.num);
  const double nearest = std::round(frames);
  // A time in whole milliseconds may lie half of one before its frame.
  const double slack = std::min(0.4, 0.0006 * static_cast<double>(rate.den) / static_cast<double>(rate.num));
  return std::max<int64_t>(0, static_cast<int64_t>(std::abs(frames - nearest) <= slack ? nearest : std::floor(frames)));
}

std::vector<Marker> Markers(std::span<const Cue> cues, double film_end_s, const FrameRate& rate) {
  std::vector<Marker> markers;
  int64_t free_from = 0;
  for (const TimedCue& cue : ArrangeCues(cues, film_end_s)) {
    const int64_t first = std::max(free_from, FrameAt(static_cast<double>(cue.start_ms) / 1000.0, rate));
    const int64_t last = std::max(first + 1, FrameAt(static_cast<double>(cue.end_ms) / 1000.0, rate));
    markers.push_back({first, last, OneLine(ValidUtf8(cue.text))});
    free_from = last;
  }
  return markers;
}

std::string TwoDigits(int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); }

// Text that stays one field of an EDL comment.
std::string EdlText(std::string_view text) {
  std::string out = OneLine(ValidUtf8(text));
  std::replace(out.begin(), out.end(), '|', '/');
  return out;
}

// Frames that drop-frame leaves out each minute but the tenth.
int64_t DroppedAMinute(const FrameRate& rate) { return rate.timebase / 15; }

int64_t FramesInTenMinutes(const FrameRate& rate) {
  return rate.timebase * 600 - (rate.drop ? 9 * DroppedAMinute(rate) : 0);
}

std::string RationalTime(int64_t frames, const FrameRate& rate) {
  if (frames == 0) return "0s";
  const int64_t num = frames * rate.num;
  const int64_t common = std::gcd(num, rate.den);
  if (rate.den == common) return std::to_string(num / common) + "s";
  return std::to_string(num / common) + "/" + std::to_string(rate.den / common) + "s";
}

// A file's URL (RFC 8089): every byte but the unreserved ones and '/' in percent form.
std::string FileUrl(const std::filesystem::path& file) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string url = "file://";
  for (const char c : file.native()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      url += c;
    } else {
      url += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return url;
}

std::string EdlHead(const TimelineMedia& media, const FrameRate& rate) {
  return "TITLE: " + EdlText(media.file.stem().native()) +
         (rate.drop ? "\nFCM: DROP FRAME\n" : "\nFCM: NON-DROP FRAME\n");
}

// An event's line: `length` frames from `source` on, which stand at `record` of the cut.
std::string EdlEvent(int64_t number, int64_t source, int64_t record, int64_t length, const FrameRate& rate) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 3 ? 3 - digits.size() : 0, '0');
  return "\n" + digits + "  AX       V     C        " + Timecode(source, rate) + " " + Timecode(source + length, rate) +
         " " + Timecode(record, rate) + " " + Timecode(record + length, rate) + "\n";
}

std::string EdlSource(const TimelineMedia& media) {
  return "* FROM CLIP NAME: " + EdlText(media.file.filename().native()) +
         "\n* SOURCE FILE: " + EdlText(media.file.native()) + "\n";
}

// The rate at which timecode counts the film: its own where that is a whole number of frames a second or one that has
// a timecode of its own; else one of which each second has its whole frames, so that timecode keeps the film's time.
FrameRate CountedRate(const TimelineMedia& media) {
  const FrameRate rate = FilmRate(media.fps, media.timecode);
  if ((rate.num == 1 || rate.num == 1001) && rate.timebase <= 100) return rate;
  constexpr std::array<int64_t, 4> kBases = {25, 30, 50, 60};
  const auto base = std::find_if(kBases.begin(), kBases.end(), [&rate](int64_t b) { return b * rate.num >= rate.den; });
  const int64_t timebase = base == kBases.end() ? kBases.back() : *base;
  return {1, timebase, timebase, false};
}

// The frame that the film's own timecode begins with, in frames of CountedRate.
int64_t FirstFrame(const TimelineMedia& media, const FrameRate& counted) {
  return std::max<int64_t>(0, ParseTimecode(media.timecode, counted));
}

int64_t FilmFrames(const TimelineMedia& media, const FrameRate& rate, std::span<const Marker> markers) {
  const int64_t last = markers.empty() ? 1 : markers.back().last;
  return std::max(last, FrameAt(media.end_s, rate));
}

void Set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(XmlText(value).c_str());
}

}  // namespace

FrameRate NominalRate(double fps) {
  if (!std::isfinite(fps) || fps <= 0.0) return {1, 25, 25, false};
  constexpr std::array<int64_t, 7> kWhole = {24, 25, 30, 48, 50, 60, 100};
  constexpr std::array<int64_t, 5> kNtsc = {24, 30, 48, 60, 120};
  FrameRate best;
  double off = 0.0005 * fps;  // nearer than half of what lies between 30 and 29.97
  for (const int64_t base : kWhole) {
    if (std::abs(fps - static_cast<double>(base)) >= off) continue;
    off = std::abs(fps - static_cast<double>(base));
    best = {1, base, base, false};
  }
  for (const int64_t base : kNtsc) {
    const double exact = static_cast<double>(base) * 1000.0 / 1001.0;
    if (std::abs(fps - exact) >= off) continue;
    off = std::abs(fps - exact);
    best = {1001, base * 1000, base, base == 30 || base == 60};
  }
  if (off < 0.0005 * fps) return best;
  const auto thousandths = static_cast<int64_t>(std::max(1.0, std::round(std::min(fps, 1e6) * 1000.0)));
  const int64_t common = std::gcd<int64_t, int64_t>(1000, thousandths);
  return {1000 / common, thousandths / common, std::max<int64_t>(1, (thousandths + 500) / 1000), false};
}

FrameRate FilmRate(double fps, std::string_view timecode) {
  FrameRate rate = NominalRate(fps);
  // The file's own timecode says how it counts.
  if (rate.drop && timecode.find(':') != std::string_view::npos) {
    rate.drop = timecode.find(';') != std::string_view::npos;
  }
  return rate;
}

std::string Timecode(int64_t frame, const FrameRate& rate) {
  const int64_t ten = FramesInTenMinutes(rate);
  frame %= ten * 6 * 24;
  if (rate.drop) {
    const int64_t dropped = DroppedAMinute(rate);
    const int64_t minute = rate.timebase * 60 - dropped;
    const int64_t rest = frame % ten;
    frame += (frame / ten) * 9 * dropped;
    if (rest >= rate.timebase * 60) frame += dropped * (1 + (rest - rate.timebase * 60) / minute);
  }
  const int64_t seconds = frame / rate.timebase;
  return TwoDigits(seconds / 3600) + ":" + TwoDigits(seconds / 60 % 60) + ":" + TwoDigits(seconds % 60) +
         (rate.drop ? ";" : ":") + TwoDigits(frame % rate.timebase);
}

int64_t ParseTimecode(std::string_view text, const FrameRate& rate) {
  std::array<int64_t, 4> parts{};
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t end = i + 1 < parts.size() ? text.find_first_of(":;.") : text.size();
    if (end == std::string_view::npos) return -1;
    const Result<uint64_t> value = ParseCount(text.substr(0, end), 9999);
    if (!value.ok()) return -1;
    parts[i] = static_cast<int64_t>(*value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (parts[1] > 59 || parts[2] > 59 || parts[3] >= rate.timebase) return -1;
  const int64_t minutes = parts[0] * 60 + parts[1];
  const int64_t frame = (minutes * 60 + parts[2]) * rate.timebase + parts[3];
  return rate.drop ? frame - DroppedAMinute(rate) * (minutes - minutes / 10) : frame;
}

std::string WriteEdl(std::span<const Cue> cues, const TimelineMedia& media) {
  const FrameRate rate = CountedRate(media);
  const int64_t source = FirstFrame(media, rate);
  const int64_t record = ParseTimecode("01:00:00:00", rate);
  std::string out = EdlHead(media, rate);
  int64_t number = 0;
  for (const Marker& marker : Markers(cues, media.end_s, rate)) {
    const std::string text = EdlText(marker.text);
    const int64_t length = marker.last - marker.first;
    out += EdlEvent(++number, source + marker.first, record + marker.first, length, rate);
    out += " |C:ResolveColorBlue |M:" + text + " |D:" + std::to_string(length) + "\n";
    out += EdlSource(media);
    out += "* LOC: " + Timecode(record + marker.first, rate) + " BLUE    " + text + "\n";
  }
  return out;
}

std::string WriteCutEdl(std::span<const TimeSpan> moments, const TimelineMedia& media) {
  const FrameRate rate = CountedRate(media);
  const int64_t source = FirstFrame(media, rate);
  std::string out = EdlHead(media, rate);
  int64_t number = 0, record = 0;
  for (const TimeSpan& moment : moments) {
    const int64_t first = FrameAt(moment.start, rate);
    const int64_t length = std::max<int64_t>(1, FrameAt(moment.end, rate) - first);
    out += EdlEvent(++number, source + first, record, length, rate) + EdlSource(media);
    record += length;
  }
  return out;
}

std::string WriteFcpxml(std::span<const Cue> cues, std::span<const Chapter> chapters, const TimelineMedia& media) {
  const FrameRate rate = FilmRate(media.fps, media.timecode);
  const std::vector<Marker> markers = Markers(cues, media.end_s, rate);
  const FrameRate counted = CountedRate(media);
  const int64_t first = FirstFrame(media, counted);
  const int64_t start = FrameAt(static_cast<double>(first * counted.num) / static_cast<double>(counted.den), rate);
  const std::string duration = RationalTime(FilmFrames(media, rate, markers), rate);
  const std::string one_frame = RationalTime(1, rate);
  const std::string name = OneLine(ValidUtf8(media.file.filename().native()));

  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  Set(declaration, "version", "1.0");
  Set(declaration, "encoding", "UTF-8");
  document.append_child(pugi::node_doctype).set_value("fcpxml");
  pugi::xml_node root = document.append_child("fcpxml");
  Set(root, "version", "1.8");
  pugi::xml_node resources = root.append_child("resources");
  pugi::xml_node format = resources.append_child("format");
  Set(format, "id", "r1");
  Set(format, "frameDuration", one_frame);
  if (media.width > 0 && media.height > 0) {
    Set(format, "width", std::to_string(media.width));
    Set(format, "height", std::to_string(media.height));
  }
  pugi::xml_node asset = resources.append_child("asset");
  Set(asset, "id", "r2");
  Set(asset, "name", name);
  Set(asset, "src", FileUrl(media.file));
  Set(asset, "start", RationalTime(start, rate));
  Set(asset, "duration", duration);
  Set(asset, "hasVideo", "1");
  Set(asset, "format", "r1");
  if (media.audio) Set(asset, "hasAudio", "1");

  pugi::xml_node event = root.append_child("library").append_child("event");
  Set(event, "name", "Longview");
  pugi::xml_node project = event.append_child("project");
  Set(project, "name", name);
  pugi::xml_node sequence = project.append_child("sequence");
  Set(sequence, "format", "r1");
  Set(sequence, "duration", duration);
  Set(sequence, "tcStart", "0s");
  Set(sequence, "tcFormat", rate.drop ? "DF" : "NDF");
  pugi::xml_node clip = sequence.append_child("spine").append_child("asset-clip");
  Set(clip, "ref", "r2");
  Set(clip, "name", name);
  Set(clip, "offset", "0s");
  Set(clip, "start", RationalTime(start, rate));
  Set(clip, "duration", duration);
  Set(clip, "format", "r1");
  Set(clip, "tcFormat", rate.drop ? "DF" : "NDF");
  for (const Marker& marker : markers) {
    pugi::xml_node node = clip.append_child("marker");
    Set(node, "start", RationalTime(start + marker.first, rate));
    Set(node, "duration", RationalTime(marker.last - marker.first, rate));
    Set(node, "value", marker.text);
  }
  for (const Chapter& chapter : chapters) {
    pugi::xml_node node = clip.append_child("chapter-marker");
    Set(node, "start", RationalTime(start + FrameAt(chapter.start_s, rate), rate));
    Set(node, "duration", one_frame);
    Set(node, "value", chapter.title);
    Set(node, "posterOffset", "0s");
  }
  std::ostringstream out;
  document.save(out, "  ", pugi::format_default, pugi::encoding_utf8);
  return out.str();
}

}  // namespace longview
