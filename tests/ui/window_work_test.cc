// The window's long work and its dialogs, on the real engine: measuring, the budget, the self-test, exports, and
// closing in the middle of all of them.
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QTableView>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/test_clip.h"
#include "tests/ui/ui_fixture.h"
#include "ui/compare_model.h"
#include "ui/conversation_export.h"
#include "ui/conversation_view.h"
#include "ui/exporter.h"
#include "ui/format.h"
#include "ui/library_model.h"
#include "ui/memory_page.h"
#include "ui/mpv_player.h"
#include "ui/player_panel.h"
#include "ui/selftest_model.h"
#include "ui/selftest_page.h"
#include "ui/settings_dialog.h"
#include "ui/timeline_widget.h"
#include "ui/turn_widget.h"
#include "ui/video_controller.h"

namespace longview::ui::test {
namespace {

class UiWindowWork : public UiFixture {
 protected:
  // Asks what is answered by moments, whatever the random model thinks.
  void askForMoments(MainWindow* window) {
    const int turn = ask(window, QStringLiteral("When is a circle seen?"));
    ASSERT_TRUE(waitFor([&] { return !turnOf(window, turn).running(); }));
    ASSERT_EQ(turnOf(window, turn).state, Turn::State::kDone) << turnOf(window, turn).failure.toStdString();
    ASSERT_FALSE(turnOf(window, turn).answer.evidence.empty());
  }

  // A folder with one picture to plant.
  QString needles() const {
    const std::filesystem::path folder = folder_ / "needles";
    std::filesystem::create_directory(folder);
    longview::test::RunFfmpeg(
        {"-f", "lavfi", "-i", "color=c=orange:s=320x240", "-frames:v", "1", (folder / "orange.png").string()});
    std::ofstream(folder / "captions.tsv") << "orange.png\tan orange wall\n";
    return toText(folder);
  }

  static SelfTestPage* chooseSelfTest(SettingsDialog* dialog, int depths, const QString& needles) {
    SelfTestPage* page = dialog->selfTestPage();
    page->findChild<QComboBox*>(QStringLiteral("longest"))->setCurrentIndex(0);
    page->findChild<QSpinBox*>(QStringLiteral("depths"))->setValue(depths);
    page->findChild<QLineEdit*>(QStringLiteral("needles"))->setText(needles);
    return page;
  }
};

QByteArray contentOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

TEST_F(UiWindowWork, MeasuresTheModesAndAsksAgainInAnother) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  ask(window, QStringLiteral("What is seen?"));
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  ASSERT_EQ(turnOf(window, 0).answer.cache.mode, "mla");
  Watchdog watchdog;
  SettingsDialog* dialog = window->showSettings(SettingsDialog::kMemory);
  MemoryPage* page = dialog->memoryPage();
  // What the formulas say stands there before anything is measured.
  ASSERT_TRUE(waitFor([&] { return page->model()->rowCount() > 10; }, 60.0));
  const std::vector<ModeRow> predicted = page->model()->rows();
  for (const ModeRow& row : predicted) {
    EXPECT_FALSE(row.measured) << row.name.toStdString();
    EXPECT_GT(row.bytes_per_token, 0.0);
    EXPECT_GT(row.hours_bytes[2], row.hours_bytes[0]);
  }
  auto* measure = page->findChild<QPushButton*>(QStringLiteral("measure"));
  QTest::mouseClick(measure, Qt::LeftButton);
  // Some rows are enough; all of them take minutes.
  ASSERT_TRUE(waitFor([&] { return page->model()->rows()[1].measured || !bridge_->busy(); }, 600.0));
  ASSERT_EQ(page->model()->rows().size(), predicted.size());
  for (size_t i = 0; i < 2; ++i) {
    const ModeRow& row = page->model()->rows()[i];
    ASSERT_TRUE(row.measured) << row.name.toStdString();
    EXPECT_EQ(row.name, predicted[i].name);
    EXPECT_EQ(row.predicted_bytes, predicted[i].predicted_bytes);
    EXPECT_NEAR(static_cast<double>(*row.bytes), static_cast<double>(row.predicted_bytes), 0.05 * row.predicted_bytes);
  }
  // Closed, the page goes on measuring; opened again, its rows are there.
  dialog->close();
  EXPECT_TRUE(bridge_->busy());
  EXPECT_EQ(window->showSettings(SettingsDialog::kMemory), dialog);
  EXPECT_TRUE(page->model()->rows()[1].measured);
  QTest::mouseClick(measure, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 60.0));

