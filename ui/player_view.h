// PlayerView: where the film is seen. Only draws what the player has drawn.
#ifndef LONGVIEW_UI_PLAYER_VIEW_H_
#define LONGVIEW_UI_PLAYER_VIEW_H_

#include <QWidget>

namespace longview::ui {

class MpvPlayer;

class PlayerView : public QWidget {
  Q_OBJECT

 public:
  explicit PlayerView(MpvPlayer* player, QWidget* parent = nullptr);
  // Words shown instead of a film.
  void setMessage(const QString& text);
  QSize sizeHint() const override { return {640, 360}; }

 signals:
  void clicked();
  void doubleClicked();
  // The wheel was turned: notches away from the person are above 0.
  void wheeled(int steps);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void retarget();

  MpvPlayer* player_;
  QString message_;
  int turned_ = 0;  // of the wheel, in eighths of a degree, less than a notch
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_PLAYER_VIEW_H_
