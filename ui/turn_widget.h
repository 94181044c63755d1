// TurnWidget: one question and its answer: text with links, the frames it drew on, what can be done with it.
#ifndef LONGVIEW_UI_TURN_WIDGET_H_
#define LONGVIEW_UI_TURN_WIDGET_H_

#include <QFrame>
#include <vector>

#include "ui/conversation.h"

class QLabel;
class QToolButton;

namespace longview::ui {

class FlowLayout;
class ThumbnailStore;

class TurnWidget : public QFrame {
  Q_OBJECT

 public:
  explicit TurnWidget(ThumbnailStore* thumbnails, QWidget* parent = nullptr);

  void show(const Turn& turn);
  // What the note under the answer says: how much was read, how long it took, from how much memory.
  static QString note(const Turn& turn);

 signals:
  void momentActivated(const QString& video, double time_s);
  void stopRequested();
  void retryRequested();
  void copyRequested();
  // The answer's evidence should be shown on the timeline.
  void showRequested();

 protected:
  void mousePressEvent(QMouseEvent* event) override;

 private:
  void showEvidence(const Turn& turn);
  void placeThumbnail(QToolButton* button, const QImage& image);

  ThumbnailStore* thumbnails_;
  QLabel* question_;
  QLabel* answer_;
  QLabel* note_;
  QWidget* evidence_;
  FlowLayout* evidence_row_;
  QToolButton* stop_;
  QToolButton* retry_;
  QToolButton* copy_;
  std::vector<Evidence> shown_;
  SamplingSettings sampling_;  // of what is shown
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_TURN_WIDGET_H_
