// `longview ask`: the answer as it is made, then the moments it drew on.
#include <algorithm>

#include "app/cli/commands.h"
#include "app/engine/time_format.h"
#include "app/engine/time_text.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

nlohmann::ordered_json AnswerJson(const Answer& answer) {
  nlohmann::ordered_json evidence = nlohmann::ordered_json::array();
  for (const Evidence& moment : answer.evidence) {
    evidence.push_back({{"video", ValidUtf8(moment.video)},
                        {"start", Rounded(moment.start)},
                        {"end", Rounded(moment.end)},
                        {"weight", Rounded(moment.weight)}});
  }
  return {{"answer", ValidUtf8(answer.text)},
          {"in_footage", Rounded(answer.in_footage)},
          {"evidence", evidence},
          {"cache",
           {{"mode", answer.cache.mode},
            {"store", answer.cache.store},
            {"latent", answer.cache.latent},
            {"tokens", answer.cache.tokens},
            {"bytes", answer.cache.bytes}}},
          {"time",
           {{"index_s", Rounded(answer.time.index_s)},
            {"first_token_s", Rounded(answer.time.first_token_s)},
            {"total_s", Rounded(answer.time.total_s)}}}};
}

// `  0:12.0 - 0:15.5   42 %  ride.mp4`, the name only where there are several videos.
std::string EvidenceLines(const Answer& answer, bool name_videos) {
  if (answer.evidence.empty()) return "\nNo moment stood out.\n";
  std::string out = "\nFrom these moments:\n";
  for (const Evidence& moment : answer.evidence) {
    out += "  " + FormatTime(moment.start, 1) + " - " + FormatTime(moment.end, 1) + "  " +
           FormatNumber(moment.weight * 100.0, 0) + " %";
    if (name_videos) out += "  " + PrintableText(moment.video);
    out += "\n";
  }
  return out;
}

std::string StageLabel(const StageEvent& event) {
  const std::string name = event.video.empty() ? "" : " " + ShortName(event.video);
  switch (event.stage) {
    case Stage::kLoadModel:
      return "Loading the model";
    case Stage::kIndex:
      return "Reading" + name;
    case Stage::kLoadCache:
      return "Loading the index" + (name.empty() ? name : " of" + name);
    case Stage::kAnswer:
      return "Thinking";
    case Stage::kCaption:
      return "Captioning" + name;
  }
  return "Working";
}

}  // namespace

int RunAsk(const Context& context) {
  const Args& args = context.args;
  const UsableVideos videos = PrepareVideos(context);
  if (!videos.fatal.ok()) return Fail(context, videos.fatal);
  if (videos.paths.empty()) return kExitNothingDone;

  AskOptions options;
  options.sampling = args.sampling;
  options.cache = args.cache;
  options.scope = args.scope;
  options.at = args.at;
  options.started = ProcessStart();

  std::string label = "Working";  // set and read on the thread that works
  JobContext job;
  job.stop = context.stop;
  job.progress = [&](const Progress& progress) { context.terminal.ShowProgress(label, progress); };
  AskCallbacks callbacks;
  callbacks.on_stage = [&](const StageEvent& event) {
    label = StageLabel(event);
    context.terminal.ShowProgress(label, {});
  };
  char last = '\n';  // of what was printed
  if (!args.json) {
    callbacks.on_text = [&](std::string_view text) {
      context.terminal.Print(text);
      if (!text.empty()) last = text.back();
    };
  }
  Result<Answer> answer = context.engine.Ask(videos.paths, args.text, options, job, callbacks);
  context.terminal.ClearProgress();
  if (last != '\n') context.terminal.Print("\n");
  if (!answer.ok()) return Fail(context, answer.status());

  answer->time.index_s += videos.index_s;
  if (args.json) {
    PrintJson(context, AnswerJson(*answer));
  } else {
    context.terminal.Print(EvidenceLines(*answer, videos.paths.size() > 1));
    context.terminal.Remark("First word after " + FormatDuration(answer->time.first_token_s) + "; " +
                            answer->cache.mode + " cache in " + answer->cache.store + ": " +
                            std::to_string(answer->cache.tokens) + " tokens, " + FormatSize(answer->cache.bytes) + ".");
  }
  return videos.some_failed ? kExitSomeFailed : kExitDone;
}

}  // namespace longview::cli
