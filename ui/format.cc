// Times, sizes, links, failures.
#include "ui/format.h"

#include <QCoreApplication>
#include <QFile>
#include <QRegularExpression>
#include <QTextDocument>
#include <QUrlQuery>
#include <algorithm>
#include <cmath>

#include "app/engine/paths.h"
#include "app/engine/time_format.h"
#include "app/engine/time_text.h"

namespace longview::ui {
namespace {

// More are counted.
constexpr int kNamesShown = 8;
QString headline(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return {};
    case StatusCode::kInvalidArgument:
      return QCoreApplication::translate("longview::ui", "This cannot be done as asked.");
    case StatusCode::kNotFound:
      return QCoreApplication::translate("longview::ui", "Something that is needed is missing.");
    case StatusCode::kDamaged:
      return QCoreApplication::translate("longview::ui", "A file is damaged or is not what its name says.");
    case StatusCode::kUnsupported:
      return QCoreApplication::translate("longview::ui", "This kind of file or setting is not supported.");
    case StatusCode::kOutOfRange:
      return QCoreApplication::translate("longview::ui", "There is nothing at that time.");
    case StatusCode::kIo:
      return QCoreApplication::translate("longview::ui", "The system did not let a file be read or written.");
    case StatusCode::kResource:
      return QCoreApplication::translate("longview::ui", "There is not enough memory or space.");
    case StatusCode::kCancelled:
      return QCoreApplication::translate("longview::ui", "Stopped.");
    case StatusCode::kInternal:
      return QCoreApplication::translate("longview::ui", "Longview made a mistake. Please report it with these words:");
  }
  return {};
}

// What people meet often, with the name of the file and what to do; empty for all else.
QString knownFailure(const Status& status) {
  const QString name = upright(toText(std::filesystem::path(status.file()).filename()));
  if (name.isEmpty()) return {};
  switch (status.reason()) {
    case StatusReason::kNoSuchFile:
      return QCoreApplication::translate("longview::ui",
                                         "%1 is not there. It may have been moved, or its disk is not connected.")
          .arg(name);
    case StatusReason::kNoRight:
      return QCoreApplication::translate(
                 "longview::ui", "You have no right to use %1 there. Change its rights or choose another folder.")
          .arg(name);
    case StatusReason::kDiskFull:
      return QCoreApplication::translate("longview::ui", "The disk is too full to write %1. Make room and try again.")
          .arg(name);
    case StatusReason::kEmptyFile:
      return QCoreApplication::translate("longview::ui", "%1 is empty. It may not be copied yet.").arg(name);
    case StatusReason::kNoVideo:
      return QCoreApplication::translate("longview::ui", "There is no video in %1.").arg(name);
    case StatusReason::kNoDecoder:
      return QCoreApplication::translate(
                 "longview::ui",
                 "The video in %1 is of a kind that cannot be read here. Convert it, to MP4 for example.")
          .arg(name);
    case StatusReason::kNotReadYet:
      return QCoreApplication::translate("longview::ui", "Nothing of %1 was read yet. Ask again in a while.").arg(name);
    case StatusReason::kModelPart:
      return QCoreApplication::translate(
                 "longview::ui",
                 "A part of the model is missing or damaged: %1. Choose Settings › Model › Bring missing parts.")
          .arg(name);
    case StatusReason::kOther:
      break;
  }
  return status.code() == StatusCode::kDamaged
             ? QCoreApplication::translate("longview::ui", "%1 is damaged or is not what its name says.").arg(name)
             : QString();
}

}  // namespace

QString toText(const std::filesystem::path& path) {
  return QFile::decodeName(QByteArray::fromStdString(path.string()));
}

std::filesystem::path toPath(const QString& text) { return QFile::encodeName(text).toStdString(); }

std::vector<std::filesystem::path> toPaths(const QStringList& texts) {
  std::vector<std::filesystem::path> paths;
  for (const QString& text : texts) paths.push_back(toPath(text));
  return paths;
}

QString toText(const std::string& utf8) { return QString::fromStdString(utf8); }

QString timeText(double seconds, int decimals) {
  if (!std::isfinite(seconds) || seconds < 0.0) seconds = 0.0;
  return QString::fromStdString(FormatTime(seconds, decimals));
}

QString durationText(double seconds) { return QString::fromStdString(FormatDuration(seconds)); }

int spanDecimals(double start, double end) { return end - start < 10.0 ? 1 : 0; }

