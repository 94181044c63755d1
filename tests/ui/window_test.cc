// The window as a person uses it: real widgets, the real engine, real clips.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <QAccessible>
#include <QApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QImage>
#include <QLineEdit>
#include <QListView>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include "tests/support/test_clip.h"
#include "tests/ui/ui_fixture.h"
#include "ui/conversation.h"
#include "ui/conversation_view.h"
#include "ui/format.h"
#include "ui/job_model.h"
#include "ui/library_model.h"
#include "ui/mpv_player.h"
#include "ui/player_panel.h"
#include "ui/player_view.h"
#include "ui/search_pane.h"
#include "ui/settings_dialog.h"
#include "ui/thumbnail_store.h"
#include "ui/timeline_widget.h"
#include "ui/turn_widget.h"
#include "ui/video_controller.h"

namespace longview::ui::test {
namespace {

using UiWindow = UiFixture;

TEST_F(UiWindow, OpensReadsAnswersAndGoesToTheMoment) {
  MainWindow* window = makeWindow();
  Watchdog watchdog;
  openAndRead(window, clip());
  EXPECT_NEAR(window->playerPanel()->timeline()->model().duration_s, 18.0, 0.2);
  // The shots follow the frames in a message of their own.
  EXPECT_TRUE(waitFor([&] { return window->playerPanel()->timeline()->model().shots().size() >= 2; }));

  const int turn = ask(window, QStringLiteral("What is seen?"));
  ASSERT_EQ(turn, 0);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  ASSERT_EQ(turnOf(window, 0).state, Turn::State::kDone) << turnOf(window, 0).failure.toStdString();
  EXPECT_FALSE(turnOf(window, 0).text.isEmpty());
  EXPECT_FALSE(window->playerPanel()->timeline()->model().looked.empty());

  // Evidence is made up here where the random model finds none: what is tested is the way from a click to the player.
  auto* widget = window->conversationView()->findChild<TurnWidget*>();
  ASSERT_NE(widget, nullptr);
  Turn shown = turnOf(window, 0);
  const KeptFrame& frame = window->controller()->frames().at(7);
  shown.answer.evidence = {{clip().toStdString(), frame.start, frame.end, 0.5}};
  widget->show(shown);
  QToolButton* moment = nullptr;
  for (auto* button : widget->findChildren<QToolButton*>()) {
    if (button->property("time").isValid()) moment = button;
  }
  ASSERT_NE(moment, nullptr);
  QTest::mouseClick(moment, Qt::LeftButton);
  EXPECT_TRUE(playerAt(window, frame.start)) << window->playerPanel()->player()->position() << " not " << frame.start;
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindow, AFollowUpQuestionKnowsTheEarlierOne) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  ask(window, QStringLiteral("What is seen?"));
  ASSERT_TRUE(waitFor([&] { return turnOf(window, 0).state == Turn::State::kDone; }));
  ask(window, QStringLiteral("And then?"));
  ASSERT_TRUE(waitFor([&] { return turnOf(window, 1).state == Turn::State::kDone; }));
  // The earlier turns are part of what the model reads.
  EXPECT_GT(turnOf(window, 1).answer.prompt_tokens,
            turnOf(window, 0).answer.prompt_tokens + turnOf(window, 0).answer.answer_tokens / 2);
}

TEST_F(UiWindow, AnswersWhileTheFilmIsStillRead) {
  const std::filesystem::path film = folder_ / "long.mp4";
  makeLongFilm(film, 300);
  MainWindow* window = makeWindow();
  Watchdog watchdog;
  window->openPaths({toText(film)});
  ASSERT_TRUE(waitFor([&] { return !window->controller()->frames().empty(); }, 300.0))
      << window->message().toStdString();
  ASSERT_TRUE(window->controller()->reading(toText(film)));
  ask(window, QStringLiteral("What is seen?"));
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }, 300.0));
  ASSERT_EQ(turnOf(window, 0).state, Turn::State::kDone) << turnOf(window, 0).failure.toStdString();
  EXPECT_LT(turnOf(window, 0).answer.read_until_s, 299.0);
  const QString note = TurnWidget::note(turnOf(window, 0));
  EXPECT_TRUE(note.contains(QStringLiteral("were read so far"))) << note.toStdString();

  // Pause keeps what was read; going on begins there.
  actionNamed(window, QStringLiteral("Pause reading"))->trigger();
  ASSERT_TRUE(waitFor([&] { return !window->controller()->reading(toText(film)); }, 30.0));
  EXPECT_EQ(window->library()->video(toText(film))->state, ReadState::kPaused);
  const size_t kept = window->controller()->frames().size();
  EXPECT_GT(kept, 0u);
  ask(window, QStringLiteral("And now?"));
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 1).running(); }, 120.0));
  EXPECT_EQ(turnOf(window, 1).state, Turn::State::kDone) << turnOf(window, 1).failure.toStdString();
  actionNamed(window, QStringLiteral("Go on reading"))->trigger();
  ASSERT_TRUE(waitFor([&] { return window->controller()->frames().size() > kept; }, 300.0));
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);

  // Closing in the middle of it is clean and quick.
  closeQuickly("while it reads");
}

