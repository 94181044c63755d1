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

// A text over a part of the film.
struct Said {
  double start = 0.0;
  double end = 0.0;
  std::string text;
};

constexpr double kShortestCue_s = 1.0;

// Cues that can be read: none overlap and none is shorter than kShortestCue_s. Where several texts are over the same
// part, its cue has all of them, each once; ends that lie closer together than that become one.
std::vector<Cue> readable(std::vector<Said> all) {
  std::vector<double> ends;
  for (Said& said : all) {
    said.end = std::max(said.end, said.start + kShortestCue_s);
    ends.insert(ends.end(), {said.start, said.end});
  }
  std::sort(ends.begin(), ends.end());
  std::vector<double> cuts;
  for (const double end : ends) {
    if (cuts.empty() || end - cuts.back() >= kShortestCue_s) cuts.push_back(end);
  }
  const auto cut = [&](double time) { return std::prev(std::upper_bound(cuts.begin(), cuts.end(), time)); };
  std::vector<std::vector<std::string>> texts(cuts.size());
  for (const Said& said : all) {
    for (auto at = cut(said.start); at != cut(said.end); ++at) {
      auto& here = texts[static_cast<size_t>(at - cuts.begin())];
      if (std::find(here.begin(), here.end(), said.text) == here.end()) here.push_back(said.text);
    }
  }
  std::vector<Cue> cues;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::string text;
    for (const std::string& one : texts[i]) text += (text.empty() ? "" : "\n") + one;
    if (!cues.empty() && cues.back().end_s == cuts[i] && cues.back().text == text) {
      cues.back().end_s = cuts[i + 1];
    } else if (!text.empty()) {
      cues.push_back({cuts[i], cuts[i + 1], text});
    }
  }
  return cues;
}

}  // namespace

QByteArray toMarkdown(const std::vector<Turn>& turns) {
  QString text = QStringLiteral("# %1\n").arg(QCoreApplication::translate("longview::ui", "Longview conversation"));
  for (const Turn& turn : turns) {
    text += QStringLiteral("\n## %1\n\n").arg(escaped(turn.question));
    for (const QString& video : turn.videos) text += QStringLiteral("*%1*  \n").arg(escaped(video));
    if (turn.range) {
      const int decimals = spanDecimals(turn.range->start, turn.range->end);
      text +=
          QStringLiteral("%1 – %2  \n").arg(timeText(turn.range->start, decimals), timeText(turn.range->end, decimals));
    }
    const QString body =
        turn.state == Turn::State::kFailed
            ? QCoreApplication::translate("longview::ui", "No answer:") + QLatin1Char(' ') + turn.failure
            : turn.text;
    text += QStringLiteral("\n%1\n").arg(escaped(body));
    if (turn.state == Turn::State::kStopped)
      text += QStringLiteral("\n*%1*\n").arg(QCoreApplication::translate("longview::ui", "(stopped)"));
    if (!turn.answer.left_out.empty()) text += QStringLiteral("\n%1\n").arg(escaped(leftOutText(turn.answer.left_out)));
    const std::vector<Evidence> moments = momentsOf(turn);
    if (moments.empty()) continue;
    text += QStringLiteral("\n%1\n\n").arg(QCoreApplication::translate("longview::ui", "From these moments:"));
    for (const Evidence& moment : moments) {
      text +=
          QStringLiteral("- %1 – %2, %3 %")
              .arg(timeText(moment.start, 1), timeText(moment.end, 1), QString::number(qRound(moment.weight * 100.0)));
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
  spans.reserve(moments.size());
  for (const Evidence& moment : moments) spans.push_back({moment.start, moment.end});
  return QByteArray::fromStdString(WriteCutEdl(spans, media));
}

QByteArray toSrt(const std::vector<Turn>& turns, const QString& video) {
  std::vector<Said> all;
  for (const Turn& turn : turns) {
    for (const CaptionEvent& event : turn.chapters) {
      if (toText(event.video) == video) all.push_back({event.start, event.end, event.text});
    }
    if (turn.text.trimmed().isEmpty()) continue;
    const std::string text = (turn.question + QLatin1Char('\n') + turn.text).toStdString();
    for (const Evidence& moment : momentsOf(turn)) {
      if (toText(moment.video) == video) all.push_back({moment.start, moment.end, text});
    }
  }
  return QByteArray::fromStdString(WriteSubtitles(SubtitleFormat::kSrt, readable(std::move(all)), 0.0, {}));
}

std::vector<Evidence> momentsOf(const Turn& turn) {
  std::vector<Evidence> moments = turn.answer.evidence;
  if (!turn.range) return moments;
  std::erase_if(moments, [&](const Evidence& moment) {
    return moment.end <= turn.range->start || moment.start >= turn.range->end;
  });
  for (Evidence& moment : moments) {
    moment.start = std::max(moment.start, turn.range->start);
    moment.end = std::min(moment.end, turn.range->end);
  }
  return moments;
}

std::vector<Evidence> momentsOf(const std::vector<Turn>& turns, const QString& video) {
  std::vector<Evidence> moments;
  for (const Turn& turn : turns) {
    for (const Evidence& moment : momentsOf(turn)) {
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
