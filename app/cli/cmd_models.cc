// `longview models`: the parts of the model, and whether each is what it should be.
#include "app/cli/commands.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

std::string_view PartStateName(PartState state) {
  switch (state) {
    case PartState::kOk:
      return "ok";
    case PartState::kMissing:
      return "missing";
    case PartState::kDamaged:
      return "damaged";
  }
  return "missing";
}

}  // namespace

int RunModels(const Context& context) {
  const std::vector<PartStatus> parts = context.engine.ModelStatus(context.Job("Checking the model"));
  context.terminal.ClearProgress();
  if (context.stop.stop_requested()) return Fail(context, Cancelled());
  const Result<std::string> name = context.engine.ModelName();
  bool sound = true;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text = (name.ok() ? *name : std::string("longview-s (incomplete)")) + "\n";
  for (const PartStatus& part : parts) {
    sound = sound && part.state == PartState::kOk;
    list.push_back({{"name", part.name},
                    {"path", ValidUtf8(part.path.string())},
                    {"bytes", part.bytes},
                    {"sha256", part.sha256},
                    {"expected", part.expected},
                    {"state", PartStateName(part.state)},
                    {"detail", ValidUtf8(part.detail)}});
    text += "  " + part.name + std::string(part.name.size() < 8 ? 8 - part.name.size() : 1, ' ') +
            std::string(PartStateName(part.state)) + "  " + FormatSize(part.bytes) + "  " +
            PrintableText(part.path.string()) + "\n";
    if (part.state != PartState::kOk) context.terminal.Message(part.detail);
  }
  if (context.args.json) {
    PrintJson(context, {{"model", name.ok() ? nlohmann::ordered_json(ValidUtf8(*name)) : nlohmann::ordered_json()},
                        {"assets", ValidUtf8(context.engine.assets_dir().string())},
                        {"models", ValidUtf8(context.engine.models_dir().string())},
                        {"parts", list}});
  } else {
    context.terminal.Print(text);
  }
  return sound ? kExitDone : kExitNothingDone;
}

}  // namespace longview::cli
