// The pages of settings: what is chosen there takes effect at once and is remembered, Tab reaches everything, and
// nothing is cut off.
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabBar>
#include <QTest>
#include <QToolButton>
#include <filesystem>
#include <string>

#include "tests/ui/ui_fixture.h"
#include "ui/conversation_view.h"
#include "ui/format.h"
#include "ui/language.h"
#include "ui/library_model.h"
#include "ui/main_window.h"
#include "ui/player_panel.h"
#include "ui/settings_dialog.h"
#include "ui/theme.h"
#include "ui/timeline_widget.h"
#include "ui/turn_widget.h"
#include "ui/video_controller.h"

namespace longview::ui::test {
namespace {

constexpr SettingsDialog::Page kPages[] = {SettingsDialog::kGeneral, SettingsDialog::kReading, SettingsDialog::kMemory,
                                           SettingsDialog::kSelfTest, SettingsDialog::kModel};

// A screen of 1920 x 1080 at 200 %, less a title bar.
constexpr QSize kLaptop(960, 500);

class UiWindowSettings : public UiFixture {
 protected:
  void SetUp() override {
    font_ = QApplication::font();
    UiFixture::SetUp();
  }
  void TearDown() override {
    UiFixture::TearDown();
    QApplication::setFont(font_);
    applyTheme(Theme::kLight);
    applyLanguage(QStringLiteral("en"));
  }

  void askAndWait(MainWindow* window) {
    const int turn = ask(window, QStringLiteral("When is a circle seen?"));
    ASSERT_TRUE(waitFor([&] { return !turnOf(window, turn).running(); }));
    ASSERT_EQ(turnOf(window, turn).state, Turn::State::kDone) << turnOf(window, turn).failure.toStdString();
  }

  // Chooses by the keyboard, as the last of the list.
  static void chooseLast(QComboBox* box) {
    box->setFocus();
    QTest::keyClick(box, Qt::Key_End);
  }

  static void type(QSpinBox* box, const QString& number) {
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, number);
  }

  AppSettings settingsOnDisk() const { return AppSettings(toText(folder_ / "settings.ini")); }

 private:
  QFont font_;
};

// The lightest and the darkest that is drawn.
std::pair<int, int> range(const QImage& picture) {
  int low = 255;
  int high = 0;
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) {
      low = std::min(low, qGray(picture.pixel(x, y)));
      high = std::max(high, qGray(picture.pixel(x, y)));
    }
  }
  return {low, high};
}

TEST_F(UiWindowSettings, AThemeTakesEffectAtOnceAndIsRemembered) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  askAndWait(window);
  // With a link in it, whatever the random model says.
  Turn linked = turnOf(window, 0);
  linked.text = QStringLiteral("At 0:07.");
  window->conversation()->clear();
  window->conversation()->restore({linked});
  Watchdog watchdog;
  SettingsDialog* dialog = window->showSettings();
  auto* theme = dialog->findChild<QComboBox*>(QStringLiteral("theme"));
  chooseLast(theme);
  ASSERT_EQ(theme->currentData().toInt(), static_cast<int>(Theme::kDark));
  EXPECT_EQ(settingsOnDisk().theme(), Theme::kDark);
  const auto corner = [&] { return qGray(window->grab(QRect(0, 0, 4, 4)).toImage().pixel(1, 1)); };
  EXPECT_TRUE(waitFor([&] { return corner() < 100; }, 5.0)) << corner();
  // What was drawn in the other colours before is seen as well.
  auto* turn = window->conversationView()->findChild<TurnWidget*>();
  bool links = false;
  for (auto* button : window->findChildren<QToolButton*>()) {
    if (!button->isVisible() || !button->isEnabled() || button->icon().isNull()) continue;
    if (button->property("time").isValid() ||
        !(turn->isAncestorOf(button) || window->playerPanel()->isAncestorOf(button)))
      continue;
    const auto [low, high] = range(button->grab().toImage());
    EXPECT_GT(high - low, 100) << button->accessibleName().toStdString();
    EXPECT_GT(high, 180) << button->accessibleName().toStdString();
  }
  for (auto* label : turn->findChildren<QLabel*>()) {
    if (!label->text().contains(QStringLiteral("<a "))) continue;
    links = true;
    const QImage drawn = label->grab().toImage();
    int shown = 0;
    for (int y = 0; y < drawn.height(); ++y) {
      for (int x = 0; x < drawn.width(); ++x) {
        if (drawn.pixel(x, y) == darkPalette().color(QPalette::Link).rgb()) ++shown;
      }
    }
    EXPECT_GT(shown, 5) << "links have the colour of before";
  }
  EXPECT_TRUE(links);
  QTest::keyClick(theme, Qt::Key_Up);
  EXPECT_EQ(settingsOnDisk().theme(), Theme::kLight);
  EXPECT_TRUE(waitFor([&] { return corner() > 200; }, 5.0)) << corner();
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindowSettings, ALimitOfTheFolderIsTakenWholeAndRemovesWhatIsBeyond) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  SettingsDialog* dialog = window->showSettings();
  QSignalSpy chosen(dialog, &SettingsDialog::limitChosen);
  auto* limit = dialog->findChild<QSpinBox*>(QStringLiteral("limit"));
  type(limit, QStringLiteral("10"));
  EXPECT_EQ(settings_->cacheLimitBytes(), 0u);  // a person may still go on typing
  QTest::keyClick(limit, Qt::Key_Return);
  EXPECT_EQ(settingsOnDisk().cacheLimitBytes(), 10000000000u);
  EXPECT_EQ(chosen.size(), 1);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  EXPECT_EQ(window->library()->video(clip())->state, ReadState::kDone);
  QTest::keyClick(limit, Qt::Key_Tab);
  EXPECT_EQ(chosen.size(), 1);

  // Less than there is, which no number of the box can say here.
  settings_->setCacheLimitBytes(1);
  emit dialog->limitChosen();
  ASSERT_TRUE(waitFor([&] { return window->library()->video(clip())->state == ReadState::kUnknown; }, 30.0));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options().library)) {
    EXPECT_NE(entry.path().extension(), ".lvidx") << entry.path();
  }
  // The film is as it was, and read again when it is wanted.
  window->controller()->read(clip());
  settings_->setCacheLimitBytes(0);
  ASSERT_TRUE(waitFor([&] { return window->library()->video(clip())->state == ReadState::kDone; }));
}

