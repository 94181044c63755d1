// Files written on the export lane.
#include "ui/exporter.h"

#include <QDir>
#include <QFileInfo>
#include <QSet>

#include "app/engine/output_files.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"

namespace longview::ui {

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
          emit done(tr("Saved %1").arg(*result));
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
        int written = 0;
        QSet<QString> names;
        for (const Evidence& moment : moments) {
          const QString span = QStringLiteral("%1-%2").arg(timeText(moment.start, 1), timeText(moment.end, 1));
          const QString base = film.completeBaseName() + QLatin1Char(' ') + QString(span).replace(':', '.');
          // Moments may differ by less than their names do.
          QString name = base;
          for (int i = 2; names.contains(name); ++i) name = QStringLiteral("%1 (%2)").arg(base).arg(i);
          names.insert(name);
          name += QLatin1Char('.') + film.suffix();
          LV_RETURN_IF_ERROR(call.engine.CutClip(toPath(video), {moment.start, moment.end},
                                                 toPath(QDir(folder).filePath(name)), {call.job.stop, {}}));
          ++written;
          if (call.job.progress) call.job.progress({static_cast<double>(written), static_cast<double>(moments.size())});
        }
        return written;
      },
      [this, folder](Result<int> result) {
        if (result.ok()) {
          emit done(*result == 1 ? tr("Saved a clip in %1").arg(folder)
                                 : tr("Saved %1 clips in %2").arg(*result).arg(folder));
        } else {
          emit failed(failureText(result.status()));
        }
      });
}

}  // namespace longview::ui
