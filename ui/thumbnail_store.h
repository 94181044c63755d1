// ThumbnailStore: the small pictures of an index, asked for by time and kept in memory once they came.
#ifndef LONGVIEW_UI_THUMBNAIL_STORE_H_
#define LONGVIEW_UI_THUMBNAIL_STORE_H_

#include <QCache>
#include <QImage>
#include <QObject>
#include <QString>
#include <QTimer>
#include <optional>
#include <vector>

#include "app/engine/settings.h"

namespace longview::ui {

class AppSettings;
class EngineBridge;

class ThumbnailStore : public QObject {
  Q_OBJECT

 public:
  ThumbnailStore(EngineBridge* bridge, AppSettings* settings, QObject* parent = nullptr);

  // The picture that the model saw at that time of a video when it was read with `sampling` (none given: the present
  // settings), or a null image, after which `arrived` will tell that it can be had. Times of one kept frame should be
  // asked for by its start, so that they share a picture.
  QImage get(const QString& video, double time_s, const std::optional<SamplingSettings>& sampling = {});

  // The video is another one now.
  void forget(const QString& video);

 signals:
  void arrived(const QString& video, double time_s, const QImage& image);

 private:
  struct Wish {
    QString video;
    double time_s = 0.0;
    SamplingSettings sampling;
    QString index;  // equal where one index has the pictures
    QString key() const;
  };
  void fetch();

  EngineBridge* bridge_;
  AppSettings* settings_;
  QCache<QString, QImage> images_;  // cost in KiB
  std::vector<Wish> wanted_;
  bool fetching_ = false;
  QTimer collect_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_THUMBNAIL_STORE_H_
