// Files written on the export lane.
#include "ui/exporter.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include "app/engine/output_files.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"

namespace longview::ui {
namespace {

// Of a clip's name, so that the moment, a number and an ending have room behind it: systems take names of 255 bytes.
constexpr qsizetype kLongestBase_bytes = 180;
constexpr QLatin1String kAnyStreams(".mkv");

QString clipBase(const QFileInfo& film) {
  QString base = film.completeBaseName();
  while (QFile::encodeName(base).size() > kLongestBase_bytes) base.chop(base.back().isLowSurrogate() ? 2 : 1);
  return base;
}

// Moments may differ by less than their names do, and what another film or another day left is kept.
QString freeName(const QDir& folder, const QString& base, const QString& end) {
  QString file = folder.filePath(base + end);
  for (int i = 2; QFileInfo::exists(file) || QFileInfo(file).isSymLink(); ++i) {
    file = folder.filePath(base + QStringLiteral(" (%1)").arg(i) + end);
  }
  return file;
}

}  // namespace

Exporter::Exporter(EngineBridge* bridge, QObject* parent) : QObject(parent), bridge_(bridge) {}

void Exporter::save(const QString& file, const QByteArray& bytes) {
  bridge_->start<QString>(
      Lane::kExport, tr("Saving %1").arg(QFileInfo(file).fileName()), this,
      [file, bytes](const EngineBridge::Call&) -> Result<QString> {
        LV_RETURN_IF_ERROR(WriteFileAtomically(toPath(file), bytes.toStdString()));
        return file;
      },
      [this](Result<QString> result) {
        if (result.ok()) {
          emit done(tr("Saved %1").arg(upright(*result)));
        } else {
          emit failed(failureText(result.status()));
        }
      });
}

void Exporter::clips(const QString& video, const std::vector<Evidence>& moments, const QString& folder) {
  bridge_->start<int>(
      Lane::kExport, tr("Saving clips"), this,
      [video, moments, folder](const EngineBridge::Call& call) -> Result<int> {
        const QFileInfo film(video);
        const QDir into(folder);
        QString end = QLatin1Char('.') + film.suffix();
        int written = 0;
        for (const Evidence& moment : moments) {
          const QString span = QStringLiteral("%1-%2").arg(timeText(moment.start, 1), timeText(moment.end, 1));
          const QString base = clipBase(film) + QLatin1Char(' ') + QString(span).replace(':', '.');
          const auto cut = [&] {
            return call.engine.CutClip(toPath(video), {moment.start, moment.end}, toPath(freeName(into, base, end)),
                                       {call.job.stop, {}});
          };
          Status cutting = cut();
          if (cutting.code() == StatusCode::kUnsupported && end != kAnyStreams) {
            end = kAnyStreams;  // the name's ending stands for no format that can hold the film
            cutting = cut();
          }
          LV_RETURN_IF_ERROR(cutting);
          ++written;
          if (call.job.progress) call.job.progress({static_cast<double>(written), static_cast<double>(moments.size())});
        }
        return written;
      },
      [this, folder](Result<int> result) {
        if (result.ok()) {
          const QString where = upright(folder);
          emit done(*result == 1 ? tr("Saved a clip in %1").arg(where)
                                 : tr("Saved %1 clips in %2").arg(QString::number(*result), where));
        } else {
          emit failed(failureText(result.status()));
        }
      });
}

}  // namespace longview::ui
