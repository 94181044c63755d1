// People's habits: what comes back after closing, the keyboard alone, another language, and the parts of the model.
#include <gtest/gtest.h>
#include <signal.h>

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/model_parts.h"
#include "tests/support/test_clip.h"
#include "tests/ui/ui_fixture.h"
#include "ui/conversation_store.h"
#include "ui/conversation_view.h"
#include "ui/format.h"
#include "ui/language.h"
#include "ui/library_model.h"
#include "ui/library_pane.h"
#include "ui/memory_page.h"
#include "ui/model_page.h"
#include "ui/mpv_player.h"
#include "ui/player_panel.h"
#include "ui/player_view.h"
#include "ui/search_pane.h"
#include "ui/settings_dialog.h"
#include "ui/shortcuts_dialog.h"
#include "ui/timeline_widget.h"
#include "ui/turn_widget.h"
#include "ui/video_controller.h"

namespace longview::ui::test {
namespace {

class UiWindowHabits : public UiFixture {
 protected:
  void TearDown() override {
    applyLanguage(QStringLiteral("en"));
    UiFixture::TearDown();
  }

  void askAndWait(MainWindow* window, const QString& text) {
    const int turn = ask(window, text);
    ASSERT_TRUE(waitFor([&] { return !turnOf(window, turn).running(); }));
    ASSERT_EQ(turnOf(window, turn).state, Turn::State::kDone) << turnOf(window, turn).failure.toStdString();
  }

  static QPushButton* buttonNamed(QWidget* root, const QString& text) {
    for (auto* button : root->findChildren<QPushButton*>()) {
      if (button->text() == text) return button;
    }
    return nullptr;
  }
};

TEST_F(UiWindowHabits, TheConversationComesBackAndGoesOn) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  askAndWait(window, QStringLiteral("When is a circle seen?"));
  const Turn before = turnOf(window, 0);
  ask(window, QStringLiteral("What is seen?"));  // not answered yet
  window->close();
  EXPECT_EQ(settings_->openVideo(), clip());

  bridge_ = std::make_unique<EngineBridge>(options());
  window = makeWindow();
  ASSERT_EQ(window->conversation()->turns().size(), 2u);
  EXPECT_EQ(turnOf(window, 0).text, before.text);
  EXPECT_EQ(turnOf(window, 1).state, Turn::State::kStopped);
  ASSERT_EQ(window->conversationView()->findChildren<TurnWidget*>().size(), 2);
  // Its moments lead into the film that is not open yet.
  QToolButton* moment = nullptr;
  for (auto* button : window->conversationView()->findChildren<QToolButton*>()) {
    if (moment == nullptr && button->property("time").isValid()) moment = button;
  }
  ASSERT_NE(moment, nullptr);
  QTest::mouseClick(moment, Qt::LeftButton);
  EXPECT_TRUE(playerAt(window, moment->property("time").toDouble())) << window->playerPanel()->player()->position();
  EXPECT_EQ(window->controller()->path(), clip());
  // What was stopped is asked again, and knows the earlier turn.
  window->conversation()->retry(1);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 1).running(); }));
  ASSERT_EQ(turnOf(window, 1).state, Turn::State::kDone) << turnOf(window, 1).failure.toStdString();
  EXPECT_GT(turnOf(window, 1).answer.prompt_tokens, before.answer.prompt_tokens);
  window->conversation()->clear();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  window = makeWindow();
  EXPECT_TRUE(window->conversation()->turns().empty());
}

TEST_F(UiWindowHabits, EachFilmKeepsItsPlaceWhenAnotherIsOpened) {
  const QString second = copyOf(QStringLiteral("second.mp4"));
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  window->goTo(clip(), 7.0);
  ASSERT_TRUE(playerAt(window, 7.0));
  openAndRead(window, second);
  openAndRead(window, clip());
  EXPECT_TRUE(playerAt(window, 7.0)) << window->playerPanel()->player()->position();
}