TEST_F(UiWindow, AnAnswerCanBeStoppedAndAskedAgain) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  ask(window, QStringLiteral("What is seen?"));
  window->conversation()->stop(0);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  EXPECT_EQ(turnOf(window, 0).state, Turn::State::kStopped);
  // In another form of the cache.
  CacheOptions cache;
  cache.mode = "mha";
  settings_->setCache(cache);
  window->conversation()->retry(0);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  ASSERT_EQ(turnOf(window, 0).state, Turn::State::kDone) << turnOf(window, 0).failure.toStdString();
  EXPECT_EQ(turnOf(window, 0).answer.cache.mode, "mha");
}

TEST_F(UiWindow, TheLastQuestionIsAskedAgainEvenWhileItIsAnswered) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  ask(window, QStringLiteral("What is seen?"));
  window->conversation()->chapters(QStringLiteral("Chapters"), clip(), 18.0);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  const QString chapters = turnOf(window, 1).text;
  ASSERT_EQ(turnOf(window, 1).state, Turn::State::kDone) << turnOf(window, 1).failure.toStdString();
  CacheOptions cache;
  for (const char* mode : {"mqa", "mha"}) {
    cache.mode = mode;
    settings_->setCache(cache);
    window->conversation()->retryLastQuestion();
    EXPECT_TRUE(turnOf(window, 0).running());
    EXPECT_EQ(turnOf(window, 1).text, chapters);
  }
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  EXPECT_EQ(turnOf(window, 0).state, Turn::State::kDone) << turnOf(window, 0).failure.toStdString();
  EXPECT_EQ(turnOf(window, 0).answer.cache.mode, "mha");
}

TEST_F(UiWindow, ChaptersComeOneByOneWithTheirTimes) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  window->conversation()->chapters(QStringLiteral("Chapters"), clip(), 18.0);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  ASSERT_EQ(turnOf(window, 0).state, Turn::State::kDone) << turnOf(window, 0).failure.toStdString();
  EXPECT_FALSE(turnOf(window, 0).chapters.empty());
  EXPECT_TRUE(turnOf(window, 0).text.startsWith(QStringLiteral("0:00 ")));
  // They can be shown over the film.
  window->playerPanel()->view()->setFocus();
  QTest::keyClick(window->playerPanel()->view(), Qt::Key_V);
  EXPECT_TRUE(window->playerPanel()->showsSubtitles());
}

TEST_F(UiWindow, ASearchFillsTheGridAndAClickGoesThere) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  auto* words = window->findChild<QLineEdit*>(QStringLiteral("words"));
  QTest::keyClicks(words, QStringLiteral("red squares"));
  window->searchPane()->search(words->text());
  ASSERT_TRUE(waitFor([&] { return window->searchPane()->moments()->rowCount() > 0; }));
  const auto* model = window->searchPane()->moments();
  ASSERT_TRUE(waitFor([&] { return model->data(model->index(0), Qt::DecorationRole).isValid(); })) << "no thumbnail";
  const double start = model->data(model->index(0), MomentModel::kStart).toDouble();
  auto* grid = window->findChild<QListView*>(QStringLiteral("moments"));
  emit grid->clicked(model->index(0));
  EXPECT_TRUE(playerAt(window, start));
}

