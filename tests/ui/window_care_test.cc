// Small things that a person stumbles over: what is out of view, lost, overwritten, misread or cut off in silence.
#include <gtest/gtest.h>

#include <QApplication>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QTest>
#include <QTextDocument>
#include <QToolButton>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>

#include "tests/support/run_process.h"
#include "tests/support/test_clip.h"
#include "tests/ui/ui_fixture.h"
#include "ui/conversation_export.h"
#include "ui/conversation_view.h"
#include "ui/format.h"
#include "ui/job_model.h"
#include "ui/language.h"
#include "ui/library_model.h"
#include "ui/library_pane.h"
#include "ui/mpv_player.h"
#include "ui/player_panel.h"
#include "ui/player_view.h"
#include "ui/search_pane.h"
#include "ui/timeline_widget.h"
#include "ui/turn_widget.h"
#include "ui/video_controller.h"

namespace longview::ui::test {
namespace {

class UiWindowCare : public UiFixture {
 protected:
  // A finished turn about the clip.
  Turn answered(const QString& question) const {
    Turn turn;
    turn.question = question;
    turn.videos = QStringList{clip()};
    turn.text = QStringLiteral("Many words. ").repeated(40);
    turn.state = Turn::State::kDone;
    return turn;
  }
  void openOnly(MainWindow* window, const QString& path) {
    window->openPaths({path});
    ASSERT_TRUE(waitFor([&] { return window->controller()->path() == path; })) << window->message().toStdString();
    ASSERT_TRUE(waitFor([&] { return window->playerPanel()->player()->isOpen(); }));
  }
};

TEST_F(UiWindowCare, ANewQuestionComesIntoView) {
  MainWindow* window = makeWindow();
  openOnly(window, clip());
  window->conversation()->restore(std::vector<Turn>(8, answered(QStringLiteral("What is seen?"))));
  auto* scroll = window->conversationView()->findChild<QScrollArea*>();
  const auto inView = [&](int turn) {
    auto* widget = window->conversationView()->findChildren<TurnWidget*>().at(turn);
    return widget->visibleRegion().boundingRect().height() >= std::min(widget->height(), scroll->height()) - 12;
  };
  ASSERT_TRUE(waitFor([&] { return inView(7); }, 10.0));
  for (int turn = 8; turn < 12; ++turn) {
    ask(window, QStringLiteral("Which of many things is seen in this film? ").repeated(8));
    EXPECT_TRUE(waitFor([&] { return inView(turn); }, 5.0)) << turn;
  }
  // Whoever reads further up stays there.
  window->conversation()->stopAll();
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 11).running(); }));
  scroll->verticalScrollBar()->setValue(0);
  window->conversation()->retry(11);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 11).running(); }, 300.0));
  QTest::qWait(50);
  EXPECT_EQ(scroll->verticalScrollBar()->value(), 0);
}

TEST_F(UiWindowCare, SavedClipsReplaceNothing) {
  MainWindow* window = makeWindow();
  openOnly(window, clip());
  Turn turn = answered(QStringLiteral("When?"));
  turn.answer.evidence = {{clip().toStdString(), 2.0, 4.0, 0.5}};
  window->conversation()->restore({turn});
  const std::filesystem::path clips = folder_ / "clips";
  std::filesystem::create_directory(clips);
  std::ofstream(clips / "clip 0.02.0-0.04.0.mp4") << "mine";
  answerFileDialog(window, QStringLiteral("Moments as clips…"), toText(clips));
  ASSERT_TRUE(waitFor([&] { return std::filesystem::exists(clips / "clip 0.02.0-0.04.0 (2).mp4"); }, 30.0));
  EXPECT_EQ(std::filesystem::file_size(clips / "clip 0.02.0-0.04.0.mp4"), 4u);
}

TEST_F(UiWindowCare, WithoutMomentsWordsAreShownInsteadOfAnEmptyFile) {
  MainWindow* window = makeWindow();
  openOnly(window, clip());
  window->conversation()->restore({answered(QStringLiteral("What is seen?"))});
  for (const char* action : {"Moments as edit list (EDL)…", "Answers as subtitles (SRT)…", "Moments as clips…"}) {
    window->playerPanel()->view()->setFocus();
    actionNamed(window, QString::fromUtf8(action))->trigger();
    EXPECT_TRUE(window->message().contains(QStringLiteral("moment of this film"))) << action;
    EXPECT_EQ(window->findChild<QFileDialog*>(), nullptr) << action;
  }
}