  const ModeRow chosen = page->model()->rows().front();
  ASSERT_NE(chosen.cache.mode, "mla");
  page->findChild<QTableView*>()->selectRow(0);
  QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("use")), Qt::LeftButton);
  ASSERT_TRUE(turnOf(window, 0).running());
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }));
  EXPECT_EQ(turnOf(window, 0).answer.cache.mode, chosen.cache.mode);
  EXPECT_EQ(turnOf(window, 0).answer.cache.store, chosen.cache.store);
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindowWork, ABudgetSaysWhatItBuysAndIsKept) {
  MainWindow* window = makeWindow();
  SettingsDialog* dialog = window->showSettings(SettingsDialog::kMemory);
  Watchdog watchdog;
  auto* slider = dialog->findChild<QSlider*>(QStringLiteral("budget"));
  auto* take = dialog->findChild<QPushButton*>(QStringLiteral("take"));
  const auto choose = [&](int value) {
    // As a hand does it: many values on the way.
    for (int step = 1; step <= 8; ++step) slider->setValue(slider->value() + (value - slider->value()) * step / 8);
    QTest::qWait(150);
    ASSERT_TRUE(waitFor([&] { return !bridge_->busy() && take->isEnabled(); }, 30.0));
    QTest::mouseClick(take, Qt::LeftButton);
  };
  choose(slider->maximum());
  const double rich = settings_->sampling().fps;
  const int rich_latent = settings_->cache().latent;
  choose(slider->maximum() / 3);
  EXPECT_LT(settings_->sampling().fps, rich);
  EXPECT_LE(settings_->cache().latent, rich_latent);
  // The page beside it shows the same, also where it was there before.
  dialog->showPage(SettingsDialog::kReading);
  EXPECT_NEAR(dialog->findChild<QDoubleSpinBox*>(QStringLiteral("fps"))->value(), settings_->sampling().fps, 0.006);
  choose(slider->maximum() / 2);
  EXPECT_NEAR(dialog->findChild<QDoubleSpinBox*>(QStringLiteral("fps"))->value(), settings_->sampling().fps, 0.006);
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindowWork, TheSelfTestFillsItsMap) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  const QString planted = needles();  // ffmpeg makes them, and this thread waits for it
  Watchdog watchdog;
  SettingsDialog* dialog = window->showSettings(SettingsDialog::kSelfTest);
  SelfTestPage* page = chooseSelfTest(dialog, 2, planted);
  auto* run = page->findChild<QPushButton*>(QStringLiteral("run"));
  QTest::mouseClick(run, Qt::LeftButton);
  EXPECT_FALSE(page->findChild<QSpinBox*>(QStringLiteral("depths"))->isEnabled());
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 600.0));
  EXPECT_EQ(page->model()->filled(), 2) << page->findChild<QLabel*>(QStringLiteral("status"))->text().toStdString();
  EXPECT_EQ(page->model()->planted(), 2);
  EXPECT_TRUE(page->findChild<QLabel*>(QStringLiteral("sum"))->text().contains(QStringLiteral("of 2")));
  // The same by attention, and as text.
  page->findChild<QComboBox*>(QStringLiteral("shown"))->setCurrentIndex(1);
  QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("copy")), Qt::LeftButton);
  EXPECT_EQ(QApplication::clipboard()->text(), page->model()->text());
  EXPECT_EQ(page->model()->text().count(QStringLiteral("/1")), 2);

  // Stopped, it says so and can run again.
  QTest::mouseClick(run, Qt::LeftButton);
  QTest::mouseClick(run, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 60.0));
  EXPECT_TRUE(page->findChild<QLabel*>(QStringLiteral("status"))->isVisible());
  EXPECT_TRUE(page->findChild<QSpinBox*>(QStringLiteral("depths"))->isEnabled());

  // What was planted is no film of the person's.
  const auto entries = Engine::Create(options()).value()->LibraryEntries();
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  for (const LibraryEntry& entry : *entries) EXPECT_EQ(entry.last_path, clip().toStdString());

  // What cannot be planted is named.
  page->findChild<QLineEdit*>(QStringLiteral("needles"))->setText(toText(folder_ / "no needles"));
  QTest::mouseClick(run, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 60.0));
  EXPECT_TRUE(page->findChild<QLabel*>(QStringLiteral("status"))->text().contains(QStringLiteral("captions.tsv")));
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindowWork, QuestionsAreAnsweredWhileItMeasures) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  SettingsDialog* dialog = window->showSettings(SettingsDialog::kSelfTest);
  SelfTestPage* page = chooseSelfTest(dialog, 20, needles());
  page->findChild<QComboBox*>(QStringLiteral("longest"))->setCurrentIndex(1);  // 40 boxes
  page->run();
  dialog->close();
  ask(window, QStringLiteral("What is seen?"));
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }, 300.0));
  EXPECT_EQ(turnOf(window, 0).state, Turn::State::kDone) << turnOf(window, 0).failure.toStdString();
  EXPECT_LT(page->model()->filled(), 40);
}

