// ThumbnailStore: the small pictures of an index, asked for by time and kept in memory once they came.
#ifndef LONGVIEW_UI_THUMBNAIL_STORE_H_
#define LONGVIEW_UI_THUMBNAIL_STORE_H_

#include <QCache>
#include <QImage>
#include <QObject>
#include <QString>
#include <QTimer>
#include <utility>
#include <vector>

namespace longview::ui {

class AppSettings;
class EngineBridge;

class ThumbnailStore : public QObject {
  Q_OBJECT

 public:
  ThumbnailStore(EngineBridge* bridge, AppSettings* settings, QObject* parent = nullptr);

  // The picture that the model saw at that time of a video, or a null image, after which `arrived` will tell. Times of
  // one kept frame should be asked for by its start, so that they share a picture.
  QImage get(const QString& video, double time_s);

 signals:
  void arrived(const QString& video, double time_s, const QImage& image);

 private:
  void fetch();

  EngineBridge* bridge_;
  AppSettings* settings_;
  QCache<QString, QImage> images_;  // cost in KiB
  std::vector<std::pair<QString, double>> wanted_;
  bool fetching_ = false;
  QTimer collect_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_THUMBNAIL_STORE_H_
