// The pipeline end to end: order, spans, caps, resuming, stopping, memory.
#include "vision/ingest_pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/run_process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_video.h"

namespace longview {
namespace {

using test::Case;

struct Outcome {
  Status status;
  IngestSummary summary;
  std::vector<IngestFrame> frames;
  std::vector<Progress> progress;
};

// Small squares keep the tests quick; the steps are the same.
IngestOptions Options() {
  IngestOptions options;
  options.preprocess.size = 32;
  return options;
}

Outcome Ingest(const std::string& path, const IngestOptions& options) {
  Outcome run;
  JobContext job;
  job.progress = [&run](const Progress& p) { run.progress.push_back(p); };
  const std::thread::id here = std::this_thread::get_id();
  Result<IngestSummary> summary = IngestVideo(path, options, job, [&](std::vector<IngestFrame> batch) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_LE(batch.size(), static_cast<size_t>(options.batch));
    for (IngestFrame& frame : batch) run.frames.push_back(std::move(frame));
    return Status::Ok();
  });
  run.status = summary.ok() ? Status() : summary.status();
  if (summary.ok()) run.summary = *summary;
  return run;
}

void ExpectSpansInOrder(const std::vector<IngestFrame>& frames, double end_s) {
  for (size_t n = 0; n < frames.size(); ++n) {
    EXPECT_GT(frames[n].end_s, frames[n].time_s);
    if (n + 1 < frames.size()) {
      EXPECT_LE(frames[n].end_s, frames[n + 1].time_s + 1e-9);
    }
    EXPECT_EQ(frames[n].chw.size(), 3u * 32 * 32);
  }
  if (!frames.empty()) {
    EXPECT_LE(frames.back().end_s, end_s + 1e-6);
  }
}

TEST(Ingest, OneFrameASecondWithItsOwnTime) {
  IngestOptions options = Options();
  options.thumbnail = 160;
  const Outcome run = Ingest(Case("many_frames.mkv"), options);
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  ASSERT_GE(run.frames.size(), 600u);
  ExpectSpansInOrder(run.frames, 600.0);
  for (const IngestFrame& frame : run.frames) {
    const Picture& p = frame.thumbnail;
    ASSERT_EQ(p.width, 160);
    EXPECT_EQ(test::ReadBlocks(p.rgb.data(), p.width, p.height, 10), static_cast<int>(frame.time_s + 1e-4));
  }
  EXPECT_NEAR(run.frames.back().end_s, 600.0, 1e-6);
  EXPECT_EQ(run.summary.kept, static_cast<int64_t>(run.frames.size()));
  EXPECT_EQ(run.summary.decoded, 6000);
  ASSERT_FALSE(run.progress.empty());
  EXPECT_DOUBLE_EQ(run.progress.back().done, run.progress.back().total);
  for (size_t i = 1; i < run.progress.size(); ++i) EXPECT_GE(run.progress[i].done, run.progress[i - 1].done);
}

TEST(Ingest, ACapCoversTheWholeFilm) {
  for (const int64_t cap : {8, 16, 128}) {
    IngestOptions options = Options();
    options.sampling.max_frames = cap;
    options.thumbnail = 160;
    const Outcome run = Ingest(Case("many_frames.mkv"), options);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    EXPECT_EQ(static_cast<int64_t>(run.frames.size()), cap);
    if (cap == 16) {
      EXPECT_LE(run.frames.front().time_s, 40.0);
      EXPECT_GE(run.frames.back().time_s, 560.0);
    }
    for (const IngestFrame& frame : run.frames) {
      EXPECT_EQ(test::ReadBlocks(frame.thumbnail.rgb.data(), 160, 96, 10), static_cast<int>(frame.time_s + 1e-4));
    }
  }
}

TEST(Ingest, ShortFilmsAndStillsGiveWhatIsThere) {
  for (const auto& [file, end] :
       {std::pair("one_frame.mp4", 0.04), {"five_frames.mp4", 0.2}, {"exif6.jpg", 1.0}, {"one_pixel.png", 1.0}}) {
    IngestOptions options = Options();
    options.sampling.max_frames = 16;
    const Outcome run = Ingest(Case(file), options);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    ASSERT_EQ(run.frames.size(), 1u) << file;
    EXPECT_EQ(run.frames[0].time_s, 0.0);
    EXPECT_NEAR(run.frames[0].end_s, end, 1e-6) << file;
    EXPECT_TRUE(run.frames[0].scene_start);
  }
}

TEST(Ingest, NoFrameWhereThereIsOnlySound) {
  const Outcome run = Ingest(Case("audio_longer.mkv"), Options());
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  ExpectSpansInOrder(run.frames, 3.05);
  EXPECT_EQ(run.frames.size(), 3u);
}

TEST(Ingest, EveryClockRisesAndNoHalfIsLost) {
  for (const char* file : {"backwards.ts", "res_change.ts", "live_noduration.webm", "raw_nopts.h264", "flash_cuts.mp4",
                           "vfr.gif", "vfr_burst.mp4"}) {
    const Outcome run = Ingest(Case(file), Options());
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    ASSERT_FALSE(run.frames.empty()) << file;
    ExpectSpansInOrder(run.frames, run.summary.info.first_time_s + run.summary.info.duration_s);
    EXPECT_DOUBLE_EQ(run.progress.back().done, run.progress.back().total);
    EXPECT_TRUE(run.frames[0].scene_start);
  }
}

TEST(Ingest, DamageIsReportedAndTheRestIsKept) {
  const Outcome run = Ingest(Case("corrupt_mid.mp4"), Options());
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  EXPECT_NE(run.summary.damage.message.find("3.00 s to 4.00 s"), std::string::npos) << run.summary.damage.message;
  for (const IngestFrame& frame : run.frames) EXPECT_TRUE(frame.time_s < 3.0 || frame.time_s >= 4.0);
  EXPECT_NEAR(run.frames.back().end_s, 8.0, 1e-6);
}

// A film of three shots: two that stand still, one that moves. Made once for the tests below.
std::string ThreeShots() {
  static const TempFolder folder;
  static const std::string path = [] {
    const std::string file = folder / "shots.mp4";
    const test::RunOutcome made =
        test::RunProcess({"ffmpeg",
                          "-nostdin",
                          "-v",
                          "error",
                          "-y",
                          "-f",
                          "lavfi",
                          "-i",
                          "smptebars=s=160x96:r=10:d=10.5",
                          "-f",
                          "lavfi",
                          "-i",
                          "rgbtestsrc=s=160x96:r=10:d=10",
                          "-f",
                          "lavfi",
                          "-i",
                          "testsrc2=s=160x96:r=10:d=10",
                          "-filter_complex",
                          "[0:v]format=yuv420p[a];[1:v]format=yuv420p[b];[2:v]format=yuv420p[c];[a][b][c]concat=n=3",
                          "-c:v",
                          "libx264",
                          "-preset",
                          "veryfast",
                          "-g",
                          "40",
                          "-threads",
                          "1",
                          file});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return file;
  }();
  return path;
}

TEST(Ingest, IdenticalPicturesOfAShotAreOneFrame) {
  const Outcome run = Ingest(ThreeShots(), Options());
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  ASSERT_GE(run.frames.size(), 4u);
  EXPECT_EQ(run.frames[0].time_s, 0.0);
  EXPECT_NEAR(run.frames[0].end_s, 10.5, 1e-6) << "the whole first shot, and no more";
  EXPECT_NEAR(run.frames[1].time_s, 10.5, 1e-6) << "the shot change itself";
  EXPECT_TRUE(run.frames[1].scene_start);
  EXPECT_NEAR(run.frames[1].end_s, 20.5, 1e-6);
  EXPECT_TRUE(run.frames[2].scene_start);
  EXPECT_NEAR(run.frames[2].time_s, 20.5, 1e-6);
  EXPECT_FALSE(run.frames[3].scene_start);
  EXPECT_GE(run.summary.merged, 17);
  IngestOptions all = Options();
  all.merge_identical = false;
  EXPECT_EQ(static_cast<int64_t>(Ingest(ThreeShots(), all).frames.size()),
            static_cast<int64_t>(run.frames.size()) + run.summary.merged);
}

TEST(Ingest, ASpanEndsAtTheShotAlsoWhereACapKeepsNoFrameThere) {
  IngestOptions options = Options();
  options.sampling.max_frames = 2;  // at a quarter and three quarters: 7.6 s and 22.9 s
  const Outcome run = Ingest(ThreeShots(), options);
  ASSERT_EQ(run.frames.size(), 2u);
  EXPECT_NEAR(run.frames[0].end_s, 10.5, 1e-6);
  EXPECT_TRUE(run.frames[1].scene_start) << "the first kept frame of its shot";
}

TEST(Ingest, OnlyTheRangesAreRead) {
  IngestOptions options = Options();
  options.sampling.ranges = {{500.0, 503.0}, {30.0, 32.0}};
  const Outcome run = Ingest(Case("many_frames.mkv"), options);
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  ASSERT_EQ(run.frames.size(), 5u);
  const double times[] = {30.0, 31.0, 500.0, 501.0, 502.0};
  for (size_t n = 0; n < 5; ++n) {
    EXPECT_NEAR(run.frames[n].time_s, times[n], 1e-6);
    EXPECT_NEAR(run.frames[n].end_s, times[n] + 1.0, 1e-6);
  }
  EXPECT_LT(run.summary.decoded, 1500) << "what lies between is skipped";
  options.sampling.ranges = {{5000.0, 6000.0}};
  const Outcome nothing = Ingest(Case("many_frames.mkv"), options);
  EXPECT_TRUE(nothing.status.ok()) << nothing.status.message();
  EXPECT_TRUE(nothing.frames.empty());
}

TEST(Ingest, AResumedRunGivesExactlyTheRest) {
  std::vector<IngestOptions> all(3, Options());
  all[1].sampling.max_frames = 20;
  all[2].sampling.fps = 3.0;
  for (const std::string& path : {ThreeShots(), Case("backwards.ts"), Case("bframes.mp4"), Case("flash_cuts.mp4")}) {
    for (const IngestOptions& options : all) {
      const Outcome whole = Ingest(path, options);
      ASSERT_TRUE(whole.status.ok()) << whole.status.message();
      for (const size_t kept : {size_t{1}, whole.frames.size() / 2, whole.frames.size()}) {
        IngestOptions resume = options;
        resume.start_after_s = whole.frames[kept - 1].time_s;
        const Outcome rest = Ingest(path, resume);
        ASSERT_TRUE(rest.status.ok()) << rest.status.message();
        ASSERT_EQ(rest.frames.size(), whole.frames.size() - kept) << path << " after " << *resume.start_after_s;
        for (size_t n = 0; n < rest.frames.size(); ++n) {
          const IngestFrame& want = whole.frames[kept + n];
          EXPECT_EQ(rest.frames[n].time_s, want.time_s);
          EXPECT_EQ(rest.frames[n].end_s, want.end_s);
          EXPECT_EQ(rest.frames[n].scene_start, want.scene_start) << path << " at " << want.time_s;
          EXPECT_TRUE(rest.frames[n].chw == want.chw) << path << " at " << want.time_s;
        }
      }
    }
  }
}

TEST(Ingest, AResumedRunDoesNotReadTheStartAgain) {
  IngestOptions options = Options();
  options.start_after_s = 580.0;
  const Outcome run = Ingest(Case("many_frames.mkv"), options);
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  EXPECT_EQ(run.frames.size(), 19u);
  EXPECT_LT(run.summary.decoded, 700);
}

TEST(Ingest, StoppingIsPromptAndKeepsWhatWasDelivered) {
  std::stop_source stop;
  JobContext job;
  job.stop = stop.get_token();
  size_t frames = 0;
  IngestOptions options = Options();
  options.batch = 1;
  const Result<IngestSummary> summary =
      IngestVideo(Case("many_frames.mkv"), options, job, [&](std::vector<IngestFrame> batch) {
        frames += batch.size();
        if (frames == 5) stop.request_stop();
        return Status::Ok();
      });
  EXPECT_EQ(summary.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(frames, 5u);
}

TEST(Ingest, TheConsumersFailureIsReturned) {
  size_t calls = 0;
  const Result<IngestSummary> summary =
      IngestVideo(Case("many_frames.mkv"), Options(), {}, [&](std::vector<IngestFrame>) {
        ++calls;
        return ResourceError("the cache is full");
      });
  EXPECT_EQ(summary.status().code(), StatusCode::kResource);
  EXPECT_EQ(summary.status().message(), "the cache is full");
  EXPECT_EQ(calls, 1u);
}

TEST(Ingest, BadInputsAreNamed) {
  for (const char* file : {"bad/text.mp4", "bad/none.mp4", "audio_only.wav", "stalled/stalled.mp4"}) {
    const Outcome run = Ingest(Case(file), Options());
    EXPECT_FALSE(run.status.ok());
    EXPECT_NE(run.status.message().find(file), std::string::npos) << run.status.message();
    EXPECT_TRUE(run.frames.empty());
  }
  IngestOptions options = Options();
  options.sampling.fps = -1.0;
  EXPECT_EQ(Ingest(Case("bframes.mp4"), options).status.code(), StatusCode::kInvalidArgument);
}

int64_t ResidentKib() {
  std::ifstream in("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  in >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// A slow consumer does not make the decoder run ahead, and the film's length does not show in memory.
TEST(Ingest, MemoryIsFlat) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "skipped: AddressSanitizer keeps freed memory, so the process's size says nothing";
#endif
  IngestOptions options = Options();
  options.sampling.fps = 10.0;
  int64_t early = 0;
  int64_t late = 0;
  int64_t frames = 0;
  const Result<IngestSummary> summary =
      IngestVideo(Case("many_frames.mkv"), options, {}, [&](std::vector<IngestFrame> batch) {
        frames += static_cast<int64_t>(batch.size());
        if (batch.back().time_s < 60.0) early = std::max(early, ResidentKib());
        if (batch.back().time_s > 540.0) late = std::max(late, ResidentKib());
        return Status::Ok();
      });
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_GT(frames, 300);
  EXPECT_LT(late, early + 32 * 1024);
}

}  // namespace
}  // namespace longview
