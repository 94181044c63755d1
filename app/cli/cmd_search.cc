// `longview search`: the moments that fit some words best.
#include "app/cli/commands.h"
#include "app/engine/time_format.h"
#include "app/engine/time_text.h"
#include "app/engine/utf8.h"

namespace longview::cli {

int RunSearch(const Context& context) {
  const Args& args = context.args;
  const UsableVideos videos = PrepareVideos(context);
  if (!videos.fatal.ok()) return Fail(context, videos.fatal);
  if (videos.paths.empty()) return kExitNothingDone;

  SearchOptions options;
  options.sampling = args.sampling;
  options.cache = args.cache;
  options.limit = args.limit;
  options.at = args.at;
  const std::string label = videos.paths.size() == 1 ? "Searching " + ShortName(videos.paths[0]) : "Searching";
  const Result<SearchResult> result = context.engine.Search(videos.paths, args.text, options, context.Job(label));
  context.terminal.ClearProgress();
  if (!result.ok()) return Fail(context, result.status());

  if (args.json) {
    nlohmann::ordered_json moments = nlohmann::ordered_json::array();
    for (const Moment& moment : result->moments) {
      moments.push_back({{"video", ValidUtf8(moment.video)},
                         {"start", Rounded(moment.start)},
                         {"end", Rounded(moment.end)},
                         {"score", Rounded(moment.score)}});
    }
    PrintJson(context, {{"moments", moments}});
  } else {
    for (const Moment& moment : result->moments) {
      context.terminal.Print(FormatTime(moment.start, 1) + " - " + FormatTime(moment.end, 1) + "  " +
                             FormatNumber(moment.score, 3) + "  " + PrintableText(moment.video) + "\n");
    }
    if (result->moments.empty()) context.terminal.Print("No moment fits.\n");
  }
  return videos.some_failed ? kExitSomeFailed : kExitDone;
}

}  // namespace longview::cli