TEST_F(UiWindowWork, AMeasurementOutlivesTheOpeningOfAnotherFilm) {
  const QString second = copyOf(QStringLiteral("second.mp4"));
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  SettingsDialog* dialog = window->showSettings(SettingsDialog::kSelfTest);
  SelfTestPage* page = chooseSelfTest(dialog, 20, needles());
  page->findChild<QComboBox*>(QStringLiteral("longest"))->setCurrentIndex(1);  // 40 boxes
  page->run();
  dialog->memoryPage()->measure();
  dialog->close();
  openAndRead(window, second);
  ASSERT_TRUE(bridge_->busy());
  ASSERT_EQ(window->showSettings(SettingsDialog::kSelfTest), dialog);
  EXPECT_EQ(dialog->selfTestPage(), page);
  const auto* status = page->findChild<QLabel*>(QStringLiteral("status"));
  EXPECT_TRUE(status->text().contains(QFileInfo(clip()).fileName())) << status->text().toStdString();
  EXPECT_TRUE(waitFor([&] { return page->model()->filled() > 0; }, 300.0)) << status->text().toStdString();
  // Ended, what was found can be looked at until the test begins anew, which is of the open film then.
  bridge_->cancelAll();
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 60.0));
  window->showSettings(SettingsDialog::kSelfTest);
  EXPECT_GT(page->model()->filled(), 0);
  EXPECT_TRUE(status->text().contains(QFileInfo(clip()).fileName())) << status->text().toStdString();
  QTest::mouseClick(page->findChild<QPushButton*>(QStringLiteral("run")), Qt::LeftButton);
  EXPECT_EQ(page->model()->filled(), 0);
  EXPECT_FALSE(status->isVisible());
}

TEST_F(UiWindowWork, ExportsGoThroughTheirDialogs) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  // Nothing was asked: words instead of an empty file.
  actionNamed(window, QStringLiteral("Conversation as Markdown…"))->trigger();
  EXPECT_FALSE(window->message().isEmpty());
  EXPECT_EQ(window->findChild<QFileDialog*>(), nullptr);
  askForMoments(window);
  Watchdog watchdog;

  const QString markdown = toText(folder_ / "talk ü.md");
  answerFileDialog(window, QStringLiteral("Conversation as Markdown…"), markdown);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 30.0));
  EXPECT_EQ(contentOf(markdown), toMarkdown(window->conversation()->turns()));

  // A name without an ending gets the right one.
  answerFileDialog(window, QStringLiteral("Moments as edit list (EDL)…"), toText(folder_ / "moments"));
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 30.0));
  EXPECT_TRUE(contentOf(toText(folder_ / "moments.edl")).contains("FROM CLIP NAME"));
  answerFileDialog(window, QStringLiteral("Answers as subtitles (SRT)…"), toText(folder_ / "answers"));
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 30.0));
  EXPECT_TRUE(contentOf(toText(folder_ / "answers.srt")).contains(" --> "));

  const std::filesystem::path clips = folder_ / "clips";
  std::filesystem::create_directory(clips);
  answerFileDialog(window, QStringLiteral("Moments as clips…"), toText(clips));
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 60.0)) << window->message().toStdString();
  size_t written = 0;
  for (const auto& entry : std::filesystem::directory_iterator(clips)) {
    const longview::test::RunOutcome probe =
        longview::test::RunProcess({"ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                                    "stream=codec_name,width", "-of", "csv=p=0", entry.path().string()});
    EXPECT_EQ(probe.out, "h264,320\n") << entry.path() << probe.err;
    ++written;
  }
  EXPECT_EQ(written, momentsOf(window->conversation()->turns(), clip()).size());
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);

  // Where nothing can be written, the window says where and why.
  answerFileDialog(window, QStringLiteral("Conversation as Markdown…"), QStringLiteral("/proc/talk.md"));
  EXPECT_TRUE(waitFor([&] { return window->message().contains(QStringLiteral("/proc/talk.md")); }, 10.0));
}