TEST_F(UiWindow, TheGridOfMomentsStandsStillAsPicturesCome) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  ThumbnailStore thumbnails(bridge_.get(), settings_.get());  // the window's has them already
  SearchPane pane(bridge_.get(), settings_.get(), window->library(), &thumbnails);
  pane.resize(400, 500);
  pane.show();
  pane.setVideo(clip());
  const auto* grid = pane.findChild<QListView*>();
  const MomentModel* model = pane.moments();
  const auto pictures = [&] {
    int count = 0;
    for (int row = 0; row < model->rowCount(); ++row) {
      if (model->index(row).data(Qt::DecorationRole).isValid()) ++count;
    }
    return count;
  };
  const auto places = [&] {
    std::vector<QRect> all;
    for (int row = 0; row < model->rowCount(); ++row) all.push_back(grid->visualRect(model->index(row)));
    return all;
  };
  std::vector<QRect> before;
  const auto found = [&] {
    EXPECT_EQ(pictures(), 0);
    before = places();
  };
  QObject::connect(model, &MomentModel::modelReset, &pane, found, Qt::QueuedConnection);
  pane.search(QStringLiteral("red squares"));
  ASSERT_TRUE(waitFor([&] { return before.size() > 1 && pictures() == model->rowCount(); }));
  QTest::qWait(100);
  EXPECT_EQ(places(), before);
  EXPECT_EQ(before[1].y(), before[0].y()) << "one column only";
  // What is drawn there, without the time below it.
  const QImage drawn = grid->viewport()->grab(before[0]).toImage();
  const QRgb ground = grid->palette().color(QPalette::Base).rgb();
  QRect picture;
  for (int y = 0; y < drawn.height() - grid->fontMetrics().height() - 4; ++y) {
    for (int x = 0; x < drawn.width(); ++x) {
      if (drawn.pixel(x, y) != ground) picture |= QRect(x, y, 1, 1);
    }
  }
  EXPECT_GE(picture.width(), 100);
  EXPECT_GE(picture.height(), 70);
}

TEST_F(UiWindow, TheTimelineSeeksOnAClickAndLimitsQuestionsOnADrag) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  TimelineWidget* timeline = window->playerPanel()->timeline();
  const int y = timeline->height() / 2;
  QTest::mouseClick(timeline, Qt::LeftButton, {}, QPoint(static_cast<int>(timeline->xOf(9.0)), y));
  EXPECT_TRUE(waitFor([&] { return std::abs(window->playerPanel()->player()->position() - 9.0) < 0.15; }, 20.0));

  const QPoint from(static_cast<int>(timeline->xOf(2.0)), y);
  const QPoint to(static_cast<int>(timeline->xOf(5.0)), y);
  QTest::mousePress(timeline, Qt::LeftButton, {}, from);
  QTest::mouseMove(timeline, (from + to) / 2);
  QTest::mouseMove(timeline, to);
  QTest::mouseRelease(timeline, Qt::LeftButton, {}, to);
  ASSERT_TRUE(timeline->model().range.has_value());
  EXPECT_NEAR(timeline->model().range->start, 2.0, 0.1);
  EXPECT_NEAR(timeline->model().range->end, 5.0, 0.1);
  ask(window, QStringLiteral("What is seen?"));
  ASSERT_TRUE(waitFor([&] { return turnOf(window, 0).state == Turn::State::kDone; }));
  ASSERT_FALSE(turnOf(window, 0).answer.looked.empty());
  for (const Evidence& frame : turnOf(window, 0).answer.looked) {
    EXPECT_GE(frame.end, 2.0 - 0.1);
    EXPECT_LE(frame.start, 5.1);
  }
  timeline->setFocus();
  QTest::keyClick(timeline, Qt::Key_Escape);
  EXPECT_FALSE(timeline->model().range.has_value());

  // The same without a mouse: from here on, up to there.
  window->playerPanel()->player()->seek(4.0);
  ASSERT_TRUE(playerAt(window, 4.0));
  QTest::keyClick(timeline, Qt::Key_I);
  ASSERT_TRUE(timeline->model().range.has_value());
  EXPECT_NEAR(timeline->model().range->start, 4.0, 0.051);
  EXPECT_NEAR(timeline->model().range->end, 18.0, 0.2);
  window->playerPanel()->player()->seek(6.0);
  ASSERT_TRUE(playerAt(window, 6.0));
  QTest::keyClick(timeline, Qt::Key_O);
  EXPECT_NEAR(timeline->model().range->start, 4.0, 0.051);
  EXPECT_NEAR(timeline->model().range->end, 6.0, 0.051);
}

