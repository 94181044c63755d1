// `longview caption`: many files in, subtitles out; made to be left running, stopped and started again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "app/cli/caption_manifest.h"
#include "app/cli/caption_plan.h"
#include "app/cli/caption_progress.h"
#include "app/cli/commands.h"
#include "app/engine/fingerprint.h"
#include "app/engine/output_files.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"
#include "core/base/clock.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;

// To be raised when the same model and settings give other captions or other bytes than before.
constexpr int kOutputVersion = 3;
constexpr auto kProgressEvery = std::chrono::seconds(1);  // for machines; people see it more often

nlohmann::ordered_json SettingsJson(const Args& args, const std::string& model) {
  return {{"model", ValidUtf8(model)},
          {"sampling", SamplingText(args.sampling)},
          {"every_s", args.caption.every_s},
          {"prompt", ValidUtf8(args.caption.prompt)},
          {"output_version", kOutputVersion}};
}

// What --dry-run adds up over the files that are to be captioned.
struct DryTotals {
  size_t files = 0;
  size_t measured = 0;  // of these, estimated by earlier work
  double film_s = 0.0;
  double seconds = 0.0;
  uint64_t index_bytes = 0;
  uint64_t output_bytes = 0;
};

class CaptionRun {
 public:
  explicit CaptionRun(const Context& context) : context_(context), options_(context.args.caption) {}
  int Run();

 private:
  Status Plan();
  void WorkThrough();
  void Work(size_t task);
  Status MakeCaptions(size_t task, const std::vector<PendingOutput>& pending, CaptionOutcome* outcome);
  Status MediaOf(const CaptionTask& task, TimelineMedia* media);
  Status EnsureModel();
  void Finish(size_t task, CaptionOutcome outcome, const Status& status);
  void ShowProgress();
  void Event(const char* name, const nlohmann::ordered_json& fields);
  nlohmann::ordered_json Estimate(size_t task, DryTotals* totals);
  int DryRun();
  int Report();
  void SayFailed(size_t failed);

  const Context& context_;
  const CaptionArgs& options_;
  CaptionPlan plan_;
  std::unique_ptr<CaptionOutputs> outputs_;
  std::unique_ptr<CaptionProgress> progress_;
  CaptionManifest manifest_;
  Clock::time_point started_;

  std::once_flag model_once_;
  Status model_status_;
  std::atomic<size_t> next_task_{0};
  std::mutex mutex_;  // over all below and manifest_.outcomes while threads run
  Clock::time_point last_event_;
  std::optional<Clock::time_point> last_manifest_;
  Status fatal_;  // ends the run: the model cannot be loaded
};

int CaptionRun::Run() {
  if (options_.log_json) context_.terminal.LogJson();
  if (const Status status = Plan(); !status.ok()) return Fail(context_, status);
  if (options_.dry_run) return DryRun();
  // From the first moment on, so that a run that is killed leaves one whatever it got to.
  if (!manifest_.outcomes.empty()) (void)WriteManifest(manifest_, plan_.manifest_folder).ok();
  WorkThrough();
  context_.terminal.ClearProgress();
  return Report();
}

Status CaptionRun::Plan() {
  LV_ASSIGN_OR_RETURN(manifest_.model, context_.engine.ModelName());
  manifest_.run = NewRunName();
  manifest_.started = UtcNow();
  manifest_.shard = std::to_string(options_.shard.index) + "/" + std::to_string(options_.shard.count);
  manifest_.settings = SettingsJson(context_.args, manifest_.model);
  if (!options_.out.empty() && !options_.dry_run) LV_RETURN_IF_ERROR(PrepareOutputFolder(options_.out));
  LV_ASSIGN_OR_RETURN(plan_, PlanCaptions(context_.args));
  std::vector<uint64_t> bytes;
  for (const CaptionTask& task : plan_.tasks) {
    CaptionOutcome& outcome = manifest_.outcomes.emplace_back();
    outcome.video = task.input.string();
    outcome.key = task.key;
    bytes.push_back(task.bytes);
  }
  for (const CaptionFault& fault : plan_.faults) {
    context_.terminal.Message(fault.message);
    CaptionOutcome& outcome = manifest_.outcomes.emplace_back();
    outcome.video = fault.path;
    outcome.key = fault.shard_key;
    outcome.state = CaptionState::kFailed;
    outcome.error = fault.message;
  }
  progress_ = std::make_unique<CaptionProgress>(std::move(bytes), context_.args.sampling.fps);
  outputs_ = std::make_unique<CaptionOutputs>(options_, HashText(manifest_.settings.dump()), &context_.terminal);
  outputs_->Prepare(&plan_, !options_.dry_run);
  Event("start", {{"run", manifest_.run},
                  {"model", ValidUtf8(manifest_.model)},
                  {"shard", manifest_.shard},
                  {"files", plan_.tasks.size()}});
  return Status::Ok();
}

