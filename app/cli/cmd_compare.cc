// `longview compare`: the cache modes side by side.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "app/cli/commands.h"
#include "app/engine/time_format.h"
#include "attention/mla/cache_mode.h"

namespace longview::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Numbers that may be far below a millionth are given with nine digits that count.
Json Precise(const std::optional<double>& value) {
  if (!value) return nullptr;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", *value);
  return std::strtod(text.data(), nullptr);
}

Json LatentJson(const CompareRow& row) {
  if (row.latent == 0) return nullptr;
  return row.latent == kLatentAuto ? Json("auto") : Json(row.latent);
}

Json RowJson(const CompareRow& row) {
  Json hours;
  for (size_t i = 0; i < kCompareHours.size(); ++i) hours[std::to_string(kCompareHours[i])] = row.hours_bytes[i];
  return {{"mode", row.mode},
          {"groups", row.groups > 0 ? Json(row.groups) : Json(nullptr)},
          {"store", row.store},
          {"latent", LatentJson(row)},
          {"measured", row.measured},
          {"bytes_per_token", Rounded(row.bytes_per_token)},
          {"predicted_bytes", row.predicted_bytes},
          {"bytes", OrNull(row.bytes)},
          {"hours", hours},
          {"first_token_s", Precise(row.first_token_s)},
          {"token_s", Precise(row.token_s)},
          {"nll", Precise(row.nll)},
          {"kl", Precise(row.kl)},
          {"agreement", Precise(row.agreement)}};
}

// Cells of one width each: the first column to the left, the others to the right.
std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t room = widths[i] > cells[i].size() ? widths[i] - cells[i].size() : 0;
    line += i == 0 ? cells[i] + std::string(room, ' ') : "  " + std::string(room, ' ') + cells[i];
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) text += Line(row, widths);
  return text;
}

std::string Number(const std::optional<double>& value, const char* format, double factor = 1.0) {
  if (!value) return "-";
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, *value * factor);
  return text.data();
}

std::string RowName(const CompareRow& row) {
  std::string name = row.mode;
  if (row.groups > 0) name += " " + std::to_string(row.groups);
  if (row.latent != 0) name += " " + LatentName(row.latent);
  return name + " " + row.store;
}

std::string MainTable(const CompareReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"cache", "B/token", "this video", "1 h", "3 h", "10 h", "first token", "a token", "NLL", "KL", "agrees", ""}};
  for (const CompareRow& row : report.rows) {
    rows.push_back({RowName(row), FormatNumber(row.bytes_per_token, row.latent == kLatentAuto ? 1 : 0),
                    FormatSize(row.bytes.value_or(row.predicted_bytes)), FormatSize(row.hours_bytes[0]),
                    FormatSize(row.hours_bytes[1]), FormatSize(row.hours_bytes[2]),
                    Number(row.first_token_s, "%.0f ms", 1e3), Number(row.token_s, "%.1f ms", 1e3),
                    Number(row.nll, "%.4f"), Number(row.kl, "%.2g"), Number(row.agreement, "%.1f %%", 100.0),
                    row.measured ? "" : "predicted"});
  }
  return Table(rows);
}

std::string ParetoTable(std::vector<CompareRow> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const CompareRow& a, const CompareRow& b) { return a.predicted_bytes < b.predicted_bytes; });
  std::vector<std::vector<std::string>> table = {{"cache", "B/token", "KL", "agrees"}};
  for (const CompareRow& row : rows) {
    if (!row.pareto) continue;
    table.push_back({RowName(row), FormatNumber(row.bytes_per_token, 0), Number(row.kl, "%.2g"),
                     Number(row.agreement, "%.1f %%", 100.0)});
  }
  return Table(table);
}

// The shape that the idea was first described for.
std::string SeedLines() {
  CacheShape shape;
  shape.layers = 1;
  shape.heads = 32;
  shape.d_k = 128;
  shape.d_c = 512;
  shape.d_r = 64;
  shape.d_v = 4096;
  const auto latent = static_cast<double>(CacheElementsPerToken(CacheMode::kMla, shape));
  const double states = static_cast<double>(shape.d_v);
  const auto heads = static_cast<double>(2 * shape.heads * shape.d_k);
  return "A layer of width 4096 with 32 heads of 128 and latents of 512 + 64: " + FormatNumber(latent, 0) +
         " numbers a token,\n" + FormatNumber(states / latent, 1) + " x fewer than its hidden state (" +
         FormatNumber(states, 0) + ") and " + FormatNumber(heads / latent, 1) + " x fewer than its keys and values (" +
         FormatNumber(heads, 0) + ").\n";
}

std::string Text(const CompareReport& report) {
  std::string text = std::to_string(report.frames) + " pictures, " + std::to_string(report.tokens) +
                     " tokens; quality over " + std::to_string(report.answer_tokens) +
                     " tokens that full attention in fp32 answered (its own NLL " +
                     FormatNumber(report.reference_nll, 4) + ").\n\n";
  text += MainTable(report);
  text +=
      "\ngqa, mqa: a group's keys and values are the means of its heads' (mean pooling), without further training.\n";
  for (const CompareRow& row : report.rows) {
    if (!row.measured && !row.note.empty()) text += RowName(row) + ": " + row.note + ".\n";
  }
  text += "\nBest of their size (nothing smaller is nearer to full attention):\n" + ParetoTable(report.rows);
  for (const CompareReport::Saving& saving : report.auto_savings) {
    text += "\nlatent auto in " + saving.store + ": " + FormatNumber(std::abs(saving.share) * 100.0, 1) +
            (saving.share >= 0.0 ? " % fewer" : " % more") + " bytes than fixed latents of the same NLL.";
  }
  if (!report.auto_savings.empty()) text += "\n";
  if (!report.layer_cuts.empty()) {
    text += "\nNumbers of a latent that the layers need (mla_layers):";
    for (const int cut : report.layer_cuts) text += " " + std::to_string(cut);
    text += "; read so from one shared latent (mla): " + Number(report.layer_cuts_token_s, "%.1f ms", 1e3) +
            " a token, KL " + Number(report.layer_cuts_kl, "%.2g") + ".\n";
  }
  return text + "\n" + SeedLines();
}

}  // namespace

int RunCompare(const Context& context) {
  const Args& args = context.args;
  CompareOptions options;
  options.sampling = args.sampling;
  options.all = args.compare.all;
  options.groups = args.compare.groups;
  const std::string& video = args.paths[0];
  const Result<CompareReport> report =
      context.engine.Compare(video, options, context.Job("Comparing on " + ShortName(video)));
  context.terminal.ClearProgress();
  if (!report.ok()) {
    const int code = Fail(context, report.status());
    // The number of heads is known once the model is.
    return report.status().code() == StatusCode::kInvalidArgument && options.groups > 0 ? kExitUsage : code;
  }
  if (args.json) {
    Json rows = Json::array();
    for (const CompareRow& row : report->rows) rows.push_back(RowJson(row));
    PrintJson(context, {{"tokens", report->tokens}, {"rows", rows}});
  } else {
    context.terminal.Print(Text(*report));
  }
  return kExitDone;
}

}  // namespace longview::cli
