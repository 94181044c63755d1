// SelfTestPage: plants pictures in the open film and draws whether they were found again, by depth and length.
#ifndef LONGVIEW_UI_SELFTEST_PAGE_H_
#define LONGVIEW_UI_SELFTEST_PAGE_H_

#include <QString>

#include "core/base/status.h"
#include "ui/film_page.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;
class QTableView;
class QVBoxLayout;

namespace longview {
struct SelfTestReport;
}

namespace longview::ui {

class AppSettings;
class SelfTestModel;

class SelfTestPage : public FilmPage {
  Q_OBJECT

 public:
  // `video` is the open film; empty where there is none.
  SelfTestPage(EngineBridge* bridge, AppSettings* settings, const QString& video, QWidget* parent = nullptr);

  // Begins anew; boxes are filled as they are done.
  void run();
  SelfTestModel* model() const { return model_; }

 private:
  void buildChoices(QVBoxLayout* column);
  void buildMap(QVBoxLayout* column);
  void buildActions(QVBoxLayout* column);
  void chooseFolder();
  void finish(const Result<SelfTestReport>& report);
  void showSum();
  void showAnother() override;
  void updateEnabled() override;
  QString runningText(const QString& name) const override;

  AppSettings* settings_;
  SelfTestModel* model_;
  QComboBox* longest_ = nullptr;
  QSpinBox* depths_ = nullptr;
  QLineEdit* folder_ = nullptr;
  QPushButton* choose_ = nullptr;
  QComboBox* shown_ = nullptr;
  QTableView* map_ = nullptr;
  QLabel* sum_ = nullptr;
  QPushButton* run_ = nullptr;
  QPushButton* copy_ = nullptr;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_SELFTEST_PAGE_H_