TEST_F(UiWindowHabits, WhatWasTakenOffTheListStaysAway) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  emit window->findChild<LibraryPane*>()->removeRequested(clip());
  EXPECT_LT(window->library()->find(clip()), 0);
  window->close();
  window = makeWindow();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  EXPECT_LT(window->library()->find(clip()), 0);
  window->openPaths({clip()});
  EXPECT_GE(window->library()->find(clip()), 0);
}

TEST_F(UiWindowHabits, OpensByTheDialogAndTheRecentListAndSearchesAllFilms) {
  const QString second = copyOf(QStringLiteral("a & b.mp4"));
  // Another film than the clip, so that both can be found.
  longview::test::RunFfmpeg({"-y", "-i", clip().toStdString(), "-t", "12", "-c", "copy", toPath(second).string()});
  MainWindow* window = makeWindow();
  answerFileDialog(window, QStringLiteral("Open…"), second);
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == second; })) << window->message().toStdString();
  ASSERT_TRUE(waitFor([&] { return window->library()->video(second)->state == ReadState::kDone; }, 300.0));
  openAndRead(window, clip());
  QAction* recent = nullptr;
  for (auto* action : window->findChildren<QAction*>()) {
    if (action->text() == QLatin1String("a && b.mp4")) recent = action;
  }
  ASSERT_NE(recent, nullptr);
  recent->trigger();
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == second; }));
  for (const QString& film : {second, clip()}) {
    EXPECT_TRUE(waitFor([&] { return !window->library()->video(film)->thumbnail.isNull(); }, 30.0))
        << film.toStdString();
    EXPECT_GT(window->library()->video(film)->duration_s, 11.0);
  }
  auto* pane = window->searchPane();
  auto* everywhere = pane->findChild<QCheckBox*>();
  ASSERT_NE(everywhere, nullptr);
  everywhere->setChecked(true);
  QTest::keyClicks(window->findChild<QLineEdit*>(QStringLiteral("words")), QStringLiteral("red squares"));
  QTest::keyClick(window->findChild<QLineEdit*>(QStringLiteral("words")), Qt::Key_Return);
  ASSERT_TRUE(waitFor([&] { return pane->moments()->rowCount() > 0; }));
  std::set<QString> films;
  for (int row = 0; row < pane->moments()->rowCount(); ++row) {
    films.insert(pane->moments()->index(row).data(MomentModel::kVideo).toString());
  }
  EXPECT_EQ(films, (std::set<QString>{second, clip()}));
  // Which film a moment is of is seen.
  const QModelIndex moment = pane->moments()->index(0);
  const QString name = QFileInfo(moment.data(MomentModel::kVideo).toString()).fileName();
  EXPECT_TRUE(moment.data().toString().endsWith(QLatin1Char('\n') + name)) << moment.data().toString().toStdString();
}

TEST_F(UiWindowHabits, ClosedInFullScreenItComesBackWithItsDocks) {
  MainWindow* window = makeWindow();
  emit window->playerPanel()->fullScreenRequested();
  auto* dock = window->findChild<QDockWidget*>(QStringLiteral("library"));
  ASSERT_TRUE(window->isFullScreen());
  EXPECT_TRUE(dock->isHidden());
  window->close();
  window = makeWindow();
  EXPECT_FALSE(window->isFullScreen());
  EXPECT_FALSE(window->findChild<QDockWidget*>(QStringLiteral("library"))->isHidden());
}

TEST_F(UiWindowHabits, TheLayoutComesBack) {
  MainWindow* window = makeWindow();
  window->resize(1000, 700);
  window->findChild<QDockWidget*>(QStringLiteral("search"))->close();
  auto* library = window->findChild<QDockWidget*>(QStringLiteral("library"));
  window->addDockWidget(Qt::RightDockWidgetArea, library);
  window->close();
  window = makeWindow();
  EXPECT_EQ(window->width(), 1000);
  EXPECT_TRUE(window->findChild<QDockWidget*>(QStringLiteral("search"))->isHidden());
  library = window->findChild<QDockWidget*>(QStringLiteral("library"));
  EXPECT_EQ(window->dockWidgetArea(library), Qt::RightDockWidgetArea);
  // What was closed is a choice of the menu away.
  actionNamed(window, QStringLiteral("Search for a moment"))->trigger();
  EXPECT_TRUE(window->findChild<QLineEdit*>(QStringLiteral("words"))->isVisible());
}

