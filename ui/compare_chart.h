// CompareChart: bars of bytes for each way of holding the cache, predicted beside measured.
#ifndef LONGVIEW_UI_COMPARE_CHART_H_
#define LONGVIEW_UI_COMPARE_CHART_H_

#include <QWidget>

namespace longview::ui {

class CompareModel;

class CompareChart : public QWidget {
  Q_OBJECT

 public:
  explicit CompareChart(const CompareModel* model, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  int rowHeight() const;
  const CompareModel* model_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_COMPARE_CHART_H_
