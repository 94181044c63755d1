// `longview info`: what a video is.
#include "app/cli/commands.h"
#include "app/engine/time_format.h"
#include "app/engine/time_text.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

nlohmann::ordered_json InfoJson(const MediaInfo& info) {
  return {{"path", ValidUtf8(info.path)},
          {"duration_s", Rounded(info.duration_s)},
          {"first_time_s", Rounded(info.first_time_s)},
          {"width", info.width},
          {"height", info.height},
          {"rotation", info.rotation},
          {"fps_avg", Rounded(info.fps_avg)},
          {"vfr", info.vfr},
          {"video_codec", ValidUtf8(info.video_codec)},
          {"pix_fmt", ValidUtf8(info.pix_fmt)},
          {"hdr", info.hdr},
          {"audio", info.audio},
          {"index", info.index ? IndexJson(*info.index) : nlohmann::ordered_json()}};
}

std::string InfoText(const MediaInfo& info) {
  std::string out = PrintableText(info.path) + "\n";
  const auto add = [&out](const std::string& name, const std::string& value) {
    out += "  " + name + std::string(12 - name.size(), ' ') + PrintableText(value) + "\n";
  };
  add("picture", std::to_string(info.width) + " x " + std::to_string(info.height) +
                     (info.rotation != 0 ? ", turned by " + std::to_string(info.rotation) + " degrees" : "") +
                     (info.hdr ? ", HDR" : ""));
  if (!info.still) {
    add("duration", FormatTime(info.duration_s, 3) + ", first picture at " + FormatTime(info.first_time_s, 3));
    add("rate", FormatNumber(info.fps_avg, 3) + " pictures a second" + (info.vfr ? " on average, variable" : ""));
  }
  add("coded as", info.video_codec + ", " + info.pix_fmt);
  add("sound", info.audio ? "yes" : "no");
  if (info.index) {
    add("index", std::string(IndexStateName(info.index->state)) + ", " + std::to_string(info.index->frames) +
                     " pictures, " + FormatSize(info.index->bytes) + ", until " + FormatTime(info.index->until_s, 1));
  } else {
    add("index", "none");
  }
  return out;
}

}  // namespace

int RunInfo(const Context& context) {
  const std::string& path = context.args.paths[0];
  const Result<MediaInfo> info = context.engine.Info(path, {}, context.Job("Reading " + ShortName(path)));
  context.terminal.ClearProgress();
  if (!info.ok()) return Fail(context, info.status());
  for (const std::string& warning : info->warnings) context.terminal.Message(warning);
  if (context.args.json) {
    PrintJson(context, InfoJson(*info));
  } else {
    context.terminal.Print(InfoText(*info));
  }
  return kExitDone;
}

}  // namespace longview::cli
