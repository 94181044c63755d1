// Controls and keys of the player.
#include "ui/player_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

#include "ui/format.h"
#include "ui/icons.h"
#include "ui/mpv_player.h"
#include "ui/player_view.h"
#include "ui/timeline_widget.h"

namespace longview::ui {

PlayerPanel::PlayerPanel(ThumbnailStore* thumbnails, QWidget* parent)
    : QWidget(parent),
      player_(new MpvPlayer(this)),
      view_(new PlayerView(player_, this)),
      timeline_(new TimelineWidget(thumbnails, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  column->addWidget(view_, 1);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(6, 0, 6, 0);
  buildControls(row);
  column->addLayout(row);
  column->addWidget(timeline_);

  connect(view_, &PlayerView::clicked, this, &PlayerPanel::togglePause);
  connect(view_, &PlayerView::doubleClicked, this, &PlayerPanel::fullScreenRequested);
  connect(view_, &PlayerView::wheeled, this, [this](int steps) { volume_->setValue(volume_->value() + 5 * steps); });
  connect(timeline_, &TimelineWidget::seekRequested, player_, &MpvPlayer::seek);
  connect(player_, &MpvPlayer::positionChanged, this, [this](double time) {
    timeline_->setPosition(time);
    showTime();
  });
  connect(player_, &MpvPlayer::loaded, this, [this] {
    view_->setMessage({});
    player_->setSubtitles(showsSubtitles() ? subtitle_file_ : QString());
  });
  connect(player_, &MpvPlayer::failed, view_, &PlayerView::setMessage);
  connect(player_, &MpvPlayer::pausedChanged, this, &PlayerPanel::nameControls);
  connect(player_, &MpvPlayer::speedChanged, this, [this](double speed) {
    const int index = speed_->findData(speed);
    speed_->setCurrentIndex(index);
    if (index < 0) speed_->setPlaceholderText(QStringLiteral("%1×").arg(speed, 0, 'g', 3));
  });
  nameControls();
  showTime();
  if (!player_->failure().isEmpty()) view_->setMessage(player_->failure());
}

QToolButton* PlayerPanel::addButton(QHBoxLayout* row, const QString& icon, void (PlayerPanel::*slot)()) {
  auto* button = new QToolButton(this);
  button->setIcon(themedIcon(icon));
  button->setAutoRaise(true);
  button->setFocusPolicy(Qt::StrongFocus);
  connect(button, &QToolButton::clicked, this, slot);
  row->addWidget(button);
  return button;
}

void PlayerPanel::buildControls(QHBoxLayout* row) {
  play_ = addButton(row, QStringLiteral("play"), &PlayerPanel::togglePause);
  back_ = addButton(row, QStringLiteral("step-back"), &PlayerPanel::stepBack);
  forward_ = addButton(row, QStringLiteral("step-forward"), &PlayerPanel::stepForward);
  time_ = new QLabel(this);
  row->addWidget(time_);
  row->addStretch(1);
  subtitles_ = addButton(row, QStringLiteral("subtitles"), &PlayerPanel::toggleSubtitles);
  subtitles_->setCheckable(true);
  subtitles_->setEnabled(false);
  speed_ = new QComboBox(this);
  for (const double speed : {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0}) {
    speed_->addItem(QStringLiteral("%1×").arg(speed), speed);
  }
  speed_->setCurrentIndex(speed_->findData(1.0));
  connect(speed_, &QComboBox::activated, this, [this] { player_->setSpeed(speed_->currentData().toDouble()); });
  row->addWidget(speed_);
  mute_ = addButton(row, QStringLiteral("volume"), &PlayerPanel::toggleMute);
  mute_->setCheckable(true);
  volume_ = new QSlider(Qt::Horizontal, this);
  volume_->setRange(0, 100);
  volume_->setValue(100);
  // Fusion would let it shrink to its handle.
  volume_->setMinimumWidth(50);
  volume_->setMaximumWidth(90);
  connect(volume_, &QSlider::valueChanged, player_, &MpvPlayer::setVolume);
  row->addWidget(volume_);
}

void PlayerPanel::nameControls() {
  const auto name = [](QWidget* widget, const QString& text, const QString& key) {
    widget->setAccessibleName(text);
    widget->setToolTip(key.isEmpty() ? text : QStringLiteral("%1 (%2)").arg(text, key));
  };
  view_->setAccessibleName(tr("Film"));
  play_->setIcon(themedIcon(player_->paused() ? QStringLiteral("play") : QStringLiteral("pause")));
  name(play_, player_->paused() ? tr("Play") : tr("Pause"), tr("Space"));
  name(back_, tr("Previous picture"), QStringLiteral(","));
  name(forward_, tr("Next picture"), QStringLiteral("."));
  name(subtitles_, tr("Show the captions over the film"), QStringLiteral("V"));
  name(speed_, tr("Speed"), QStringLiteral("[ ]"));
  name(mute_, tr("Mute"), QStringLiteral("M"));
  name(volume_, tr("Volume"), QStringLiteral("9 0"));
}

void PlayerPanel::open(const QString& path, double duration_s, double start_s, bool still) {
  duration_ = still ? 1.0 : duration_s;
  timeline_->setVideo(path, duration_);
  setSubtitles({});
  player_->open(path, start_s < duration_ - 1.0 ? start_s : 0.0, duration_);
  showTime();
}

void PlayerPanel::showTime() {
  time_->setText(QStringLiteral("%1 / %2").arg(timeText(player_->position(), 1), timeText(duration_)));
}

void PlayerPanel::setVolume(int volume) { volume_->setValue(volume); }
int PlayerPanel::volume() const { return volume_->value(); }

void PlayerPanel::setSubtitles(const QString& file) {
  subtitle_file_ = file;
  subtitles_->setEnabled(!file.isEmpty());
  if (file.isEmpty()) subtitles_->setChecked(false);
  player_->setSubtitles(showsSubtitles() ? file : QString());
}

bool PlayerPanel::showsSubtitles() const { return subtitles_->isChecked(); }

void PlayerPanel::togglePause() {
  if (!player_->isOpen()) return;
  const bool at_end = player_->duration() > 0.0 && player_->position() >= player_->duration() - 0.2;
  if (player_->paused() && at_end) player_->seek(0.0);
  player_->setPaused(!player_->paused());
}

void PlayerPanel::stepBack() { player_->step(-1); }
void PlayerPanel::stepForward() { player_->step(1); }
void PlayerPanel::toggleMute() { player_->setMuted(mute_->isChecked()); }
void PlayerPanel::toggleSubtitles() { player_->setSubtitles(showsSubtitles() ? subtitle_file_ : QString()); }

// J goes back, K stops at normal speed, L plays, and faster each time.
void PlayerPanel::shuttle(int direction) {
  if (direction == 0) {
    player_->setSpeed(1.0);
    player_->setPaused(true);
    return;
  }
  if (direction < 0) {
    player_->seek(player_->position() - 10.0);
    return;
  }
  player_->setSpeed(player_->paused() ? 1.0 : std::min(player_->speed() * 2.0, 8.0));
  player_->setPaused(false);
}

bool PlayerPanel::seekKey(int key, bool shift) {
  const double small = shift ? 1.0 : 5.0;
  const double now = player_->position();
  switch (key) {
    case Qt::Key_Left:
      player_->seek(now - small);
      return true;
    case Qt::Key_Right:
      player_->seek(now + small);
      return true;
    case Qt::Key_Up:
      player_->seek(now + 60.0);
      return true;
    case Qt::Key_Down:
      player_->seek(now - 60.0);
      return true;
    case Qt::Key_Home:
      player_->seek(0.0);
      return true;
    case Qt::Key_End:
      player_->seek(duration_);
      return true;
    default:
      return false;
  }
}

// I and O as in cutting rooms: questions are about what lies between. Escape leaves the full screen, then the range.
bool PlayerPanel::rangeKey(int key) {
  const double now = player_->position();
  const std::optional<TimeSpan>& range = timeline_->model().range;
  switch (key) {
    case Qt::Key_I:
      timeline_->chooseRange(TimeSpan{now, range && range->end > now ? range->end : duration_});
      return true;
    case Qt::Key_O:
      if (now <= 0.0) return true;
      timeline_->chooseRange(TimeSpan{range && range->start < now ? range->start : 0.0, now});
      return true;
    case Qt::Key_Escape:
      if (window()->isFullScreen()) {
        emit fullScreenRequested();
      } else if (range) {
        timeline_->chooseRange(std::nullopt);
      } else {
        return false;
      }
      return true;
    default:
      return false;
  }
}

bool PlayerPanel::otherKey(int key) {
  switch (key) {
    case Qt::Key_Space:
    case Qt::Key_P:
      togglePause();
      return true;
    case Qt::Key_J:
      shuttle(-1);
      return true;
    case Qt::Key_K:
      shuttle(0);
      return true;
    case Qt::Key_L:
      shuttle(1);
      return true;
    case Qt::Key_Comma:
      stepBack();
      return true;
    case Qt::Key_Period:
      stepForward();
      return true;
    case Qt::Key_BracketLeft:
      player_->setSpeed(player_->speed() / 1.1);
      return true;
    case Qt::Key_BracketRight:
      player_->setSpeed(player_->speed() * 1.1);
      return true;
    case Qt::Key_Backspace:
      player_->setSpeed(1.0);
      return true;
    case Qt::Key_M:
      mute_->click();
      return true;
    case Qt::Key_9:
      volume_->setValue(volume_->value() - 5);
      return true;
    case Qt::Key_0:
      volume_->setValue(volume_->value() + 5);
      return true;
    case Qt::Key_V:
      subtitles_->click();
      return true;
    case Qt::Key_F:
      emit fullScreenRequested();
      return true;
    default:
      return false;
  }
}

void PlayerPanel::keyPressEvent(QKeyEvent* event) {
  // Keys that a control under the focus did not take arrive here.
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier);
  const bool shift = (event->modifiers() & Qt::ShiftModifier) != 0;
  if (modifiers == Qt::NoModifier &&
      (seekKey(event->key(), shift) || rangeKey(event->key()) || otherKey(event->key()))) {
    return;
  }
  QWidget::keyPressEvent(event);
}

QList<QPair<QString, QString>> PlayerPanel::keys() {
  return {{tr("Space, P"), tr("Play or pause")},
          {QStringLiteral("← →"), tr("5 seconds back or on")},
          {QStringLiteral("Shift+← Shift+→"), tr("1 second back or on")},
          {QStringLiteral("↑ ↓"), tr("A minute on or back")},
          {QStringLiteral(", ."), tr("Previous or next picture")},
          {QStringLiteral("J K L"), tr("10 seconds back, stop, play and faster")},
          {QStringLiteral("[ ]"), tr("Slower or faster")},
          {tr("Backspace"), tr("Normal speed")},
          {QStringLiteral("M"), tr("Mute")},
          {QStringLiteral("9 0"), tr("Quieter or louder")},
          {QStringLiteral("V"), tr("Captions over the film")},
          {tr("Home, End"), tr("To the beginning or the end")},
          {QStringLiteral("I O"), tr("Questions from here on, or up to here")},
          {QStringLiteral("F"), tr("Full screen")},
          {tr("Escape"), tr("Leave the full screen, or ask about the whole film again")}};
}

}  // namespace longview::ui
