// Which films are read when, and what is answered meanwhile.
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/support/test_clip.h"
#include "tests/ui/ui_fixture.h"
#include "ui/conversation_export.h"
#include "ui/conversation_store.h"
#include "ui/conversation_view.h"
#include "ui/format.h"
#include "ui/library_model.h"
#include "ui/library_pane.h"
#include "ui/mpv_player.h"
#include "ui/player_panel.h"
#include "ui/search_pane.h"
#include "ui/timeline_widget.h"
#include "ui/video_controller.h"

namespace longview::ui::test {
namespace {

class UiWindowReading : public UiFixture {
 protected:
  // A film of five minutes, opened, of which a little is read.
  QString beginLongFilm(MainWindow* window) {
    const std::filesystem::path film = folder_ / "long.mp4";
    if (!std::filesystem::exists(film)) makeLongFilm(film, 300);
    window->openPaths({toText(film)});
    EXPECT_TRUE(waitFor([&] { return !window->controller()->frames().empty(); }, 300.0))
        << window->message().toStdString();
    return toText(film);
  }

  static ReadState stateOf(MainWindow* window, const QString& film) {
    const LibraryVideo* video = window->library()->video(film);
    return video == nullptr ? ReadState::kUnknown : video->state;
  }

  static void expectAnswered(MainWindow* window, int turn) {
    ASSERT_TRUE(waitFor([&] { return !turnOf(window, turn).running(); }, 300.0));
    EXPECT_EQ(turnOf(window, turn).state, Turn::State::kDone) << turnOf(window, turn).failure.toStdString();
  }
};

TEST_F(UiWindowReading, TheOpenFilmIsReadFirstAndAskedAtOnce) {
  MainWindow* window = makeWindow();
  QSignalSpy warned(bridge_.get(), &EngineBridge::warned);
  const QString film = beginLongFilm(window);
  window->openPaths({clip()});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == clip(); }));
  EXPECT_EQ(stateOf(window, film), ReadState::kWaiting);
  expectAnswered(window, ask(window, QStringLiteral("What is seen?")));
  ASSERT_TRUE(waitFor([&] { return stateOf(window, clip()) == ReadState::kDone; }));
  EXPECT_NE(stateOf(window, film), ReadState::kDone);
  // The other one goes on by itself.
  EXPECT_TRUE(waitFor([&] { return stateOf(window, film) == ReadState::kReading; }));
  // A film that is read says so all the while, whatever else is read.
  bool waited = false;
  QObject::connect(window->library(), &LibraryModel::dataChanged, window,
                   [&] { waited = waited || stateOf(window, clip()) != ReadState::kDone; });
  window->openPaths({film});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == film; }));
  window->openPaths({clip()});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == clip(); }));
  expectAnswered(window, ask(window, QStringLiteral("And now?")));
  EXPECT_FALSE(waited);
  // No other program did anything.
  for (const QList<QVariant>& words : warned) {
    EXPECT_FALSE(words.front().toString().contains(QStringLiteral("another program"))) << "said of the window itself";
  }
}

TEST_F(UiWindowReading, ChaptersAreOfWhatIsReadAndHoldNoQuestion) {
  MainWindow* window = makeWindow();
  const QString film = beginLongFilm(window);
  window->controller()->pause(film);
  ASSERT_TRUE(waitFor([&] { return !window->controller()->reading(film); }, 30.0));
  const int chapters = window->conversation()->chapters(QStringLiteral("Chapters"), film, 300.0);
  const int question = ask(window, QStringLiteral("What is seen?"));
  expectAnswered(window, question);
  expectAnswered(window, chapters);
  EXPECT_FALSE(turnOf(window, chapters).chapters.empty());
  EXPECT_TRUE(turnOf(window, chapters).text.contains(QStringLiteral("were read so far")))
      << turnOf(window, chapters).text.toStdString();
  // A film that was paused stays so.
  EXPECT_EQ(stateOf(window, film), ReadState::kPaused);
  EXPECT_LT(window->controller()->readUntil(), 290.0);
}