TEST_F(UiWindow, ThePlayerHasTheKeysOfMpv) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  MpvPlayer* player = window->playerPanel()->player();
  QWidget* view = window->playerPanel()->view();
  view->setFocus();
  QTest::keyClick(view, Qt::Key_Right);
  EXPECT_TRUE(playerAt(window, 5.0)) << player->position();
  QTest::keyClick(view, Qt::Key_Period);  // clip: 10 pictures a second
  EXPECT_TRUE(playerAt(window, 5.1)) << player->position();
  QTest::keyClick(view, Qt::Key_Comma);
  EXPECT_TRUE(playerAt(window, 5.0)) << player->position();
  QTest::keyClick(view, Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_TRUE(playerAt(window, 4.0)) << player->position();
  QTest::keyClick(view, Qt::Key_L);
  EXPECT_TRUE(waitFor([&] { return !player->paused(); }, 10.0));
  // Without a sound device the clock runs on.
  EXPECT_TRUE(waitFor([&] { return player->position() > 4.5; }, 30.0));
  QTest::keyClick(view, Qt::Key_L);
  EXPECT_TRUE(waitFor([&] { return player->speed() == 2.0; }, 10.0));
  QTest::keyClick(view, Qt::Key_K);
  EXPECT_TRUE(waitFor([&] { return player->paused() && player->speed() == 1.0; }, 10.0));
  QTest::keyClick(view, Qt::Key_Home);
  EXPECT_TRUE(playerAt(window, 0.0)) << player->position();
  ASSERT_TRUE(waitFor([&] { return !player->picture().isNull(); }, 10.0));
  EXPECT_EQ(player->picture().size(), view->size() * view->devicePixelRatioF());
}

TEST_F(UiWindow, ThePlayerHasTheOtherKeysAndTheMouseOfMpv) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  PlayerPanel* panel = window->playerPanel();
  MpvPlayer* player = panel->player();
  QWidget* view = panel->view();
  view->setFocus();
  // Seeks are exact, also between keyframes (every 2 s).
  player->seek(13.7);
  ASSERT_TRUE(playerAt(window, 13.7)) << player->position();
  QTest::keyClick(view, Qt::Key_J);
  EXPECT_TRUE(playerAt(window, 3.7)) << player->position();
  QTest::keyClick(view, Qt::Key_Up);
  EXPECT_TRUE(waitFor([&] { return player->position() > 17.5; }, 20.0)) << player->position();
  QTest::keyClick(view, Qt::Key_Down);
  EXPECT_TRUE(playerAt(window, 0.0)) << player->position();
  QTest::keyClick(view, Qt::Key_End);
  EXPECT_TRUE(waitFor([&] { return player->position() > 17.5; }, 20.0)) << player->position();
  // At its end the film begins anew.
  QTest::keyClick(view, Qt::Key_Space);
  EXPECT_TRUE(waitFor([&] { return !player->paused() && player->position() < 5.0; }, 20.0)) << player->position();
  QTest::keyClick(view, Qt::Key_P);
  EXPECT_TRUE(waitFor([&] { return player->paused(); }, 10.0));
  QTest::keyClick(view, Qt::Key_BracketRight);
  EXPECT_TRUE(waitFor([&] { return std::abs(player->speed() - 1.1) < 0.001; }, 10.0)) << player->speed();
  QTest::keyClick(view, Qt::Key_Backspace);
  EXPECT_TRUE(waitFor([&] { return player->speed() == 1.0; }, 10.0));

  QWheelEvent wheel(view->rect().center(), view->mapToGlobal(view->rect().center()), QPoint(), QPoint(0, -240),
                    Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
  QApplication::sendEvent(view, &wheel);
  EXPECT_TRUE(waitFor([&] { return player->volume() == 90; }, 10.0)) << player->volume();
  QTest::mouseClick(view, Qt::LeftButton);
  EXPECT_TRUE(waitFor([&] { return !player->paused(); }, 10.0));
  QTest::mouseClick(view, Qt::LeftButton);
  EXPECT_TRUE(waitFor([&] { return player->paused(); }, 10.0));
  QTest::mouseDClick(view, Qt::LeftButton);
  EXPECT_TRUE(waitFor([&] { return window->isFullScreen(); }, 10.0));
  QTest::keyClick(view, Qt::Key_Escape);
  EXPECT_FALSE(window->isFullScreen());
  QTest::keyClick(view, Qt::Key_F);
  EXPECT_TRUE(window->isFullScreen());
}

