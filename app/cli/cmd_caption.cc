// `longview caption`: many files in, subtitles out; made to be left running, stopped and started again.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "app/cli/caption_inputs.h"
#include "app/cli/caption_manifest.h"
#include "app/cli/caption_record.h"
#include "app/cli/commands.h"
#include "app/engine/fingerprint.h"
#include "app/engine/output_files.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;

// To be raised when the same model and settings give other captions or other bytes than before.
constexpr int kOutputVersion = 1;

// One input of this shard and where its outputs go.
struct CaptionTask {
  fs::path input;
  OutputBase output;
};

// One output of a task that is still to be made.
struct PendingOutput {
  SubtitleFormat format;
  std::string name;
};

nlohmann::ordered_json SettingsJson(const Args& args, const std::string& model) {
  return {{"model", ValidUtf8(model)},
          {"sampling", SamplingText(args.sampling)},
          {"every_s", args.caption.every_s},
          {"output_version", kOutputVersion}};
}

class CaptionRun {
 public:
  explicit CaptionRun(const Context& context) : context_(context), options_(context.args.caption) {}
  int Run();

 private:
  Status Plan();
  void PrepareFolders();
  void WorkThrough();
  void Work(size_t task);
  // What is to be made for a task; empty where all is finished. An error where a file of somebody else's is in the way.
  Result<std::vector<PendingOutput>> FindPending(const CaptionTask& task, CaptionOutcome* outcome);
  Status MakeCaptions(size_t task, const std::vector<PendingOutput>& pending, CaptionOutcome* outcome);
  Status EnsureModel();
  void Finish(size_t task, CaptionOutcome outcome, const Status& status);
  void ShowShare(size_t task, double share);
  fs::path ManifestFolder() const;
  int Report();

  const Context& context_;
  const CaptionArgs& options_;
  std::vector<CaptionTask> tasks_;
  std::map<std::string, std::unique_ptr<CaptionRecord>> records_;  // by output folder
  std::map<std::string, Status> bad_folders_;
  std::string settings_key_;
  CaptionManifest manifest_;

  std::once_flag model_once_;
  Status model_status_;
  std::atomic<size_t> next_task_{0};
  std::mutex mutex_;           // over all below and manifest_.outcomes while threads run
  std::vector<double> share_;  // how far each task is, 0..1
  Status fatal_;               // ends the run: the model cannot be loaded
};

int CaptionRun::Run() {
  if (const Status status = Plan(); !status.ok()) return Fail(context_, status);
  WorkThrough();
  context_.terminal.ClearProgress();
  return Report();
}

Status CaptionRun::Plan() {
  LV_ASSIGN_OR_RETURN(manifest_.model, context_.engine.ModelName());
  manifest_.run = NewRunName();
  manifest_.started = UtcNow();
  manifest_.shard = std::to_string(options_.shard_index) + "/" + std::to_string(options_.shard_count);
  manifest_.settings = SettingsJson(context_.args, manifest_.model);
  settings_key_ = HashText(manifest_.settings.dump());
  if (!options_.out.empty()) LV_RETURN_IF_ERROR(PrepareOutputFolder(options_.out));

  const CaptionInputs found = CollectInputs(context_.args.paths, options_.recursive);
  // Names are settled over all inputs before the shard is taken, so that every machine settles them alike.
  std::vector<fs::path> inputs;
  std::vector<fs::path> folders;
  for (const CaptionInput& input : found.inputs) {
    inputs.push_back(input.path);
    fs::path folder = options_.out.empty() ? input.path.parent_path() : fs::path(options_.out) / input.mirror;
    folders.push_back(folder.empty() ? fs::path(".") : std::move(folder));
  }
  std::vector<OutputBase> bases = PlanOutputBases(inputs, folders);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!InShard(found.inputs[i].shard_key, options_.shard_index, options_.shard_count)) continue;
    tasks_.push_back({inputs[i], std::move(bases[i])});
    manifest_.outcomes.emplace_back().video = inputs[i].string();
  }
  share_.assign(tasks_.size(), 0.0);
  for (const CaptionFault& fault : found.faults) {
    if (!InShard(fault.shard_key, options_.shard_index, options_.shard_count)) continue;
    context_.terminal.Message(fault.message);
    CaptionOutcome& outcome = manifest_.outcomes.emplace_back();
    outcome.video = fault.path;
    outcome.state = CaptionState::kFailed;
    outcome.error = fault.message;
  }
  PrepareFolders();
  return Status::Ok();
}