TEST_F(UiWindowReading, AFilmThatWaitsHasItsLengthInTheList) {
  MainWindow* window = makeWindow();
  const QString film = beginLongFilm(window);
  Watchdog watchdog;
  window->controller()->read(clip());
  EXPECT_TRUE(waitFor([&] { return window->library()->video(clip())->duration_s > 17.0; }, 30.0));
  EXPECT_EQ(stateOf(window, clip()), ReadState::kWaiting);
  EXPECT_EQ(stateOf(window, film), ReadState::kReading);
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

// Whichever is known first: that the film cannot be opened, or what the folder holds.
TEST_F(UiWindowReading, AFilmOfTheFolderIsOpenedWhereTheFilmBesideItCannotBe) {
  std::filesystem::create_directory(folder_ / "films");
  std::filesystem::copy_file(toPath(clip()), folder_ / "films" / "one.mp4");
  MainWindow* window = makeWindow();
  window->openPaths({toText(folder_.Write("broken.mp4", std::string(5000, 'x'))), toText(folder_ / "films")});
  const QString inside = toText(folder_ / "films" / "one.mp4");
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == inside; }, 30.0)) << window->message().toStdString();
  EXPECT_TRUE(window->message().contains(QStringLiteral("broken.mp4"))) << window->message().toStdString();
  // A sound film beside a folder is what is open.
  const QString second = copyOf(QStringLiteral("second.mp4"));
  window->openPaths({toText(folder_ / "films"), second});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == second; }, 30.0));
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  EXPECT_EQ(window->controller()->path(), second);
}

TEST_F(UiWindowReading, AllVideosAreAskedOfWhatIsReadAndTheRestIsNamed) {
  const QString gone = copyOf(QStringLiteral("gone.mp4"));
  const QString unread = toText(folder_ / "unread.mp4");
  makeLongFilm(toPath(unread), 300);
  MainWindow* window = makeWindow();
  openAndRead(window, gone);
  openAndRead(window, clip());
  window->controller()->read(unread);
  window->controller()->pause(unread);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  std::filesystem::remove(toPath(gone));

  window->conversationView()->findChild<QCheckBox*>()->setChecked(true);
  const int turn = ask(window, QStringLiteral("What is seen?"));
  ASSERT_EQ(turnOf(window, turn).videos.size(), 3);
  expectAnswered(window, turn);
  EXPECT_TRUE(window->message().contains(QStringLiteral("gone.mp4"))) << window->message().toStdString();
  EXPECT_TRUE(window->message().contains(QStringLiteral("unread.mp4"))) << window->message().toStdString();
  EXPECT_EQ(stateOf(window, gone), ReadState::kFailed);
  EXPECT_EQ(stateOf(window, unread), ReadState::kPaused);
  // It stands below the answer as well, also in the next window and in what is exported.
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  std::vector<Turn> kept = loadTurns(settings_->conversationFile());
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_TRUE(toMarkdown(kept).contains("unread.mp4 (nothing of it is read yet)")) << toMarkdown(kept).toStdString();
  QString below;
  for (const auto* label : window->conversationView()->findChildren<QLabel*>()) below += label->text();
  EXPECT_TRUE(below.contains(QStringLiteral("gone.mp4 (its file cannot be used)"))) << below.toStdString();

  SearchPane* pane = window->searchPane();
  pane->findChild<QCheckBox*>()->setChecked(true);
  pane->search(QStringLiteral("red squares"));
  ASSERT_TRUE(waitFor([&] { return pane->moments()->rowCount() > 0; }));
  QString said;
  for (const auto* label : pane->findChildren<QLabel*>()) said += label->text();
  EXPECT_TRUE(said.contains(QStringLiteral("gone.mp4"))) << said.toStdString();
  // Of a search that fails nothing of an earlier one is left.
  window->openPaths({gone});
  pane->setAllVideos({gone});
  pane->search(QStringLiteral("blue"));
  EXPECT_TRUE(waitFor([&] { return pane->moments()->rowCount() == 0; }, 30.0));
}

