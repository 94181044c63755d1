// SelfTestPage: plants pictures in the open film and draws whether they were found again, by depth and length.
#ifndef LONGVIEW_UI_SELFTEST_PAGE_H_
#define LONGVIEW_UI_SELFTEST_PAGE_H_

#include <QString>
#include <QWidget>

#include "core/base/status.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTableView;
class QVBoxLayout;

namespace longview {
struct SelfTestReport;
}

namespace longview::ui {

class AppSettings;
class EngineBridge;
class SelfTestModel;

class SelfTestPage : public QWidget {
  Q_OBJECT

 public:
  // `video` is the open film; empty where there is none.
  SelfTestPage(EngineBridge* bridge, AppSettings* settings, const QString& video, QWidget* parent = nullptr);
  ~SelfTestPage() override;

  // The film that is open now. What is tested on another one, or was, stays until this begins anew; the page says so.
  void setVideo(const QString& video);
  bool running() const { return job_ != 0; }
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
  void turnToOpen();
  QString filmText() const;
  void updateEnabled();

  EngineBridge* bridge_;
  AppSettings* settings_;
  QString video_;  // what is shown here is of this one
  QString open_;
  bool kept_ = false;  // something was tested
  SelfTestModel* model_;
  QComboBox* longest_ = nullptr;
  QSpinBox* depths_ = nullptr;
  QLineEdit* folder_ = nullptr;
  QPushButton* choose_ = nullptr;
  QComboBox* shown_ = nullptr;
  QTableView* map_ = nullptr;
  QLabel* sum_ = nullptr;
  QLabel* status_ = nullptr;
  QPushButton* run_ = nullptr;
  QPushButton* copy_ = nullptr;
  QProgressBar* progress_ = nullptr;
  quint64 job_ = 0;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_SELFTEST_PAGE_H_
