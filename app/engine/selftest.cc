// Options, needles and the picture of the self-test.
#include "app/engine/selftest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <utility>

namespace longview {
namespace {

namespace fs = std::filesystem;

constexpr double kLongest_s = 48.0 * 3600.0;

}  // namespace

Status CheckSelfTest(const SelfTestOptions& options) {
  if (options.needles.empty()) return InvalidArgument("a self-test needs at least one picture to plant");
  if (options.depths < 1 || options.depths > 100) return InvalidArgument("a self-test has 1..100 depths");
  if (options.lengths_s.empty()) return InvalidArgument("a self-test needs a length of footage");
  for (const double length : options.lengths_s) {
    if (!(length > 0.0) || length > kLongest_s) return InvalidArgument("footage of a self-test lasts up to 48 hours");
    const double needles = std::ceil(static_cast<double>(options.needles.size()) / options.depths);
    if (length / options.depths < needles * 2.0 * kNeedle_s) {
      return InvalidArgument("footage of " + std::to_string(std::lround(length)) + " s is too short for " +
                             std::to_string(options.needles.size()) + " needles at " + std::to_string(options.depths) +
                             " depths");
    }
  }
  return Status::Ok();
}

Result<std::vector<Needle>> ReadNeedles(const fs::path& folder) {
  const fs::path path = folder / "captions.tsv";
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return NotFound(path.string() + ": not found; a folder of needles has one line a picture there, FILE<tab>CAPTION");
  std::vector<Needle> needles;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const size_t tab = line.find('\t');
    const std::string name = line.substr(0, tab);
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size() || fs::path(name).is_absolute()) {
      return Damaged(path.string() + ": line " + std::to_string(number) + " is not FILE<tab>CAPTION");
    }
    needles.push_back({folder / name, line.substr(tab + 1)});
  }
  if (needles.empty()) return Damaged(path.string() + ": names no picture");
  return needles;
}

Picture DrawHeatMap(const SelfTestReport& report, bool attended) {
  constexpr int kCell = 48;
  std::vector<double> lengths;
  for (const SelfTestCell& cell : report.cells) {
    if (lengths.empty() || lengths.back() != cell.length_s) lengths.push_back(cell.length_s);
  }
  Picture picture;
  if (lengths.empty()) return picture;
  const auto columns = static_cast<int>(lengths.size());
  const auto rows = static_cast<int>(report.cells.size() / lengths.size());
  picture.width = columns * kCell;
  picture.height = rows * kCell;
  picture.rgb.assign(static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3, 255);
  for (int column = 0; column < columns; ++column) {
    for (int row = 0; row < rows; ++row) {
      const SelfTestCell& cell =
          report.cells[static_cast<size_t>(column) * static_cast<size_t>(rows) + static_cast<size_t>(row)];
      const double share =
          cell.planted == 0 ? 0.0 : static_cast<double>(attended ? cell.attended : cell.found) / cell.planted;
      const auto red = static_cast<uint8_t>(std::lround(220.0 - 170.0 * share));
      const auto green = static_cast<uint8_t>(std::lround(60.0 + 110.0 * share));
      for (int y = row * kCell; y < (row + 1) * kCell - 1; ++y) {
        uint8_t* pixel = picture.Row(y) + static_cast<ptrdiff_t>(column) * kCell * 3;
        for (int x = 0; x < kCell - 1; ++x, pixel += 3) {
          pixel[0] = red;
          pixel[1] = green;
          pixel[2] = 70;
        }
      }
    }
  }
  return picture;
}

}  // namespace longview