// Mean difference of two pictures' bytes, the second brought to the size of the first.
double difference(const QImage& a, const QImage& b) {
  const QImage left = a.convertToFormat(QImage::Format_RGB888);
  const QImage right =
      b.convertToFormat(QImage::Format_RGB888).scaled(a.size(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
  double sum = 0.0;
  for (int y = 0; y < left.height(); ++y) {
    for (int x = 0; x < 3 * left.width(); ++x) sum += std::abs(left.constScanLine(y)[x] - right.constScanLine(y)[x]);
  }
  return sum / (3.0 * left.width() * left.height());
}

// The thumbnails of the answer, by the times that they lead to.
std::map<double, QImage> thumbnailsOf(MainWindow* window) {
  std::map<double, QImage> images;
  for (auto* button : window->conversationView()->findChild<TurnWidget*>()->findChildren<QToolButton*>()) {
    if (!button->property("time").isValid()) continue;
    images[button->property("time").toDouble()] = button->icon().pixmap(button->iconSize()).toImage();
  }
  return images;
}

TEST_F(UiWindowWork, TheMomentsOfAnAnswerShowExactlyTheFramesThatTheModelSaw) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  askForMoments(window);
  const std::vector<Evidence> evidence = turnOf(window, 0).answer.evidence;
  // The same from the index, and from the film itself, both without the window.
  auto engine = Engine::Create(options());
  ASSERT_TRUE(engine.ok());
  std::map<double, QImage> expected;
  for (const Evidence& moment : evidence) {
    const auto kept = engine.value()->Thumbnails(toPath(clip()), settings_->sampling(), {moment.start});
    ASSERT_TRUE(kept.ok()) << kept.status().message();
    EXPECT_EQ(kept->front().start, moment.start);
    const QImage image = QImage::fromData(kept->front().jpeg.data(), static_cast<int>(kept->front().jpeg.size()));
    expected[moment.start] = image.scaled(QSize(112, 63), Qt::KeepAspectRatio, Qt::SmoothTransformation);
    const auto frame = engine.value()->FrameAt(toPath(clip()), moment.start);
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    const QImage seen(frame->rgb.data(), frame->width, frame->height, qsizetype{3} * frame->width,
                      QImage::Format_RGB888);
    EXPECT_LT(difference(image, seen), 8.0) << moment.start;
    const auto later = engine.value()->FrameAt(toPath(clip()), moment.start < 9.0 ? moment.start + 6.0 : 1.0);
    ASSERT_TRUE(later.ok());
    const QImage other(later->rgb.data(), later->width, later->height, qsizetype{3} * later->width,
                       QImage::Format_RGB888);
    EXPECT_GT(difference(image, other), 16.0) << moment.start;
  }
  const auto same = [&] {
    const std::map<double, QImage> shown = thumbnailsOf(window);
    return shown.size() == expected.size() && std::all_of(expected.begin(), expected.end(), [&](const auto& one) {
             return shown.count(one.first) != 0 && difference(one.second, shown.at(one.first)) < 0.01;
           });
  };
  EXPECT_TRUE(waitFor(same, 20.0));

  // Films that are read otherwise from now on have other frames; this answer came from those.
  SamplingSettings other = settings_->sampling();
  other.fps = 0.1;
  other.scene_changes = false;
  settings_->setSampling(other);
  window = makeWindow();
  openAndRead(window, clip());
  EXPECT_TRUE(waitFor(same, 20.0)) << "other frames are shown after a restart";
}

TEST_F(UiWindowWork, OneJobOfSeveralIsStoppedAndTheOthersGoOn) {
  const std::filesystem::path film = folder_ / "a & long.mp4";
  makeLongFilm(film, 300);
  MainWindow* window = makeWindow();
  window->openPaths({toText(film), clip()});
  ASSERT_TRUE(waitFor([&] { return !window->controller()->frames().empty(); }, 300.0));
  ASSERT_EQ(window->library()->video(clip())->state, ReadState::kWaiting);
  ask(window, QStringLiteral("What is seen?"));
  Watchdog watchdog;
  auto* stop = window->findChild<QToolButton*>(QStringLiteral("stopJobs"));
  ASSERT_TRUE(stop->isVisible());
  // The menu runs an event loop of its own until something is chosen.
  QTimer::singleShot(100, stop->menu(), [menu = stop->menu()] {
    EXPECT_GE(menu->actions().size(), 4);  // two films, the question, all of them
    for (QAction* action : menu->actions()) {
      if (action->text().contains(QStringLiteral("a && long.mp4"))) menu->setActiveAction(action);
    }
    QTest::keyClick(menu, Qt::Key_Return);
  });
  stop->setFocus();
  QTest::keyClick(stop, Qt::Key_Space);
  ASSERT_TRUE(waitFor([&] { return !window->controller()->reading(toText(film)); }, 30.0));
  EXPECT_EQ(window->library()->video(toText(film))->state, ReadState::kPaused);
  EXPECT_TRUE(turnOf(window, 0).running() || turnOf(window, 0).state == Turn::State::kDone);
  ASSERT_TRUE(waitFor([&] { return window->library()->video(clip())->state == ReadState::kDone; }, 300.0));
  ASSERT_TRUE(waitFor([&] { return !turnOf(window, 0).running(); }, 300.0));
  EXPECT_EQ(turnOf(window, 0).state, Turn::State::kDone) << turnOf(window, 0).failure.toStdString();
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
  ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 30.0));
  EXPECT_FALSE(stop->isVisible());
}

