// Markdown, edit lists, subtitles.
#include "ui/conversation_export.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>

#include "app/engine/export_subtitles.h"
#include "app/engine/export_timeline.h"
#include "ui/format.h"

namespace longview::ui {
namespace {

QString escaped(QString text) {
  static const QRegularExpression special(QStringLiteral(R"(([\\`*_{}\[\]<>#|]))"));
  return text.replace(special, QStringLiteral("\\\\1")).replace(QLatin1Char('\n'), QLatin1String("  \n"));
}

}  // namespace

QByteArray toMarkdown(const std::vector<Turn>& turns) {
  QString text = QStringLiteral("# %1\n").arg(QCoreApplication::translate("longview::ui", "Longview conversation"));
  for (const Turn& turn : turns) {
    text += QStringLiteral("\n## %1\n\n").arg(escaped(turn.question));
    for (const QString& video : turn.videos) text += QStringLiteral("*%1*  \n").arg(escaped(video));
    if (turn.range) {
      text += QStringLiteral("%1 – %2  \n").arg(timeText(turn.range->start), timeText(turn.range->end));
    }
    const QString body =
        turn.state == Turn::State::kFailed
            ? QCoreApplication::translate("longview::ui", "No answer:") + QLatin1Char(' ') + turn.failure
            : turn.text;
    text += QStringLiteral("\n%1\n").arg(escaped(body));
    if (turn.state == Turn::State::kStopped)
      text += QStringLiteral("\n*%1*\n").arg(QCoreApplication::translate("longview::ui", "(stopped)"));
    if (turn.answer.evidence.empty()) continue;
    text += QStringLiteral("\n%1\n\n").arg(QCoreApplication::translate("longview::ui", "From these moments:"));
    for (const Evidence& moment : turn.answer.evidence) {
      text += QStringLiteral("- %1 – %2, %3 %")
                  .arg(timeText(moment.start, 1), timeText(moment.end, 1))
                  .arg(qRound(moment.weight * 100.0));
      if (turn.videos.size() > 1) text += QStringLiteral(", %1").arg(escaped(toText(moment.video)));
      text += QLatin1Char('\n');
    }
  }
  return text.toUtf8();
}

QByteArray toEdl(const std::vector<Evidence>& moments, const MediaInfo& film) {
  TimelineMedia media;
  media.file = film.path;
  media.fps = film.fps_avg;
  media.timecode = film.timecode;
  std::vector<TimeSpan> spans;
  for (const Evidence& moment : moments) spans.push_back({moment.start, moment.end});
  return QByteArray::fromStdString(WriteCutEdl(spans, media));
}

QByteArray toSrt(const std::vector<Turn>& turns, const QString& video) {
  std::vector<Cue> cues;
  for (const Turn& turn : turns) {
    for (const CaptionEvent& event : turn.chapters) {
      if (toText(event.video) == video) cues.push_back({event.start, event.end, event.text});
    }
    for (const Evidence& moment : turn.answer.evidence) {
      if (toText(moment.video) == video) cues.push_back({moment.start, moment.end, turn.text.toStdString()});
    }
  }
  return QByteArray::fromStdString(WriteSubtitles(SubtitleFormat::kSrt, cues, 0.0, {}));
}

std::vector<Evidence> momentsOf(const std::vector<Turn>& turns, const QString& video) {
  std::vector<Evidence> moments;
  for (const Turn& turn : turns) {
    for (const Evidence& moment : turn.answer.evidence) {
      const bool known = std::any_of(moments.begin(), moments.end(), [&](const Evidence& other) {
        return other.start == moment.start && other.end == moment.end;
      });
      if (!known && toText(moment.video) == video) moments.push_back(moment);
    }
  }
  std::sort(moments.begin(), moments.end(), [](const Evidence& a, const Evidence& b) { return a.start < b.start; });
  return moments;
}

}  // namespace longview::ui
