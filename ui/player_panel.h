// PlayerPanel: the film with its controls and its timeline, and the keys that mpv and VLC have.
#ifndef LONGVIEW_UI_PLAYER_PANEL_H_
#define LONGVIEW_UI_PLAYER_PANEL_H_

#include <QList>
#include <QPair>
#include <QString>
#include <QWidget>

class QComboBox;
class QHBoxLayout;
class QLabel;
class QSlider;
class QToolButton;

namespace longview::ui {

class MpvPlayer;
class PlayerView;
class ThumbnailStore;
class TimelineWidget;

class PlayerPanel : public QWidget {
  Q_OBJECT

 public:
  explicit PlayerPanel(ThumbnailStore* thumbnails, QWidget* parent = nullptr);

  MpvPlayer* player() const { return player_; }
  PlayerView* view() const { return view_; }
  TimelineWidget* timeline() const { return timeline_; }
  void open(const QString& path, double duration_s, double start_s, bool still);
  void setVolume(int volume);
  int volume() const;
  // A subtitle file that the button shows and hides; empty: there is none.
  void setSubtitles(const QString& file);
  bool showsSubtitles() const;

  // Keys and what they do, for the list of shortcuts.
  static QList<QPair<QString, QString>> keys();

 signals:
  void fullScreenRequested();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QToolButton* addButton(QHBoxLayout* row, const QString& icon, void (PlayerPanel::*slot)());
  void buildControls(QHBoxLayout* row);
  void nameControls();
  void togglePause();
  void stepBack();
  void stepForward();
  void toggleSubtitles();
  void toggleMute();
  bool seekKey(int key, bool shift);
  bool rangeKey(int key);
  bool otherKey(int key);
  void shuttle(int direction);
  void showTime();

  MpvPlayer* player_;
  PlayerView* view_;
  TimelineWidget* timeline_;
  QToolButton* play_ = nullptr;
  QToolButton* back_ = nullptr;
  QToolButton* forward_ = nullptr;
  QToolButton* subtitles_ = nullptr;
  QToolButton* mute_ = nullptr;
  QComboBox* speed_ = nullptr;
  QSlider* volume_ = nullptr;
  QLabel* time_ = nullptr;
  QString subtitle_file_;
  double duration_ = 0.0;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_PLAYER_PANEL_H_
