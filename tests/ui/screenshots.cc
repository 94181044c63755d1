// Draws the window's main states into PNG files, to be looked at: ui_screenshots VIDEO OUT_FOLDER LANGUAGE THEME
// [STATE...] Uses the installed model and a library of its own. tools/screenshots runs it for every language, theme and
// scale.
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>
#include <clocale>
#include <cstdio>

#include "tests/support/temp_folder.h"
#include "tests/ui/ui_fixture.h"
#include "ui/compare_model.h"
#include "ui/conversation.h"
#include "ui/conversation_view.h"
#include "ui/format.h"
#include "ui/language.h"
#include "ui/library_model.h"
#include "ui/memory_page.h"
#include "ui/mpv_player.h"
#include "ui/player_panel.h"
#include "ui/search_pane.h"
#include "ui/selftest_page.h"
#include "ui/settings_dialog.h"
#include "ui/shortcuts_dialog.h"
#include "ui/theme.h"
#include "ui/timeline_widget.h"
#include "ui/video_controller.h"

namespace longview::ui::test {
namespace {

class Shooter {
 public:
  Shooter(const QString& video, const QString& folder, const QString& tag, QStringList states)
      : video_(video), folder_(folder), tag_(tag), states_(std::move(states)) {
    EngineOptions options;
    options.library = library_ / "library";
    bridge_ = std::make_unique<EngineBridge>(options);
    settings_ = std::make_unique<AppSettings>(toText(library_ / "settings.ini"));
    window_ = std::make_unique<MainWindow>(bridge_.get(), settings_.get());
    window_->resize(1180, 720);
    window_->show();
  }

  // 0, or 1 where a state could not be reached.
  int run() {
    settle();
    save(window_.get(), QStringLiteral("empty"));
    if (wanted(QStringLiteral("reading")) && !reading()) return fail("the first frames");
    window_->openPaths({video_});
    if (!waitFor([&] { return window_->controller()->path() == video_; })) return fail("opening");
    if (!waitFor([&] { return window_->library()->video(video_)->state == ReadState::kDone; }, 900))
      return fail("reading");
    if (!waitFor([&] { return window_->playerPanel()->player()->isOpen(); })) return fail("playing");
    const QString describe = QCoreApplication::translate("longview::ui::ConversationView", "Describe");
    for (auto* button : window_->conversationView()->findChildren<QPushButton*>()) {
      if (button->text() == describe) button->click();
    }
    const auto idle = [&] { return !bridge_->busy(); };
    if (!waitFor(idle, 300)) return fail("answering");
    const auto& turn = window_->conversation()->turns().front();
    if (!turn.answer.evidence.empty()) window_->goTo(video_, turn.answer.evidence.front().start);
    settle();
    save(window_.get(), QStringLiteral("answer"));
    if (wanted(QStringLiteral("search")) && !search()) return fail("searching");
    if (wanted(QStringLiteral("settings")) && !dialogs()) return fail("the self-test");
    if (wanted(QStringLiteral("message"))) {
      window_->findChild<QDockWidget*>(QStringLiteral("conversation"))->raise();
      window_->openPaths({toText(library_.Write("holiday.mp4", std::string(5000, 'x')))});
      if (!waitFor([&] { return !window_->message().isEmpty(); }, 30)) return fail("the message");
      settle();
      save(window_.get(), QStringLiteral("message"));
    }
    return 0;
  }

 private:
  bool wanted(const QString& state) const { return states_.isEmpty() || states_.contains(state); }

  int fail(const char* what) {
    std::fprintf(stderr, "%s did not end: %s\n", what, window_->message().toLocal8Bit().constData());
    return 1;
  }

  // With every picture kept, so that reading takes a while.
  bool reading() {
    const SamplingSettings usual = settings_->sampling();
    SamplingSettings all = usual;
    all.fps = 25.0;
    settings_->setSampling(all);
    window_->openPaths({video_});
    const auto under_way = [&] {
      return window_->controller()->readUntil() > 2.0 && window_->playerPanel()->player()->isOpen();
    };
    if (!waitFor(under_way, 300)) return false;
    save(window_.get(), QStringLiteral("reading"));
    bridge_->cancelAll();
    settings_->setSampling(usual);
    return waitFor([&] { return !bridge_->busy(); }, 60);
  }