// Words appear as they are made, and what can be done with an answer is a click.
TEST_F(UiWindow, AnAnswerIsSeenWhileItIsWritten) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  std::vector<QString> seen;
  QObject::connect(window->conversation(), &Conversation::turnChanged, window, [&](int turn) {
    const Turn& now = turnOf(window, turn);
    if (now.state == Turn::State::kWriting && (seen.empty() || seen.back() != now.text)) seen.push_back(now.text);
  });
  ask(window, QStringLiteral("Which colour is the biggest thing?"));
  auto* widget = window->conversationView()->findChild<TurnWidget*>();
  const auto button = [&](const char* name) {
    for (auto* one : widget->findChildren<QToolButton*>()) {
      if (one->accessibleName() == QLatin1String(name)) return one;
    }
    return static_cast<QToolButton*>(nullptr);
  };
  ASSERT_TRUE(waitFor([&] { return seen.size() > 2 || !turnOf(window, 0).running(); }));
  ASSERT_GT(seen.size(), 2u);
  for (size_t i = 1; i < seen.size(); ++i) EXPECT_TRUE(seen[i].startsWith(seen[i - 1])) << seen[i].toStdString();
  ASSERT_TRUE(button("Stop")->isVisible());
  QTest::mouseClick(button("Stop"), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  EXPECT_EQ(turnOf(window, 0).state, Turn::State::kStopped);
  EXPECT_FALSE(turnOf(window, 0).text.isEmpty());  // what was written stays
  EXPECT_FALSE(button("Stop")->isVisible());
  QTest::mouseClick(button("Ask again"), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  EXPECT_EQ(turnOf(window, 0).state, Turn::State::kDone) << turnOf(window, 0).failure.toStdString();
}

TEST_F(UiWindow, WhatCannotBeOpenedIsSaidInWords) {
  MainWindow* window = makeWindow();
  Watchdog watchdog;
  const QString broken = toText(folder_.Write("broken.mp4", std::string(5000, 'x')));
  std::filesystem::create_directory(folder_ / "empty");
  for (const QString& path : {broken, toText(folder_ / "missing.mp4"), toText(folder_ / "empty")}) {
    window->openPaths({path});
    EXPECT_TRUE(waitFor([&] { return window->message().contains(path); }, 30.0)) << path.toStdString();
  }
  EXPECT_EQ(window->library()->video(broken)->state, ReadState::kFailed);
  // A pipe that nobody writes to must not hold up anything.
  const QString pipe = toText(folder_ / "stalled.mp4");
  ASSERT_EQ(mkfifo(pipe.toLocal8Bit().constData(), 0600), 0);
  window->openPaths({pipe});
  EXPECT_TRUE(waitFor([&] { return window->message().contains(pipe); }, 10.0));
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
  // And the window still works.
  openAndRead(window, clip());
}

TEST_F(UiWindow, AMissingModelIsNamedAndTheFilmStillPlays) {
  EngineOptions options = this->options();
  options.models = folder_ / "no models";
  bridge_ = std::make_unique<EngineBridge>(options);
  MainWindow* window = makeWindow();
  window->openPaths({clip()});
  ASSERT_TRUE(waitFor([&] { return window->playerPanel()->player()->isOpen(); }));
  EXPECT_TRUE(waitFor([&] { return window->library()->video(clip())->state == ReadState::kFailed; }));
  EXPECT_TRUE(waitFor([&] { return window->message().contains(QStringLiteral("vit_s_focus.onnx")); }, 10.0))
      << window->message().toStdString();
  ask(window, QStringLiteral("What is seen?"));
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  EXPECT_EQ(turnOf(window, 0).state, Turn::State::kFailed);
  EXPECT_FALSE(turnOf(window, 0).failure.isEmpty());
}

TEST_F(UiWindow, DropsOpenFilesAndRefuseTheRestWithWords) {
  const QString odd = copyOf(QStringLiteral("clip #1 [a b] 50%.mp4"));
  MainWindow* window = makeWindow();
  const auto drop = [&](const QList<QUrl>& urls, const QString& text) {
    QMimeData data;
    if (!urls.isEmpty()) data.setUrls(urls);
    if (!text.isEmpty()) data.setText(text);
    // Qt delivers a drop only to what a drag has entered.
    QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent event(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window, &event);
  };
  // Nothing inside takes a drop for itself: a film dropped on the line of questions is opened, not written there.
  for (auto* widget : window->findChildren<QWidget*>()) {
    EXPECT_FALSE(widget->acceptDrops()) << widget->metaObject()->className() << widget->objectName().toStdString();
  }
  drop({QUrl(QStringLiteral("https://example.org/a.mp4"))}, {});
  EXPECT_TRUE(window->message().contains(QStringLiteral("example.org")));
  drop({}, QStringLiteral("some words"));
  EXPECT_FALSE(window->message().isEmpty());
  drop({QUrl::fromLocalFile(odd), QUrl::fromLocalFile(clip())}, {});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == odd; })) << window->message().toStdString();
  EXPECT_GE(window->library()->find(clip()), 0);
}

