// `longview frames`: the pictures shown at given times, as PNG files.
#include <algorithm>
#include <cmath>

#include "app/cli/commands.h"
#include "app/engine/output_files.h"
#include "app/engine/time_format.h"
#include "app/engine/time_text.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMaxPictures = 10'000'000;

// `film.00-01-20.000.png`; a time that is no whole number of milliseconds has microseconds, so that no two times that
// differ by one share a name.
std::string PictureName(const fs::path& video, double time_s) {
  const int64_t microseconds = std::llround(time_s * 1e6);
  std::string stamp = FormatTimestamp(microseconds / 1000, '.');
  std::replace(stamp.begin(), stamp.end(), ':', '-');
  if (microseconds % 1000 != 0) stamp += std::to_string(1000 + microseconds % 1000).substr(1);
  return OutputName(video.stem().string(), "." + stamp + ".png");
}

// The times asked for, in order, each once.
Result<std::vector<double>> WantedTimes(const Context& context) {
  std::vector<double> times = context.args.frames.times_s;
  if (context.args.frames.every_s > 0.0) {
    const std::string& path = context.args.paths[0];
    LV_ASSIGN_OR_RETURN(const MediaInfo info, context.engine.Info(path, {}, context.Job("Reading " + ShortName(path))));
    const double step = context.args.frames.every_s;
    const double count = std::max(1.0, std::ceil(info.duration_s / step - 1e-9));
    if (count > kMaxPictures) {
      return InvalidArgument("--every makes more than 10 million pictures here: take longer steps");
    }
    for (double i = 0.0; i < count; ++i) times.push_back(info.first_time_s + i * step);
  }
  // Names of pictures tell microseconds apart.
  for (double& time : times) time = Rounded(time);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

}  // namespace

int RunFrames(const Context& context) {
  const fs::path video = context.args.paths[0];
  const fs::path folder = context.args.frames.out;
  const Result<std::vector<double>> times = WantedTimes(context);
  context.terminal.ClearProgress();
  if (!times.ok()) return Fail(context, times.status());
  if (const Status status = PrepareOutputFolder(folder); !status.ok()) return Fail(context, status);

  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  size_t written = 0;
  size_t failed = 0;
  const auto on_picture = [&](double time_s, Result<Picture> picture) -> Status {
    Progress progress{static_cast<double>(written + failed), static_cast<double>(times->size())};
    context.terminal.ShowProgress("Saving pictures", progress);
    Status status = picture.status();
    const fs::path path = folder / PictureName(video, time_s);
    if (status.ok()) {
      // A full disk will not be less full for the next picture: it ends the call.
      LV_RETURN_IF_ERROR(SavePng(*picture, path));
      ++written;
      frames.push_back({{"time", Rounded(time_s)},
                        {"picture_time", Rounded(picture->time_s)},
                        {"file", ValidUtf8(path.string())},
                        {"width", picture->width},
                        {"height", picture->height}});
      if (!context.args.json) context.terminal.Print(PrintableText(path.string()) + "\n");
    } else {
      ++failed;
      context.terminal.Message(status.message());
      frames.push_back({{"time", Rounded(time_s)}, {"error", ValidUtf8(status.message())}});
    }
    return Status::Ok();
  };
  JobContext job;
  job.stop = context.stop;
  const Status status = context.engine.FramesAt(video, *times, job, on_picture);
  context.terminal.ClearProgress();
  if (!status.ok()) return Fail(context, status);
  if (context.args.json) PrintJson(context, {{"video", ValidUtf8(video.string())}, {"frames", frames}});
  if (failed == 0) return kExitDone;
  return written > 0 ? kExitSomeFailed : kExitNothingDone;
}

}  // namespace longview::cli