TEST_F(UiWindowCare, NamesAreShownAsTheyAre) {
  const QString name = QStringLiteral("<b>x 50%2 \u202Edaer.mp4");
  const QString film = copyOf(name);
  MainWindow* window = makeWindow();
  JobModel* jobs = window->jobs();
  QStringList seen;
  const auto look = [&] {
    for (int row = 0; row < jobs->rowCount(); ++row) seen << jobs->index(row).data().toString();
  };
  QObject::connect(jobs, &JobModel::dataChanged, window, look);
  QObject::connect(jobs, &JobModel::rowsInserted, window, look);
  openAndRead(window, film);
  bool share = false;
  for (const QString& text : seen) {
    EXPECT_FALSE(text.contains(QChar(0x202E)));
    EXPECT_TRUE(text.contains(QStringLiteral("50%2 daer.mp4"))) << text.toStdString();
    share = share || text.contains(QRegularExpression(QStringLiteral("mp4: \\d+ %$")));
  }
  EXPECT_TRUE(share);
  const auto* list = window->findChild<QListView*>(QStringLiteral("library"));
  const QModelIndex row = list->model()->index(0, 0);
  EXPECT_FALSE(row.data().toString().contains(QChar(0x202E)));
  EXPECT_FALSE(window->windowTitle().contains(QChar(0x202E)));
  const auto plain = [&](const QString& tip) {
    return !tip.contains(QStringLiteral("<b>")) && !tip.contains(QChar(0x202E)) &&
           tip.contains(QStringLiteral("&lt;b&gt;x 50%2"));
  };
  EXPECT_TRUE(plain(row.data(Qt::ToolTipRole).toString())) << row.data(Qt::ToolTipRole).toString().toStdString();
  Turn turn = answered(QStringLiteral("When?"));
  turn.answer.evidence = {{film.toStdString(), 2.0, 4.0, 0.5}};
  window->conversation()->restore({turn});
  for (auto* button : window->conversationView()->findChildren<QToolButton*>()) {
    if (!button->property("time").isValid()) continue;
    EXPECT_FALSE(button->accessibleName().contains(QChar(0x202E)));
    EXPECT_FALSE(Qt::mightBeRichText(button->toolTip()) && !plain(button->toolTip()))
        << button->toolTip().toStdString();
  }
  // Labels that show such a name, or a failure that names it, draw no markup.
  for (auto* label : window->findChildren<QLabel*>()) {
    if (!label->text().contains(QStringLiteral("50%2"))) continue;
    EXPECT_EQ(label->textFormat(), Qt::PlainText) << label->text().toStdString();
  }
}

TEST_F(UiWindowCare, ANewConversationCanBeUndone) {
  MainWindow* window = makeWindow();
  openOnly(window, clip());
  Turn turn = answered(QStringLiteral("When?"));
  turn.answer.evidence = {{clip().toStdString(), 2.0, 4.0, 0.5}};
  turn.answer.looked = turn.answer.evidence;
  Turn other = answered(QStringLiteral("What?"));
  turn.id = QStringLiteral("1-1");
  other.id = QStringLiteral("1-2");
  window->conversation()->restore({turn, other});
  const TimelineModel& timeline = window->playerPanel()->timeline()->model();
  emit window->conversationView()->turnShown(0);
  ASSERT_FALSE(timeline.evidence.empty());
  auto* undo = window->findChild<QPushButton*>(QStringLiteral("undo"));
  ASSERT_NE(undo, nullptr);
  QAction* anew = actionNamed(window, QStringLiteral("New conversation"));
  anew->trigger();
  EXPECT_TRUE(window->conversation()->turns().empty());
  EXPECT_TRUE(timeline.evidence.empty() && timeline.looked.empty());
  ASSERT_TRUE(undo->isVisible());
  QTest::mouseClick(undo, Qt::LeftButton);
  ASSERT_EQ(window->conversation()->turns().size(), 2u);
  EXPECT_EQ(turnOf(window, 0).text, turn.text);
  EXPECT_FALSE(undo->isVisible());
  // What was undone is kept as well, and what is asked anew ends the offer.
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  window = makeWindow();
  ASSERT_EQ(window->conversation()->turns().size(), 2u);
  openOnly(window, clip());
  actionNamed(window, QStringLiteral("New conversation"))->trigger();
  undo = window->findChild<QPushButton*>(QStringLiteral("undo"));
  ASSERT_TRUE(undo->isVisible());
  ask(window, QStringLiteral("What is seen?"));
  EXPECT_FALSE(undo->isVisible());
}

