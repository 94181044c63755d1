// Text for people: times, sizes, links and failures in the language of the window. Pure; tested without a display.
#ifndef LONGVIEW_UI_FORMAT_H_
#define LONGVIEW_UI_FORMAT_H_

#include <QString>
#include <QStringList>
#include <QUrl>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "app/engine/events.h"
#include "core/base/status.h"

namespace longview::ui {

// A file's bytes as the system has them, and back: names need not be UTF-8.
QString toText(const std::filesystem::path& path);
std::filesystem::path toPath(const QString& text);
std::vector<std::filesystem::path> toPaths(const QStringList& texts);
QString toText(const std::string& utf8);

// "1:02:03" or "4:05"; with a decimal where `decimals` is 1..3.
QString timeText(double seconds, int decimals = 0);
// "12 s", "3 min 05 s", "2 h 10 min".
QString durationText(double seconds);
// Decimals that tell the ends of a span apart.
int spanDecimals(double start, double end);
// "4.1 MB" in powers of ten.
QString sizeText(uint64_t bytes);

// A name or message without the characters that turn the direction of writing: a name may not turn what stands beside
// it.
QString upright(const QString& text);
// A tooltip that shows these characters, whatever they would be as HTML.
QString plainTip(const QString& text);

// What a link to a moment leads to.
struct MomentLink {
  QString video;  // empty: the video that is open
  double time_s = 0.0;
};
QUrl momentUrl(const MomentLink& link);
// Absent for any other address.
std::optional<MomentLink> parseMomentUrl(const QUrl& url);

// Plain text as rich text, in which every clock time ("1:02", "1:02:03", "0:04.5") is a link to that moment of `video`.
QString linkTimes(const QString& text, const QString& video);

// Which videos an answer did without, and why, by their names.
QString leftOutText(const std::vector<LeftOut>& videos);

// What failed in the window's language, with the file's name where the engine tells it; on the next line, as details,
// the engine's own words.
QString failureText(const Status& status);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_FORMAT_H_