// Whatever it is called: without an ending, with one that stands for no format, with a name as long as can be.
TEST_F(UiWindowWork, AFilmOfAnyNameGivesItsClips) {
  const QString longest = QStringLiteral("影").repeated(83) + QStringLiteral(".mp4");
  Exporter exporter(bridge_.get());
  QStringList done;
  QStringList failed;
  QObject::connect(&exporter, &Exporter::done, &exporter, [&](const QString& words) { done << words; });
  QObject::connect(&exporter, &Exporter::failed, &exporter, [&](const QString& words) { failed << words; });
  for (const QString& name : {QStringLiteral("film"), QStringLiteral("film.download"), longest}) {
    const QString film = copyOf(name);
    const std::filesystem::path clips = folder_ / "clips";
    std::filesystem::create_directory(clips);
    exporter.clips(film, {{film.toStdString(), 1.0, 3.0, 0.5}, {film.toStdString(), 7.0, 8.0, 0.5}}, toText(clips));
    ASSERT_TRUE(waitFor([&] { return !bridge_->busy(); }, 60.0));
    EXPECT_TRUE(failed.isEmpty()) << failed.join(' ').toStdString();
    int written = 0;
    for (const auto& entry : std::filesystem::directory_iterator(clips)) {
      EXPECT_EQ(entry.path().extension(), name == longest ? ".mp4" : ".mkv");
      EXPECT_GT(entry.file_size(), 1000u);
      ++written;
    }
    EXPECT_EQ(written, 2) << name.toStdString();
    std::filesystem::remove_all(clips);
  }
  EXPECT_EQ(done.size(), 3);
}

