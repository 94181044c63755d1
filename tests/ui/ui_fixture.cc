// The window's fixture.
#include "tests/ui/ui_fixture.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <QApplication>
#include <QDialogButtonBox>
#include <QEventLoop>
#include <QFile>
#include <QFileDialog>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTest>
#include <QThread>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/model_parts.h"
#include "tests/support/test_clip.h"
#include "tests/support/tiny_model.h"
#include "ui/format.h"
#include "ui/library_model.h"
#include "ui/mpv_player.h"
#include "ui/player_panel.h"
#include "ui/video_controller.h"

namespace longview::ui::test {
namespace {

// The model and the clip, made by the first test that wants them.
struct Shared {
  longview::TempFolder folder;
  std::filesystem::path parts;
  std::filesystem::path clip;
};

const Shared& shared() {
  static const Shared* const made = [] {
    auto* all = new Shared;
    all->parts = ModelPart(kVitPart).parent_path();
    longview::test::WriteTinyModel(all->folder / "model", all->parts);
    all->clip = all->folder / "clip.mp4";
    longview::test::MakeThreeShots(all->clip, 18);
    return all;
  }();
  return *made;
}

// How long this thread has waited for a processor since it began (second number of its schedstat), in ms.
double processorWait_ms() {
  std::ifstream in("/proc/self/task/" + std::to_string(syscall(SYS_gettid)) + "/schedstat");
  double ran_ns = 0.0;
  double waited_ns = 0.0;
  in >> ran_ns >> waited_ns;
  return waited_ns / 1e6;
}

}  // namespace

bool waitFor(const std::function<bool()>& condition, double seconds) {
  QElapsedTimer clock;
  clock.start();
  while (!condition()) {
    if (static_cast<double>(clock.elapsed()) > seconds * 1000.0) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 50);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  }
  return true;
}

int ask(MainWindow* window, const QString& text) {
  auto* line = window->findChild<QLineEdit*>(QStringLiteral("question"));
  line->setFocus();
  QTest::keyClicks(line, text);
  QTest::keyClick(line, Qt::Key_Return);
  return static_cast<int>(window->conversation()->turns().size()) - 1;
}

const Turn& turnOf(MainWindow* window, int turn) { return window->conversation()->turns()[static_cast<size_t>(turn)]; }

QAction* actionNamed(MainWindow* window, const QString& text) {
  for (QAction* action : window->findChildren<QAction*>()) {
    if (action->text().remove(QLatin1Char('&')) == text) return action;
  }
  return nullptr;
}

void answerFileDialog(MainWindow* window, const QString& action, const QString& name) {
  QAction* const chosen = actionNamed(window, action);
  ASSERT_NE(chosen, nullptr) << action.toStdString();
  chosen->trigger();
  QFileDialog* dialog = nullptr;
  ASSERT_TRUE(
      waitFor([&] { return (dialog = window->findChild<QFileDialog*>()) != nullptr && dialog->isVisible(); }, 10.0))
      << window->message().toStdString();
  dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(name);
  auto* buttons = dialog->findChild<QDialogButtonBox*>();
  for (QAbstractButton* button : buttons->buttons()) {
    if (buttons->buttonRole(button) == QDialogButtonBox::AcceptRole) QTest::mouseClick(button, Qt::LeftButton);
  }
  ASSERT_TRUE(waitFor([&] { return window->findChild<QFileDialog*>() == nullptr; }, 10.0));
}

void expectTheKeyboardReachesAll(QWidget* first) {
  QWidget* const window = first->window();
  window->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window));
  first->setFocus(Qt::TabFocusReason);
  const auto name = [](const QWidget* widget) {
    return widget->metaObject()->className() +
           (" " + widget->objectName() + " " + widget->accessibleName()).toStdString();
  };
  std::set<QWidget*> reached = {first};
  std::vector<QWidget*> order;
  for (int i = 0; i < 200; ++i) {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    QWidget* now = QApplication::focusWidget();
    if (now == first) break;
    if (reached.insert(now).second) order.push_back(now);
  }
  ASSERT_EQ(QApplication::focusWidget(), first) << "Tab does not come round";
  for (auto* widget : window->findChildren<QWidget*>()) {
    if (widget->window() != window || !widget->isVisible() || !widget->isEnabled()) continue;
    if ((widget->focusPolicy() & Qt::TabFocus) == 0 || widget->focusProxy() != nullptr) continue;
    if (widget->visibleRegion().isEmpty()) continue;
    EXPECT_TRUE(reached.count(widget) != 0) << name(widget) << " is not reached";
  }
  for (QWidget* widget : order) {
    const auto picture = [&] {
      const QRect place(widget->mapTo(window, QPoint(-2, -2)), widget->size() + QSize(4, 4));
      return window->grab(place).toImage();
    };
    widget->setFocus(Qt::TabFocusReason);
    QTest::qWait(20);
    const QImage with = picture();
    first->setFocus(Qt::TabFocusReason);
    QTest::qWait(20);
    EXPECT_NE(with, picture()) << name(widget) << " does not show its focus";
  }
}

