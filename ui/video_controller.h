// VideoController: which video is open, and the reading of videos in the background: open, read, pause, go on, and what
// is known of the frames that were kept so far.
#ifndef LONGVIEW_UI_VIDEO_CONTROLLER_H_
#define LONGVIEW_UI_VIDEO_CONTROLLER_H_

#include <QHash>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <vector>

#include "app/engine/engine.h"

namespace longview::ui {

class AppSettings;
class EngineBridge;
class LibraryModel;

class VideoController : public QObject {
  Q_OBJECT

 public:
  VideoController(EngineBridge* bridge, LibraryModel* library, AppSettings* settings, QObject* parent = nullptr);

  // Looks at the file in the background, then makes it the open video and begins to read it. An earlier opening that
  // has not ended is given up.
  void open(const QString& path);
  // Begins or goes on reading, after those that wait already.
  void read(const QString& path);
  // Stops reading; what was read is kept and `read` goes on from there.
  void pause(const QString& path);
  bool reading(const QString& path) const;
  // What is read at this moment, and the open film unless it is paused, are read with the settings and the engine of
  // now.
  void readAgain();

  // The open video; an empty path where there is none.
  const QString& path() const { return path_; }
  const MediaInfo& info() const { return info_; }
  // A subtitle file that `longview caption` wrote beside the film; empty where there is none.
  const QString& captions() const { return captions_; }
  const std::vector<KeptFrame>& frames() const { return frames_; }
  // How far the open video has been read, in seconds from its beginning.
  double readUntil() const;

 signals:
  void opening(const QString& path);
  void opened();
  void openFailed(const QString& path, const QString& why);
  void framesChanged();
  void readingEnded(const QString& path);

 private:
  struct Opened {
    MediaInfo info;
    QString captions;
  };
  void finishOpening(const QString& path, Result<Opened> opened);
  void readWaiting();
  void finishReading(const QString& path, const Result<IndexReport>& report);
  void refreshFrames();
  void onProgress(quint64 id, double done, double total);

  EngineBridge* bridge_;
  LibraryModel* library_;
  AppSettings* settings_;
  QString path_;
  QString opening_;          // empty where nothing is being opened
  int openings_ = 0;         // begun; only the latest counts
  quint64 opening_job_ = 0;  // of the latest
  QStringList waiting_;      // to be read once that one is open: it comes first
  MediaInfo info_;
  QString captions_;
  std::vector<KeptFrame> frames_;
  bool refreshing_ = false;
  bool refresh_again_ = false;  // wanted while one was on its way
  QTimer refresh_;
  QHash<QString, quint64> reading_;  // path -> job
  QStringList again_;                // of them: begin anew once they have stopped
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_VIDEO_CONTROLLER_H_
