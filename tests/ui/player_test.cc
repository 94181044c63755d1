// The player alone: it shows exactly what was asked for, whatever the film is kept in.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/support/test_clip.h"
#include "tests/ui/ui_fixture.h"
#include "ui/format.h"
#include "ui/mpv_player.h"

namespace longview::ui::test {
namespace {

// 45 s, 10 pictures a second, a keyframe every 10 s; each second is a shade brighter than the one before.
constexpr double kSeconds = 45.0;

void makeShades(const std::filesystem::path& path, bool sound, const std::string& codec) {
  std::vector<std::string> words = {"-f", "lavfi", "-i",
                                    "nullsrc=s=64x48:r=10:d=45,geq=lum='16+4*floor(T)':cb=128:cr=128,format=yuv420p"};
  // Sound goes on when the pictures have ended, as in most files.
  if (sound) words.insert(words.end(), {"-f", "lavfi", "-i", "sine=f=440:d=45.3", "-c:a", "mp2"});
  words.insert(words.end(), {"-c:v", codec, "-threads", "1", path.string()});
  const std::vector<std::string> gop = codec == "libx264" ? std::vector<std::string>{"-g", "100", "-sc_threshold", "0"}
                                                          : std::vector<std::string>{"-r", "25", "-g", "250"};
  words.insert(words.end() - 1, gop.begin(), gop.end());
  longview::test::RunFfmpeg(words);
}

class UiWindowPlayer : public ::testing::Test {
 protected:
  // The second that the picture is of.
  double shown() const {
    const QImage picture = player_.picture();
    return picture.isNull() ? -1.0 : qGray(picture.pixel(picture.width() / 2, picture.height() / 2)) * 219.0 / 1020.0;
  }
  bool shows(double second) {
    return waitFor([&] { return std::abs(shown() - second) < 0.6; }, 10.0);
  }
  bool isAt(double time_s) {
    return waitFor([&] { return std::abs(player_.position() - time_s) < 0.051; }, 10.0);
  }
  void open(const std::filesystem::path& film, double start_s) {
    player_.setTarget(QSize(64, 48));
    player_.open(toText(film), start_s, kSeconds);
    ASSERT_TRUE(waitFor([&] { return player_.isOpen(); }, 20.0));
  }

  longview::TempFolder folder_;
  MpvPlayer player_;
};

// An end that is told too early, as a header may, must not hold up the steps.
TEST_F(UiWindowPlayer, StepsLeadBackWhereTheFilmIsLongerThanToldToo) {
  const std::filesystem::path film = folder_ / "film.mp4";
  makeShades(film, false, "libx264");
  player_.setTarget(QSize(64, 48));
  player_.open(toText(film), 0.0, 44.0);
  ASSERT_TRUE(waitFor([&] { return player_.isOpen(); }, 20.0));
  player_.seek(kSeconds);
  EXPECT_TRUE(isAt(44.9)) << player_.position();
  for (int i = 1; i <= 3; ++i) {
    player_.step(-1);
    EXPECT_TRUE(isAt(44.9 - 0.1 * i)) << i << ": " << player_.position();
  }
}

// Where one seek ends while the next begins, the place that the first came to is not taken for that of the next: in
// this format the player would leave the picture of a keyframe behind it.
TEST_F(UiWindowPlayer, ASeekThatOvertakesAnotherIsExactToo) {
  const std::filesystem::path film = folder_ / "film.ts";
  makeShades(film, true, "libx264");
  open(film, 17.0);
  ASSERT_TRUE(shows(17.0)) << shown();
  for (int i = 0; i < 40; ++i) {
    player_.seek(2.0);
    ASSERT_TRUE(shows(2.0)) << i << ": " << shown();
    waitFor([] { return false; }, 0.002 * (i % 4));
    player_.seek(39.0);
    ASSERT_TRUE(shows(39.0)) << i << ": " << shown();
    ASSERT_TRUE(isAt(39.0)) << i << ": " << player_.position();
  }
}

struct Kind {
  std::string name;
  bool sound;
  std::string codec;
  double step_s;
};

class PlayerKinds : public UiWindowPlayer, public ::testing::WithParamInterface<Kind> {};

TEST_P(PlayerKinds, SeeksAreExactWhereverTheKeyframesAre) {
  const Kind& kind = GetParam();
  const std::filesystem::path film = folder_ / ("film." + kind.name);
  makeShades(film, kind.sound, kind.codec);
  // Where it was left.
  open(film, 17.0);
  EXPECT_TRUE(isAt(17.0)) << player_.position();
  EXPECT_TRUE(shows(17.0)) << shown();
  for (const double time : {5.0, 25.0, 44.0, 0.0, 2.0, 39.0, 12.0}) {
    player_.seek(time);
    EXPECT_TRUE(isAt(time)) << time << ": " << player_.position();
    EXPECT_TRUE(shows(time)) << time << ": " << shown();
  }
  // Over the keyframe.
  player_.seek(20.0);
  ASSERT_TRUE(shows(20.0)) << shown();
  player_.step(-1);
  EXPECT_TRUE(isAt(20.0 - kind.step_s)) << player_.position();
  EXPECT_TRUE(shows(19.0)) << shown();
}

TEST_P(PlayerKinds, TheEndIsTheLastPictureAndStepsLeadBackFromIt) {
  const Kind& kind = GetParam();
  const std::filesystem::path film = folder_ / ("film." + kind.name);
  makeShades(film, kind.sound, kind.codec);
  open(film, 0.0);
  ASSERT_TRUE(shows(0.0));
  player_.seek(kSeconds);
  EXPECT_TRUE(shows(44.0)) << shown();
  double last = 0.0;
  EXPECT_TRUE(waitFor([&] { return (last = player_.position()) > 44.0 && last < kSeconds - 0.01; }, 10.0)) << last;
  for (int i = 1; i <= 3; ++i) {
    player_.step(-1);
    EXPECT_TRUE(isAt(last - i * kind.step_s)) << i << ": " << player_.position() << " after " << last;
  }
  // Played to the end of the sound.
  player_.setPaused(false);
  waitFor([&] { return player_.position() > kSeconds - 0.15; }, 20.0);
  waitFor([] { return false; }, 0.7);
  player_.step(-1);
  const auto is_before = [&] { return player_.position() < last - 0.9 * kind.step_s && player_.position() > 44.5; };
  EXPECT_TRUE(waitFor(is_before, 10.0)) << player_.position() << " after " << last;
}

INSTANTIATE_TEST_SUITE_P(UiWindow, PlayerKinds,
                         ::testing::Values(Kind{"ts", true, "libx264", 0.1}, Kind{"ts", false, "libx264", 0.1},
                                           Kind{"mp4", true, "libx264", 0.1}, Kind{"mp4", false, "libx264", 0.1},
                                           Kind{"mkv", true, "libx264", 0.1}, Kind{"mpg", true, "mpeg2video", 0.04}),
                         [](const auto& kind) { return kind.param.name + (kind.param.sound ? "" : "_silent"); });

}  // namespace
}  // namespace longview::ui::test
