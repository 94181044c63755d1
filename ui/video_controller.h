// VideoController: which video is open, and the reading of videos in the background, one after the other, the open one
// first: open, read, pause, go on, and what is known of the frames that were kept so far.
#ifndef LONGVIEW_UI_VIDEO_CONTROLLER_H_
#define LONGVIEW_UI_VIDEO_CONTROLLER_H_

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <cstdint>
#include <filesystem>
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
  // What is being opened; empty where nothing is.
  const QString& openingPath() const { return opening_; }
  // Opens the open film anew where its file was replaced since; looks at the file in the background.
  void checkUnchanged();
  // Begins or goes on reading, after those that wait already.
  void read(const QString& path);
  // The same before all others: what is read at this moment waits meanwhile.
  void readFirst(const QString& path);
  // Stops reading; what was read is kept and `read` goes on from there.
  void pause(const QString& path);
  void pauseAll();
  // Goes on with what was to be read when the program ended.
  void restore();
  // The program ends: nothing more is begun, and what waits is remembered.
  void end();
  // Is read, or waits for it.
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
  // The open film is another one by now, and is being opened.
  void replaced(const QString& path);
  void readingEnded(const QString& path);

 private:
  // Equal where a file is the one that it was.
  struct Stamp {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type time;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stampOf(const QString& path);
  struct Opened {
    Stamp stamp;
    MediaInfo info;
    QString captions;
  };
  void finishOpening(const QString& path, Result<Opened> opened);
  // The row says 'waiting', unless it says that it is read: then it is only checked.
  void showWaiting(const QString& path);
  // Tells the row how long a film is that waits.
  void measure(const QString& path);
  void beginReading();
  void stopReading();
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
  Stamp stamp_;              // of the open video
  MediaInfo info_;
  QString captions_;
  std::vector<KeptFrame> frames_;
  bool refreshing_ = false;
  bool refresh_again_ = false;  // wanted while one was on its way
  QTimer refresh_;
  QStringList queue_;      // to be read, the next first; may hold `now_`, which is then read again
  QString now_;            // what is read; empty where nothing is
  quint64 now_job_ = 0;    // of that
  bool stopping_ = false;  // that was asked to stop
  bool ended_ = false;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_VIDEO_CONTROLLER_H_
