// Exporter: saves a conversation and its moments where the person says, in the background.
#ifndef LONGVIEW_UI_EXPORTER_H_
#define LONGVIEW_UI_EXPORTER_H_

#include <QObject>
#include <QString>
#include <vector>

#include "app/engine/events.h"

namespace longview::ui {

class EngineBridge;

class Exporter : public QObject {
  Q_OBJECT

 public:
  explicit Exporter(EngineBridge* bridge, QObject* parent = nullptr);

  // Writes the bytes whole or not at all.
  void save(const QString& file, const QByteArray& bytes);
  // One file a moment in `folder`, named after the film and the moment, copied without encoding again, as Matroska
  // where the film's own format cannot be written. No file that is there is replaced.
  void clips(const QString& video, const std::vector<Evidence>& moments, const QString& folder);

 signals:
  void done(const QString& text);
  void failed(const QString& text);

 private:
  EngineBridge* bridge_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_EXPORTER_H_