TEST_F(UiWindowCare, ARangeHasALengthAndShowsIt) {
  MainWindow* window = makeWindow();
  openOnly(window, clip());
  TimelineWidget* timeline = window->playerPanel()->timeline();
  const int y = timeline->height() / 2;
  const QPoint from(static_cast<int>(timeline->xOf(2.0)), y);
  const auto outAndBack = [&] {
    QTest::mousePress(timeline, Qt::LeftButton, {}, from);
    for (const int dx : {4, 20, 8, 0}) QTest::mouseMove(timeline, from + QPoint(dx, 0));
    QTest::mouseRelease(timeline, Qt::LeftButton, {}, from);
  };
  outAndBack();
  EXPECT_FALSE(timeline->model().range.has_value());
  // What was chosen before stays; a short range is told with its decimals.
  timeline->chooseRange(TimeSpan{2.2, 2.6});
  outAndBack();
  ASSERT_TRUE(timeline->model().range.has_value());
  EXPECT_DOUBLE_EQ(timeline->model().range->start, 2.2);
  bool told = false;
  for (auto* label : window->conversationView()->findChildren<QLabel*>()) {
    told = told || label->text().contains(QStringLiteral("0:02.2 – 0:02.6"));
  }
  EXPECT_TRUE(told);
  timeline->chooseRange(std::nullopt);

  QWidget* view = window->playerPanel()->view();
  view->setFocus();
  QTest::keyClick(view, Qt::Key_End);
  ASSERT_TRUE(waitFor([&] { return window->playerPanel()->player()->position() > 17.5; }, 20.0));
  QTest::keyClick(view, Qt::Key_I);
  ASSERT_TRUE(timeline->model().range.has_value());
  for (const double at : {0.0, 5.0, timeline->model().duration_s}) {
    timeline->chooseRange(TimeSpan{at, at});
    EXPECT_GE(timeline->model().range->end - timeline->model().range->start, 0.09) << at;
    EXPECT_LE(timeline->model().range->end, timeline->model().duration_s + 1e-6) << at;
  }
}

TEST_F(UiWindowCare, AQuestionThatIsTooLongIsSaidToBe) {
  MainWindow* window = makeWindow();
  auto* line = window->findChild<QLineEdit*>(QStringLiteral("question"));
  auto* note = window->findChild<QLabel*>(QStringLiteral("tooLong"));
  ASSERT_NE(note, nullptr);
  line->setText(QStringLiteral("word ").repeated(100));
  EXPECT_FALSE(note->isVisible());
  line->setText(QStringLiteral("word ").repeated(1000));
  EXPECT_TRUE(note->isVisible());
  line->clear();
  EXPECT_FALSE(note->isVisible());
}

TEST_F(UiWindowCare, WithHundredsOfJobsTheMenuStaysShortAndTheOneThatRunsIsNamed) {
  MainWindow* window = makeWindow();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  std::mutex mutex;
  std::condition_variable wake;
  bool go = false;
  for (int i = 0; i < 200; ++i) {
    bridge_->start<bool>(
        Lane::kExport, QStringLiteral("Job %1").arg(i), window,
        [&](const EngineBridge::Call&) -> Result<bool> {
          std::unique_lock lock(mutex);
          wake.wait(lock, [&] { return go; });
          return true;
        },
        [](const Result<bool>&) {});
  }
  EXPECT_EQ(window->jobs()->activeTitle(), QStringLiteral("Job 0"));
  QMenu* menu = window->findChild<QToolButton*>(QStringLiteral("stopJobs"))->menu();
  emit menu->aboutToShow();
  EXPECT_LE(menu->actions().size(), 16);
  EXPECT_EQ(menu->actions().front()->text(), QStringLiteral("Stop all that runs"));
  EXPECT_TRUE(menu->actions().back()->text().contains(QStringLiteral("188")));
  {
    const std::scoped_lock lock(mutex);
    go = true;
  }
  wake.notify_all();
  EXPECT_TRUE(waitFor([&] { return !bridge_->busy(); }, 30.0));
}

