// The index through kills, damage, other writers, full disks and unusable folders.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/app/engine/engine_fixture.h"

namespace longview {
namespace {

namespace fs = std::filesystem;
using test::Fork;
using test::IndexFiles;
using test::ReadBytes;
using test::WaitFor;

class EngineIndex : public test::EngineFixture {
 protected:
  // Indexes in a process of its own (0: done; else 1 + the StatusCode).
  pid_t StartIndexing(const std::string& library) {
    return Fork([&] {
      auto engine = Engine::Create(Options(folder_ / library));
      if (!engine.ok()) return 90;
      const auto report = (*engine)->Index(clip_, {});
      if (report.ok()) return 0;
      fprintf(stderr, "%s\n", report.status().message().c_str());
      return 1 + static_cast<int>(report.status().code());
    });
  }
  // The bytes of the only index of a library.
  std::string OnlyIndex(const std::string& library) {
    const auto files = IndexFiles(folder_ / library);
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? std::string() : ReadBytes(files[0]);
  }
};

TEST_F(EngineIndex, KilledAtRandomItIsResumedToTheSameBytes) {
  const auto started = std::chrono::steady_clock::now();
  ASSERT_EQ(WaitFor(StartIndexing("whole")), 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const std::string whole = OnlyIndex("whole");
  ASSERT_GT(whole.size(), 18u * 65u * 320u);
  std::mt19937 random(12345);
  std::uniform_real_distribution<double> share(0.1, 0.9);
  int kills = 0;
  for (int round = 0; round < 3; ++round) {
    const std::string library = "killed" + std::to_string(round);
    for (int attempt = 0; attempt < 3; ++attempt) {
      const pid_t child = StartIndexing(library);
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds * share(random)));
      kill(child, SIGKILL);
      if (WaitFor(child) == 128 + SIGKILL) ++kills;
    }
    ASSERT_EQ(WaitFor(StartIndexing(library)), 0);
    EXPECT_TRUE(OnlyIndex(library) == whole) << "round " << round;
  }
  EXPECT_GT(kills, 0) << "no child was killed in time: the test showed nothing";
}

TEST_F(EngineIndex, TwoProcessesAtOnceMakeOneIndex) {
  const pid_t a = StartIndexing("shared");
  const pid_t b = StartIndexing("shared");
  EXPECT_EQ(WaitFor(a), 0);
  EXPECT_EQ(WaitFor(b), 0);
  ASSERT_EQ(WaitFor(StartIndexing("alone")), 0);
  EXPECT_TRUE(OnlyIndex("shared") == OnlyIndex("alone"));
}

TEST_F(EngineIndex, DamagedAndCutFilesAreMendedAndAChangedVideoIsAnother) {
  auto engine = MakeEngine();
  ASSERT_TRUE(engine->Index(clip_, {}).ok());
  const std::string whole = OnlyIndex("library");
  const fs::path file = IndexFiles(folder_ / "library")[0];

  std::mt19937 random(7);
  for (int i = 0; i < 3; ++i) {
    std::string flipped = whole;
    flipped[random() % whole.size()] ^= 0x20;
    std::ofstream(file, std::ios::binary) << flipped;
    const auto report = engine->Index(clip_, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(OnlyIndex("library") == whole) << "flip " << i;
  }
  std::ofstream(file, std::ios::binary) << whole.substr(0, whole.size() * 2 / 3);
  const auto cut = engine->Index(clip_, {});
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_TRUE(cut->resumed);
  EXPECT_TRUE(OnlyIndex("library") == whole);
  std::ofstream(file, std::ios::binary) << "not an index at all";
  ASSERT_TRUE(engine->Index(clip_, {}).ok());
  EXPECT_TRUE(OnlyIndex("library") == whole);
  EXPECT_FALSE(warnings_.empty());

  IndexOptions other;
  other.sampling.fps = 0.5;
  const auto sparse = engine->Index(clip_, other);
  ASSERT_TRUE(sparse.ok());
  EXPECT_FALSE(sparse->was_complete);
  EXPECT_EQ(IndexFiles(folder_ / "library").size(), 2u);
  test::MakeThreeShots(clip_, 9);
  const auto changed = engine->Index(clip_, {});
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(changed->was_complete);
  EXPECT_LT(changed->index.until_s, 9.5);
  EXPECT_EQ(IndexFiles(folder_ / "library").size(), 3u);
}

TEST_F(EngineIndex, AQuestionReadsNoMoreThanTheFirstPicturesAndTheRestIsTheSame) {
  // Long enough for many chunks; the clip again and again, since ffmpeg takes minutes to draw as much.
  const fs::path film = folder_ / "film.mp4";
  test::RunFfmpeg({"-stream_loop", "5", "-i", clip_.string(), "-c", "copy", film.string()});
  auto engine = MakeEngine();
  AskOptions options;
  options.max_tokens = 4;
  options.unread = Unread::kBegin;
  const auto answer = engine->Ask({film}, "What is shown?", options);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_GT(answer->read_until_s, 1.0);
  EXPECT_LT(answer->read_until_s, 60.0);
  // Of several what is not there is left out, and what nothing was read of.
  options.unread = Unread::kLeaveOut;
  const auto some = engine->Ask({folder_ / "missing.mp4", clip_, film}, "What is shown?", options);
  ASSERT_TRUE(some.ok()) << some.status().message();
  ASSERT_EQ(some->left_out.size(), 2u);
  EXPECT_EQ(some->left_out[0].cause, LeftOut::Cause::kGone);
  EXPECT_EQ(some->left_out[1].cause, LeftOut::Cause::kUnread);
  EXPECT_EQ(some->left_out[1].video, clip_.string());
  const auto none = engine->Ask({clip_}, "What is shown?", options);
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  CaptionOptions captions;
  captions.every_s = 10.0;
  captions.unread = Unread::kBegin;
  const auto part = engine->Caption(film, captions, {}, [](const CaptionEvent&) { return Status::Ok(); });
  ASSERT_TRUE(part.ok()) << part.status().message();
  EXPECT_EQ(part->read_until_s, answer->read_until_s);

  ASSERT_TRUE(engine->Index(film, {}).ok());
  auto other = MakeEngine("other");
  ASSERT_TRUE(other->Index(film, {}).ok());
  EXPECT_TRUE(OnlyIndex("library") == OnlyIndex("other"));
}

TEST_F(EngineIndex, ACancelledCallKeepsWhatItDid) {
  auto engine = MakeEngine();
  std::stop_source source;
  JobContext job;
  job.stop = source.get_token();
  job.progress = [&](const Progress& p) {
    if (p.done > 9.0) source.request_stop();
  };
  EXPECT_EQ(engine->Index(clip_, {}, job).status().code(), StatusCode::kCancelled);
  const auto rest = engine->Index(clip_, {});
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_FALSE(rest->was_complete);
  ASSERT_TRUE(MakeEngine("other")->Index(clip_, {}).ok());
  EXPECT_TRUE(OnlyIndex("library") == OnlyIndex("other"));
}

TEST_F(EngineIndex, AnUnusableLibraryIsNamedAndAskGoesOnInMemory) {
  folder_.Write("file", "x");
  auto engine = MakeEngine("file");
  const auto index = engine->Index(clip_, {});
  EXPECT_EQ(index.status().code(), StatusCode::kIo);
  EXPECT_NE(index.status().message().find((folder_ / "file").string()), std::string::npos);
  AskOptions options;
  options.max_tokens = 2;
  const auto answer = engine->Ask({clip_}, "What is shown?", options);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_TRUE(Warned("in memory only"));
  const auto with_library = MakeEngine("library")->Ask({clip_}, "What is shown?", options);
  ASSERT_TRUE(with_library.ok());
  EXPECT_EQ(with_library->text, answer->text);
}

TEST_F(EngineIndex, AFullDiskIsAClearErrorAndNothingIsSpoilt) {
  const pid_t child = Fork([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{300'000, 300'000};
    auto engine = Engine::Create(Options(folder_ / "full"));
    if (!engine.ok() || setrlimit(RLIMIT_FSIZE, &limit) != 0) return 90;
    const auto report = (*engine)->Index(clip_, {});
    if (report.ok() || report.status().code() != StatusCode::kIo) return 91;
    return report.status().message().find(".lvidx") != std::string::npos ? 0 : 92;
  });
  EXPECT_EQ(WaitFor(child), 0);
  ASSERT_EQ(WaitFor(StartIndexing("full")), 0);
  ASSERT_EQ(WaitFor(StartIndexing("whole")), 0);
  EXPECT_TRUE(OnlyIndex("full") == OnlyIndex("whole"));
}

TEST_F(EngineIndex, BadInputsAreNamedWithTheirReason) {
  auto engine = MakeEngine();
  const fs::path empty = folder_.Write("empty.mp4", "");
  const fs::path text = folder_.Write("text.mp4", std::string(5000, 'a'));
  const fs::path sound = folder_ / "sound.mp3";
  test::RunFfmpeg({"-f", "lavfi", "-i", "sine=d=2", sound.string()});
  const std::string bytes = ReadBytes(clip_);
  const fs::path cut = folder_.Write("cut.mp4", bytes.substr(0, 2000));
  const std::pair<fs::path, StatusCode> cases[] = {{folder_ / "none.mp4", StatusCode::kNotFound},
                                                   {folder_.path(), StatusCode::kInvalidArgument},
                                                   {empty, StatusCode::kDamaged},
                                                   {text, StatusCode::kDamaged},
                                                   {sound, StatusCode::kNotFound},
                                                   {cut, StatusCode::kDamaged}};
  for (const auto& [path, code] : cases) {
    for (const Status& status : {engine->Info(path).status(), engine->Index(path, {}).status(),
                                 engine->Ask({path}, "What?", {}).status(), engine->FrameAt(path, 0).status()}) {
      EXPECT_EQ(status.code(), code) << path << ": " << status.message();
      EXPECT_NE(status.message().find(path.string()), std::string::npos) << status.message();
    }
  }
}

}  // namespace
}  // namespace longview
