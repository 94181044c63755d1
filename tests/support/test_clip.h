// Short clips with a known timeline, made by the ffmpeg program.
#ifndef LONGVIEW_TESTS_SUPPORT_TEST_CLIP_H_
#define LONGVIEW_TESTS_SUPPORT_TEST_CLIP_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/run_process.h"

namespace longview::test {

// Runs ffmpeg with these arguments behind "-y -v error"; fails the calling test where it fails.
inline void RunFfmpeg(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"ffmpeg", "-nostdin", "-y", "-v", "error"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const RunOutcome outcome = RunProcess(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err << "(ffmpeg is listed in tools/deps)";
}

// A film of `seconds` (a multiple of 3) in three shots of equal length that move all the time: test pattern, fractal,
// game of life. 320 x 240, 10 pictures a second, H.264.
inline void MakeThreeShots(const std::filesystem::path& path, int seconds) {
  const std::string each = std::to_string(seconds / 3);
  RunFfmpeg({"-f",
             "lavfi",
             "-i",
             "testsrc2=s=320x240:r=10:d=" + each,
             "-f",
             "lavfi",
             "-i",
             "mandelbrot=s=320x240:r=10:end_pts=20,trim=duration=" + each,
             "-f",
             "lavfi",
             "-i",
             "life=s=320x240:r=10:seed=7:mold=10:life_color=red:death_color=blue:ratio=0.3,trim=duration=" + each,
             "-filter_complex",
             "[0:v]format=yuv420p[a];[1:v]format=yuv420p[b];[2:v]format=yuv420p[c];[a][b][c]concat=n=3",
             "-c:v",
             "libx264",
             "-preset",
             "ultrafast",
             "-g",
             "20",
             "-threads",
             "1",
             path.string()});
}

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_SUPPORT_TEST_CLIP_H_