// A large text on a small screen leaves little room; that is not how the person wants it ever after.
TEST_F(UiWindowHabits, WidthsOfAnotherScreenAreForgotten) {
  const auto list = [](MainWindow* window) { return window->findChild<QDockWidget*>(QStringLiteral("library")); };
  MainWindow* window = makeWindow();
  window->resize(1200, 700);
  window->resizeDocks({list(window)}, {400}, Qt::Horizontal);
  ASSERT_TRUE(waitFor([&] { return list(window)->width() > 330; }, 10.0)) << list(window)->width();
  const int chosen = list(window)->width();
  window->close();
  window = makeWindow();
  EXPECT_TRUE(waitFor([&] { return std::abs(list(window)->width() - chosen) < 20; }, 10.0)) << list(window)->width();
  window->close();
  settings_->setLayout(QStringLiteral("screen"), "640x360");
  window = makeWindow();
  const auto is_usual = [&] { return std::abs(list(window)->width() - 250) < 20; };
  EXPECT_TRUE(waitFor(is_usual, 10.0)) << list(window)->width();
  // Where it is narrow, most of it is for the names.
  auto* rows = window->findChild<QListView*>(QStringLiteral("library"));
  EXPECT_EQ(rows->iconSize().width(), 72);
  LibraryPane narrow(window->library());
  narrow.resize(120, 300);
  narrow.show();
  EXPECT_LT(narrow.findChild<QListView*>()->iconSize().width(), 40);
}

// What a person meets often is said in the language of the window, with the name of the file.
TEST_F(UiWindowHabits, FailuresAreToldInTheLanguageOfTheWindow) {
  applyLanguage(QStringLiteral("zh_CN"));
  MainWindow* window = makeWindow();
  const std::filesystem::path sound = folder_ / "sound.mp4";
  longview::test::RunFfmpeg({"-f", "lavfi", "-i", "sine=f=440:d=1", sound.string()});
  const std::pair<QString, QString> cases[] = {
      {toText(folder_ / "missing.mp4"), QStringLiteral("missing.mp4 不在那里")},
      {toText(folder_.Write("empty.mp4", "")), QStringLiteral("empty.mp4 是空的")},
      {toText(folder_.Write("broken.mp4", std::string(5000, 'x'))), QStringLiteral("broken.mp4 已损坏")},
      {toText(sound), QStringLiteral("sound.mp4 中没有视频")}};
  for (const auto& [path, words] : cases) {
    window->openPaths({path});
    const auto is_said = [window, &begin = words] { return window->message().startsWith(begin); };
    EXPECT_TRUE(waitFor(is_said, 30.0)) << window->message().toStdString();
    EXPECT_TRUE(window->message().contains(QStringLiteral("\n详情：") + path)) << window->message().toStdString();
  }
  applyLanguage(QStringLiteral("en"));
}

TEST_F(UiWindowHabits, EveryKeyIsListed) {
  MainWindow* window = makeWindow();
  actionNamed(window, QStringLiteral("Keyboard shortcuts"))->trigger();
  auto* dialog = window->findChild<ShortcutsDialog*>();
  ASSERT_NE(dialog, nullptr);
  ASSERT_TRUE(waitFor([&] { return dialog->isVisible(); }, 10.0));
  QString all;
  const auto* table = dialog->findChild<QTableWidget*>();
  for (int row = 0; row < table->rowCount(); ++row) {
    EXPECT_FALSE(table->item(row, 1)->text().isEmpty());
    all += table->item(row, 0)->text() + QLatin1Char('\n');
  }
  for (const char* key : {"Ctrl+O", "Ctrl+L", "Ctrl+F", "F1", "F11", "J K L", ", .", "[ ]", "I O", "Home"}) {
    EXPECT_TRUE(all.contains(QLatin1String(key))) << key;
  }
  QTest::keyClick(dialog, Qt::Key_Escape);
  EXPECT_TRUE(waitFor([&] { return window->findChild<ShortcutsDialog*>() == nullptr; }, 10.0));
}