QString sizeText(uint64_t bytes) { return QString::fromStdString(FormatSize(bytes)); }

QString upright(const QString& text) {
  static const QRegularExpression turning(
      QStringLiteral("[\\x{061C}\\x{200E}\\x{200F}\\x{202A}-\\x{202E}\\x{2066}-\\x{2069}]"));
  return QString(text).remove(turning);
}

QString plainTip(const QString& text) {
  const QString shown = upright(text);
  return Qt::mightBeRichText(shown) ? Qt::convertFromPlainText(shown, Qt::WhiteSpaceNormal) : shown;
}

QUrl momentUrl(const MomentLink& link) {
  QUrl url;
  url.setScheme(QStringLiteral("longview"));
  url.setPath(QStringLiteral("moment"));
  QUrlQuery query;
  query.addQueryItem(QStringLiteral("t"), QString::number(link.time_s, 'f', 6));
  query.addQueryItem(
      QStringLiteral("v"),
      QString::fromLatin1(
          QFile::encodeName(link.video).toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals)));
  url.setQuery(query);
  return url;
}

std::optional<MomentLink> parseMomentUrl(const QUrl& url) {
  if (url.scheme() != QLatin1String("longview") || url.path() != QLatin1String("moment")) return std::nullopt;
  const QUrlQuery query(url);
  bool ok = false;
  MomentLink link;
  link.time_s = query.queryItemValue(QStringLiteral("t")).toDouble(&ok);
  if (!ok || !std::isfinite(link.time_s) || link.time_s < 0.0) return std::nullopt;
  const QByteArray name = query.queryItemValue(QStringLiteral("v")).toLatin1();
  link.video = QFile::decodeName(QByteArray::fromBase64(name, QByteArray::Base64UrlEncoding));
  return link;
}

QString linkTimes(const QString& text, const QString& video) {
  static const QRegularExpression clock(
      QStringLiteral(R"((?<![\d:.])(?:\d{1,3}:)?\d{1,2}:[0-5]\d(?:\.\d{1,3})?(?![\d:]))"));
  QString html;
  qsizetype done = 0;
  for (auto match = clock.globalMatch(text); match.hasNext();) {
    const QRegularExpressionMatch found = match.next();
    const Result<double> time = ParseTime(found.captured().toStdString());
    if (!time.ok()) continue;
    html += text.mid(done, found.capturedStart() - done).toHtmlEscaped();
    html += QStringLiteral("<a href=\"%1\">%2</a>")
                .arg(momentUrl({video, *time}).toString(QUrl::FullyEncoded).toHtmlEscaped(), found.captured());
    done = found.capturedEnd();
  }
  html += text.mid(done).toHtmlEscaped();
  return html.replace(QLatin1Char('\n'), QLatin1String("<br>"));
}

QString leftOutText(const std::vector<LeftOut>& videos) {
  QStringList names;
  for (const LeftOut& video : videos) {
    if (names.size() == kNamesShown) {
      names << QCoreApplication::translate("longview::ui", "%1 more").arg(videos.size() - kNamesShown);
      break;
    }
    const QString name = upright(toText(std::filesystem::path(video.video).filename()));
    const QString words = video.cause == LeftOut::Cause::kGone
                              ? QCoreApplication::translate("longview::ui", "%1 (its file cannot be used)")
                          : video.cause == LeftOut::Cause::kFailed
                              ? QCoreApplication::translate("longview::ui", "%1 (reading it failed)")
                              : QCoreApplication::translate("longview::ui", "%1 (nothing of it is read yet)");
    names << words.arg(name);
  }
  return QCoreApplication::translate("longview::ui", "Left out: %1.").arg(names.join(QLatin1String(", ")));
}

QString failureText(const Status& status) {
  QString words = upright(QString::fromStdString(status.message()));
  if (status.code() == StatusCode::kCancelled || words.isEmpty()) return headline(status.code());
  words.replace(QLatin1String(kHowToGetParts.data(), static_cast<qsizetype>(kHowToGetParts.size())),
                QCoreApplication::translate("longview::ui", "choose Settings › Model › Bring missing parts"));
  const QString known = knownFailure(status);
  return (known.isEmpty() ? headline(status.code()) : known) + QLatin1Char('\n') +
         QCoreApplication::translate("longview::ui", "Details: %1").arg(words);
}

}  // namespace longview::ui
