// Models and pure functions of the window: no display, no engine.
#include <gtest/gtest.h>

#include <QColor>
#include <QCoreApplication>
#include <QSignalSpy>
#include <cerrno>
#include <sstream>
#include <string>
#include <vector>

#include "app/engine/paths.h"
#include "app/engine/settings.h"
#include "tests/support/run_process.h"
#include "tests/support/temp_folder.h"
#include "ui/app_settings.h"
#include "ui/compare_model.h"
#include "ui/conversation_export.h"
#include "ui/conversation_store.h"
#include "ui/format.h"
#include "ui/language.h"
#include "ui/library_model.h"
#include "ui/selftest_model.h"
#include "ui/timeline_model.h"

namespace longview::ui {
namespace {

TEST(UiFormat, EveryClockTimeOfAnAnswerIsALink) {
  const QString html =
      linkTimes(QStringLiteral("A <dog> at 1:05 and at 1:02:03.5, ratio 16:9, not 1:75"), QStringLiteral("/a b/ü.mp4"));
  EXPECT_TRUE(html.contains(QStringLiteral("&lt;dog&gt;")));
  EXPECT_EQ(html.count(QStringLiteral("<a href=")), 2);
  EXPECT_TRUE(html.contains(QStringLiteral(">1:05</a>")));
  EXPECT_TRUE(html.contains(QStringLiteral(">1:02:03.5</a>")));
}

TEST(UiFormat, ALinkComesBackAsTheSameMoment) {
  const auto link =
      parseMomentUrl(QUrl(momentUrl({QStringLiteral("/a b/#1 [x] 50%.mp4"), 63.25}).toString(QUrl::FullyEncoded)));
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->video, QStringLiteral("/a b/#1 [x] 50%.mp4"));
  EXPECT_DOUBLE_EQ(link->time_s, 63.25);
  EXPECT_FALSE(parseMomentUrl(QUrl(QStringLiteral("https://example.org/moment?t=1"))).has_value());
  EXPECT_FALSE(parseMomentUrl(QUrl(QStringLiteral("longview:moment?t=nan"))).has_value());
}

TEST(UiFormat, AFailureKeepsTheEnginesWords) {
  const QString text = failureText(NotFound("ride.mp4: no such file"));
  EXPECT_TRUE(text.contains(QStringLiteral("ride.mp4: no such file")));
  EXPECT_GT(text.size(), 25);
}

TEST(UiFormat, AFullDiskAndAMissingPartAreSaidAsTheyAre) {
  EXPECT_TRUE(failureText(IoError("/a/x.lvi: cannot be written").About("/a/x.lvi", ReasonOfErrno(ENOSPC)))
                  .startsWith(QStringLiteral("The disk is too full to write x.lvi.")));
  const QString missing = failureText(NotFound("vit.onnx: no such file; " + std::string(kHowToGetParts))
                                          .About("/b/vit.onnx", StatusReason::kModelPart));
  EXPECT_TRUE(missing.contains(QStringLiteral("missing or damaged: vit.onnx"))) << missing.toStdString();
  EXPECT_TRUE(missing.contains(QStringLiteral("Bring missing parts"))) << missing.toStdString();
  EXPECT_FALSE(missing.contains(QStringLiteral("LONGVIEW_MODELS")));
}

TEST(UiFormat, AReasonStaysWithAFailureAsItIsPassedOn) {
  const Status status = IoError("x").About("/a/film.mp4", ReasonOfErrno(EACCES)).WithContext("reading");
  EXPECT_TRUE(failureText(status).startsWith(QStringLiteral("You have no right to use film.mp4 there.")));
  EXPECT_TRUE(failureText(status).endsWith(QStringLiteral("\nDetails: reading: x")));
}

TEST(UiFormat, ANameStaysAName) {
  EXPECT_EQ(upright(QStringLiteral("a\u202Eb\u2066c\u200F.mp4")), QStringLiteral("abc.mp4"));
  EXPECT_EQ(plainTip(QStringLiteral("a & b.mp4")), QStringLiteral("a & b.mp4"));
  EXPECT_TRUE(plainTip(QStringLiteral("<b>x.mp4")).contains(QStringLiteral("&lt;b&gt;x.mp4")));
}

TEST(UiTimeline, TheFrameAtATimeIsTheLastThatBegan) {
  TimelineModel model;
  EXPECT_EQ(model.frameAt(1.0), nullptr);
  model.frames = {{0.5, 1.0, true}, {1.0, 2.0, false}, {2.0, 4.0, true}};
  EXPECT_DOUBLE_EQ(model.frameAt(0.0)->start, 0.5);
  EXPECT_DOUBLE_EQ(model.frameAt(1.99)->start, 1.0);
  EXPECT_DOUBLE_EQ(model.frameAt(99.0)->start, 2.0);
  ASSERT_EQ(model.shots().size(), 1u);
  EXPECT_DOUBLE_EQ(model.shots()[0], 2.0);
}

TEST(UiTimeline, HeatPeaksWhereTheAnswerLooked) {
  TimelineModel model;
  model.duration_s = 100.0;
  for (const double value : model.heat(10)) EXPECT_EQ(value, 0.0);
  model.looked = {{"a", 10.0, 11.0, 0.1}, {"a", 50.0, 51.0, 0.4}};
  const std::vector<double> heat = model.heat(100);
  ASSERT_EQ(heat.size(), 100u);
  EXPECT_DOUBLE_EQ(heat[50], 1.0);
  EXPECT_DOUBLE_EQ(heat[10], 0.25);
  EXPECT_EQ(heat[30], 0.0);
  model.duration_s = 36000.0;  // an instant of ten hours still shows
  EXPECT_DOUBLE_EQ(model.heat(100)[0], 1.0);
}

TEST(UiTimeline, TicksAreRoundAndFarEnoughApart) {
  const TimeScale scale{5400.0, 800.0};
  const std::vector<double> times = ticks(scale, 70.0);
  ASSERT_GE(times.size(), 4u);
  EXPECT_EQ(times[1], 600.0);
  EXPECT_GE(scale.x(times[1]) - scale.x(times[0]), 70.0);
  EXPECT_DOUBLE_EQ(scale.time(scale.x(1234.0)), 1234.0);
  EXPECT_DOUBLE_EQ(scale.time(-5.0), 0.0);
  EXPECT_DOUBLE_EQ(scale.time(9999.0), 5400.0);
  EXPECT_TRUE(ticks({0.0, 800.0}, 70.0).empty());
}

TEST(UiLibrary, ListsEachVideoOnceWithItsState) {
  LibraryModel model;
  EXPECT_EQ(model.add(QStringLiteral("/v/a&b <i>.mp4")), 0);
  EXPECT_EQ(model.add(QStringLiteral("/v/a&b <i>.mp4")), 0);
  ASSERT_EQ(model.rowCount(), 1);
  model.setDuration(QStringLiteral("/v/a&b <i>.mp4"), 3725.0);
  model.setState(QStringLiteral("/v/a&b <i>.mp4"), ReadState::kReading);
  model.setShare(QStringLiteral("/v/a&b <i>.mp4"), 0.4);
  const QString text = model.data(model.index(0), Qt::DisplayRole).toString();
  EXPECT_TRUE(text.startsWith(QStringLiteral("a&b <i>.mp4\n")));
  EXPECT_TRUE(text.contains(QStringLiteral("1:02:05")));
  EXPECT_TRUE(text.contains(QStringLiteral("40")));
  LibraryEntry entry;
  entry.last_path = "/v/c.mp4";
  entry.duration_s = 10.0;
  entry.index.state = IndexState::kPartial;
  entry.index.until_s = 5.0;
  model.merge({entry});
  ASSERT_EQ(model.rowCount(), 2);
  EXPECT_EQ(model.video(QStringLiteral("/v/c.mp4"))->state, ReadState::kPartial);
  EXPECT_DOUBLE_EQ(model.video(QStringLiteral("/v/c.mp4"))->share, 0.5);
  model.remove(QStringLiteral("/v/c.mp4"));
  EXPECT_EQ(model.rowCount(), 1);
}

std::vector<Turn> oneTurn() {
  Turn turn;
  turn.question = QStringLiteral("What is *here*?");
  turn.videos = QStringList{QStringLiteral("/v/a.mp4")};
  turn.text = QStringLiteral("A dog.");
  turn.state = Turn::State::kDone;
  turn.answer.evidence = {{"/v/a.mp4", 62.0, 64.5, 0.3}, {"/v/a.mp4", 3.0, 4.0, 0.2}};
  return {turn};
}

TEST(UiExport, MarkdownHoldsQuestionAnswerAndMoments) {
  const QString text = QString::fromUtf8(toMarkdown(oneTurn()));
  EXPECT_TRUE(text.contains(QStringLiteral("## What is \\*here\\*?"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("A dog.")));
  EXPECT_TRUE(text.contains(QStringLiteral("- 1:02.0 – 1:04.5, 30 %")));
}

TEST(UiExport, AnEditListIsFramesOfTheFilm) {
  const auto moments = momentsOf(oneTurn(), QStringLiteral("/v/a.mp4"));
  ASSERT_EQ(moments.size(), 2u);
  EXPECT_DOUBLE_EQ(moments[0].start, 3.0);
  MediaInfo film;
  film.path = "/v/a.mp4";
  film.fps_avg = 25.0;
  const QString edl = QString::fromLatin1(toEdl(moments, film));
  EXPECT_TRUE(edl.startsWith(QStringLiteral("TITLE: a\nFCM: NON-DROP FRAME\n")));
  EXPECT_TRUE(
      edl.contains(QStringLiteral("001  AX       V     C        00:00:03:00 00:00:04:00 00:00:00:00 00:00:01:00")));
  EXPECT_TRUE(
      edl.contains(QStringLiteral("002  AX       V     C        00:01:02:00 00:01:04:12 00:00:01:00 00:00:03:12")))
      << edl.toStdString();
}

// Three hours of American television: counted in whole frames of 30 a second, an edit list would be eleven seconds off.
TEST(UiExport, AnEditListKeepsPaceWithTheClock) {
  MediaInfo film;
  film.path = "/v/a.mp4";
  film.fps_avg = 29.97;
  const std::vector<Evidence> moments = {{"/v/a.mp4", 10800.0, 10801.0, 0.5}};
  QString edl = QString::fromLatin1(toEdl(moments, film));
  EXPECT_TRUE(edl.contains(QStringLiteral("FCM: DROP FRAME"))) << edl.toStdString();
  EXPECT_TRUE(edl.contains(QStringLiteral("03:00:00;00 03:00:01;00 00:00:00;00 00:00:01;00"))) << edl.toStdString();
  // The file's own timecode is what an editing program finds the frames by.
  film.fps_avg = 25.0;
  film.timecode = "10:00:00:00";
  edl = QString::fromLatin1(toEdl(moments, film));
  EXPECT_TRUE(edl.contains(QStringLiteral("13:00:00:00 13:00:01:00 00:00:00:00 00:00:01:00"))) << edl.toStdString();
}

TEST(UiExport, SubtitlesAreTheAnswersOverTheirMoments) {
  const QString srt = QString::fromUtf8(toSrt(oneTurn(), QStringLiteral("/v/a.mp4")));
  EXPECT_TRUE(srt.startsWith(QStringLiteral("1\n00:00:03,000 --> 00:00:04,000\nWhat is *here*?\nA dog.\n")))
      << srt.toStdString();
  EXPECT_TRUE(toSrt(oneTurn(), QStringLiteral("/v/other.mp4")).trimmed().isEmpty());
}

// FFmpeg reads it back, no cue is too short to be read, and none hides another.
TEST(UiExport, SubtitlesOfOverlappingMomentsCanBeRead) {
  std::vector<Turn> turns = oneTurn();
  turns[0].answer.evidence = {{"/v/a.mp4", 0.0, 6.0, 0.3}, {"/v/a.mp4", 5.5, 9.0, 0.3}, {"/v/a.mp4", 0.0, 0.001, 0.1}};
  turns.push_back(turns[0]);
  turns[1].question = QStringLiteral("When does it rain?");
  turns[1].text = QStringLiteral("Never.\n\nOr later.");
  turns[1].answer.evidence = {{"/v/a.mp4", 0.0, 0.4, 0.3}, {"/v/a.mp4", 4.0, 4.3, 0.5}, {"/v/a.mp4", 8.9, 12.0, 0.5}};
  const TempFolder folder;
  const auto file = folder.Write("a.srt", toSrt(turns, QStringLiteral("/v/a.mp4")).toStdString());
  const longview::test::RunOutcome read = longview::test::RunProcess(
      {"ffprobe", "-v", "error", "-show_entries", "packet=pts_time,duration_time", "-of", "csv=p=0", file.string()});
  EXPECT_TRUE(read.err.empty()) << read.err;
  std::istringstream lines(read.out);
  double start = 0.0;
  double length = 0.0;
  char comma = 0;
  double free_from = 0.0;
  int cues = 0;
  while (lines >> start >> comma >> length) {
    EXPECT_GE(length, 1.0) << start;
    EXPECT_GE(start, free_from - 0.001);
    free_from = start + length;
    ++cues;
    lines.ignore(100, '\n');
  }
  EXPECT_GE(cues, 5);
  EXPECT_NEAR(free_from, 12.0, 0.01);
  const QString srt = QString::fromUtf8(toSrt(turns, QStringLiteral("/v/a.mp4")));
  EXPECT_TRUE(srt.contains(QStringLiteral(
      "00:00:04,000 --> 00:00:05,000\nWhat is *here*?\nA dog.\nWhen does it rain?\nNever.\nOr later.\n")))
      << srt.toStdString();
}

// A frame that began before the range that was asked about is shown from there on.
TEST(UiExport, MomentsLieInTheRangeThatWasAskedAbout) {
  std::vector<Turn> turns = oneTurn();
  turns[0].range = TimeSpan{4.0, 7.0};
  turns[0].answer.evidence = {{"/v/a.mp4", 3.0, 5.0, 0.5}, {"/v/a.mp4", 6.0, 9.0, 0.3}, {"/v/a.mp4", 1.0, 4.0, 0.1}};
  const auto moments = momentsOf(turns[0]);
  ASSERT_EQ(moments.size(), 2u);
  EXPECT_DOUBLE_EQ(moments[0].start, 4.0);
  EXPECT_DOUBLE_EQ(moments[1].end, 7.0);
  EXPECT_EQ(momentsOf(turns, QStringLiteral("/v/a.mp4")).size(), 2u);
  EXPECT_TRUE(toMarkdown(turns).contains("- 0:04.0"));
  EXPECT_TRUE(toMarkdown(turns).contains("0:04.0 – 0:07.0"));
}

TEST(UiStore, AConversationComesBackAsItWas) {
  std::vector<Turn> turns = oneTurn();
  turns[0].prompt = QStringLiteral("What is here?");
  turns[0].range = TimeSpan{1.5, 80.0};
  turns[0].sampling.fps = 0.25;
  turns[0].sampling.decoding = Decoding::kKeyframe;
  turns[0].answer.cache = {"mla", "bf16", 128, 100, uint64_t{5} << 32};
  for (int i = 0; i < 1000; ++i) turns[0].answer.looked.push_back({"/v/a.mp4", i * 1.0, i + 1.0, i * 1e-4});
  Turn chapters;
  turns[0].id = QStringLiteral("1");
  chapters.id = QStringLiteral("2");
  chapters.kind = Turn::Kind::kChapters;
  chapters.question = QStringLiteral("章节");
  chapters.videos = QStringList{QStringLiteral("/v/ü [1].mp4")};
  chapters.state = Turn::State::kWriting;  // was not done
  chapters.chapters = {{"/v/ü [1].mp4", 0.0, 5.0, "A \"dog\"."}};
  turns.push_back(chapters);
  longview::TempFolder folder;
  const QString file = toText(folder / "new" / "conversation.json");
  EXPECT_TRUE(loadTurns(file).empty());
  TurnFile kept(file);
  ASSERT_TRUE(kept.save({2, turnsToJson(turns), {}}).ok());
  ASSERT_TRUE(kept.save({1, turnsToJson({}), {QStringLiteral("1")}}).ok());  // comes too late
  const std::vector<Turn> back = loadTurns(file);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].question, turns[0].question);
  EXPECT_EQ(back[0].prompt, turns[0].prompt);
  EXPECT_EQ(back[0].text, turns[0].text);
  EXPECT_EQ(back[0].state, Turn::State::kDone);
  EXPECT_EQ(back[0].answer.cache.bytes, turns[0].answer.cache.bytes);
  EXPECT_EQ(SamplingText(back[0].sampling), SamplingText(turns[0].sampling));
  ASSERT_TRUE(back[0].range.has_value());
  EXPECT_DOUBLE_EQ(back[0].range->end, 80.0);
  ASSERT_EQ(back[0].answer.evidence.size(), 2u);
  EXPECT_DOUBLE_EQ(back[0].answer.evidence[0].start, 62.0);
  ASSERT_LE(back[0].answer.looked.size(), static_cast<size_t>(kKeptFrames));
  EXPECT_DOUBLE_EQ(back[0].answer.looked.back().weight, 0.0999);
  EXPECT_EQ(back[1].kind, Turn::Kind::kChapters);
  EXPECT_EQ(back[1].state, Turn::State::kStopped);
  ASSERT_EQ(back[1].chapters.size(), 1u);
  EXPECT_EQ(back[1].chapters[0].text, "A \"dog\".");
  EXPECT_EQ(back[1].videos, chapters.videos);
}