TEST_F(UiWindowHabits, AnotherLanguageIsAnotherWindowWithTheSameConversation) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  askAndWait(window, QStringLiteral("What is seen?"));
  QSignalSpy chosen(window, &MainWindow::languageChosen);
  auto* language = window->showSettings()->findChild<QComboBox*>(QStringLiteral("language"));
  language->setFocus();
  language->setCurrentIndex(language->findData(QStringLiteral("zh_CN")));
  emit language->activated(language->currentIndex());
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(settings_->language(), QStringLiteral("zh_CN"));
  // What the program does then.
  const std::filesystem::path film = folder_ / "long.mp4";
  makeLongFilm(film, 300);
  window->openPaths({toText(film)});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == toText(film); }));
  ASSERT_TRUE(waitFor([&] { return !window->controller()->frames().empty(); }, 300.0));
  ask(window, QStringLiteral("And now?"));
  const quint64 job = turnOf(window, 1).job;
  window->showSettings()->memoryPage()->measure();
  std::shared_ptr<Workspace> kept = window->handOver();
  window_.reset();
  applyLanguage(settings_->language());
  window = makeWindow(std::move(kept));
  ASSERT_TRUE(waitFor([&] { return window->playerPanel()->player()->isOpen(); }));
  EXPECT_EQ(window->findChild<QDockWidget*>(QStringLiteral("library"))->windowTitle(), QStringLiteral("资料库"));
  ASSERT_EQ(window->conversation()->turns().size(), 2u);
  EXPECT_EQ(turnOf(window, 0).state, Turn::State::kDone);
  EXPECT_EQ(window->conversationView()->findChildren<TurnWidget*>().size(), 2);
  EXPECT_EQ(window->controller()->path(), toText(film));
  EXPECT_FALSE(window->playerPanel()->timeline()->model().frames.empty());
  // What was measured in the settings went with them, and that is said.
  EXPECT_TRUE(window->message().contains(QStringLiteral("测量"))) << window->message().toStdString();
  // What else ran goes on: the question that was asked before, and the reading.
  EXPECT_EQ(turnOf(window, 1).job, job);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 1).running(); }));
  EXPECT_EQ(turnOf(window, 1).state, Turn::State::kDone) << turnOf(window, 1).failure.toStdString();
  const size_t before = window->controller()->frames().size();
  EXPECT_TRUE(waitFor([&] { return window->controller()->frames().size() > before; }, 300.0));
}

TEST_F(UiWindowHabits, TwoWindowsKeepTheirConversationsBothAndAtOnce) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  AppSettings other_settings(toText(folder_ / "settings.ini"));
  EngineBridge other_bridge(options());
  auto other = std::make_unique<MainWindow>(&other_bridge, &other_settings);
  other->openPaths({clip()});
  ASSERT_TRUE(waitFor([&] { return other->controller()->path() == clip(); }));
  ask(window, QStringLiteral("Of the first?"));
  window->conversation()->stop(0);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running() && !bridge_->busy(); }));
  // Kept though it was not answered, and long before the window closes.
  ASSERT_EQ(loadTurns(settings_->conversationFile()).size(), 1u);
  EXPECT_EQ(loadTurns(settings_->conversationFile())[0].state, turnOf(window, 0).state);
  ask(other.get(), QStringLiteral("Of the second?"));
  ASSERT_TRUE(waitFor([&] { return !turnOf(other.get(), 0).running(); }));
  other->close();
  window->close();
  const std::vector<Turn> kept = loadTurns(settings_->conversationFile());
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].question, QStringLiteral("Of the first?"));
  EXPECT_EQ(kept[1].question, QStringLiteral("Of the second?"));
  EXPECT_EQ(kept[1].state, Turn::State::kDone);
}

