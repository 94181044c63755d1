// Inputs to tasks, and tasks to what is missing of their outputs.
#include "app/cli/caption_plan.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "app/engine/caption_digest.h"
#include "app/engine/export_xmp.h"
#include "app/engine/fingerprint.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxSidecarBytes = uint64_t{64} << 20;

fs::path ManifestFolder(const Args& args, const CaptionInputs& found) {
  if (!args.caption.out.empty()) return args.caption.out;
  std::error_code ignored;
  if (!args.paths.empty() && fs::is_directory(args.paths[0], ignored)) return args.paths[0];
  fs::path folder;
  if (!found.inputs.empty()) {
    folder = found.inputs[0].path.parent_path();
  } else if (!found.faults.empty()) {
    folder = fs::path(found.faults[0].path).parent_path();
  }
  return folder.empty() || !fs::is_directory(folder, ignored) ? fs::path(".") : folder;
}

// Files beside the inputs which could be captioned as well and would want the same names.
std::vector<fs::path> Neighbours(const std::vector<fs::path>& inputs) {
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> taken;  // folder: names, stems
  for (const fs::path& input : inputs) {
    auto& [names, stems] = taken[input.parent_path().string()];
    names.insert(input.filename().string());
    stems.insert(input.stem().string());
  }
  std::vector<fs::path> neighbours;
  for (const auto& [folder, known] : taken) {
    std::error_code error;
    for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end;
         at.increment(error)) {
      const fs::path name = at->path().filename();
      if (known.second.contains(name.stem().string()) && !known.first.contains(name.string()) &&
          HasMediaExtension(name)) {
        neighbours.push_back(fs::path(folder) / name);
      }
    }
  }
  std::sort(neighbours.begin(), neighbours.end());
  return neighbours;
}

std::string SourceOf(const fs::path& input, const fs::path& folder) {
  std::error_code ignored;
  if (fs::equivalent(input.has_parent_path() ? input.parent_path() : fs::path("."), folder, ignored)) {
    return input.filename().string();
  }
  return fs::absolute(input, ignored).lexically_normal().string();
}

// Without its extension: the same for files that share their sidecar where it is named after the stem.
fs::path StemPath(const fs::path& input) { return fs::path(input).replace_extension().lexically_normal(); }

}  // namespace

Result<CaptionPlan> PlanCaptions(const Args& args) {
  const CaptionArgs& options = args.caption;
  InputQuery query{args.paths, {}, options.recursive, options.include, options.exclude};
  if (!options.files_from.empty()) {
    LV_ASSIGN_OR_RETURN(query.listed, ReadPathList(options.files_from));
    if (query.listed.empty() && query.paths.empty()) {
      return InvalidArgument(options.files_from + ": names no file");
    }
  }
  const CaptionInputs found = CollectInputs(query);
  std::vector<fs::path> inputs;
  std::vector<fs::path> folders;
  for (const CaptionInput& input : found.inputs) {
    inputs.push_back(input.path);
    fs::path folder = options.out.empty() ? input.path.parent_path() : fs::path(options.out) / input.mirror;
    folders.push_back(folder.empty() ? fs::path(".") : std::move(folder));
  }
  for (const fs::path& neighbour : Neighbours(inputs)) {
    const auto beside = std::find_if(inputs.begin(), inputs.end(), [&](const fs::path& input) {
      return input.parent_path() == neighbour.parent_path() && input.stem() == neighbour.stem();
    });
    folders.push_back(folders[static_cast<size_t>(beside - inputs.begin())]);
    inputs.push_back(neighbour);
  }
  CaptionPlan plan;
  std::multiset<fs::path> stems;
  std::vector<std::string> sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    stems.insert(StemPath(inputs[i]));
    sources.push_back(SourceOf(inputs[i], folders[i]));
    plan.records.try_emplace(folders[i].string(), folders[i], options.shard.index, options.shard.count);
  }
  const auto owner = [&](size_t i, const std::string& base) {
    NameOwner all = NameOwner::kNobody;
    for (const CaptionFormat format : CaptionFormats()) {
      const NameOwner one =
          plan.records.at(folders[i].string()).OwnerOf(OutputName(base, CaptionSuffix(format)), sources[i]);
      if (one == NameOwner::kThis) return one;
      if (one == NameOwner::kOther) all = one;
    }
    return all;
  };
  std::vector<OutputBase> bases = PlanOutputBases(inputs, folders, owner);
  for (size_t i = 0; i < found.inputs.size(); ++i) {
    const CaptionInput& input = found.inputs[i];
    if (!InShard(input.shard_key, options.shard.index, options.shard.count)) continue;
    const Result<FileStamp> stamp = StampFile(input.path);
    plan.tasks.push_back({input.path, std::move(bases[i]), input.shard_key, stamp.ok() ? stamp->bytes : 0,
                          std::move(sources[i]), stems.count(StemPath(input.path)) > 1});
  }
  for (const CaptionFault& fault : found.faults) {
    if (InShard(fault.shard_key, options.shard.index, options.shard.count)) plan.faults.push_back(fault);
  }
  plan.manifest_folder = ManifestFolder(args, found);
  return plan;
}

