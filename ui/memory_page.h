// MemoryPage: what the cache costs in each mode for the open film, measured on request, and what a budget buys.
#ifndef LONGVIEW_UI_MEMORY_PAGE_H_
#define LONGVIEW_UI_MEMORY_PAGE_H_

#include <QTimer>
#include <memory>
#include <optional>

#include "ui/compare_source.h"
#include "ui/film_page.h"

class QLabel;
class QPushButton;
class QSlider;
class QSpinBox;
class QTableView;
class QVBoxLayout;

namespace longview::ui {

class AppSettings;
class CompareModel;

class MemoryPage : public FilmPage {
  Q_OBJECT

 public:
  MemoryPage(EngineBridge* bridge, AppSettings* settings, std::shared_ptr<CompareSource> source, const QString& video,
             QWidget* parent = nullptr);

  // Begins to measure; each row takes the place of what was predicted for it.
  void measure();
  // More of the open film is read, or it is read in another way: what is predicted changes, what was measured stays.
  void filmRead();
  CompareModel* model() const { return model_; }

 signals:
  // The way of holding the cache was changed; the last question may be asked again.
  void cacheChosen();
  // The budget changed how films are read.
  void samplingChosen();

 private:
  void buildTable(QVBoxLayout* column);
  void buildBudget(QVBoxLayout* column);
  void useSelected();
  void predict();
  void planSoon();
  void plan();
  void showAnother() override;
  void updateEnabled() override;
  QString runningText(const QString& name) const override;
  uint64_t budgetBytes() const;

  AppSettings* settings_;
  std::shared_ptr<CompareSource> source_;
  CompareModel* model_;
  QTableView* table_ = nullptr;
  QLabel* now_ = nullptr;
  QPushButton* measure_ = nullptr;
  QPushButton* use_ = nullptr;
  QSlider* budget_ = nullptr;
  QSpinBox* hours_ = nullptr;
  QLabel* budget_text_ = nullptr;
  QLabel* offer_text_ = nullptr;
  QPushButton* take_ = nullptr;
  QTimer plan_timer_;
  std::optional<BudgetOffer> offer_;
  bool predicting_ = false;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_MEMORY_PAGE_H_