TEST_F(UiWindowReading, AFilmWhoseReadingFailedIsLeftOutAsSuch) {
  const QString broken = toText(folder_.Write("broken.mp4", std::string(5000, 'x')));
  const QString other = toText(folder_.Write("other.mp4", std::string(6000, 'x')));
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  for (const QString& film : {broken, other}) window->controller()->read(film);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  ASSERT_EQ(stateOf(window, broken), ReadState::kFailed);
  const QString why = window->library()->video(broken)->failure;
  window->conversationView()->findChild<QCheckBox*>()->setChecked(true);
  const int turn = ask(window, QStringLiteral("What is seen?"));
  expectAnswered(window, turn);
  const QString words = QStringLiteral("broken.mp4 (reading it failed)");
  EXPECT_TRUE(window->message().contains(words)) << window->message().toStdString();
  EXPECT_EQ(window->library()->video(broken)->failure, why);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  const QByteArray kept = toMarkdown(loadTurns(settings_->conversationFile()));
  EXPECT_TRUE(QString::fromUtf8(kept).contains(words)) << kept.toStdString();

  // Where nothing else is there, waiting would not help.
  window->conversationView()->setAllVideos({broken, other});
  const int second = ask(window, QStringLiteral("What is seen?"));
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, second).running(); }));
  EXPECT_EQ(turnOf(window, second).failure, why);
  SearchPane* pane = window->searchPane();
  pane->findChild<QCheckBox*>()->setChecked(true);
  pane->setAllVideos({broken, other});
  pane->search(QStringLiteral("red squares"));
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  QString said;
  for (const auto* label : pane->findChildren<QLabel*>()) said += label->text();
  EXPECT_TRUE(said.contains(why)) << said.toStdString();
}

TEST_F(UiWindowReading, FilmsThatWaitComeBackAndGoOn) {
  MainWindow* window = makeWindow();
  const QString film = beginLongFilm(window);
  window->openPaths({film, clip()});
  ASSERT_TRUE(waitFor([&] { return stateOf(window, clip()) == ReadState::kWaiting; }));
  closeQuickly("while a film waits");
  bridge_ = std::make_unique<EngineBridge>(options());
  window = makeWindow();
  ASSERT_GE(window->library()->find(film), 0);
  ASSERT_GE(window->library()->find(clip()), 0);
  EXPECT_TRUE(window->controller()->reading(film));
  EXPECT_TRUE(window->controller()->reading(clip()));
  window->controller()->pause(film);
  ASSERT_TRUE(waitFor([&] { return stateOf(window, clip()) == ReadState::kDone; }, 300.0));
  // Its length is known though it was never open.
  EXPECT_NEAR(window->library()->video(clip())->duration_s, 18.0, 0.2);
}

TEST_F(UiWindowReading, GoOnRightAfterPauseIsTakenAndAllCanBePaused) {
  const QString second = copyOf(QStringLiteral("second.mp4"));
  MainWindow* window = makeWindow();
  const QString film = beginLongFilm(window);
  VideoController* controller = window->controller();
  controller->read(second);
  controller->pause(second);
  EXPECT_EQ(stateOf(window, second), ReadState::kPaused);
  controller->read(second);
  EXPECT_EQ(stateOf(window, second), ReadState::kWaiting);
  const size_t before = controller->frames().size();
  controller->pause(film);
  controller->readFirst(film);
  EXPECT_TRUE(waitFor([&] { return controller->frames().size() > before + 8; }, 300.0)) << "it was not gone on with";
  EXPECT_EQ(stateOf(window, second), ReadState::kWaiting);
  controller->pauseAll();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 30.0));
  EXPECT_EQ(stateOf(window, film), ReadState::kPaused);
  EXPECT_EQ(stateOf(window, second), ReadState::kPaused);
}

TEST_F(UiWindowReading, TheOpenFilmStaysOffTheListOnceItIsTakenOff) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  emit window->findChild<LibraryPane*>()->removeRequested(clip());
  expectAnswered(window, ask(window, QStringLiteral("What is seen?")));
  EXPECT_LT(window->library()->find(clip()), 0) << "a question brings it back";
  window->close();
  EXPECT_TRUE(settings_->openVideo().isEmpty());
  EXPECT_FALSE(settings_->listed().contains(clip()));
}