TEST(UiStore, WindowsBesideEachOtherLoseNothing) {
  const auto named = [](const char* id, const char* question) {
    Turn turn = oneTurn()[0];
    turn.id = QString::fromLatin1(id);
    turn.question = QString::fromLatin1(question);
    return turn;
  };
  const auto questions = [](const QByteArray& bytes) {
    QStringList all;
    for (const Turn& turn : turnsFromJson(bytes)) all << turn.question;
    return all.join(QLatin1Char(' '));
  };
  // A file from before turns had ids, and two windows that both began with it.
  QByteArray file = R"({"turns": [{"question": "old", "videos": ["/v/a.mp4"]}]})";
  const QString old = turnsFromJson(file)[0].id;
  EXPECT_EQ(old, turnsFromJson(file)[0].id);
  file = mergedTurns(file, turnsToJson({named("2026-1", "first"), named("2026-3", "third")}), {});
  file = mergedTurns(file, turnsToJson({named("2026-2", "second")}), {});
  EXPECT_EQ(questions(file), QStringLiteral("old first second third"));
  // Asked again, and a new conversation: only what that window knew goes.
  file = mergedTurns(file, turnsToJson({named("2026-2", "again")}), {});
  EXPECT_EQ(questions(file), QStringLiteral("old first again third"));
  file = mergedTurns(file, turnsToJson({}), {old, QStringLiteral("2026-1")});
  EXPECT_EQ(questions(file), QStringLiteral("again third"));
  // The latest are kept.
  std::vector<Turn> many(kKeptTurns, named("", "more"));
  for (size_t i = 0; i < many.size(); ++i) many[i].id = QStringLiteral("2027-%1").arg(i, 3, 10, QLatin1Char('0'));
  EXPECT_FALSE(questions(mergedTurns(file, turnsToJson(many), {})).contains(QStringLiteral("third")));
}