TEST_F(UiWindowCare, ThePlayersControlsCanBeUsedInASmallWindow) {
  for (const QString& language : {QStringLiteral("en"), QStringLiteral("zh_CN")}) {
    applyLanguage(language);
    MainWindow* window = makeWindow();
    openOnly(window, clip());
    window->playerPanel()->open(clip(), 10800.0, 0.0, false);
    window->resize(700, 450);
    QTest::qWait(50);
    EXPECT_LE(window->width(), 700);
    expectNothingIsCutOff(window->playerPanel(), language.toStdString());
    const auto* volume = window->playerPanel()->findChild<QSlider*>();
    EXPECT_GE(volume->width(), 50) << language.toStdString();
  }
  applyLanguage(QStringLiteral("en"));
}

// Qt's dialog tells only the last of several quoted paths in some cases where they are typed and in its own folder.
TEST_F(UiWindowCare, SeveralPathsTypedIntoTheDialogAreAllOpened) {
  const QString first = copyOf(QStringLiteral("first.mp4"));
  const QString second = copyOf(QStringLiteral("the second.mp4"));
  settings_->addRecent(first);  // the dialog shows its folder
  MainWindow* window = makeWindow();
  actionNamed(window, QStringLiteral("Open…"))->trigger();
  auto* dialog = window->findChild<QFileDialog*>();
  ASSERT_NE(dialog, nullptr);
  auto* name = dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
  ASSERT_NE(name, nullptr);
  name->setText(QStringLiteral("\"%1\" \"%2\"").arg(first, second));
  emit dialog->filesSelected({second});
  EXPECT_TRUE(waitFor([&] { return window->controller()->path() == first; }, 20.0)) << window->message().toStdString();
  EXPECT_GE(window->library()->find(second), 0);
}

// What can be done with a video of the list is offered where the pointer is, and by the keyboard for the chosen one.
TEST_F(UiWindowCare, TheMenuOfAVideoIsThatOfTheChosenOne) {
  const QString second = copyOf(QStringLiteral("second.mp4"));
  MainWindow* window = makeWindow();
  for (const QString& film : {clip(), second}) window->library()->add(film);
  auto* list = window->findChild<QListView*>(QStringLiteral("library"));
  const auto removeBy = [&](QContextMenuEvent::Reason reason, QWidget* receiver, const QPoint& at) {
    QContextMenuEvent event(reason, at, receiver->mapToGlobal(at));
    QApplication::sendEvent(receiver, &event);
    auto* menu = window->findChild<LibraryPane*>()->findChild<QMenu*>();
    ASSERT_NE(menu, nullptr);
    menu->actions().back()->trigger();
    menu->close();
    ASSERT_TRUE(waitFor([&] { return window->findChild<LibraryPane*>()->findChild<QMenu*>() == nullptr; }, 10.0));
  };
  window->activateWindow();
  list->setFocus();
  ASSERT_TRUE(waitFor([&] { return list->hasFocus(); }, 10.0));
  list->setCurrentIndex(list->model()->index(1, 0));
  removeBy(QContextMenuEvent::Keyboard, list, list->rect().center());  // where Qt says that the keyboard is
  EXPECT_EQ(window->library()->paths(), QStringList{clip()});
  removeBy(QContextMenuEvent::Mouse, list->viewport(), list->visualRect(list->model()->index(0, 0)).center());
  EXPECT_TRUE(window->library()->paths().isEmpty());
}

