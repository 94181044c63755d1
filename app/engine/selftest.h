// The self-test: pictures planted in hours of footage, and whether they are found again by their captions, by depth and
// length (the needle-in-a-haystack test of long contexts, here for film).
#ifndef LONGVIEW_APP_ENGINE_SELFTEST_H_
#define LONGVIEW_APP_ENGINE_SELFTEST_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/engine/settings.h"
#include "core/base/status.h"
#include "vision/picture.h"

namespace longview {

// What is planted: a picture, or the middle kept frame of a video.
struct Needle {
  std::filesystem::path file;
  std::string caption;  // asked for
};

struct SelfTestOptions {
  SamplingSettings sampling;
  CacheOptions cache;
  std::vector<double> lengths_s = {600.0, 3600.0, 10800.0};  // of the footage, each > 0 and at most 48 h
  int depths = 10;                                           // places along it, 1..100
  // At least one. None of them may be the footage itself.
  std::vector<Needle> needles;
};

inline constexpr double kNeedle_s = 5.0;  // how long a planted picture stands

// What became of the needles at one depth of one length of footage. Each depth has every needle once.
struct SelfTestCell {
  double length_s = 0.0;
  double depth = 0.0;  // 0..1, the middle of the place
  int planted = 0;
  int found = 0;     // the first moment of a search for the caption lies on the needle
  int attended = 0;  // asked over everything, the needle's frame has the most attention of all
};

struct SelfTestReport {
  std::vector<SelfTestCell> cells;  // by length, then by depth
  uint64_t tokens = 0;              // of the longest footage
  bool trained_heads = false;       // false: a search ranks by attention too
  double total_s = 0.0;
};

// Called for each cell as it is done, from the thread that works.
using SelfTestSink = std::function<void(const SelfTestCell&)>;

// kInvalidArgument names the option that is out of range.
Status CheckSelfTest(const SelfTestOptions& options);

// Needles from a folder: captions.tsv there, one "FILE<tab>CAPTION" a line. kNotFound, kDamaged: the line and what is
// wrong with it.
Result<std::vector<Needle>> ReadNeedles(const std::filesystem::path& folder);

// The report as a picture: a column a length, a row a depth; green where every needle was found, red where none was.
// `attended`: by attention instead of by search.
Picture DrawHeatMap(const SelfTestReport& report, bool attended);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_SELFTEST_H_