TEST_F(UiWindowHabits, OneClickActionsCopyAndLinks) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  ConversationView* view = window->conversationView();
  int turn = 0;
  for (const char* name : {"Describe", "Summary", "Chapters"}) {
    QPushButton* button = buttonNamed(view, QString::fromLatin1(name));
    ASSERT_NE(button, nullptr) << name;
    QTest::mouseClick(button, Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return !turnOf(window, turn).running(); })) << name;
    EXPECT_EQ(turnOf(window, turn).state, Turn::State::kDone) << name << turnOf(window, turn).failure.toStdString();
    ++turn;
  }
  // Every time in the list of chapters is a link that leads there.
  auto* widget = view->findChildren<TurnWidget*>().at(2);
  QLabel* answer = nullptr;
  for (auto* label : widget->findChildren<QLabel*>()) {
    if (label->text().contains(QLatin1String("<a href="))) answer = label;
  }
  ASSERT_NE(answer, nullptr);
  const CaptionEvent& last = turnOf(window, 2).chapters.back();
  emit answer->linkActivated(momentUrl({clip(), last.start}).toString());
  EXPECT_TRUE(playerAt(window, last.start)) << window->playerPanel()->player()->position();
  for (auto* button : widget->findChildren<QToolButton*>()) {
    if (button->accessibleName() == QLatin1String("Copy the answer")) QTest::mouseClick(button, Qt::LeftButton);
  }
  EXPECT_EQ(QApplication::clipboard()->text(), turnOf(window, 2).text);
}

// Captions that `longview caption` wrote beside a film are shown over it, and sound can be turned off and down.
TEST_F(UiWindowHabits, CaptionsAreSeenOverTheFilmAndSoundHasItsKeys) {
  const std::filesystem::path film = folder_ / "loud.mp4";
  longview::test::RunFfmpeg({"-f", "lavfi", "-i", "color=c=black:s=320x240:r=10:d=8", "-f", "lavfi", "-i",
                             "sine=f=440:d=8", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", "-threads",
                             "1", film.string()});
  std::ofstream(folder_ / "loud.visual.en.srt") << "1\n00:00:00,000 --> 00:00:08,000\nA white dog\n";
  MainWindow* window = makeWindow();
  openAndRead(window, toText(film));
  MpvPlayer* player = window->playerPanel()->player();
  QWidget* view = window->playerPanel()->view();
  view->setFocus();
  const auto bright = [&] {
    const QImage picture = player->picture();
    for (int y = picture.height() / 2; y < picture.height(); ++y) {
      for (int x = 0; x < picture.width(); ++x) {
        if (qGray(picture.pixel(x, y)) > 200) return true;
      }
    }
    return false;
  };
  player->seek(2.0);
  ASSERT_TRUE(playerAt(window, 2.0));
  EXPECT_FALSE(bright());
  QTest::keyClick(view, Qt::Key_V);
  EXPECT_TRUE(waitFor(bright, 20.0)) << "no caption is seen";
  QTest::keyClick(view, Qt::Key_V);
  EXPECT_TRUE(waitFor([&] { return !bright(); }, 20.0)) << "the caption stays";

  QTest::keyClick(view, Qt::Key_Space);
  EXPECT_TRUE(waitFor([&] { return player->position() > 3.0; }, 30.0)) << "sound stops the clock";
  QTest::keyClick(view, Qt::Key_M);
  EXPECT_TRUE(waitFor([&] { return player->muted(); }, 10.0));
  QTest::keyClick(view, Qt::Key_9);
  EXPECT_TRUE(waitFor([&] { return player->volume() == 95; }, 10.0)) << player->volume();
  QTest::keyClick(view, Qt::Key_M);
  EXPECT_TRUE(waitFor([&] { return !player->muted(); }, 10.0));
  window->close();
  EXPECT_EQ(settings_->volume(), 95);
}

