// `longview index`: reads videos now, so that questions start at once later.
#include <utility>

#include "app/cli/commands.h"
#include "app/engine/fingerprint.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

std::string ReportLine(const std::string& name, const IndexReport& report) {
  std::string line = PrintableText(name) + ": ";
  if (report.was_complete) {
    line += "already indexed";
  } else {
    line += report.rebuilt ? "indexed anew" : report.resumed ? "indexed, going on from an earlier run" : "indexed";
    line += " in " + FormatDuration(report.seconds);
  }
  return line + ": " + std::to_string(report.index.frames) + " pictures, " + std::to_string(report.index.tokens) +
         " tokens, " + FormatSize(report.index.bytes) + (report.in_memory ? " (not kept)" : "") + "\n";
}

nlohmann::ordered_json ReportJson(const std::string& name, const IndexReport& report) {
  return {{"video", ValidUtf8(name)},  {"index", IndexJson(report.index)}, {"was_complete", report.was_complete},
          {"resumed", report.resumed}, {"rebuilt", report.rebuilt},        {"seconds", Rounded(report.seconds)}};
}

}  // namespace

int RunIndex(const Context& context) {
  const Args& args = context.args;
  SamplingSettings sampling = args.sampling;
  sampling.latent = args.cache.latent;
  nlohmann::ordered_json videos = nlohmann::ordered_json::array();
  size_t failed = 0;
  bool cancelled = false;
  bool model_loaded = false;
  for (const std::string& name : args.paths) {
    const Result<FileStamp> stamp = StampFile(name);
    Status status = stamp.status();
    if (stamp.ok()) {
      if (!std::exchange(model_loaded, true)) {
        const Status model = context.engine.LoadModel(context.Job("Loading the model"));
        if (!model.ok()) return Fail(context, model);
      }
      const IndexOptions options{sampling, args.rebuild, 0};
      const Result<IndexReport> report = context.engine.Index(name, options, context.Job("Reading " + ShortName(name)));
      context.terminal.ClearProgress();
      status = report.status();
      if (report.ok() && args.json) videos.push_back(ReportJson(name, *report));
      if (report.ok() && !args.json) context.terminal.Print(ReportLine(name, *report));
    }
    if (status.code() == StatusCode::kCancelled) {
      cancelled = true;
      break;
    }
    if (status.ok()) continue;
    ++failed;
    context.terminal.Message(status.message());
    videos.push_back({{"video", ValidUtf8(name)}, {"error", ValidUtf8(status.message())}});
  }
  if (cancelled) return Fail(context, Cancelled());
  if (args.json) PrintJson(context, {{"videos", videos}});
  if (failed == 0) return kExitDone;
  return failed == args.paths.size() ? kExitNothingDone : kExitSomeFailed;
}

}  // namespace longview::cli
