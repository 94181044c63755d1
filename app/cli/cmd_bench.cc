// `longview bench`: what this machine can do, and the kernels as shares of it.
#include "app/cli/commands.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::optional<double>& value) { return value ? Json(Rounded(*value)) : Json(nullptr); }

Json ReportJson(const BenchReport& report) {
  const BenchMachine& m = report.machine;
  Json kernels = Json::array();
  for (const BenchKernel& kernel : report.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"value", OrNull(kernel.value)},
                       {"unit", kernel.unit},
                       {"peak_share", OrNull(kernel.peak_share)}});
  }
  return {{"machine",
           {{"cpu", ValidUtf8(m.cpu)},
            {"cores", m.cores},
            {"memory_bytes", m.memory_bytes},
            {"simd", m.simd},
            {"threads", m.threads},
            {"gflops_fp32", Rounded(m.gflops_fp32)},
            {"gflops_bf16", OrNull(m.gflops_bf16)},
            {"gb_per_s", Rounded(m.gb_per_s)}}},
          {"kernels", kernels}};
}

std::string ReportText(const BenchReport& report) {
  const BenchMachine& m = report.machine;
  std::string text = (m.cpu.empty() ? "processor" : PrintableText(m.cpu)) + ", " + std::to_string(m.cores) +
                     " cores, " + FormatSize(m.memory_bytes) + ", " + m.simd + "\nMeasured with " +
                     std::to_string(m.threads) + (m.threads == 1 ? " thread: " : " threads: ") +
                     FormatNumber(m.gflops_fp32, 0) + " GFLOP/s in fp32, " +
                     (m.gflops_bf16 ? FormatNumber(*m.gflops_bf16, 0) + " in bf16" : std::string("none in bf16")) +
                     ", " + FormatNumber(m.gb_per_s, 1) + " GB/s\n\n";
  for (const BenchKernel& kernel : report.kernels) {
    std::string line = kernel.name + std::string(34 - std::min<size_t>(kernel.name.size(), 33), ' ');
    line += kernel.value ? FormatNumber(*kernel.value, 2) + " " + kernel.unit : std::string("-");
    if (kernel.peak_share) line += "  " + FormatNumber(*kernel.peak_share * 100.0, 0) + " % of peak";
    if (!kernel.note.empty()) line += "  (" + kernel.note + ")";
    text += line + "\n";
  }
  return text;
}

}  // namespace

int RunBench(const Context& context) {
  const Result<BenchReport> report = context.engine.Bench(context.Job("Measuring"));
  context.terminal.ClearProgress();
  if (!report.ok()) return Fail(context, report.status());
  if (context.args.json) {
    PrintJson(context, ReportJson(*report));
  } else {
    context.terminal.Print(ReportText(*report));
  }
  return kExitDone;
}

}  // namespace longview::cli
