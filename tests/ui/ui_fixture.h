// What the window's tests share: a random model, clips, a window on the real engine, and a watchdog of the event loop.
#ifndef LONGVIEW_TESTS_UI_UI_FIXTURE_H_
#define LONGVIEW_TESTS_UI_UI_FIXTURE_H_

#include <gtest/gtest.h>

#include <QAction>
#include <QElapsedTimer>
#include <QString>
#include <QTimer>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "tests/support/temp_folder.h"
#include "ui/app_settings.h"
#include "ui/conversation.h"
#include "ui/engine_bridge.h"
#include "ui/main_window.h"
#include "ui/workspace.h"

namespace longview::ui::test {

// Runs the event loop until `condition` holds; false once `seconds` have passed.
bool waitFor(const std::function<bool()>& condition, double seconds = 120.0);

// Types a question and sends it; returns its turn.
int ask(MainWindow* window, const QString& text);
const Turn& turnOf(MainWindow* window, int turn);

// The action of a menu by its words without the '&'; null where there is none.
QAction* actionNamed(MainWindow* window, const QString& text);
// Chooses the action, types a name into the file dialog that comes, and accepts it.
void answerFileDialog(MainWindow* window, const QString& action, const QString& name);

// Tab comes from `first` to every control of its window that can be used and back, and each looks other with the focus
// than without.
void expectTheKeyboardReachesAll(QWidget* first);

// Every text, button and field below `root` has the room that it asks for, lies inside its parent, and overlaps no
// neighbour. `when` tells which look failed.
void expectNothingIsCutOff(const QWidget* root, const std::string& when);

// Whether the player comes to this time, in seconds.
bool playerAt(MainWindow* window, double time_s);

// A film that takes long to read and little to make.
void makeLongFilm(const std::filesystem::path& path, int seconds);

// The longest that the event loop may stand still, in ms.
inline constexpr double kLongestBlock_ms = 100.0;

// Measures how long the event loop stood still at most, the time in which the system gave this thread no processor left
// out: other programs are not the window's fault.
class Watchdog {
 public:
  Watchdog();
  double worst_ms() const { return worst_ms_; }

 private:
  void beat();
  QTimer timer_;
  QElapsedTimer clock_;
  double waited_ms_ = 0.0;  // of this thread for a processor, so far
  double worst_ms_ = 0.0;
};

class UiFixture : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  EngineOptions options() const;
  // A clip of three shots of 6 s, made once for the program.
  QString clip() const;
  // A copy of the clip under a name of its own.
  QString copyOf(const QString& name) const;
  MainWindow* makeWindow(std::shared_ptr<Workspace> workspace = nullptr);
  // Opens the clip and waits until it is read.
  void openAndRead(MainWindow* window, const QString& path);
  // Closes the window and ends the engine, whatever they are doing; `when` tells which closing failed to be quick.
  void closeQuickly(const std::string& when);

  longview::TempFolder folder_;
  std::unique_ptr<AppSettings> settings_;
  std::unique_ptr<EngineBridge> bridge_;
  std::unique_ptr<MainWindow> window_;
};

}  // namespace longview::ui::test

#endif  // LONGVIEW_TESTS_UI_UI_FIXTURE_H_