void CaptionRun::WorkThrough() {
  started_ = Clock::now();
  const auto work = [this] {
    for (size_t task = next_task_++; task < plan_.tasks.size(); task = next_task_++) {
      {
        const std::lock_guard lock(mutex_);
        if (!fatal_.ok()) return;
      }
      if (context_.stop.stop_requested()) return;
      Work(task);
    }
  };
  const size_t workers = std::min(static_cast<size_t>(options_.jobs), plan_.tasks.size());
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
}

void CaptionRun::Work(size_t index) {
  const CaptionTask& task = plan_.tasks[index];
  CaptionOutcome outcome;
  outcome.video = task.input.string();
  outcome.key = task.key;
  const Result<FileStamp> stamp = StampFile(task.input);
  if (!stamp.ok()) return Finish(index, std::move(outcome), stamp.status());
  Result<std::string> fingerprint = Fingerprint(task.input, {context_.stop, {}});
  if (!fingerprint.ok()) return Finish(index, std::move(outcome), fingerprint.status());
  outcome.fingerprint = *fingerprint;
  const Result<std::vector<PendingOutput>> pending = outputs_->FindPending(task, true, &outcome);
  if (!pending.ok()) return Finish(index, std::move(outcome), pending.status());
  if (pending->empty()) {
    outcome.state = CaptionState::kSkipped;
    return Finish(index, std::move(outcome), Status::Ok());
  }
  if (Status model = EnsureModel(); !model.ok()) {
    const std::lock_guard lock(mutex_);
    fatal_ = std::move(model);
    return;
  }
  const Status status = MakeCaptions(index, *pending, &outcome);
  Finish(index, std::move(outcome), status);
}

Status CaptionRun::EnsureModel() {
  std::call_once(model_once_, [this] { model_status_ = context_.engine.LoadModel(context_.Job("Loading the model")); });
  return model_status_;
}

Status CaptionRun::MediaOf(const CaptionTask& task, TimelineMedia* media) {
  LV_ASSIGN_OR_RETURN(const MediaInfo info,
                      context_.engine.Info(task.input, context_.args.sampling, {context_.stop, {}}));
  media->end_s = std::max(media->end_s, info.still ? 1.0 : info.first_time_s + info.duration_s);
  media->fps = info.fps_avg;
  media->width = info.width;
  media->height = info.height;
  media->audio = info.audio;
  media->timecode = info.timecode;
  return Status::Ok();
}

Status CaptionRun::MakeCaptions(size_t index, const std::vector<PendingOutput>& pending, CaptionOutcome* outcome) {
  const CaptionTask& task = plan_.tasks[index];
  const std::string video = task.input.string();
  const Result<FileStamp> before = StampFile(task.input);
  JobContext job;
  job.stop = context_.stop;
  job.progress = [this, index](const Progress& progress) {
    progress_->Show(index, progress);
    ShowProgress();
  };
  std::vector<Cue> cues;
  std::error_code ignored;
  TimelineMedia plain;
  plain.file = fs::absolute(task.input, ignored).lexically_normal();
  const auto on_caption = [&cues, &plain](const CaptionEvent& event) {
    cues.push_back({event.start, event.end, event.text});
    plain.end_s = std::max(plain.end_s, event.end);
    return Status::Ok();
  };
  LV_ASSIGN_OR_RETURN(const CaptionReport report,
                      context_.engine.Caption(task.input, EngineOptionsOf(context_.args), job, on_caption));
  TimelineMedia media = plain;
  const bool timeline = std::any_of(pending.begin(), pending.end(),
                                    [](const PendingOutput& output) { return NeedsMediaInfo(output.format); });
  if (timeline) LV_RETURN_IF_ERROR(MediaOf(task, &media));
  const Result<FileStamp> after = StampFile(task.input);
  if (!before.ok() || !after.ok() || !(*before == *after)) {
    return IoError(video + ": changed while it was read, so nothing was written: run again when it is finished");
  }
  if (cues.empty()) return Damaged(video + ": no captions could be made of it");
  for (const PendingOutput& output : pending) {
    // What does not need the film's rate must not change by its having been read.
    const TimelineMedia& used = NeedsMediaInfo(output.format) ? media : plain;
    LV_RETURN_IF_ERROR(outputs_->Write(task, output, cues, used, outcome));
  }
  outcome->captions = cues.size();
  outcome->frames = report.frames;
  if (!report.damage.empty()) outcome->warning = "could not be decoded: " + report.damage;
  outcome->seconds = Rounded(report.total_s);
  outcome->state = CaptionState::kDone;
  return Status::Ok();
}