TEST_F(UiWindowCare, ATimeInAnAnswerAboutSeveralFilmsLeadsToTheRightOne) {
  const QString second = copyOf(QStringLiteral("second.mp4"));
  MainWindow* window = makeWindow();
  openOnly(window, clip());
  Turn turn = answered(QStringLiteral("When is a circle seen?"));
  turn.videos = QStringList{toText(folder_ / "gone.mp4"), clip(), second};
  turn.text = QStringLiteral("At 0:07.");
  turn.answer.evidence = {{second.toStdString(), 7.0, 9.0, 0.5}, {clip().toStdString(), 1.0, 2.0, 0.4}};
  window->conversation()->restore({turn});
  static const QRegularExpression address(QStringLiteral("href=\"([^\"]*)\""));
  QString link;
  for (auto* label : window->findChild<TurnWidget*>()->findChildren<QLabel*>()) {
    const QRegularExpressionMatch found = address.match(label->text());
    if (!found.hasMatch()) continue;
    link = found.captured(1).replace(QStringLiteral("&amp;"), QStringLiteral("&"));
    emit label->linkActivated(link);
  }
  EXPECT_TRUE(waitFor([&] { return window->controller()->path() == second; }, 30.0)) << link.toStdString();
  QStringList below;
  for (auto* button : window->findChild<TurnWidget*>()->findChildren<QToolButton*>()) below << button->text();
  EXPECT_TRUE(below.contains(QStringLiteral("0:07.0 · 50 %\nsecond.mp4"))) << below.join(' ').toStdString();
  EXPECT_TRUE(playerAt(window, 7.0));
}

TEST_F(UiWindowCare, AConversationWithoutAFilmIsSavedUnderANameThatIsSeen) {
  MainWindow* window = makeWindow();
  window->conversation()->restore({answered(QStringLiteral("What is seen?"))});
  actionNamed(window, QStringLiteral("Conversation as Markdown…"))->trigger();
  const auto* dialog = window->findChild<QFileDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_EQ(QFileInfo(dialog->selectedFiles().front()).fileName(), QStringLiteral("longview.md"));
}

// A picture is a film of one frame: all that is done with a film is done with it, or refused with words.
TEST_F(UiWindowCare, APictureIsAskedDescribedAndExported) {
  const QString picture = toText(folder_ / "still.png");
  longview::test::RunFfmpeg({"-i", clip().toStdString(), "-frames:v", "1", toPath(picture).string()});
  MainWindow* window = makeWindow();
  window->openPaths({picture});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == picture; }));
  ASSERT_TRUE(waitFor([&] { return window->library()->video(picture)->state == ReadState::kDone; }, 60.0));
  ask(window, QStringLiteral("When is a circle seen?"));
  window->conversation()->chapters(QStringLiteral("Chapters"), picture, window->controller()->info().duration_s);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  for (const Turn& turn : window->conversation()->turns()) {
    EXPECT_EQ(turn.state, Turn::State::kDone) << turn.failure.toStdString();
    EXPECT_FALSE(turn.text.isEmpty());
  }
  window->searchPane()->search(QStringLiteral("red squares"));
  ASSERT_TRUE(waitFor([&] { return window->searchPane()->moments()->rowCount() == 1; }));
  const auto moments = momentsOf(window->conversation()->turns(), picture);
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_TRUE(toEdl(moments, window->controller()->info()).contains("FROM CLIP NAME"));
  EXPECT_TRUE(toSrt(window->conversation()->turns(), picture).contains("00:00:00,000 --> 00:00:01"));
  const std::filesystem::path clips = folder_ / "clips";
  std::filesystem::create_directory(clips);
  answerFileDialog(window, QStringLiteral("Moments as clips…"), toText(clips));
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 60.0));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(clips)) {
    EXPECT_GT(entry.file_size(), 1000u) << entry.path();
    ++files;
  }
  EXPECT_TRUE(files == 1 || !window->message().isEmpty()) << files;
}

TEST_F(UiWindowCare, HelpNeedsNoDisplay) {
  for (const char* word : {"--help", "--version"}) {
    const longview::test::RunOutcome outcome = longview::test::RunProcess(
        {"env", "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", "-u", "QT_QPA_PLATFORM", LONGVIEW_GUI, word});
    EXPECT_EQ(outcome.exit_code, 0) << word << outcome.err;
    EXPECT_FALSE(outcome.out.empty()) << word;
  }
}

}  // namespace
}  // namespace longview::ui::test