TEST(UiStore, OnlyTheLatestTurnsAreKeptAndRubbishIsNone) {
  std::vector<Turn> turns(kKeptTurns + 10, oneTurn()[0]);
  turns.back().question = QStringLiteral("the last");
  const std::vector<Turn> back = turnsFromJson(turnsToJson(turns));
  ASSERT_EQ(back.size(), static_cast<size_t>(kKeptTurns));
  EXPECT_EQ(back.back().question, QStringLiteral("the last"));
  for (const char* bytes : {"", "x", "[]", "{}", "{\"turns\": 3}", "{\"turns\": [1, {}, {\"question\": 5}]}"}) {
    EXPECT_TRUE(turnsFromJson(bytes).empty()) << bytes;
  }
}

TEST(UiSettings, ComeBackFromTheFile) {
  longview::TempFolder folder;
  const QString file = toText(folder / "s.ini");
  {
    AppSettings settings(file);
    SamplingSettings sampling;
    sampling.fps = 0.5;
    sampling.decoding = Decoding::kKeyframe;
    settings.setSampling(sampling);
    settings.setTheme(Theme::kDark);
    settings.setLastPosition(QStringLiteral("/a=b/[1].mp4"), 12.5);
    settings.addRecent(QStringLiteral("/1.mp4"));
    settings.addRecent(QStringLiteral("/2.mp4"));
    settings.addRecent(QStringLiteral("/1.mp4"));
    settings.setHidden(QStringLiteral("/1.mp4"), true);
    settings.setHidden(QStringLiteral("/3.mp4"), true);
    settings.setHidden(QStringLiteral("/1.mp4"), false);
  }
  AppSettings settings(file);
  EXPECT_DOUBLE_EQ(settings.sampling().fps, 0.5);
  EXPECT_EQ(settings.sampling().decoding, Decoding::kKeyframe);
  EXPECT_EQ(settings.theme(), Theme::kDark);
  EXPECT_DOUBLE_EQ(settings.lastPosition(QStringLiteral("/a=b/[1].mp4")), 12.5);
  EXPECT_EQ(settings.recent(), (QStringList{QStringLiteral("/1.mp4"), QStringLiteral("/2.mp4")}));
  EXPECT_EQ(settings.cache().mode, "mla");
  EXPECT_FALSE(settings.hidden(QStringLiteral("/1.mp4")));
  EXPECT_TRUE(settings.hidden(QStringLiteral("/3.mp4")));
}

