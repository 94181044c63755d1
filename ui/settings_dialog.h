// SettingsDialog: pages of settings; each change is kept at once. A page is made when it is first wanted, so that no
// event waits for all of them.
#ifndef LONGVIEW_UI_SETTINGS_DIALOG_H_
#define LONGVIEW_UI_SETTINGS_DIALOG_H_

#include <QDialog>
#include <QString>
#include <array>

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
  // Brings this page to the front.
  void showPage(Page page);
  // The film that is open now. A page that measures, or has measured, stays with its own until it begins anew.
  void setVideo(const QString& video);
  // More of it is read, or it is read in another way.
  void filmRead();
  // Something is measured or tested, which ends with this dialog.
  bool measuring() const;
  // These make their page where it was not wanted before.
  MemoryPage* memoryPage();
  SelfTestPage* selfTestPage();

 signals:
  void languageChosen(const QString& language);
  // Another way of holding the cache, chosen to be tried on the last question.
  void cacheChosen();
  // How films are read was changed.
  void samplingChosen();
  // The folder of indexes may hold less from now on.
  void limitChosen();

 private:
  QWidget* page(int number);
  QWidget* build(int number);
  QWidget* buildGeneral();
  QWidget* buildReading();
  void addSampling(QFormLayout* form);
  void addMachine(QFormLayout* form);
  void addDevice(QFormLayout* form);
  void addFolder(QFormLayout* form);
  // With these options changed to what the settings say; others stay as the command line has them.
  enum class Option { kThreads, kDevice, kLibrary };
  void reopenEngine(Option changed);

  EngineBridge* bridge_;
  AppSettings* settings_;
  QTabWidget* tabs_;
  QString video_;
  std::array<QWidget*, kModel + 1> pages_{};
  QDoubleSpinBox* fps_ = nullptr;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_SETTINGS_DIALOG_H_