// Rights and room are found missing now rather than after hours of work. A folder is only made for inputs that are
// there.
void CaptionRun::PrepareFolders() {
  for (const CaptionTask& task : tasks_) {
    const std::string folder = task.output.folder.string();
    if (records_.contains(folder) || bad_folders_.contains(folder) || !StampFile(task.input).ok()) continue;
    if (const Status status = PrepareOutputFolder(folder); !status.ok()) {
      bad_folders_.emplace(folder, status);
      continue;
    }
    RemoveStaleTemporaries(folder);
    records_.emplace(folder, std::make_unique<CaptionRecord>(folder, options_.shard_index, options_.shard_count));
  }
}

void CaptionRun::WorkThrough() {
  const auto work = [this] {
    for (size_t task = next_task_++; task < tasks_.size(); task = next_task_++) {
      {
        const std::lock_guard lock(mutex_);
        if (!fatal_.ok()) return;
      }
      if (context_.stop.stop_requested()) return;
      Work(task);
    }
  };
  const size_t workers = std::min(static_cast<size_t>(options_.jobs), tasks_.size());
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
}

void CaptionRun::Work(size_t index) {
  const CaptionTask& task = tasks_[index];
  CaptionOutcome outcome;
  outcome.video = task.input.string();
  const Result<FileStamp> stamp = StampFile(task.input);
  if (!stamp.ok()) return Finish(index, std::move(outcome), stamp.status());
  const auto bad_folder = bad_folders_.find(task.output.folder.string());
  if (bad_folder != bad_folders_.end()) {
    return Finish(index, std::move(outcome), bad_folder->second.WithContext(task.input.string()));
  }
  if (!records_.contains(task.output.folder.string())) {
    return Finish(index, std::move(outcome), IoError(task.input.string() + ": appeared during the run: run again"));
  }
  Result<std::string> fingerprint = Fingerprint(task.input, {context_.stop, {}});
  if (!fingerprint.ok()) return Finish(index, std::move(outcome), fingerprint.status());
  outcome.fingerprint = *fingerprint;
  const Result<std::vector<PendingOutput>> pending = FindPending(task, &outcome);
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

Result<std::vector<PendingOutput>> CaptionRun::FindPending(const CaptionTask& task, CaptionOutcome* outcome) {
  CaptionRecord& record = *records_.at(task.output.folder.string());
  std::vector<PendingOutput> pending;
  for (const SubtitleFormat format : options_.formats) {
    const std::string name = OutputName(task.output.base, ".visual.en." + std::string(SubtitleFormatName(format)));
    const std::string path = (task.output.folder / name).lexically_normal().string();
    const OutputState state =
        options_.overwrite ? OutputState::kOutdated : record.Assess(name, settings_key_, outcome->fingerprint);
    if (state == OutputState::kForeign) {
      return IoError(path + ": is there already and was not written by Longview; --overwrite replaces it");
    }
    if (state == OutputState::kEdited) {
      context_.terminal.Message(path + ": was changed since Longview wrote it, and is kept; --overwrite replaces it");
    }
    const bool keep = state == OutputState::kEdited || (state == OutputState::kFinished && options_.resume);
    if (keep) {
      outcome->outputs.push_back(path);
    } else {
      pending.push_back({format, name});
    }
  }
  return pending;
}

Status CaptionRun::EnsureModel() {
  std::call_once(model_once_, [this] { model_status_ = context_.engine.LoadModel(context_.Job("Loading the model")); });
  return model_status_;
}

Status CaptionRun::MakeCaptions(size_t index, const std::vector<PendingOutput>& pending, CaptionOutcome* outcome) {
  const CaptionTask& task = tasks_[index];
  const std::string video = task.input.string();
  const Result<FileStamp> before = StampFile(task.input);
  CaptionOptions options;
  options.sampling = context_.args.sampling;
  options.every_s = options_.every_s;
  JobContext job;
  job.stop = context_.stop;
  // Reading and captioning each count up to the total.
  job.progress = [this, index](const Progress& progress) {
    ShowShare(index, progress.total > 0.0 ? progress.done / (2.0 * progress.total) : 0.0);
  };
  std::vector<Cue> cues;
  double film_end_s = 0.0;
  const auto on_caption = [&cues, &film_end_s](const CaptionEvent& event) {
    cues.push_back({event.start, event.end, event.text});
    film_end_s = std::max(film_end_s, event.end);
    return Status::Ok();
  };
  LV_ASSIGN_OR_RETURN(const CaptionReport report, context_.engine.Caption(task.input, options, job, on_caption));
  const Result<FileStamp> after = StampFile(task.input);
  if (!before.ok() || !after.ok() || !(*before == *after)) {
    return IoError(video + ": changed while it was read, so nothing was written: run again when it is finished");
  }
  if (cues.empty()) return Damaged(video + ": no captions could be made of it");
  CaptionRecord& record = *records_.at(task.output.folder.string());
  for (const PendingOutput& output : pending) {
    const std::string bytes = WriteSubtitles(output.format, cues, film_end_s, video);
    LV_RETURN_IF_ERROR(record.Write(output.name, settings_key_, outcome->fingerprint, bytes));
    outcome->outputs.push_back((task.output.folder / output.name).lexically_normal().string());
  }
  outcome->captions = cues.size();
  outcome->seconds = Rounded(report.total_s);
  outcome->state = CaptionState::kDone;
  return Status::Ok();
}

void CaptionRun::Finish(size_t index, CaptionOutcome outcome, const Status& status) {
  if (status.code() == StatusCode::kCancelled) return;  // stays "not done"
  if (!status.ok()) {
    outcome.state = CaptionState::kFailed;
    outcome.error = status.message();
    context_.terminal.Message(status.message());
  } else if (!context_.args.json && outcome.state == CaptionState::kDone) {
    std::string line = PrintableText(outcome.video) + " ->";
    for (const std::string& path : outcome.outputs) line += " " + PrintableText(path);
    context_.terminal.Print(line + " (" + std::to_string(outcome.captions) + " captions)\n");
  }
  const std::lock_guard lock(mutex_);
  share_[index] = 1.0;
  manifest_.outcomes[index] = std::move(outcome);
}

void CaptionRun::ShowShare(size_t index, double share) {
  Progress progress;
  {
    const std::lock_guard lock(mutex_);
    share_[index] = std::min(share, 1.0);
    for (const double one : share_) progress.done += one;
    progress.total = static_cast<double>(share_.size());
  }
  const std::string label = tasks_.size() == 1 ? "Captioning " + ShortName(tasks_[index].input)
                                               : "Captioning " + std::to_string(tasks_.size()) + " files";
  context_.terminal.ShowProgress(label, progress);
}

// --out, else the folder given first, else the folder of the file given first.
fs::path CaptionRun::ManifestFolder() const {
  if (!options_.out.empty()) return options_.out;
  const fs::path first = context_.args.paths[0];
  std::error_code ignored;
  if (fs::is_directory(first, ignored)) return first;
  return first.has_parent_path() ? first.parent_path() : fs::path(".");
}

int CaptionRun::Report() {
  manifest_.finished = UtcNow();
  manifest_.cancelled = context_.stop.stop_requested() && CountState(manifest_, CaptionState::kNotDone) > 0;
  Status manifest_status;
  std::string manifest_path;
  if (!tasks_.empty() && fatal_.ok()) {
    const Result<fs::path> written = WriteManifest(manifest_, ManifestFolder());
    manifest_status = written.status();
    if (written.ok()) manifest_path = written.value().string();
  }
  if (!manifest_status.ok()) context_.terminal.Message(manifest_status.message());
  const size_t failed = CountState(manifest_, CaptionState::kFailed);
  const size_t skipped = CountState(manifest_, CaptionState::kSkipped);
  if (context_.args.json) {
    nlohmann::ordered_json object = ManifestJson(manifest_);
    object["manifest"] = ValidUtf8(manifest_path);
    PrintJson(context_, object);
  } else if (skipped > 0) {
    context_.terminal.Print(std::to_string(skipped) + " already finished\n");
  }
  if (failed > 0) {
    context_.terminal.Message(std::to_string(failed) + " of " + std::to_string(manifest_.outcomes.size()) +
                              " inputs failed");
  }
  if (manifest_.cancelled) return Fail(context_, Cancelled());
  if (!fatal_.ok()) return Fail(context_, fatal_);
  return failed > 0 || !manifest_status.ok() ? kExitSomeFailed : kExitDone;
}

}  // namespace

int RunCaption(const Context& context) { return CaptionRun(context).Run(); }

}  // namespace longview::cli