CaptionOutputs::CaptionOutputs(const CaptionArgs& args, std::string settings, Terminal* terminal)
    : args_(args), settings_(std::move(settings)), terminal_(terminal) {}

void CaptionOutputs::Prepare(CaptionPlan* plan, bool make) {
  for (const CaptionTask& task : plan->tasks) {
    const std::string folder = task.output.folder.string();
    if (records_.contains(folder) || bad_folders_.contains(folder) || !StampFile(task.input).ok()) continue;
    if (make) {
      if (const Status status = PrepareOutputFolder(folder); !status.ok()) {
        bad_folders_.emplace(folder, status);
        continue;
      }
      RemoveStaleTemporaries(folder);
    }
    records_.insert(plan->records.extract(folder));
  }
}

CaptionRecord* CaptionOutputs::RecordOf(const CaptionTask& task) {
  const auto found = records_.find(task.output.folder.string());
  return found == records_.end() ? nullptr : &found->second;
}

void CaptionOutputs::SayEdited(const std::string& path, bool tell) {
  if (tell) terminal_->Message(InTheWay(path, OutputState::kEdited).message());
}

Result<std::vector<PendingOutput>> CaptionOutputs::FindPending(const CaptionTask& task, bool tell,
                                                               CaptionOutcome* outcome) {
  const auto bad_folder = bad_folders_.find(task.output.folder.string());
  if (bad_folder != bad_folders_.end()) return bad_folder->second.WithContext(task.input.string());
  CaptionRecord* const record = RecordOf(task);
  if (record == nullptr) return IoError(task.input.string() + ": appeared during the run: run again");
  std::vector<PendingOutput> pending;
  for (const CaptionFormat format : args_.formats) {
    const bool sidecar = format == CaptionFormat::kXmp;
    const std::string name = sidecar ? SidecarName(task) : OutputName(task.output.base, CaptionSuffix(format));
    const std::string path = (task.output.folder / name).lexically_normal().string();
    bool stays = false;
    if (sidecar) {
      LV_RETURN_IF_ERROR(CheckHidesNone(task, path));
      LV_ASSIGN_OR_RETURN(stays, SidecarStays(path, outcome->fingerprint, tell));
    } else if (!args_.overwrite) {
      const OutputState state = record->Assess(name, {settings_, outcome->fingerprint, task.source});
      if (state == OutputState::kEdited) {
        SayEdited(path, tell);
      } else {
        LV_RETURN_IF_ERROR(InTheWay(path, state));
      }
      stays = state == OutputState::kEdited || (state == OutputState::kFinished && args_.resume);
    }
    if (stays) {
      outcome->outputs.push_back(path);
    } else {
      pending.push_back({format, name});
    }
  }
  return pending;
}

