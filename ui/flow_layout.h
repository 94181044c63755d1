// FlowLayout: items in rows as wide as there is room, like words of a text.
#ifndef LONGVIEW_UI_FLOW_LAYOUT_H_
#define LONGVIEW_UI_FLOW_LAYOUT_H_

#include <QLayout>
#include <QRect>
#include <memory>
#include <vector>

namespace longview::ui {

class FlowLayout : public QLayout {
 public:
  FlowLayout(QWidget* parent, int gap);
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override;
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  Qt::Orientations expandingDirections() const override { return {}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override { return place(QRect(0, 0, width, 0), false); }
  void setGeometry(const QRect& rect) override;
  QSize sizeHint() const override { return minimumSize(); }
  QSize minimumSize() const override;

 private:
  // The height that the items take; moves them there where `move`.
  int place(const QRect& rect, bool move) const;

  int gap_;
  std::vector<std::unique_ptr<QLayoutItem>> items_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_FLOW_LAYOUT_H_
