// ModelPage: the parts of the model: sizes, hashes, bringing what is missing, removing what is there.
#ifndef LONGVIEW_UI_MODEL_PAGE_H_
#define LONGVIEW_UI_MODEL_PAGE_H_

#include <QString>
#include <QWidget>
#include <vector>

#include "app/engine/events.h"
#include "core/base/status.h"

class QLabel;
class QProcess;
class QPushButton;
class QTableWidget;

namespace longview::ui {

class EngineBridge;

class ModelPage : public QWidget {
  Q_OBJECT

 public:
  explicit ModelPage(EngineBridge* bridge, QWidget* parent = nullptr);
  ~ModelPage() override;

 protected:
  // Checks the parts each time the page is looked at.
  void showEvent(QShowEvent* event) override;

 private:
  void check();
  void show(const std::vector<PartStatus>& parts);
  void bring();
  void remove();
  void updateEnabled();
  void stopBringing();
  static QString scriptPath();

  EngineBridge* bridge_;
  QTableWidget* table_;
  QLabel* status_;
  QPushButton* bring_;
  QPushButton* remove_;
  QProcess* process_ = nullptr;
  std::vector<PartStatus> parts_;
  bool stopped_ = false;  // the person wanted it
  QString failure_;       // to be told beside what the next check finds
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_MODEL_PAGE_H_
