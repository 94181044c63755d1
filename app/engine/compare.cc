// The rows of a comparison, and what is told from them.
#include "app/engine/compare.h"

#include <algorithm>

namespace longview {
namespace {

// Storage types of a mode's rows. fp32 stands beside mha by default because it is what the reference keeps.
std::vector<std::string> StoresOf(const CompareOptions& options, std::string_view mode) {
  if (options.all) return {"fp32", "fp16", "bf16", "int8"};
  if (mode == "mha") return {"fp32", "bf16", "int8"};
  return {"bf16", "int8"};
}

}  // namespace

std::vector<CompareRow> CompareRows(const CompareOptions& options, int groups_of_model) {
  std::vector<CompareRow> rows;
  const auto add = [&](const char* mode, int latent) {
    for (const std::string& store : StoresOf(options, mode)) {
      CompareRow row;
      row.mode = mode;
      row.store = store;
      row.latent = latent;
      if (row.mode == "gqa") row.groups = options.groups > 0 ? options.groups : groups_of_model;
      rows.push_back(std::move(row));
    }
  };
  for (const char* mode : {"mha", "gqa", "mqa", "mla_layers"}) add(mode, 0);
  for (const int latent : {128, 64, 32, kLatentAuto}) add("mla", latent);
  add("states", 0);  // last: the video is read again for it
  return rows;
}

void MarkPareto(std::vector<CompareRow>* rows) {
  const auto beats = [](const CompareRow& a, const CompareRow& b) {
    return a.kl && a.predicted_bytes <= b.predicted_bytes && *a.kl <= *b.kl &&
           (a.predicted_bytes < b.predicted_bytes || *a.kl < *b.kl);
  };
  for (CompareRow& row : *rows) {
    row.pareto = row.kl.has_value() &&
                 std::none_of(rows->begin(), rows->end(), [&](const CompareRow& other) { return beats(other, row); });
  }
}

std::optional<double> BytesAtNll(const std::vector<std::pair<double, double>>& bytes_and_nll, double nll) {
  for (size_t i = 1; i < bytes_and_nll.size(); ++i) {
    const auto& [bytes0, nll0] = bytes_and_nll[i - 1];
    const auto& [bytes1, nll1] = bytes_and_nll[i];
    if (nll < std::min(nll0, nll1) || nll > std::max(nll0, nll1) || nll0 == nll1) continue;
    return bytes0 + (bytes1 - bytes0) * (nll - nll0) / (nll1 - nll0);
  }
  return std::nullopt;
}

}  // namespace longview
