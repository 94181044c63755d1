// `longview library`: what is indexed; removing damaged or old indexes.
#include "app/cli/commands.h"
#include "app/engine/time_format.h"
#include "app/engine/time_text.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

int Repair(const Context& context) {
  const Result<std::vector<std::string>> removed = context.engine.RepairLibrary(context.Job("Checking the library"));
  context.terminal.ClearProgress();
  if (!removed.ok()) return Fail(context, removed.status());
  if (context.args.json) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const std::string& name : *removed) names.push_back(ValidUtf8(name));
    PrintJson(context, {{"removed", names}});
    return kExitDone;
  }
  for (const std::string& name : *removed) context.terminal.Print("removed " + PrintableText(name) + "\n");
  if (removed->empty()) context.terminal.Print("Every index is sound.\n");
  return kExitDone;
}

int Check(const Context& context) {
  const Result<std::vector<std::string>> damaged = context.engine.CheckLibrary(context.Job("Checking the library"));
  context.terminal.ClearProgress();
  if (!damaged.ok()) return Fail(context, damaged.status());
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const std::string& name : *damaged) {
    names.push_back(ValidUtf8(name));
    context.terminal.Message(name + ": is damaged; --repair removes it, and the next question makes it anew");
  }
  if (context.args.json) {
    PrintJson(context, {{"damaged", names}});
  } else if (damaged->empty()) {
    context.terminal.Print("Every index is sound.\n");
  }
  return damaged->empty() ? kExitDone : kExitSomeFailed;
}

int Prune(const Context& context, uint64_t max_bytes) {
  const Result<uint64_t> freed = context.engine.PruneLibrary(max_bytes);
  if (!freed.ok()) return Fail(context, freed.status());
  if (context.args.json) {
    PrintJson(context, {{"freed_bytes", *freed}});
  } else {
    context.terminal.Print(FormatSize(*freed) + " freed.\n");
  }
  return kExitDone;
}

int List(const Context& context) {
  const Result<std::vector<LibraryEntry>> entries = context.engine.LibraryEntries();
  if (!entries.ok()) return Fail(context, entries.status());
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  uint64_t bytes = 0;
  for (const LibraryEntry& entry : *entries) {
    bytes += entry.index.bytes;
    list.push_back({{"video", ValidUtf8(entry.last_path)},
                    {"fingerprint", entry.fingerprint},
                    {"duration_s", Rounded(entry.duration_s)},
                    {"model", entry.model},
                    {"used_unix_s", entry.used_unix_s},
                    {"index", IndexJson(entry.index)}});
    if (context.args.json) continue;
    context.terminal.Print(std::string(IndexStateName(entry.index.state)) + "  " + FormatTime(entry.duration_s) + "  " +
                           FormatSize(entry.index.bytes) + "  " + PrintableText(entry.index.sampling) + "  " +
                           PrintableText(entry.last_path) + "\n");
  }
  if (context.args.json) {
    PrintJson(context,
              {{"library", ValidUtf8(context.engine.library_dir().string())}, {"bytes", bytes}, {"videos", list}});
  } else {
    context.terminal.Print(std::to_string(entries->size()) + " indexes, " + FormatSize(bytes) + ", in " +
                           PrintableText(context.engine.library_dir().string()) + "\n");
  }
  return kExitDone;
}

}  // namespace

int RunLibrary(const Context& context) {
  if (context.args.library.check) return Check(context);
  if (context.args.library.repair) return Repair(context);
  if (context.args.library.prune_to_bytes) return Prune(context, *context.args.library.prune_to_bytes);
  return List(context);
}

}  // namespace longview::cli