TEST_F(UiWindowHabits, HoveringTheTimelineShowsTheFrameAndTheTime) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  TimelineWidget* timeline = window->playerPanel()->timeline();
  QTest::qWait(300);  // thumbnails of the strip
  const QImage before = timeline->grab().toImage();
  const QPoint at(static_cast<int>(timeline->xOf(9.0)), timeline->height() / 2);
  QTest::mouseMove(timeline, at);
  (void)timeline->grab();
  QTest::qWait(300);
  EXPECT_NE(timeline->grab().toImage(), before);
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(timeline, &leave);
  EXPECT_EQ(timeline->grab().toImage(), before);
}

TEST_F(UiWindowHabits, TheTimelineMarksTheMomentsAndWhereTheAnswerLooked) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  TimelineWidget* timeline = window->playerPanel()->timeline();
  QTest::qWait(300);  // thumbnails of the strip
  const QImage before = timeline->grab().toImage();
  const std::string film = clip().toStdString();
  timeline->setAnswer({{film, 3.0, 6.0, 0.6}, {"/another film.mp4", 12.0, 15.0, 0.4}},
                      {{film, 3.0, 6.0, 0.6}, {film, 9.0, 9.5, 0.2}});
  const QImage after = timeline->grab().toImage();
  const double scale = timeline->devicePixelRatioF();
  const auto changed = [&](double time_s, int y) {
    const QPoint at(static_cast<int>(timeline->xOf(time_s) * scale), static_cast<int>(y * scale));
    return before.pixel(at) != after.pixel(at);
  };
  const int strip = timeline->height() / 2;
  const int foot = timeline->height() - 3;
  EXPECT_TRUE(changed(4.5, strip));
  EXPECT_FALSE(changed(13.5, strip)) << "a moment of another film is marked";
  EXPECT_TRUE(changed(4.5, foot));
  EXPECT_TRUE(changed(9.2, foot));
  EXPECT_FALSE(changed(16.0, foot - 10));
}

// Tab comes to every control that can be used, and each shows that it has the focus.
TEST_F(UiWindowHabits, TheKeyboardReachesEverythingAndTheFocusIsSeen) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  askAndWait(window, QStringLiteral("When is a circle seen?"));
  expectTheKeyboardReachesAll(window->playerPanel()->view());
}

// A model folder whose picture part is missing, and a python3 that brings it from another folder instead of a network.
class UiWindowParts : public UiWindowHabits {
 protected:
  void SetUp() override {
    UiWindowHabits::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    models_ = folder_ / "models";
    std::filesystem::create_directory(models_);
    for (const auto& entry : std::filesystem::directory_iterator(options().models)) {
      if (entry.is_regular_file()) std::filesystem::create_symlink(entry.path(), models_ / entry.path().filename());
    }
    std::filesystem::remove(models_ / kVitPart);
    path_ = qgetenv("PATH");
  }
  void TearDown() override {
    qputenv("PATH", path_);
    UiWindowHabits::TearDown();
  }

  void python(const std::string& script) {
    const std::filesystem::path bin = folder_ / "bin";
    std::filesystem::create_directories(bin);
    std::ofstream(bin / "python3") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(bin / "python3", std::filesystem::perms::owner_all);
    qputenv("PATH", QByteArray::fromStdString(bin.string()) + ':' + path_);
  }

  ModelPage* showPage(MainWindow* window) {
    SettingsDialog* dialog = window->showSettings(SettingsDialog::kModel);
    return dialog->findChild<ModelPage*>();
  }

  std::filesystem::path models_;
  QByteArray path_;
};