TEST_F(UiWindowWork, ClosingWhileClipsAreSavedLeavesNoHalfFile) {
  MainWindow* window = makeWindow();
  openAndRead(window, clip());
  // More moments than can be saved at once; some differ by less than their names do.
  constexpr int kMoments = 400;
  Turn turn;
  turn.question = QStringLiteral("Everything?");
  turn.videos = QStringList{clip()};
  turn.state = Turn::State::kDone;
  for (int i = 0; i < kMoments; ++i) {
    turn.answer.evidence.push_back({clip().toStdString(), i * 0.02, 9.0 + i * 0.02, 1.0 / kMoments});
  }
  window->conversation()->restore({turn});
  const std::filesystem::path clips = folder_ / "clips";
  std::filesystem::create_directory(clips);
  const auto files = [&] {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(clips)) all.push_back(entry.path());
    return all;
  };
  answerFileDialog(window, QStringLiteral("Moments as clips…"), toText(clips));
  ASSERT_TRUE(waitFor([&] { return files().size() > 4; }, 30.0));
  closeQuickly("while clips are saved");
  const std::vector<std::filesystem::path> left = files();
  EXPECT_GE(left.size(), 4u);
  EXPECT_LT(left.size(), static_cast<size_t>(kMoments));
  EXPECT_TRUE(std::filesystem::exists(clips / "clip 0.00.0-0.09.0 (2).mp4"));
  for (const std::filesystem::path& file : left) {
    EXPECT_NE(file.filename().native().front(), '.') << file;
    const longview::test::RunOutcome probe = longview::test::RunProcess(
        {"ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", file.string()});
    EXPECT_GT(std::atof(probe.out.c_str()), 8.9) << file << probe.err;
    EXPECT_TRUE(probe.err.empty()) << probe.err;
  }
}

TEST_F(UiWindowWork, ACutFileSaysWhatIsWrongAndTheWindowGoesOn) {
  // Half of a film whose table of contents stood at its beginning: what is there can be read and played.
  const std::filesystem::path whole = folder_ / "whole.mkv";
  longview::test::RunFfmpeg({"-i", clip().toStdString(), "-c", "copy", whole.string()});
  const std::filesystem::path cut = folder_ / "cut.mkv";
  std::filesystem::copy_file(whole, cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(whole) / 2);
  // And one whose table stood at the end, which is gone.
  const QString lost = copyOf(QStringLiteral("lost.mp4"));
  std::filesystem::resize_file(toPath(lost), std::filesystem::file_size(toPath(clip())) / 2);
  MainWindow* window = makeWindow();
  Watchdog watchdog;
  window->openPaths({lost});
  EXPECT_TRUE(waitFor([&] { return window->message().contains(lost); }, 30.0)) << window->message().toStdString();
  EXPECT_EQ(window->library()->video(lost)->state, ReadState::kFailed);
  openAndRead(window, toText(cut));
  EXPECT_TRUE(window->message().isEmpty()) << window->message().toStdString();
  // As long as what is there, whatever its header says.
  EXPECT_LT(window->playerPanel()->timeline()->model().duration_s, 16.0);
  EXPECT_GT(window->controller()->frames().size(), 3u);
  EXPECT_LT(window->controller()->readUntil(), 16.0);
  EXPECT_LT(watchdog.worst_ms(), kLongestBlock_ms);
}

TEST_F(UiWindowWork, ClosingInTheMiddleOfEverythingLosesNothing) {
  const std::filesystem::path film = folder_ / "long.mp4";
  makeLongFilm(film, 300);
  MainWindow* window = makeWindow();
  window->openPaths({toText(film)});
  ASSERT_TRUE(waitFor([&] { return window->controller()->frames().size() > 8; }, 300.0))
      << window->message().toStdString();
  const size_t kept = window->controller()->frames().size();
  ask(window, QStringLiteral("What is seen?"));
  window->showSettings(SettingsDialog::kMemory)->memoryPage()->measure();
  chooseSelfTest(window->showSettings(SettingsDialog::kSelfTest), 4, needles())->run();
  QTest::qWait(300);
  closeQuickly("while it measures and answers");

  // What was read is there at once, and reading goes on behind it.
  bridge_ = std::make_unique<EngineBridge>(options());
  window = makeWindow();
  window->openPaths({toText(film)});
  ASSERT_TRUE(waitFor([&] { return !window->controller()->frames().empty(); }, 60.0));
  EXPECT_GE(window->controller()->frames().size(), kept);
  EXPECT_TRUE(window->controller()->reading(toText(film)));
}

}  // namespace
}  // namespace longview::ui::test