TEST_F(UiWindow, TheLatestOpeningWins) {
  const QString second = copyOf(QStringLiteral("second.mp4"));
  MainWindow* window = makeWindow();
  window->openPaths({clip()});
  window->openPaths({second});
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == second; }));
  ASSERT_TRUE(waitFor([&] { return window->playerPanel()->player()->isOpen(); }));
  EXPECT_TRUE(window->windowTitle().contains(QStringLiteral("second.mp4")));
}

// As a double click and Enter do.
TEST_F(UiWindow, AFilmThatIsOpenedTwiceAtOnceIsOpen) {
  MainWindow* window = makeWindow();
  window->controller()->open(clip());
  window->controller()->open(clip());
  ASSERT_TRUE(waitFor([&] { return window->controller()->path() == clip() || !window->message().isEmpty(); }));
  EXPECT_EQ(window->controller()->path(), clip());
  EXPECT_TRUE(window->message().isEmpty()) << window->message().toStdString();
}

// The first is what the person looks at; the others wait.
TEST_F(UiWindow, OfSeveralFilmsTheOpenOneIsReadFirst) {
  const std::filesystem::path film = folder_ / "long.mp4";
  makeLongFilm(film, 300);
  MainWindow* window = makeWindow();
  window->openPaths({toText(film), clip(), toText(folder_.Write("broken.mp4", std::string(5000, 'x')))});
  EXPECT_EQ(window->library()->video(clip())->state, ReadState::kWaiting);
  ASSERT_TRUE(waitFor([&] { return window->controller()->frames().size() > 4; }, 300.0));
  EXPECT_EQ(window->library()->video(clip())->state, ReadState::kWaiting);
  window->controller()->pause(toText(film));
  ASSERT_TRUE(waitFor([&] { return window->library()->video(clip())->state == ReadState::kDone; }, 300.0));
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }));
  EXPECT_EQ(window->library()->video(toText(folder_ / "broken.mp4"))->state, ReadState::kFailed);
  // Where the first cannot be opened, the others are read all the same.
  const QString second = copyOf(QStringLiteral("second.mp4"));
  window->openPaths({toText(folder_ / "missing.mp4"), second});
  EXPECT_TRUE(waitFor([&] { return window->library()->video(second)->state == ReadState::kDone; }, 300.0));
}

TEST_F(UiWindow, RemembersWhereAFilmWasLeft) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  window->playerPanel()->player()->seek(7.0);
  ASSERT_TRUE(playerAt(window, 7.0));
  window->close();
  window = makeWindow();
  window->openPaths({clip()});
  EXPECT_TRUE(waitFor([&] { return window->playerPanel()->player()->isOpen(); }));
  EXPECT_TRUE(playerAt(window, 7.0)) << window->playerPanel()->player()->position();
}

