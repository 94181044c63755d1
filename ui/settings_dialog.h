// SettingsDialog: pages of settings; each change is kept at once.
#ifndef LONGVIEW_UI_SETTINGS_DIALOG_H_
#define LONGVIEW_UI_SETTINGS_DIALOG_H_

#include <QDialog>
#include <QString>

class QDoubleSpinBox;
class QTabWidget;
class QFormLayout;

namespace longview::ui {

class AppSettings;
class EngineBridge;
class MemoryPage;
class SelfTestPage;

class SettingsDialog : public QDialog {
  Q_OBJECT

 public:
  enum Page { kGeneral, kReading, kMemory, kSelfTest, kModel };

  // `video` is the open film; empty where there is none.
  SettingsDialog(EngineBridge* bridge, AppSettings* settings, const QString& video, QWidget* parent = nullptr);
  void showPage(Page page);
  const QString& video() const { return video_; }
  MemoryPage* memoryPage() const { return memory_; }
  SelfTestPage* selfTestPage() const { return self_test_; }

 signals:
  void languageChosen(const QString& language);
  void themeChosen();
  // Another way of holding the cache, chosen to be tried on the last question.
  void cacheChosen();

 private:
  QWidget* buildGeneral();
  QWidget* buildReading();
  void addSampling(QFormLayout* form);
  void addMachine(QFormLayout* form);
  void addFolder(QFormLayout* form);
  void reopenEngine();

  EngineBridge* bridge_;
  AppSettings* settings_;
  QTabWidget* tabs_;
  QString video_;
  MemoryPage* memory_;
  SelfTestPage* self_test_;
  QDoubleSpinBox* fps_ = nullptr;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_SETTINGS_DIALOG_H_
