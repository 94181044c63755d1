// What the commands share.
#include "app/cli/commands.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "app/engine/fingerprint.h"
#include "app/engine/utf8.h"

namespace longview::cli {

JobContext Context::Job(std::string label) const {
  return {stop, [this, label = std::move(label)](const Progress& progress) { terminal.ShowProgress(label, progress); }};
}

int Fail(const Context& context, const Status& status) {
  if (status.code() == StatusCode::kCancelled) {
    context.terminal.Message("cancelled");
    return kExitCancelled;
  }
  context.terminal.Message(status.message());
  return kExitNothingDone;
}

void PrintJson(const Context& context, const nlohmann::ordered_json& object) {
  // Bytes that are no UTF-8 cannot be here, and would be replaced rather than thrown on.
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  context.terminal.Print(object.dump(2, ' ', false, replace) + "\n");
}

double Rounded(double value) { return std::isfinite(value) ? std::round(value * 1e6) / 1e6 : 0.0; }

std::string ShortName(const std::filesystem::path& path) { return path.filename().string(); }

std::string_view IndexStateName(IndexState state) {
  switch (state) {
    case IndexState::kNone:
      return "none";
    case IndexState::kPartial:
      return "partial";
    case IndexState::kComplete:
      return "complete";
    case IndexState::kDamaged:
      return "damaged";
  }
  return "none";
}

nlohmann::ordered_json IndexJson(const IndexInfo& index) {
  return {{"state", IndexStateName(index.state)},
          {"frames", index.frames},
          {"tokens", index.tokens},
          {"bytes", index.bytes},
          {"until_s", Rounded(index.until_s)},
          {"sampling", ValidUtf8(index.sampling)},
          {"file", ValidUtf8(index.file.string())}};
}

UsableVideos PrepareVideos(const Context& context) {
  UsableVideos usable;
  // A file named in two ways is one video.
  std::vector<std::string> names;
  for (const std::string& name : context.args.paths) {
    const bool known = std::any_of(names.begin(), names.end(), [&name](const std::string& other) {
      std::error_code ignored;
      return name == other || std::filesystem::equivalent(name, other, ignored);
    });
    if (!known) names.push_back(name);
  }
  if (names.size() == 1) {
    usable.paths = {names[0]};
    return usable;
  }
  bool model_loaded = false;
  for (const std::string& name : names) {
    // Where the library cannot be written the engine answers from memory; only what is wrong with the video itself
    // counts.
    const Result<FileStamp> stamp = StampFile(name);
    Status status = stamp.status();
    if (stamp.ok()) {
      if (!std::exchange(model_loaded, true)) usable.fatal = context.engine.LoadModel(context.Job("Loading the model"));
      if (!usable.fatal.ok()) return usable;
      const IndexOptions options{context.args.sampling, false, context.args.cache.latent};
      const Result<IndexReport> report = context.engine.Index(name, options, context.Job("Reading " + ShortName(name)));
      context.terminal.ClearProgress();
      if (report.ok()) usable.index_s += report->was_complete ? 0.0 : report->seconds;
      if (report.status().code() != StatusCode::kIo) status = report.status();
    }
    if (status.code() == StatusCode::kCancelled) {
      usable.fatal = status;
      return usable;
    }
    if (status.ok()) {
      usable.paths.emplace_back(name);
    } else {
      context.terminal.Message(status.message());
      usable.some_failed = true;
    }
  }
  return usable;
}

}  // namespace longview::cli