void CaptionRun::Finish(size_t index, CaptionOutcome outcome, const Status& status) {
  if (status.code() == StatusCode::kCancelled) return;  // stays "not done"
  if (!status.ok()) {
    outcome.state = CaptionState::kFailed;
    outcome.error = status.message();
  }
  progress_->Finish(index, outcome.state == CaptionState::kDone);
  {
    constexpr std::chrono::seconds kBetweenManifests{5};
    const std::lock_guard lock(mutex_);
    manifest_.outcomes[index] = outcome;
    // Before it is told, so that a run that is killed has a record of what it said. Where it cannot be written, the end
    // of the run says so.
    const bool worked = outcome.state != CaptionState::kSkipped;
    if (worked && (!last_manifest_ || Clock::now() - *last_manifest_ >= kBetweenManifests)) {
      (void)WriteManifest(manifest_, plan_.manifest_folder).ok();
      last_manifest_ = Clock::now();
    }
  }
  if (!status.ok()) {
    context_.terminal.Message(status.message());
  } else if (!context_.args.json && outcome.state == CaptionState::kDone) {
    std::string line = PrintableText(outcome.video) + " ->";
    for (const std::string& path : outcome.outputs) line += " " + PrintableText(path);
    context_.terminal.Print(line + " (" + std::to_string(outcome.captions) +
                            (outcome.captions == 1 ? " caption)\n" : " captions)\n"));
  }
  Event("file", OutcomeJson(outcome));
  ShowProgress();
}

void CaptionRun::Event(const char* name, const nlohmann::ordered_json& fields) {
  if (!options_.log_json) return;
  nlohmann::ordered_json event = {{"event", name}, {"time", UtcNow()}};
  event.update(fields);
  context_.terminal.Event(event.dump());
}

void CaptionRun::ShowProgress() {
  const BatchState state = progress_->State(SecondsSince(started_));
  const std::string label =
      plan_.tasks.size() == 1 ? "Captioning " + ShortName(plan_.tasks[0].input) + "," : "Captioning";
  context_.terminal.ShowProgress(label, {state.share, 1.0}, BatchText(state));
  if (!options_.log_json) return;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (now - last_event_ < kProgressEvery) return;
    last_event_ = now;
  }
  Event("progress", {{"files_done", state.files_done},
                     {"files", state.files},
                     {"hours", Rounded(state.hours)},
                     {"frames_per_s", Rounded(state.frames_per_s)},
                     {"share", Rounded(state.share)},
                     {"eta_s", state.eta_s ? nlohmann::ordered_json(Rounded(*state.eta_s)) : nullptr}});
}

// What one file would take; its JSON, and its part of the sums.
nlohmann::ordered_json CaptionRun::Estimate(size_t index, DryTotals* totals) {
  constexpr uint64_t kCaptionBytes = 120;  // in one output
  const CaptionTask& task = plan_.tasks[index];
  CaptionOutcome& outcome = manifest_.outcomes[index];
  nlohmann::ordered_json entry = {{"video", ValidUtf8(outcome.video)}};
  const auto fail = [&](const Status& status) {
    outcome.state = status.code() == StatusCode::kCancelled ? CaptionState::kNotDone : CaptionState::kFailed;
    if (outcome.state == CaptionState::kFailed) context_.terminal.Message(status.message());
    entry.update({{"state", "failed"}, {"error", ValidUtf8(status.message())}});
    return entry;
  };
  const Result<std::string> fingerprint = Fingerprint(task.input, {context_.stop, {}});
  if (!fingerprint.ok()) return fail(fingerprint.status());
  outcome.fingerprint = *fingerprint;
  const Result<MediaInfo> info = context_.engine.Info(task.input, context_.args.sampling, {context_.stop, {}});
  if (!info.ok()) return fail(info.status());
  const auto pending = outputs_->FindPending(task, false, &outcome);
  if (!pending.ok()) return fail(pending.status());
  if (pending->empty()) {
    outcome.state = CaptionState::kSkipped;
    entry["state"] = "skipped";
    return entry;
  }
  const bool indexed = info->index && info->index->state == IndexState::kComplete;
  const CaptionEstimate estimate =
      context_.engine.EstimateCaption(info->duration_s, EngineOptionsOf(context_.args), indexed);
  const uint64_t bytes = estimate.captions * kCaptionBytes * pending->size();
  ++totals->files;
  totals->film_s += info->duration_s;
  totals->seconds += estimate.seconds;
  totals->index_bytes += estimate.index_bytes;
  totals->output_bytes += bytes;
  if (estimate.measured) ++totals->measured;
  entry.update({{"state", "to_do"},
                {"duration_s", Rounded(info->duration_s)},
                {"frames", estimate.frames},
                {"captions", estimate.captions},
                {"indexed", indexed},
                {"index_bytes", estimate.index_bytes},
                {"output_bytes", bytes},
                {"seconds", Rounded(estimate.seconds)}});
  return entry;
}

