// `longview doctor`: what this machine and this installation have, and what is missing.
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "app/cli/commands.h"
#include "app/engine/output_files.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"
#include "core/backend/device.h"
#include "core/backend/gpu_net.h"
#include "core/base/thread_pool.h"
#include "core/simd/level.h"
#include "vision/av/ffmpeg_version.h"
#include "vision/av/video_reader.h"

namespace longview::cli {
namespace {

struct Check {
  std::string name;
  bool ok = true;
  std::string value;  // what is there, or what is wrong and what to do
};

std::string MachineText() {
  utsname system{};
  uname(&system);
  const std::string cpu = CpuName();
  return (cpu.empty() ? std::string(system.machine) : cpu) + ", " + std::to_string(UsableCores()) + " cores, " +
         FormatSize(MemoryBytes()) + " of memory, " + system.sysname + " " + system.release;
}

// The GPUs that could be chosen with --device, or why there are none.
std::string CudaText() {
  const auto gpus = ListGpus();
  if (!gpus.ok()) return gpus.status().code() == StatusCode::kUnsupported ? "not built in" : gpus.status().message();
  std::string text;
  for (size_t i = 0; i < gpus->size(); ++i) {
    text += (i == 0 ? "cuda:" : ", cuda:") + std::to_string(i) + " " + (*gpus)[i].name;
  }
  return text;
}

// Who decodes videos for the ViT, and why not the GPU.
std::string DecodingText(const ComputeDevice& device) {
  if (!device.cuda) return "by the processor";
  const auto open = [&]() -> Result<std::shared_ptr<av::HardwareDecoding>> {
    LV_ASSIGN_OR_RETURN(auto net, OpenGpuNet(device));
    return OpenHardwareDecoding(std::move(net));
  };
  const auto decoding = open();
  if (!decoding.ok()) return "by the processor: " + decoding.status().message();
  return "by the GPU (NVDEC); videos that it does not take, by the processor";
}

Check LibraryCheck(const std::filesystem::path& folder) {
  if (const Status status = PrepareOutputFolder(folder); !status.ok()) {
    return {"library", false,
            folder.string() +
                ": cannot be written, so that every video is read anew for each question; choose another folder with "
                "--library"};
  }
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return {"library", true, folder.string() + (error ? std::string() : ", " + FormatSize(space.available) + " free")};
}

std::vector<Check> RunChecks(const Context& context) {
  std::vector<Check> checks = {{"longview", true, LONGVIEW_VERSION},
                               {"machine", true, MachineText()},
                               {"cpu level", true, std::string(SimdLevelName(ActiveSimdLevel()))},
                               {"threads", true, std::to_string(context.engine.threads())},
                               {"cuda", true, CudaText()},
                               {"device", true, context.engine.device().name + ": " + context.engine.device().reason},
                               {"ffmpeg", true, FfmpegVersion()},
                               {"decoding", true, DecodingText(context.engine.device())}};
  for (const PartStatus& part : context.engine.ModelStatus(context.Job("Checking the model"))) {
    const bool ok = part.state == PartState::kOk;
    checks.push_back({"model " + part.name, ok, ok ? part.path.string() + ", " + FormatSize(part.bytes) : part.detail});
  }
  checks.push_back(LibraryCheck(context.engine.library_dir()));
  return checks;
}

}  // namespace

int RunDoctor(const Context& context) {
  const std::vector<Check> checks = RunChecks(context);
  context.terminal.ClearProgress();
  if (context.stop.stop_requested()) return Fail(context, Cancelled());
  const auto failed = std::count_if(checks.begin(), checks.end(), [](const Check& check) { return !check.ok; });
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  for (const Check& check : checks) {
    list.push_back({{"name", check.name}, {"ok", check.ok}, {"value", ValidUtf8(check.value)}});
    text += (check.ok ? "  ok       " : "  problem  ") + check.name +
            std::string(14 - std::min<size_t>(check.name.size(), 13), ' ') + PrintableText(check.value) + "\n";
  }
  if (context.args.json) {
    PrintJson(context, {{"ok", failed == 0}, {"checks", list}});
  } else {
    text += failed == 0 ? "All is well.\n" : std::to_string(failed) + " problem" + (failed > 1 ? "s" : "") + ".\n";
    context.terminal.Print(text);
  }
  return failed == 0 ? kExitDone : kExitNothingDone;
}

}  // namespace longview::cli
