// Painting of the film or of a message.
#include "ui/player_view.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include "ui/mpv_player.h"

namespace longview::ui {

PlayerView::PlayerView(MpvPlayer* player, QWidget* parent) : QWidget(parent), player_(player) {
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(240, 135);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAttribute(Qt::WA_OpaquePaintEvent);
  connect(player_, &MpvPlayer::pictureChanged, this, qOverload<>(&QWidget::update));
}

void PlayerView::setMessage(const QString& text) {
  message_ = text;
  setAccessibleDescription(text);
  update();
}

void PlayerView::retarget() {
  player_->setTarget(QSize(qRound(width() * devicePixelRatioF()), qRound(height() * devicePixelRatioF())));
}

void PlayerView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  retarget();
}

bool PlayerView::event(QEvent* event) {
  // A move to a screen of another scale.
  if (event->type() == QEvent::ScreenChangeInternal || event->type() == QEvent::Show) retarget();
  return QWidget::event(event);
}

void PlayerView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && rect().contains(event->position().toPoint())) emit clicked();
}

// Both releases of a double click are clicks as well: the film goes on as it was.
void PlayerView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) emit doubleClicked();
}

void PlayerView::wheelEvent(QWheelEvent* event) {
  turned_ += event->angleDelta().y();
  const int steps = turned_ / QWheelEvent::DefaultDeltasPerStep;
  turned_ -= steps * QWheelEvent::DefaultDeltasPerStep;
  if (steps != 0) emit wheeled(steps);
  event->accept();
}

void PlayerView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), Qt::black);
  if (message_.isEmpty() && player_->isOpen()) {
    QImage image = player_->picture();
    image.setDevicePixelRatio(devicePixelRatioF());
    painter.drawImage(QPointF(0.0, 0.0), image);
  }
  if (!message_.isEmpty()) {
    painter.setPen(QColor(0xe0, 0xe0, 0xe0));
    const QRect area = rect().adjusted(24, 16, -24, -16);
    painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap, message_);
  }
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
  }
}

}  // namespace longview::ui