// What would be done, without a model, and without a folder being made.
int CaptionRun::DryRun() {
  DryTotals totals;
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < plan_.tasks.size(); ++i) {
    context_.terminal.ShowProgress("Looking at the files",
                                   {static_cast<double>(i), static_cast<double>(plan_.tasks.size())});
    inputs.push_back(Estimate(i, &totals));
    if (context_.stop.stop_requested()) return Fail(context_, Cancelled());
  }
  context_.terminal.ClearProgress();
  const size_t failed = CountState(manifest_, CaptionState::kFailed);
  const size_t skipped = CountState(manifest_, CaptionState::kSkipped);
  const bool measured = totals.files > 0 && totals.measured == totals.files;
  if (context_.args.json) {
    PrintJson(context_, {{"dry_run", true},
                         {"to_do", totals.files},
                         {"skipped", skipped},
                         {"failed", failed},
                         {"film_s", Rounded(totals.film_s)},
                         {"seconds", Rounded(totals.seconds)},
                         {"measured", measured},
                         {"index_bytes", totals.index_bytes},
                         {"output_bytes", totals.output_bytes},
                         {"inputs", inputs}});
  } else {
    context_.terminal.Print(std::to_string(totals.files) + " to caption (" + FormatDuration(totals.film_s) +
                            " of film), " + std::to_string(skipped) + " already finished\n");
    if (totals.files > 0) {
      context_.terminal.Print("about " + FormatDuration(totals.seconds) +
                              (measured ? ", by what such work took here before" : ", a rough guess") + "\nabout " +
                              FormatSize(totals.index_bytes) + " of indexes and " + FormatSize(totals.output_bytes) +
                              " of captions\n");
    }
  }
  if (failed > 0) SayFailed(failed);
  return failed > 0 ? kExitSomeFailed : kExitDone;
}

void CaptionRun::SayFailed(size_t failed) {
  context_.terminal.Message(std::to_string(failed) + " of " + std::to_string(manifest_.outcomes.size()) +
                            " inputs failed");
}

int CaptionRun::Report() {
  manifest_.finished = UtcNow();
  manifest_.cancelled = context_.stop.stop_requested() && CountState(manifest_, CaptionState::kNotDone) > 0;
  Status manifest_status;
  std::string manifest_path;
  if (!manifest_.outcomes.empty()) {
    const Result<fs::path> written = WriteManifest(manifest_, plan_.manifest_folder);
    manifest_status = written.status();
    if (written.ok()) manifest_path = written.value().string();
  }
  if (!manifest_status.ok()) context_.terminal.Message(manifest_status.message());
  const size_t failed = CountState(manifest_, CaptionState::kFailed);
  const size_t skipped = CountState(manifest_, CaptionState::kSkipped);
  Event("end", {{"done", CountState(manifest_, CaptionState::kDone)},
                {"skipped", skipped},
                {"failed", failed},
                {"not_done", CountState(manifest_, CaptionState::kNotDone)},
                {"manifest", ValidUtf8(manifest_path)}});
  if (context_.args.json && fatal_.ok()) {
    nlohmann::ordered_json object = ManifestJson(manifest_);
    object["manifest"] = ValidUtf8(manifest_path);
    PrintJson(context_, object);
  } else if (skipped > 0) {
    context_.terminal.Print(std::to_string(skipped) + " already finished\n");
  }
  if (failed > 0) SayFailed(failed);
  if (manifest_.cancelled) return Fail(context_, Cancelled());
  if (!fatal_.ok()) return Fail(context_, fatal_);
  return failed > 0 || !manifest_status.ok() ? kExitSomeFailed : kExitDone;
}

}  // namespace

int RunCaption(const Context& context) { return CaptionRun(context).Run(); }

}  // namespace longview::cli