  bool search() {
    auto* dock = window_->findChild<QDockWidget*>(QStringLiteral("search"));
    dock->raise();
    window_->findChild<QLineEdit*>(QStringLiteral("words"))->setText(QStringLiteral("bicycles"));
    window_->searchPane()->search(QStringLiteral("bicycles"));
    if (!waitFor([&] { return window_->searchPane()->moments()->rowCount() > 0; }, 120)) return false;
    settle();
    save(window_.get(), QStringLiteral("search"));
    return true;
  }

  bool dialogs() {
    for (const auto& [page, name] : {std::pair(SettingsDialog::kGeneral, "general"),
                                     {SettingsDialog::kReading, "reading"},
                                     {SettingsDialog::kMemory, "memory"},
                                     {SettingsDialog::kSelfTest, "selftest"},
                                     {SettingsDialog::kModel, "model"}}) {
      SettingsDialog* dialog = window_->showSettings(page);
      dialog->resize(860, 640);  // as on a real screen; the one without a display is narrower
      if (page == SettingsDialog::kMemory) {
        // Every row takes minutes; some are enough to look at.
        dialog->memoryPage()->measure();
        const auto& rows = dialog->memoryPage()->model()->rows();
        waitFor([&] { return rows.size() > 5 && rows[5].measured; }, 300);
        bridge_->cancelAll();
        waitFor([&] { return !bridge_->busy(); }, 60);
      }
      if (page == SettingsDialog::kSelfTest) {
        dialog->findChild<QComboBox*>(QStringLiteral("longest"))->setCurrentIndex(0);
        dialog->findChild<QSpinBox*>(QStringLiteral("depths"))->setValue(5);
        dialog->selfTestPage()->run();
        if (!waitFor([&] { return !bridge_->busy(); }, 900)) return false;
      }
      settle();
      save(dialog, QStringLiteral("settings-") + QString::fromLatin1(name));
      dialog->close();
    }
    if (!wanted(QStringLiteral("shortcuts"))) return true;
    ShortcutsDialog shortcuts(window_->findChildren<QAction*>(), window_.get());
    shortcuts.show();
    settle();
    save(&shortcuts, QStringLiteral("shortcuts"));
    return true;
  }

  // Time for pictures and thumbnails that are on their way.
  static void settle() { QTest::qWait(1500); }

  void save(QWidget* widget, const QString& state) {
    if (!wanted(state.section(QLatin1Char('-'), 0, 0))) return;
    const QString file = QDir(folder_).filePath(QStringLiteral("%1.%2.png").arg(state, tag_));
    if (!widget->grab().save(file)) std::fprintf(stderr, "%s: cannot be written\n", file.toLocal8Bit().constData());
  }

  longview::TempFolder library_;
  QString video_;
  QString folder_;
  QString tag_;
  QStringList states_;
  std::unique_ptr<AppSettings> settings_;
  std::unique_ptr<EngineBridge> bridge_;
  std::unique_ptr<MainWindow> window_;
};

}  // namespace

int Shoot(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  std::setlocale(LC_NUMERIC, "C");
  const QStringList words = QCoreApplication::arguments();
  if (words.size() < 5) {
    std::fprintf(stderr, "usage: ui_screenshots VIDEO OUT_FOLDER en|zh_CN light|dark [STATE...]\n");
    return 2;
  }
  rememberSystemPalette();
  applyTheme(words[4] == QLatin1String("dark") ? Theme::kDark : Theme::kLight);
  applyLanguage(words[3]);
  QDir().mkpath(words[2]);
  const QString scale = qEnvironmentVariable("QT_SCALE_FACTOR", QStringLiteral("1"));
  return Shooter(QDir::current().absoluteFilePath(words[1]), words[2],
                 QStringLiteral("%1.%2.%3x").arg(words[3], words[4], scale), words.mid(5))
      .run();
}

}  // namespace longview::ui::test

int main(int argc, char** argv) { return longview::ui::test::Shoot(argc, argv); }