TEST_F(UiWindow, ClosesWithinSecondsAtAnyTime) {
  const std::filesystem::path film = folder_ / "long.mp4";
  makeLongFilm(film, 120);
  for (const int after_ms : {0, 100, 1000, 4000}) {
    bridge_ = std::make_unique<EngineBridge>(options());
    MainWindow* window = makeWindow();
    window->openPaths({toText(film)});
    QTest::qWait(after_ms);
    closeQuickly("after " + std::to_string(after_ms) + " ms");
  }
  for (const std::string work : {"chapters", "a search", "a question"}) {
    bridge_ = std::make_unique<EngineBridge>(options());
    MainWindow* window = makeWindow();
    window->openPaths({toText(film)});
    ASSERT_TRUE(waitFor([&] { return !window->controller()->frames().empty(); }, 60.0));
    if (work == "chapters") window->conversation()->chapters(QStringLiteral("Chapters"), toText(film), 120.0);
    if (work == "a search") window->searchPane()->search(QStringLiteral("red squares"));
    if (work == "a question") ask(window, QStringLiteral("What is seen?"));
    QTest::qWait(200);
    closeQuickly("during " + work);
  }
}

TEST_F(UiWindow, AThreeHourFilmOpensAtOnce) {
  const std::filesystem::path film = folder_ / "three hours.mp4";
  longview::test::RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=64x48:r=1:d=10800", "-c:v", "libx264", "-preset",
                             "ultrafast", "-g", "60", "-threads", "1", film.string()});
  MainWindow* window = makeWindow();
  Watchdog watchdog;
  window->openPaths({toText(film)});
  ASSERT_TRUE(waitFor([&] { return window->playerPanel()->player()->isOpen(); }, 60.0))
      << window->message().toStdString();
  EXPECT_NEAR(window->playerPanel()->timeline()->model().duration_s, 10800.0, 1.5);
  window->goTo(toText(film), 9000.0);
  EXPECT_TRUE(waitFor([&] { return std::abs(window->playerPanel()->player()->position() - 9000.0) < 1.01; }, 30.0));
  ASSERT_TRUE(waitFor([&] { return window->controller()->frames().size() > 30; }, 300.0));
  (void)window->grab();
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindow, TheProgramOpensAVideoAndEndsCleanlyOnASignal) {
  // SIGTERM after a while: on a busy machine the program takes seconds to start.
  const longview::test::RunOutcome outcome = longview::test::RunProcess(
      {"env", "QT_QPA_PLATFORM=offscreen", "XDG_CONFIG_HOME=" + (folder_ / "config").string(), "timeout",
       "--preserve-status", "-s", "TERM", "20", LONGVIEW_PROGRAM, "gui", clip().toStdString(), "--library",
       (folder_ / "library").string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("QThread"), std::string::npos) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "config/longview/longview.ini"));
}

// Every control that takes the focus can be named by a screen reader.
TEST_F(UiWindow, EveryControlHasAName) {
  MainWindow* window = makeWindow();
  SettingsDialog* dialog = window->showSettings();
  for (const auto page :
       {SettingsDialog::kReading, SettingsDialog::kMemory, SettingsDialog::kSelfTest, SettingsDialog::kModel}) {
    dialog->showPage(page);
  }
  for (QWidget* root : {static_cast<QWidget*>(window), static_cast<QWidget*>(dialog)}) {
    for (QWidget* widget : root->findChildren<QWidget*>()) {
      const QByteArray kind = widget->metaObject()->className();
      if (widget->focusPolicy() == Qt::NoFocus || widget->objectName().startsWith(QStringLiteral("qt_"))) continue;
      QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
      if (face == nullptr || widget->parentWidget() == nullptr) continue;
      const bool part_of_control =
          widget->parentWidget()->inherits("QAbstractSpinBox") || widget->parentWidget()->inherits("QComboBox") ||
          widget->parentWidget()->inherits("QAbstractScrollArea") || widget->parentWidget()->inherits("QTabWidget") ||
          widget->inherits("QScrollArea") || widget->inherits("QComboBoxPrivateContainer");
      if (part_of_control) continue;
      EXPECT_FALSE(face->text(QAccessible::Name).isEmpty())
          << kind.constData() << " " << widget->objectName().toStdString() << " in "
          << widget->parentWidget()->metaObject()->className();
    }
  }
}

}  // namespace
}  // namespace longview::ui::test
