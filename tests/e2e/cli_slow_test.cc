// What an archivist relies on, through the real program: kills at random moments, a full disk, several programs at
// once. Minutes long; LONGVIEW_KILLS sets how many kills there are.
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/e2e/cli_fixture.h"
#include "tests/support/test_clip.h"

namespace longview::test {
namespace {

namespace fs = std::filesystem;

class CliSlow : public CliTest {
 protected:
  static int Kills(int usual) {
    const char* wanted = std::getenv("LONGVIEW_KILLS");
    return wanted == nullptr ? usual : std::max(1, std::atoi(wanted));
  }
  RunOptions Library(const std::string& name) const {
    RunOptions options;
    options.environment = {{"LONGVIEW_LIBRARY", (folder_ / name).string()}};
    return options;
  }
  // The only index of a library.
  std::string IndexBytes(const std::string& library) const {
    std::string bytes;
    int found = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / library)) {
      if (entry.path().extension() != ".lvidx") continue;
      bytes = Read(entry.path());
      ++found;
    }
    EXPECT_EQ(found, 1) << library;
    return bytes;
  }
  // Runs and kills -9 at a random moment of the first `seconds`. False where the run ended before.
  static bool RunAndKill(const std::vector<std::string>& words, RunOptions options, double seconds,
                         std::mt19937* random) {
    const double after = std::uniform_real_distribution<double>(0.0, seconds)(*random);
    options.on_started = [after](int pid) {
      std::this_thread::sleep_for(std::chrono::duration<double>(after));
      kill(pid, SIGKILL);
    };
    return Run(words, options).exit_code == 128 + SIGKILL;
  }
  fs::path Film(int seconds) {
    const fs::path film = folder_ / "film.mp4";
    MakeThreeShots(film, seconds);
    return film;
  }
};

TEST_F(CliSlow, AnIndexSurvivesKillsAtAnyMoment) {
  const std::string film = Film(12).string();
  const RunOutcome whole = Run({"index", film}, Library("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string expected = IndexBytes("whole");
  std::mt19937 random(20261129);
  int killed = 0;
  int finished = 0;
  for (int i = 0; killed < Kills(200) && i < 4 * Kills(200); ++i) {
    const std::string library = "killed" + std::to_string(finished);
    if (RunAndKill({"index", film}, Library(library), whole.seconds, &random)) {
      ++killed;
      continue;
    }
    // It came to its end in spite of the kills before: the same bytes as in one go.
    ASSERT_TRUE(IndexBytes(library) == expected) << "after " << killed << " kills";
    ++finished;
  }
  EXPECT_GE(killed, Kills(200));
  const std::string last = "killed" + std::to_string(finished);
  ASSERT_EQ(Run({"index", film}, Library(last)).exit_code, 0);
  EXPECT_TRUE(IndexBytes(last) == expected);
  EXPECT_EQ(Run({"library", "--check"}, Library(last)).exit_code, 0);
}

TEST_F(CliSlow, CaptionsSurviveKillsAtAnyMoment) {
  fs::create_directories(folder_ / "batch");
  Film(6);
  fs::rename(folder_ / "film.mp4", folder_ / "batch" / "a.mp4");
  Film(9);
  fs::rename(folder_ / "film.mp4", folder_ / "batch" / "b.mp4");
  fs::copy_file(CliEnvironment::ShortClip(), folder_ / "batch" / "c.mp4");
  const auto words = [this](const std::string& out) {
    return std::vector<std::string>{"caption", (folder_ / "batch").string(), "--every",  "1s",
                                    "--out",   (folder_ / out).string(),     "--format", "all"};
  };
  const RunOutcome whole = Run(words("whole"), Library("whole_library"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  std::mt19937 random(7);
  int killed = 0;
  for (int round = 0; killed < Kills(20); ++round) {
    const std::string name = "killed" + std::to_string(round);
    while (RunAndKill(words(name), Library(name + "_library"), whole.seconds, &random)) ++killed;
    const RunOutcome rest = Run(words(name), Library(name + "_library"));
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    ASSERT_EQ(Outputs(folder_ / name), Outputs(folder_ / "whole"));
    std::vector<std::string> files = Outputs(folder_ / "whole");
    files.insert(files.end(), {"a.xmp", "b.xmp", "c.xmp"});
    for (const std::string& file : files) {
      EXPECT_EQ(Read(folder_ / name / file), Read(folder_ / "whole" / file)) << name << "/" << file;
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(CliSlow, AFullDiskSpoilsNothing) {
  const std::string film = Film(18).string();
  const fs::path disk = folder_ / "disk";
  fs::create_directories(disk);
  ASSERT_EQ(Run({"index", film}, Library("whole")).exit_code, 0);
  // A disk of its own needs root and the right to mount; otherwise a limit on the size of files stands for it.
  const bool mounted = mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=500k") == 0;
  RunOptions options = Library("disk");
  if (!mounted) options.file_size_limit = 300000;
  const RunOutcome full = Run({"index", film}, options);
  EXPECT_EQ(full.exit_code, 3) << full.err;
  EXPECT_NE(full.err.find("disk"), std::string::npos) << full.err;
  // Asking goes on in memory, and says so.
  const RunOutcome asked = Run({"ask", film, "What is this?"}, options);
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  if (mounted) {
    EXPECT_EQ(mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
  }
  const RunOutcome rest = Run({"index", film}, Library("disk"));
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_TRUE(IndexBytes("disk") == IndexBytes("whole"));
  if (mounted) umount(disk.c_str());
}

// Indexing, asking, checking, repairing and pruning one library at once.
TEST_F(CliSlow, SeveralProgramsShareALibrary) {
  const std::string film = Film(12).string();
  ASSERT_EQ(Run({"index", film}, Library("alone")).exit_code, 0);
  std::atomic<bool> indexing{true};
  std::atomic<int> pruned{0};
  std::thread pruner([&] {
    while (indexing) {
      const RunOutcome prune = Run({"library", "--prune", "1B"}, Library("shared"));
      EXPECT_EQ(prune.exit_code, 0) << prune.err;
      const RunOutcome repair = Run({"library", "--repair"}, Library("shared"));
      EXPECT_EQ(repair.exit_code, 0) << repair.err;
      ++pruned;
    }
  });
  RunOutcome asked;
  std::thread asker([&] { asked = Run({"ask", film, "What is this?"}, Library("shared")); });
  for (int i = 0; i < 3; ++i) {
    const RunOutcome index = Run({"index", film}, Library("shared"));
    EXPECT_EQ(index.exit_code, 0) << index.err;
  }
  asker.join();
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  indexing = false;
  pruner.join();
  EXPECT_GE(pruned, 1);
  ASSERT_EQ(Run({"index", film}, Library("shared")).exit_code, 0);
  EXPECT_TRUE(IndexBytes("shared") == IndexBytes("alone"));
  EXPECT_EQ(Run({"ask", film, "What is this?"}, Library("shared")).out,
            Run({"ask", film, "What is this?"}, Library("alone")).out);
}

}  // namespace
}  // namespace longview::test
