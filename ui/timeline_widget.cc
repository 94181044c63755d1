// Painting and mouse of the timeline.
#include "ui/timeline_widget.h"

#include <QFontMetrics>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/format.h"
#include "ui/thumbnail_store.h"

namespace longview::ui {
namespace {

constexpr int kStripHeight = 54;
constexpr int kHeatHeight = 26;
constexpr double kDragStart = 5.0;  // pixels that tell a drag from a click
constexpr double kShortestRange_s = 0.1;

}  // namespace

TimelineWidget::TimelineWidget(ThumbnailStore* thumbnails, QWidget* parent) : QWidget(parent), thumbnails_(thumbnails) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Timeline"));
  setAccessibleDescription(tr("Click to go to a time, drag to limit questions to a range."));
  connect(thumbnails_, &ThumbnailStore::arrived, this, [this](const QString& video) {
    if (video == video_) update();
  });
}

QSize TimelineWidget::sizeHint() const { return {640, fontMetrics().height() + 6 + kStripHeight + kHeatHeight}; }
QSize TimelineWidget::minimumSizeHint() const { return {200, sizeHint().height()}; }

void TimelineWidget::setVideo(const QString& path, double duration_s) {
  video_ = path;
  model_ = TimelineModel();
  model_.duration_s = duration_s;
  hover_x_.reset();
  update();
}

void TimelineWidget::setFrames(const std::vector<KeptFrame>& frames, double read_until_s) {
  model_.frames = frames;
  model_.read_until_s = read_until_s;
  update();
}

void TimelineWidget::setPosition(double time_s) {
  if (std::abs(scale().x(time_s) - scale().x(model_.position_s)) >= 0.5) update();
  model_.position_s = time_s;
}

void TimelineWidget::setAnswer(const std::vector<Evidence>& evidence, const std::vector<Evidence>& looked) {
  const auto other = [this](const Evidence& moment) { return toText(moment.video) != video_; };
  model_.evidence = evidence;
  model_.looked = looked;
  std::erase_if(model_.evidence, other);
  std::erase_if(model_.looked, other);
  update();
}

void TimelineWidget::setRange(const std::optional<TimeSpan>& range) {
  model_.range = range;
  update();
}

void TimelineWidget::chooseRange(const std::optional<TimeSpan>& range) {
  std::optional<TimeSpan> chosen = range;
  if (chosen) {
    chosen->start = std::clamp(chosen->start, 0.0, std::max(0.0, model_.duration_s - kShortestRange_s));
    chosen->end = std::max(std::min(chosen->end, model_.duration_s), chosen->start + kShortestRange_s);
  }
  setRange(chosen);
  emit rangeChosen(chosen);
}

TimelineWidget::Rows TimelineWidget::rows() const {
  Rows areas;
  areas.ruler = QRect(0, 0, width(), fontMetrics().height() + 6);
  areas.strip = QRect(0, areas.ruler.bottom() + 1, width(), kStripHeight);
  areas.heat = QRect(0, areas.strip.bottom() + 1, width(), height() - areas.strip.bottom() - 1);
  return areas;
}

void TimelineWidget::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  const Rows areas = rows();
  paintRuler(&painter, areas.ruler);
  paintStrip(&painter, areas.strip);
  paintHeat(&painter, areas.heat);
  if (model_.duration_s > 0.0) {
    paintMarks(&painter, areas);
    if (hover_x_) paintHover(&painter, areas);
  }
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
  }
}

void TimelineWidget::paintRuler(QPainter* painter, const QRect& area) const {
  const int label = fontMetrics().horizontalAdvance(timeText(model_.duration_s)) + 24;
  painter->setPen(palette().color(QPalette::Text));
  int free_from = 0;
  for (const double time : ticks(scale(), label)) {
    const int x = static_cast<int>(scale().x(time));
    const QString text = timeText(time);
    painter->drawLine(x, area.bottom() - 3, x, area.bottom());
    // The last label stays inside.
    const int left = std::min(x + 3, area.right() - fontMetrics().horizontalAdvance(text));
    if (left < free_from) continue;
    free_from = left + fontMetrics().horizontalAdvance(text) + 6;
    painter->drawText(left, area.bottom() - 4, text);
  }
}

void TimelineWidget::paintStrip(QPainter* painter, const QRect& area) {
  painter->fillRect(area, palette().color(QPalette::Mid));
  if (model_.frames.empty() || model_.duration_s <= 0.0) return;
  const QImage first = thumbnails_->get(video_, model_.frames.front().start);
  const double ratio = first.isNull() ? 16.0 / 9.0 : static_cast<double>(first.width()) / first.height();
  const double step = std::max(16.0, area.height() * ratio);
  const double read = scale().x(model_.read_until_s);
  painter->save();
  painter->setRenderHint(QPainter::SmoothPixmapTransform);
  for (double x = 0.0; x < width() && x < read; x += step) {
    const KeptFrame* frame = model_.frameAt(scale().time(std::min(x + step / 2.0, read)));
    const QImage image = thumbnails_->get(video_, frame->start);
    const QRectF place(x, area.top(), std::min(step, read - x), area.height());
    if (!image.isNull()) {
      painter->drawImage(place, image, QRectF(0, 0, image.width() * place.width() / step, image.height()));
    }
  }
  painter->restore();
  painter->setPen(QPen(QColor(255, 255, 255, 190), 1.0));
  double last = -4.0;
  for (const double shot : model_.shots()) {
    const double x = scale().x(shot);
    if (x - last < 4.0) continue;  // a film of many shots would be all lines
    last = x;
    painter->drawLine(QPointF(x, area.top()), QPointF(x, area.top() + 7));
  }
  if (read < width() - 1.0) {
    painter->setPen(palette().color(QPalette::Text));
    const QRectF rest(read, area.top(), width() - read, area.height());
    const QString words = tr("not read yet");
    if (rest.width() > fontMetrics().horizontalAdvance(words) + 8) painter->drawText(rest, Qt::AlignCenter, words);
  }
}

