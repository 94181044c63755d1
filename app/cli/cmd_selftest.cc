// `longview selftest`: pictures planted in footage, found again, depth by length.
#include <algorithm>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/engine/time_format.h"

namespace longview::cli {
namespace {

using Json = nlohmann::ordered_json;

Json ReportJson(const SelfTestReport& report) {
  Json cells = Json::array();
  for (const SelfTestCell& cell : report.cells) {
    cells.push_back({{"length_s", Rounded(cell.length_s)},
                     {"depth", Rounded(cell.depth)},
                     {"planted", cell.planted},
                     {"found", cell.found},
                     {"attended", cell.attended}});
  }
  return {{"cells", cells},
          {"tokens", report.tokens},
          {"trained_heads", report.trained_heads},
          {"total_s", Rounded(report.total_s)}};
}

// A row a depth, a column a length: how many of the planted were found.
std::string Grid(const SelfTestReport& report, int SelfTestCell::*count) {
  std::vector<double> lengths;
  std::vector<double> depths;
  for (const SelfTestCell& cell : report.cells) {
    if (std::find(lengths.begin(), lengths.end(), cell.length_s) == lengths.end()) lengths.push_back(cell.length_s);
    if (std::find(depths.begin(), depths.end(), cell.depth) == depths.end()) depths.push_back(cell.depth);
  }
  const auto padded = [](const std::string& text) {
    return std::string(text.size() < 12 ? 12 - text.size() : 1, ' ') + text;
  };
  std::string text = padded("depth");
  for (const double length : lengths) text += padded(FormatDuration(length));
  text += "\n";
  for (size_t d = 0; d < depths.size(); ++d) {
    text += padded(FormatNumber(100.0 * depths[d], 0) + " %");
    for (size_t l = 0; l < lengths.size(); ++l) {
      const SelfTestCell& cell = report.cells[l * depths.size() + d];
      text += padded(std::to_string(cell.*count) + "/" + std::to_string(cell.planted));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

int RunSelfTest(const Context& context) {
  const SelfTestArgs& args = context.args.selftest;
  SelfTestOptions options;
  options.sampling = context.args.sampling;
  options.cache = context.args.cache;
  if (!args.lengths_s.empty()) options.lengths_s = args.lengths_s;
  options.depths = args.depths;
  if (args.needles.empty()) {
    options.needles = context.engine.DemoNeedles();
  } else {
    Result<std::vector<Needle>> needles = ReadNeedles(args.needles);
    if (!needles.ok()) return Fail(context, needles.status());
    options.needles = std::move(needles).value();
  }
  const std::filesystem::path video = args.synthetic ? context.engine.models_dir() / "demo" / "bikes.mp4"
                                                     : std::filesystem::path(context.args.paths[0]);
  const Result<SelfTestReport> report =
      context.engine.SelfTest(video, std::move(options), context.Job("Planting and finding"));
  context.terminal.ClearProgress();
  if (!report.ok()) return Fail(context, report.status());
  if (!args.png.empty()) {
    if (const Status saved = SavePng(DrawHeatMap(*report, false), args.png); !saved.ok()) return Fail(context, saved);
  }
  if (context.args.json) {
    PrintJson(context, ReportJson(*report));
    return kExitDone;
  }
  context.terminal.Print("Found by a search for the caption, of those planted:\n" +
                         Grid(*report, &SelfTestCell::found) +
                         "\nMet with more attention than any other moment when everything is attended to at once (few "
                         "by the default model, "
                         "which chooses moments first):\n" +
                         Grid(*report, &SelfTestCell::attended));
  if (!report->trained_heads) {
    context.terminal.Print("\nThe model has no trained retrieval heads: a search ranks by attention too.\n");
  }
  return kExitDone;
}

}  // namespace longview::cli