TEST(UiLanguage, ChineseIsBuiltInAndGoesAwayAgain) {
  LibraryVideo video;
  video.state = ReadState::kReading;
  video.share = 0.4;
  const QString english = LibraryModel::stateText(video);
  applyLanguage(QStringLiteral("zh_CN"));
  const QString chinese = LibraryModel::stateText(video);
  const QString failure = failureText(NotFound("a.mp4"));
  const QString of_qt = QCoreApplication::translate("QPlatformTheme", "Cancel");
  applyLanguage(QStringLiteral("en"));
  EXPECT_EQ(of_qt, QStringLiteral("取消")) << "the package qt6-translations-l10n is missing (tools/deps)";
  EXPECT_EQ(QCoreApplication::translate("QPlatformTheme", "Cancel"), QStringLiteral("Cancel"));
  EXPECT_EQ(chinese, QStringLiteral("读取中，40 %"));
  EXPECT_TRUE(failure.startsWith(QStringLiteral("缺少")));
  EXPECT_EQ(LibraryModel::stateText(video), english);
}

TEST(UiCompare, APredictionIsReplacedByItsMeasurement) {
  CompareModel model;
  ModeRow row;
  row.name = QStringLiteral("mla 128");
  row.cache.store = "bf16";
  row.bytes_per_token = 320.0;
  row.predicted_bytes = 1000;
  row.hours_bytes = {75000000, 225000000, 750000000};
  model.put(row);
  EXPECT_EQ(model.data(model.index(0, CompareModel::kMeasured), Qt::DisplayRole).toString(), QStringLiteral("–"));
  row.measured = true;
  row.bytes = 1024;
  row.agreement = 0.987;
  model.put(row);
  ASSERT_EQ(model.rowCount(), 1);
  EXPECT_EQ(model.data(model.index(0, CompareModel::kHours10), Qt::DisplayRole).toString(), sizeText(750000000));
  EXPECT_TRUE(model.data(model.index(0, CompareModel::kQuality), Qt::DisplayRole)
                  .toString()
                  .startsWith(QStringLiteral("98.7")));
  row.cache.store = "int8";
  model.put(row);
  EXPECT_EQ(model.rowCount(), 2);
}