TEST_F(UiWindowReading, AFolderGivesItsFilmsAndTheFirstThatCanBeOpenedIs) {
  const std::filesystem::path films = folder_ / "films";
  std::filesystem::create_directories(films / "deeper");
  std::ofstream(films / "a broken one.mp4") << std::string(5000, 'x');
  std::ofstream(films / "notes.txt") << "words";
  std::filesystem::copy_file(toPath(clip()), films / "b.MP4");
  std::filesystem::copy_file(toPath(clip()), films / "c.mkv");
  std::filesystem::copy_file(toPath(clip()), films / "deeper" / "d.mp4");
  MainWindow* window = makeWindow();
  Watchdog watchdog;
  window->openPaths({toText(films)});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == toText(films / "b.MP4"); }, 30.0))
      << window->message().toStdString();
  EXPECT_TRUE(window->message().contains(QStringLiteral("a broken one.mp4"))) << window->message().toStdString();
  EXPECT_EQ(window->library()->rowCount(), 3);
  EXPECT_GE(window->library()->find(toText(films / "c.mkv")), 0);
  // Names in any writing are one film.
  window->openPaths({toText(films / "deeper" / ".." / "c.mkv"),
                     QDir::current().relativeFilePath(toText(films / "deeper" / ".." / "b.MP4"))});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == toText(films / "c.mkv"); }, 30.0));
  EXPECT_EQ(window->library()->rowCount(), 3);
  // What was opened after it stays open.
  window->openPaths({toText(films / "deeper")});
  window->openPaths({toText(films / "b.MP4")});
  ASSERT_TRUE(waitFor([&] { return window->library()->rowCount() == 4; }, 30.0));
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == toText(films / "b.MP4"); }, 30.0));
  // Nothing inside: words.
  std::filesystem::create_directory(folder_ / "empty");
  window->openPaths({toText(folder_ / "empty")});
  EXPECT_TRUE(waitFor([&] { return window->message().contains(toText(folder_ / "empty")); }, 30.0));
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindowReading, AFilmThatWasReplacedOnDiskIsOpenedAnew) {
  const QString film = copyOf(QStringLiteral("film.mp4"));
  MainWindow* window = makeWindow();
  openAndRead(window, film);
  expectAnswered(window, ask(window, QStringLiteral("What is seen?")));
  EXPECT_TRUE(window->message().isEmpty()) << window->message().toStdString();
  std::filesystem::remove(toPath(film));
  longview::test::RunFfmpeg({"-i", clip().toStdString(), "-t", "12", "-c", "copy", toPath(film).string()});
  const int turn = ask(window, QStringLiteral("And now?"));
  ASSERT_TRUE(waitFor([&] { return window->message().contains(QStringLiteral("replaced")); }, 30.0));
  EXPECT_TRUE(waitFor([&] { return std::abs(window->playerPanel()->timeline()->model().duration_s - 12.0) < 0.3; }));
  expectAnswered(window, turn);
}

TEST_F(UiWindowReading, AnUnusableDeviceIsNamedAndTheProcessorTakesItsPlace) {
  EngineOptions options = this->options();
  options.device = "cuda:99";
  bridge_ = std::make_unique<EngineBridge>(options);
  MainWindow* window = makeWindow();
  EXPECT_TRUE(window->message().contains(QStringLiteral("cuda:99"))) << window->message().toStdString();
  openAndRead(window, clip());
  // Where nothing at all can be done, the reason is not lost.
  options.device = "cpu";
  options.weights = "papyrus";
  bridge_ = std::make_unique<EngineBridge>(options);
  window = makeWindow();
  window->openPaths({clip()});
  EXPECT_TRUE(waitFor([&] { return window->message().contains(QStringLiteral("papyrus")); }, 30.0))
      << window->message().toStdString();
  window_.reset();  // before its bridge
}

}  // namespace
}  // namespace longview::ui::test