TEST_F(UiWindowSettings, OtherThreadsAndAnotherFolderAreUsedAtOnceAndReadingGoesOn) {
  const std::filesystem::path film = folder_ / "long.mp4";
  makeLongFilm(film, 300);
  MainWindow* window = makeWindow();
  Watchdog watchdog;
  window->openPaths({toText(film)});
  ASSERT_TRUE(waitFor([&] { return window->controller()->frames().size() > 4; }, 300.0));
  SettingsDialog* dialog = window->showSettings();
  auto* threads = dialog->findChild<QSpinBox*>(QStringLiteral("threads"));
  type(threads, QStringLiteral("1"));
  QTest::keyClick(threads, Qt::Key_Return);
  EXPECT_EQ(bridge_->options().threads, 1);
  EXPECT_EQ(settingsOnDisk().threads(), 1);
  EXPECT_EQ(bridge_->options().library, options().library) << "what the command line named is forgotten";
  const size_t kept = window->controller()->frames().size();
  EXPECT_TRUE(waitFor([&] { return window->controller()->frames().size() > kept + 1; }, 300.0))
      << "reading does not go on";

  const std::filesystem::path other = folder_ / "another folder";
  auto* folder = dialog->findChild<QLineEdit*>(QStringLiteral("folder"));
  folder->setFocus();
  QTest::keyClicks(folder, toText(other));
  QTest::keyClick(folder, Qt::Key_Return);
  EXPECT_EQ(toPath(settingsOnDisk().libraryFolder()), other);
  ASSERT_TRUE(waitFor([&] { return window->controller()->frames().size() > 2; }, 300.0)) << "nothing is read there";
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(window->controller()->reading(toText(film)));
  // One that was paused stays so.
  window->controller()->pause(toText(film));
  ASSERT_TRUE(waitFor([&] { return !window->controller()->reading(toText(film)); }));
  type(threads, QStringLiteral("2"));
  QTest::keyClick(threads, Qt::Key_Return);
  EXPECT_FALSE(window->controller()->reading(toText(film)));
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindowSettings, AnotherDecodingReadsTheOpenFilmAgain) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  ASSERT_TRUE(waitFor([&] { return window->controller()->readUntil() > 17.0; }));  // every frame is known
  const size_t before = window->controller()->frames().size();
  SettingsDialog* dialog = window->showSettings(SettingsDialog::kReading);
  chooseLast(dialog->findChild<QComboBox*>(QStringLiteral("decoding")));
  EXPECT_EQ(settingsOnDisk().sampling().decoding, Decoding::kKeyframe);
  ASSERT_TRUE(waitFor([&] {
    const size_t now = window->controller()->frames().size();
    return now > 0 && now < before && window->library()->video(clip())->state == ReadState::kDone;
  })) << window->controller()->frames().size();
  EXPECT_EQ(window->playerPanel()->timeline()->model().frames.size(), window->controller()->frames().size());
  // A rate that the box can only round is not changed by passing through it.
  SamplingSettings fine = settings_->sampling();
  fine.fps = 0.1234;
  settings_->setSampling(fine);
  delete dialog;
  window = makeWindow();
  dialog = window->showSettings(SettingsDialog::kReading);
  auto* fps = dialog->findChild<QDoubleSpinBox*>(QStringLiteral("fps"));
  fps->setFocus();
  QTest::keyClick(fps, Qt::Key_Return);
  EXPECT_DOUBLE_EQ(settings_->sampling().fps, 0.1234);
}