TEST(UiSelfTest, EachCellGoesIntoTheBoxOfItsDepthAndLength) {
  SelfTestModel model;
  EXPECT_EQ(model.rowCount(), 0);
  model.start({600.0, 3600.0}, 4);
  ASSERT_EQ(model.rowCount(), 4);
  ASSERT_EQ(model.columnCount(), 2);
  EXPECT_FALSE(model.index(2, 1).data().isValid());
  QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
  model.put({.length_s = 3600.0, .depth = 0.625, .planted = 3, .found = 1, .attended = 2});
  model.put({.length_s = 600.0, .depth = 0.125, .planted = 3, .found = 3, .attended = 0});
  model.put({.length_s = 7200.0, .depth = 0.5, .planted = 3, .found = 3, .attended = 3});  // no such box
  EXPECT_EQ(changed.size(), 2);
  EXPECT_EQ(model.index(2, 1).data().toString(), QStringLiteral("1/3"));
  EXPECT_EQ(model.index(0, 0).data().toString(), QStringLiteral("3/3"));
  EXPECT_EQ(model.filled(), 2);
  EXPECT_EQ(model.planted(), 6);
  EXPECT_EQ(model.found(), 4);
  // What was found is greener; the colours are not all that tells.
  const auto colour = [&](int row, int column) {
    return model.index(row, column).data(Qt::BackgroundRole).value<QColor>();
  };
  EXPECT_GT(colour(0, 0).green(), colour(2, 1).green());
  EXPECT_LT(colour(0, 0).red(), colour(2, 1).red());
  const QString spoken = model.index(2, 1).data(Qt::AccessibleTextRole).toString();
  EXPECT_TRUE(spoken.contains(QStringLiteral("63 %"))) << spoken.toStdString();
  EXPECT_TRUE(spoken.contains(QStringLiteral("1 of 3"))) << spoken.toStdString();

  model.show(SelfTestModel::Shown::kAttended);
  EXPECT_EQ(model.index(2, 1).data().toString(), QStringLiteral("2/3"));
  EXPECT_EQ(model.found(), 2);
  const QStringList lines = model.text().split(QLatin1Char('\n'));
  ASSERT_EQ(lines.size(), 6);  // the last line ends, too
  EXPECT_EQ(lines[3], QStringLiteral("63 %\t\t2/3"));

  model.start({600.0}, 2);
  EXPECT_EQ(model.filled(), 0);
}

}  // namespace
}  // namespace longview::ui