void expectNothingIsCutOff(const QWidget* root, const std::string& when) {
  std::vector<QWidget*> looked;
  for (auto* widget : root->findChildren<QWidget*>()) {
    const QWidget* parent = widget->parentWidget();
    const bool part = parent->inherits("QAbstractSpinBox") || parent->inherits("QComboBox") ||
                      parent->inherits("QLineEdit") || parent->inherits("QAbstractItemView");
    const bool of_qt = widget->objectName().startsWith(QStringLiteral("qt_dockwidget"));
    if (widget->window() != root->window() || !widget->isVisible() || part || of_qt) continue;
    const auto* label = qobject_cast<QLabel*>(widget);
    QSize wanted = widget->sizeHint();
    if (label != nullptr) {
      if (label->text().isEmpty()) continue;
      if (label->wordWrap()) wanted = QSize(1, label->heightForWidth(label->width()));
    } else if (qobject_cast<QLineEdit*>(widget) != nullptr) {
      wanted.setWidth(1);  // what is longer scrolls
    } else if (!widget->inherits("QAbstractButton") && !widget->inherits("QComboBox") &&
               !widget->inherits("QAbstractSpinBox")) {
      continue;
    }
    const std::string name = when + ": " + widget->metaObject()->className() + " " +
                             (widget->objectName() + " " + widget->accessibleName()).toStdString() + " " +
                             widget->property("text").toString().left(60).toStdString();
    EXPECT_GE(widget->width(), wanted.width()) << name;
    EXPECT_GE(widget->height(), wanted.height()) << name;
    EXPECT_TRUE(parent->rect().contains(widget->geometry())) << name << " sticks out";
    for (const QWidget* other : looked) {
      EXPECT_FALSE(other->parentWidget() == parent && other->geometry().intersects(widget->geometry()))
          << name << " overlaps " << other->metaObject()->className() << " "
          << other->property("text").toString().toStdString();
    }
    looked.push_back(widget);
  }
  EXPECT_FALSE(looked.empty()) << when;
}

bool playerAt(MainWindow* window, double time_s) {
  return waitFor([&] { return std::abs(window->playerPanel()->player()->position() - time_s) < 0.051; }, 20.0);
}

void makeLongFilm(const std::filesystem::path& path, int seconds) {
  longview::test::RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=320x240:r=5:d=" + std::to_string(seconds), "-c:v",
                             "libx264", "-preset", "ultrafast", "-g", "20", "-threads", "1", path.string()});
}

Watchdog::Watchdog() {
  timer_.setTimerType(Qt::PreciseTimer);
  timer_.setInterval(5);
  QObject::connect(&timer_, &QTimer::timeout, &timer_, [this] { beat(); });
  clock_.start();
  waited_ms_ = processorWait_ms();
  timer_.start();
}

void Watchdog::beat() {
  const double gap = static_cast<double>(clock_.nsecsElapsed()) / 1e6;
  clock_.start();
  const double waited = processorWait_ms();
  worst_ms_ = std::max(worst_ms_, gap - (waited - waited_ms_));
  waited_ms_ = waited;
}

void UiFixture::SetUp() {
  shared();
  if (HasFailure()) GTEST_SKIP() << "without the model parts nothing can be asked";
  settings_ = std::make_unique<AppSettings>(toText(folder_ / "settings.ini"));
  bridge_ = std::make_unique<EngineBridge>(options());
}

void UiFixture::TearDown() {
  window_.reset();
  bridge_.reset();
}

EngineOptions UiFixture::options() const {
  EngineOptions options;
  options.library = folder_ / "library";
  options.assets = shared().folder / "model";
  options.models = shared().parts;
  options.threads = 2;
  return options;
}

QString UiFixture::clip() const { return toText(shared().clip); }

QString UiFixture::copyOf(const QString& name) const {
  const std::filesystem::path path = folder_ / name.toStdString();
  std::filesystem::copy_file(shared().clip, path);
  return toText(path);
}

MainWindow* UiFixture::makeWindow(std::shared_ptr<Workspace> workspace) {
  window_ = std::make_unique<MainWindow>(bridge_.get(), settings_.get(), std::move(workspace));
  window_->show();
  return window_.get();
}

void UiFixture::openAndRead(MainWindow* window, const QString& path) {
  window->openPaths({path});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == path; })) << window->message().toStdString();
  ASSERT_TRUE(waitFor([&] { return window->library()->video(path)->state == ReadState::kDone; }, 300.0))
      << window->library()->video(path)->failure.toStdString();
  ASSERT_TRUE(waitFor([&] { return !window->controller()->frames().empty(); }));
  ASSERT_TRUE(waitFor([&] { return window->playerPanel()->player()->isOpen(); }));
}

void UiFixture::closeQuickly(const std::string& when) {
  QElapsedTimer clock;
  clock.start();
  window_->close();
  window_.reset();
  bridge_.reset();
  EXPECT_LT(clock.elapsed(), 10000) << "closed " << when;
}

}  // namespace longview::ui::test