// The system's colours are taken where nothing else was chosen.
TEST_F(UiWindowSettings, TheColoursOfTheSystemAreTheDefault) {
  ASSERT_EQ(settings_->theme(), Theme::kSystem);
  for (const bool dark : {true, false}) {
    QApplication::setPalette(dark ? darkPalette() : lightPalette());
    rememberSystemPalette();
    applyTheme(settings_->theme());
    EXPECT_EQ(QApplication::palette().color(QPalette::Window).lightness() < 128, dark);
  }
}

TEST_F(UiWindowSettings, AChangeOfTheSystemsColoursIsFollowed) {
  MainWindow* window = makeWindow();
  const SystemThemeFollower follower(settings_.get());
  const auto dark = [] { return QApplication::palette().color(QPalette::Window).lightness() < 128; };
  const auto tell = [&] {
    QEvent changed(QEvent::ThemeChange);
    QCoreApplication::sendEvent(window->windowHandle(), &changed);
    QTest::qWait(50);
  };
  QApplication::setPalette(darkPalette());
  rememberSystemPalette();
  settings_->setTheme(Theme::kDark);
  applyTheme(Theme::kDark);
  tell();
  EXPECT_TRUE(dark()) << "dark was chosen";
  settings_->setTheme(Theme::kSystem);
  applyTheme(Theme::kSystem);
  EXPECT_TRUE(dark()) << "what was remembered";
  tell();
  EXPECT_FALSE(dark()) << "the tests' platform is light";
}

// Every control of every page, by Tab alone, from its tab on.
TEST_F(UiWindowSettings, TheKeyboardReachesEveryControlOfEachPage) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  for (const SettingsDialog::Page page : kPages) {
    SettingsDialog* dialog = window->showSettings(page);
    ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
    QTest::qWait(150);  // the budget's offer
    ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
    SCOPED_TRACE("page " + std::to_string(page));
    expectTheKeyboardReachesAll(dialog->findChild<QTabBar*>());
  }
}

// At the usual size of letters and at twice it, in both languages; ctest runs it at 200 % of the screen as well.
TEST_F(UiWindowSettings, NothingIsCutOff) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  askAndWait(window);
  const QFont usual = QApplication::font();
  for (const QString& language : {QStringLiteral("en"), QStringLiteral("zh_CN")}) {
    for (const double factor : {1.0, 2.0}) {
      applyLanguage(language);
      QFont font = usual;
      font.setPointSizeF(usual.pointSizeF() * factor);
      QApplication::setFont(font);
      window = makeWindow();
      window->resize(window->size().expandedTo(kLaptop));
      window->openPaths({clip()});
      ASSERT_TRUE(waitFor([&] { return window->controller()->path() == clip(); }));
      const std::string look = language.toStdString() + " x" + std::to_string(factor);
      ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
      QTest::qWait(50);
      expectNothingIsCutOff(window, look);
      for (const SettingsDialog::Page page : kPages) {
        SettingsDialog* dialog = window->showSettings(page);
        dialog->resize(dialog->size().expandedTo(kLaptop));
        QTest::qWait(150);
        ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
        QTest::qWait(50);
        expectNothingIsCutOff(dialog, look + ", page " + std::to_string(page));
        EXPECT_EQ(dialog->minimumSizeHint().boundedTo(kLaptop), dialog->minimumSizeHint()) << look << page;
      }
      if (factor > 1.0) continue;
      EXPECT_EQ(window->minimumSizeHint().boundedTo(kLaptop), window->minimumSizeHint()) << look;
    }
  }
}

}  // namespace
}  // namespace longview::ui::test
