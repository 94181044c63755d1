// Which outputs a `caption` run is to make: every input of this shard with its place, and what is finished already.
#ifndef LONGVIEW_APP_CLI_CAPTION_PLAN_H_
#define LONGVIEW_APP_CLI_CAPTION_PLAN_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/cli/args.h"
#include "app/cli/caption_inputs.h"
#include "app/cli/caption_manifest.h"
#include "app/cli/caption_record.h"
#include "app/cli/terminal.h"
#include "app/engine/export_captions.h"
#include "app/engine/output_files.h"
#include "core/base/status.h"

namespace longview::cli {

// One input of this shard and where its outputs go.
struct CaptionTask {
  std::filesystem::path input;
  OutputBase output;
  std::string key;           // CaptionInput::shard_key
  uint64_t bytes = 0;        // of the input; 0 where it cannot be read
  std::string source;        // OutputOrigin::source
  bool shares_stem = false;  // with another file of its folder that could be captioned: IMG.mov and IMG.png
};

struct CaptionPlan {
  std::vector<CaptionTask> tasks;
  std::vector<CaptionFault> faults;
  std::filesystem::path manifest_folder;         // --out, else the folder given first, else that of the first file
  std::map<std::string, CaptionRecord> records;  // of each output folder
};

// The inputs that the arguments name. The names of outputs are settled over all inputs, and all files beside them that
// could be inputs, before the shard is taken, so that every machine and every call settles them alike. Fails where
// --files-from cannot be read.
Result<CaptionPlan> PlanCaptions(const Args& args);

// One output that is still to be made. `name` is in the task's output folder.
struct PendingOutput {
  CaptionFormat format;
  std::string name;
};

// The output folders of a run. Thread-safe once Prepare has returned.
class CaptionOutputs {
 public:
  // Both outlive the object. Outputs made with the same `settings` (any text) from the same input are finished.
  CaptionOutputs(const CaptionArgs& args, std::string settings, Terminal* terminal);

  // Takes the records of the folders of inputs that are there. With `make`, these folders are made and proved writable:
  // rights and room are found missing now rather than after hours of work.
  void Prepare(CaptionPlan* plan, bool make);

  // What is to be made for a task; empty where all is finished. What is there already goes into outcome->outputs. An
  // error where the folder cannot be used, or a file of somebody else's is in the way; with `tell`, files that were
  // changed by hand and therefore stay are named on the terminal.
  Result<std::vector<PendingOutput>> FindPending(const CaptionTask& task, bool tell, CaptionOutcome* outcome);

  // Writes one output, whole or not at all. `media` as WriteCaptions has it.
  Status Write(const CaptionTask& task, const PendingOutput& output, std::span<const Cue> cues,
               const TimelineMedia& media, CaptionOutcome* outcome);

 private:
  std::string SidecarName(const CaptionTask& task) const;
  static Status CheckHidesNone(const CaptionTask& task, const std::filesystem::path& sidecar);
  // Whether the output is to stay; kXmp.
  Result<bool> SidecarStays(const std::filesystem::path& path, const std::string& input, bool tell);
  Status WriteSidecar(const CaptionTask& task, const std::string& name, std::span<const Cue> cues, double end_s,
                      const std::string& input);
  CaptionRecord* RecordOf(const CaptionTask& task);
  void SayEdited(const std::string& path, bool tell);

  const CaptionArgs& args_;
  const std::string settings_;
  Terminal* const terminal_;
  std::map<std::string, CaptionRecord> records_;  // by output folder
  std::map<std::string, Status> bad_folders_;
};

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_CAPTION_PLAN_H_
