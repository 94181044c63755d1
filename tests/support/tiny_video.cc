// Making the inputs once, under a lock, keyed by the script's own text.
#include "tests/support/tiny_video.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <system_error>

#include "tests/support/run_process.h"

namespace longview::test {
namespace {

namespace fs = std::filesystem;

// Empty, and `why` set, where they cannot be made.
fs::path MakeCases(std::string* why) {
  const fs::path script = fs::path(LV_TEST_SOURCE_DIR) / "tests/cases/make_cases.sh";
  std::ifstream in(script, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.empty()) {
    *why = "cannot read " + script.string();
    return {};
  }
  const fs::path base = fs::path(LV_TEST_BINARY_DIR) / "cases";
  const fs::path folder = base / std::to_string(std::hash<std::string>{}(text));
  std::error_code ignored;
  fs::create_directories(base, ignored);
  const int lock = open((base / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) {
    *why = "cannot lock " + base.string();
    return {};
  }
  fs::path result = folder;
  if (!fs::exists(folder)) {
    const fs::path making = base / "making";
    fs::remove_all(making, ignored);
    RunOptions options;
    options.timeout_s = 900.0;
    const RunOutcome outcome = RunProcess({"bash", script.string(), making.string()}, options);
    if (outcome.exit_code == 0) {
      fs::rename(making, folder, ignored);
    } else {
      *why =
          script.string() + " failed (it needs ffmpeg and python3, listed in tools/deps): " + outcome.out + outcome.err;
      result.clear();
    }
  }
  close(lock);
  return result;
}

}  // namespace

std::string Case(std::string_view name) {
  static std::string why;
  static const fs::path folder = MakeCases(&why);
  if (folder.empty()) ADD_FAILURE() << why;
  return (folder / name).string();
}

int ReadBlocks(const uint8_t* rgb, int width, int height, int bits) {
  int value = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const int left = bit * width / bits;
    const int right = (bit + 1) * width / bits;
    const int margin = (right - left) / 4;
    int64_t sum = 0;
    int64_t count = 0;
    for (int y = height / 8; y < 3 * height / 8; ++y) {
      for (int x = left + margin; x < right - margin; ++x) {
        const uint8_t* p = rgb + 3 * (static_cast<int64_t>(y) * width + x);
        sum += p[0] + p[1] + p[2];
        count += 3;
      }
    }
    if (count > 0 && sum > 128 * count) value |= 1 << bit;
  }
  return value;
}

std::string ColourName(const uint8_t* pixel) {
  struct Named {
    const char* name;
    int r, g, b;
  };
  constexpr Named kNames[] = {{"red", 255, 0, 0},       {"green", 0, 255, 0},  {"blue", 0, 0, 255},
                              {"yellow", 255, 255, 0},  {"cyan", 0, 255, 255}, {"magenta", 255, 0, 255},
                              {"white", 255, 255, 255}, {"black", 0, 0, 0}};
  const Named* best = kNames;
  int best_distance = std::numeric_limits<int>::max();
  for (const Named& named : kNames) {
    const int r = pixel[0] - named.r, g = pixel[1] - named.g, b = pixel[2] - named.b;
    const int distance = r * r + g * g + b * b;
    if (distance < best_distance) {
      best_distance = distance;
      best = &named;
    }
  }
  return best->name;
}

}  // namespace longview::test
