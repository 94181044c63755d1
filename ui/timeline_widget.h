// TimelineWidget: the film as a strip: thumbnails, shots, where the answer looked, evidence, the part read so far. A
// click seeks, a drag chooses the range that questions are limited to.
#ifndef LONGVIEW_UI_TIMELINE_WIDGET_H_
#define LONGVIEW_UI_TIMELINE_WIDGET_H_

#include <QWidget>
#include <optional>

#include "ui/timeline_model.h"

namespace longview::ui {

class ThumbnailStore;

class TimelineWidget : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineWidget(ThumbnailStore* thumbnails, QWidget* parent = nullptr);

  // A new film without frames.
  void setVideo(const QString& path, double duration_s);
  void setFrames(const std::vector<KeptFrame>& frames, double read_until_s);
  void setPosition(double time_s);
  void setAnswer(const std::vector<Evidence>& evidence, const std::vector<Evidence>& looked);
  void setRange(const std::optional<TimeSpan>& range);
  // The same as a drag: also tells rangeChosen. A range has at least kShortestRange_s, inside the film.
  void chooseRange(const std::optional<TimeSpan>& range);
  const TimelineModel& model() const { return model_; }
  // Where a time is drawn, in this widget's pixels.
  double xOf(double time_s) const { return scale().x(time_s); }

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void seekRequested(double time_s);
  void rangeChosen(const std::optional<TimeSpan>& range);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  struct Rows {
    QRect ruler, strip, heat;
  };
  Rows rows() const;
  TimeScale scale() const { return {model_.duration_s, static_cast<double>(width())}; }
  void paintRuler(QPainter* painter, const QRect& area) const;
  void paintStrip(QPainter* painter, const QRect& area);
  void paintHeat(QPainter* painter, const QRect& area) const;
  void paintMarks(QPainter* painter, const Rows& areas);
  void paintHover(QPainter* painter, const Rows& areas);

  ThumbnailStore* thumbnails_;
  QString video_;
  TimelineModel model_;
  std::optional<double> hover_x_;
  std::optional<double> press_x_;
  std::optional<TimeSpan> range_before_;  // the drag
  bool dragging_ = false;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_TIMELINE_WIDGET_H_