void TimelineWidget::paintHeat(QPainter* painter, const QRect& area) const {
  const std::vector<double> heat = model_.heat(std::max(width(), 1));
  if (std::all_of(heat.begin(), heat.end(), [](double value) { return value <= 0.0; })) return;
  QPainterPath path(QPointF(0, area.bottom()));
  for (size_t x = 0; x < heat.size(); ++x) {
    path.lineTo(static_cast<double>(x), area.bottom() - heat[x] * (area.height() - 4));
  }
  path.lineTo(width(), area.bottom());
  QColor colour = palette().color(QPalette::Highlight);
  painter->setPen(QPen(colour, 1.5));
  colour.setAlpha(90);
  painter->setBrush(colour);
  painter->drawPath(path);
}

void TimelineWidget::paintMarks(QPainter* painter, const Rows& areas) {
  const QRect film(0, areas.strip.top(), width(), height() - areas.strip.top());
  for (const Evidence& moment : model_.evidence) {
    const double left = scale().x(moment.start);
    const double right = std::max(scale().x(moment.end), left + 3.0);
    painter->setPen(QPen(QColor(0xff, 0xb3, 0x00), 2.0));
    painter->setBrush(QColor(0xff, 0xb3, 0x00, 28));
    painter->drawRect(QRectF(left, areas.strip.top() + 1, right - left, areas.strip.height() - 2));
  }
  if (model_.range) {
    const double left = scale().x(model_.range->start);
    const double right = scale().x(std::min(model_.range->end, model_.duration_s));
    const QColor shade(0, 0, 0, 130);
    painter->fillRect(QRectF(0, film.top(), left, film.height()), shade);
    painter->fillRect(QRectF(right, film.top(), width() - right, film.height()), shade);
    painter->setPen(QPen(palette().color(QPalette::Highlight), 2.0));
    painter->drawLine(QPointF(left, film.top()), QPointF(left, film.bottom()));
    painter->drawLine(QPointF(right, film.top()), QPointF(right, film.bottom()));
  }
  const double x = scale().x(model_.position_s);
  painter->setPen(QPen(QColor(0xe5, 0x39, 0x35), 2.0));
  painter->drawLine(QPointF(x, areas.ruler.bottom() - 3), QPointF(x, height()));
}

void TimelineWidget::paintHover(QPainter* painter, const Rows& areas) {
  const double time = scale().time(*hover_x_);
  const QString words = timeText(time, model_.duration_s < 600.0 ? 1 : 0);
  const KeptFrame* frame = model_.frameAt(time);
  const bool seen = frame != nullptr && time <= model_.read_until_s;
  const QImage image = seen ? thumbnails_->get(video_, frame->start) : QImage();
  const int text_height = fontMetrics().height() + 2;
  const int picture_height = image.isNull() ? 0 : height() - text_height - 2;
  const int picture_width = image.isNull() ? 0 : picture_height * image.width() / std::max(1, image.height());
  const int box_width = std::max(picture_width, fontMetrics().horizontalAdvance(words) + 8);
  // Beside the pointer rather than under it, and inside the widget.
  const int left = std::clamp(static_cast<int>(*hover_x_) - box_width / 2, 0, std::max(0, width() - box_width));
  const QRect box(left, areas.ruler.top(), box_width, picture_height + text_height + 2);
  painter->fillRect(box, palette().color(QPalette::ToolTipBase));
  if (!image.isNull()) {
    painter->setRenderHint(QPainter::SmoothPixmapTransform);
    painter->drawImage(
        QRect(box.center().x() - picture_width / 2, box.top() + text_height, picture_width, picture_height), image);
  }
  painter->setPen(palette().color(QPalette::ToolTipText));
  painter->drawText(QRect(box.left(), box.top(), box.width(), text_height), Qt::AlignCenter, words);
}

void TimelineWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || model_.duration_s <= 0.0) return;
  press_x_ = event->position().x();
  range_before_ = model_.range;
  dragging_ = false;
}

void TimelineWidget::mouseMoveEvent(QMouseEvent* event) {
  hover_x_ = event->position().x();
  if (press_x_ && std::abs(*hover_x_ - *press_x_) >= kDragStart) dragging_ = true;
  if (dragging_) {
    // Back where it began there is nothing to choose.
    const auto [low, high] = std::minmax(*press_x_, *hover_x_);
    model_.range = high - low < kDragStart ? range_before_ : TimeSpan{scale().time(low), scale().time(high)};
  }
  update();
}

void TimelineWidget::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !press_x_) return;
  const double time = scale().time(*press_x_);
  press_x_.reset();
  if (std::exchange(dragging_, false)) {
    chooseRange(model_.range);
  } else {
    emit seekRequested(time);
  }
  update();
}

void TimelineWidget::leaveEvent(QEvent*) {
  hover_x_.reset();
  update();
}

}  // namespace longview::ui