TEST_F(UiWindowParts, AMissingPartIsBroughtAndThenUsedAndRemoved) {
  EngineOptions own = options();
  own.models = models_;
  bridge_ = std::make_unique<EngineBridge>(own);
  MainWindow* window = makeWindow();
  window->openPaths({clip()});
  ASSERT_TRUE(waitFor([&] { return window->library()->video(clip())->state == ReadState::kFailed; }))
      << "the film was read without its model";
  Watchdog watchdog;
  ModelPage* page = showPage(window);
  auto* bring = page->findChild<QPushButton*>(QStringLiteral("bring"));
  auto* remove = page->findChild<QPushButton*>(QStringLiteral("remove"));
  auto* table = page->findChild<QTableWidget*>();
  auto* status = page->findChild<QLabel*>(QStringLiteral("status"));
  ASSERT_TRUE(waitFor([&] { return bring->isEnabled(); }));
  EXPECT_TRUE(status->text().contains(QString::fromLatin1(kVitPart))) << status->text().toStdString();
  ASSERT_GE(table->rowCount(), 3);

  // The network is down: the script's own words stay to be read.
  python("echo '  vit: downloading'; echo 'error: no network'; exit 1\n");
  QTest::mouseClick(bring, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return status->text().contains(QStringLiteral("no network")) && !bridge_->busy(); }));
  EXPECT_TRUE(bring->isEnabled());

  python("echo bringing; cp '" + (options().models / kVitPart).string() + "' '" + models_.string() + "'\n");
  QTest::mouseClick(bring, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return !bring->isEnabled() && !bridge_->busy(); })) << status->text().toStdString();
  EXPECT_EQ(status->text(), QStringLiteral("Every part is there and right."));
  // The same window reads the film now.
  window->controller()->read(clip());
  ASSERT_TRUE(waitFor([&] { return window->library()->video(clip())->state == ReadState::kDone; }))
      << window->library()->video(clip())->failure.toStdString();

  for (int row = 0; row < table->rowCount(); ++row) {
    if (table->item(row, 0)->text() == QLatin1String("vit")) table->selectRow(row);
  }
  ASSERT_TRUE(remove->isEnabled());
  for (const auto answer : {QMessageBox::No, QMessageBox::Yes}) {
    QTest::mouseClick(remove, Qt::LeftButton);
    QMessageBox* box = nullptr;
    ASSERT_TRUE(waitFor([&] { return (box = page->findChild<QMessageBox*>()) != nullptr && box->isVisible(); }, 10.0));
    QTest::mouseClick(box->button(answer), Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return page->findChild<QMessageBox*>() == nullptr && !bridge_->busy(); }));
    EXPECT_EQ(std::filesystem::exists(models_ / kVitPart), answer == QMessageBox::No);
  }
  EXPECT_TRUE(bring->isEnabled());
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindowParts, ClosingWhilePartsAreBroughtEndsTheScript) {
  EngineOptions own = options();
  own.models = models_;
  bridge_ = std::make_unique<EngineBridge>(own);
  MainWindow* window = makeWindow();
  ModelPage* page = showPage(window);
  auto* bring = page->findChild<QPushButton*>(QStringLiteral("bring"));
  auto* status = page->findChild<QLabel*>(QStringLiteral("status"));
  ASSERT_TRUE(waitFor([&] { return bring->isEnabled(); }));
  const std::string cleared = (folder_ / "cleared").string();
  python("trap 'touch " + cleared + "; exit 130' INT\necho started\nwhile true; do sleep 0.1; done\n");
  for (const bool by_button : {true, false}) {
    std::filesystem::remove(cleared);
    QTest::mouseClick(bring, Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return status->text() == QLatin1String("started"); }, 20.0));
    if (by_button) {
      QTest::mouseClick(bring, Qt::LeftButton);
      ASSERT_TRUE(waitFor([&] { return bring->text().startsWith(QLatin1String("Bring")) && !bridge_->busy(); }, 20.0));
      EXPECT_TRUE(status->text().contains(QLatin1String("Stopped"))) << status->text().toStdString();
    } else {
      closeQuickly("while it brings parts");
    }
    EXPECT_TRUE(std::filesystem::exists(cleared));
  }
}

}  // namespace
}  // namespace longview::ui::test
