// `longview manifest merge`: what became of a batch that was worked on in parts.
#include "app/cli/caption_manifest.h"
#include "app/cli/commands.h"
#include "app/engine/output_files.h"
#include "app/engine/utf8.h"

namespace longview::cli {

int RunManifest(const Context& context) {
  const std::string& out = context.args.manifest.out;
  if (const Status target = CheckMergeTarget(out); !target.ok()) return Fail(context, target);
  Result<std::vector<NamedManifest>> manifests = ReadManifests(context.args.paths);
  if (!manifests.ok()) return Fail(context, manifests.status());
  const Result<nlohmann::ordered_json> merged = MergeManifests(std::move(manifests).value());
  if (!merged.ok()) return Fail(context, merged.status());
  if (!out.empty()) {
    if (const Status written = WriteFileAtomically(out, merged->dump(2) + "\n"); !written.ok()) {
      return Fail(context, written);
    }
  }
  const auto count = [&merged](const char* key) { return merged->at(key).get<uint64_t>(); };
  if (context.args.json) {
    PrintJson(context, *merged);
  } else {
    for (const auto& input : merged->at("inputs")) {
      if (input.value("state", "") != "failed") continue;
      context.terminal.Message(input.value("error", "failed without a reason: " + input.value("video", "")));
    }
    context.terminal.Print(std::to_string(merged->at("inputs").size()) + " inputs of " +
                           std::to_string(merged->at("runs").size()) + " runs: " + std::to_string(count("done")) +
                           " done, " + std::to_string(count("skipped")) + " already finished, " +
                           std::to_string(count("failed")) + " failed, " + std::to_string(count("not_done")) +
                           " not done\n");
    if (!out.empty()) context.terminal.Print("written to " + PrintableText(out) + "\n");
  }
  return count("failed") + count("not_done") > 0 ? kExitSomeFailed : kExitDone;
}

}  // namespace longview::cli
