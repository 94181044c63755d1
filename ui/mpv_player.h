// MpvPlayer: one film played by libmpv and drawn in software, on threads of libmpv's and its own; the window's thread
// only sends commands and takes finished pictures.
#ifndef LONGVIEW_UI_MPV_PLAYER_H_
#define LONGVIEW_UI_MPV_PLAYER_H_

#include <QImage>
#include <QObject>
#include <QSize>
#include <QString>
#include <memory>

struct mpv_event_property;

namespace longview::ui {

class MpvPlayer : public QObject {
  Q_OBJECT

 public:
  explicit MpvPlayer(QObject* parent = nullptr);
  ~MpvPlayer() override;

  // Why nothing can be played here; empty where all is well.
  const QString& failure() const;

  // Opens a file, paused, at `start_s`; its pictures end at `end_s`. Times count from the start of the file's earliest
  // stream.
  void open(const QString& path, double start_s, double end_s);
  void close();
  bool isOpen() const { return open_; }

  void setPaused(bool paused);
  bool paused() const { return paused_; }
  // Goes to exactly this time, also between keyframes; behind the last picture, to that.
  void seek(double time_s);
  // The next picture (1) or the one before (-1); pauses.
  void step(int direction);
  void setSpeed(double speed);  // 0.1..8
  double speed() const { return speed_; }
  void setVolume(int volume);  // 0..100
  int volume() const { return volume_; }
  void setMuted(bool muted);
  bool muted() const { return muted_; }
  // Shows the subtitles of this file over the film; an empty name shows none.
  void setSubtitles(const QString& file);

  double position() const { return position_; }
  double duration() const { return duration_; }

  // The size in pixels that pictures are drawn for.
  void setTarget(QSize pixels);
  // The latest picture; null before the first.
  QImage picture() const;

 signals:
  void loaded();
  void failed(const QString& why);
  void positionChanged(double time_s);
  void durationChanged(double duration_s);
  void pausedChanged(bool paused);
  void speedChanged(double speed);
  // There is a new picture().
  void pictureChanged();

 private:
  struct Impl;
  // What the latest move was to come to.
  enum class Move { kSeek, kBack, kLast };
  void drainEvents();
  void takeProperty(uint64_t which, const mpv_event_property& property);
  void command(std::initializer_list<QByteArray> words, uint64_t reply = 0);
  void move(Move kind, double time_s);
  void sendMove();
  void askWhereItLanded();
  void landed(double time_s, bool waited);

  std::unique_ptr<Impl> impl_;
  bool open_ = false;
  bool paused_ = true;
  bool seeking_ = false;
  int step_after_seek_ = 0;
  Move move_ = Move::kSeek;
  double aim_ = 0.0;         // of the latest move; the place it began at for kBack
  double landed_ = 0.0;      // where the latest move came to
  int unanswered_ = 0;       // moves that libmpv has not taken up yet
  bool begun_ = false;       // libmpv has begun to seek since the latest
  uint64_t moves_ = 0;       // how many there were
  bool loose_ = false;       // the format has no index of keyframes: libmpv may come too late
  bool sparse_ = false;      // it was found not to be libmpv's fault
  double behind_ = 0.0;      // how far before its aim libmpv begins to read
  int pictures_before_ = 0;  // drawn before the latest move
  double end_ = 0.0;         // of the pictures
  double picture_s_ = 0.04;  // how long one is shown
  double position_ = 0.0;
  double duration_ = 0.0;
  double speed_ = 1.0;
  int volume_ = 100;
  bool muted_ = false;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_MPV_PLAYER_H_