Status CaptionOutputs::Write(const CaptionTask& task, const PendingOutput& output, std::span<const Cue> cues,
                             const TimelineMedia& media, CaptionOutcome* outcome) {
  if (output.format == CaptionFormat::kXmp) {
    LV_RETURN_IF_ERROR(WriteSidecar(task, output.name, cues, media.end_s, outcome->fingerprint));
  } else {
    const std::string bytes = WriteCaptions(output.format, cues, media, task.input.string());
    LV_ASSIGN_OR_RETURN(
        const bool written,
        RecordOf(task)->Write(output.name, {settings_, outcome->fingerprint, task.source}, bytes, args_.overwrite));
    if (!written) SayEdited((task.output.folder / output.name).lexically_normal().string(), true);
  }
  outcome->outputs.push_back((task.output.folder / output.name).lexically_normal().string());
  return Status::Ok();
}

// Programs read film.mp4.xmp or film.xmp; one that is there is the one to go on with.
std::string CaptionOutputs::SidecarName(const CaptionTask& task) const {
  const std::string suffix = CaptionSuffix(CaptionFormat::kXmp);
  std::error_code ignored;
  for (const std::string& base : {task.input.filename().string(), task.output.base}) {
    std::string name = OutputName(base, suffix);
    if (fs::exists(task.output.folder / name, ignored)) return name;
  }
  return OutputName(task.output.base, suffix);
}

// IMG.xmp is of all that is called IMG (Adobe's convention), but programs that know IMG.mov.xmp (digiKam, darktable)
// look no further where there is one: a rating in the first would be lost to them.
Status CaptionOutputs::CheckHidesNone(const CaptionTask& task, const fs::path& sidecar) {
  const fs::path shared = task.output.folder / (task.input.stem().string() + CaptionSuffix(CaptionFormat::kXmp));
  std::error_code ignored;
  if (!task.shares_stem || fs::exists(sidecar, ignored) || !fs::exists(shared, ignored)) return Status::Ok();
  const std::string name = sidecar.filename().string();
  return IoError(shared.lexically_normal().string() + ": is the sidecar of several files, and " + name +
                 " would hide it from other programs; rename it to " + name +
                 " if it is of that file alone, or use --out");
}

Result<bool> CaptionOutputs::SidecarStays(const fs::path& path, const std::string& input, bool tell) {
  const Result<std::string> text = ReadWholeFile(path, kMaxSidecarBytes);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return false;
  if (!text.ok()) return text.status();
  const Result<XmpState> state = AssessXmp(*text, settings_, input);
  if (!state.ok()) return state.status().WithContext(path.string());
  if (args_.overwrite) return false;
  if (*state == XmpState::kEdited) SayEdited(path.string(), tell);
  return *state == XmpState::kEdited || (*state == XmpState::kFinished && args_.resume);
}

Status CaptionOutputs::WriteSidecar(const CaptionTask& task, const std::string& name, std::span<const Cue> cues,
                                    double end_s, const std::string& input) {
  const fs::path path = task.output.folder / name;
  // Under --out a sidecar beside the input is what the new one begins as; not one of several files.
  std::vector<fs::path> sources = {path, task.input.string() + ".xmp"};
  if (!task.shares_stem) sources.push_back(fs::path(task.input).replace_extension(".xmp"));
  std::string text;
  fs::path from = path;
  for (const fs::path& source : sources) {
    std::error_code error;
    (void)fs::exists(source, error);
    if (error == std::errc::filename_too_long) continue;  // so there is none
    Result<std::string> found = ReadWholeFile(source, kMaxSidecarBytes);
    if (!found.ok() && found.status().code() != StatusCode::kNotFound) return found.status();
    if (!found.ok()) continue;
    text = std::move(found).value();
    from = source;
    break;
  }
  const Result<std::string> merged = MergeXmp(text, {DigestCaptions(cues, end_s).summary, settings_, input});
  if (!merged.ok()) return merged.status().WithContext(from.string());
  return WriteFileAtomically(path, *merged);
}

}  // namespace longview::cli
