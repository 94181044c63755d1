// What the cache modes cost and what they lose, side by side on one video: the rows of `longview compare` and of the
// window's memory panel (design.md §4). Engine::Compare fills them; nothing here needs a model.
#ifndef LONGVIEW_APP_ENGINE_COMPARE_H_
#define LONGVIEW_APP_ENGINE_COMPARE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/engine/settings.h"

namespace longview {

struct CompareOptions {
  SamplingSettings sampling;
  bool all = false;  // every mode in every storage type; otherwise the default rows
  int groups = 0;    // key-value groups of gqa; 0: the model's
  // What a row's cache may take; larger ones are predicted. 0: four fifths of the memory that is free.
  uint64_t memory_bytes = 0;
};

// The lengths of film for which a row says what it would take.
inline constexpr std::array<int, 3> kCompareHours = {1, 3, 10};

// One cache mode in one storage type.
struct CompareRow {
  std::string mode;   // mha, gqa, mqa, mla_layers, mla, states
  int groups = 0;     // gqa only, otherwise 0
  std::string store;  // fp32, fp16, bf16, int8
  int latent = 0;     // mla only: 32, 64, 128 or kLatentAuto; otherwise 0

  bool measured = false;  // false: predicted, because it does not fit this machine's memory or was not tried
  double bytes_per_token = 0.0;
  uint64_t predicted_bytes = 0;              // bytes_per_token times the video's tokens
  std::optional<uint64_t> bytes;             // allocated; these and what follows only where measured
  std::array<uint64_t, 3> hours_bytes{};     // of kCompareHours at the sampling asked for
  std::optional<double> first_token_s;       // from the question read to its first token, the median over the questions
  std::optional<double> token_s;             // each further token, the median
  std::optional<double> nll, kl, agreement;  // against the reference, as design.md §4 defines them
  bool pareto = false;                       // measured, and no measured row is both smaller and nearer the reference
  std::string note;                          // how it was made or why it was not measured; may be empty
};

struct CompareReport {
  uint64_t frames = 0;
  uint64_t tokens = 0;
  std::vector<CompareRow> rows;  // in the order in which they were given out
  uint64_t answer_tokens = 0;    // the positions that quality was measured at
  double reference_nll = 0.0;    // the reference's own
  // Numbers of a latent that each cross-attention layer keeps under mla_layers, chosen by measurement.
  std::vector<int> layer_cuts;
  // The same cuts under mla in bf16, where one latent of full size is kept and each layer reads its first numbers:
  // seconds a token and KL, beside those of the row mla 128 bf16.
  std::optional<double> layer_cuts_token_s, layer_cuts_kl;
  // What `auto` saves against fixed sizes of the same NLL, by storage type: 1 - bytes / bytes of the fixed sizes,
  // interpolated; absent where they were not measured or do not bracket it.
  struct Saving {
    std::string store;
    double share = 0.0;
  };
  std::vector<Saving> auto_savings;
  double index_s = 0.0;  // indexing in this call
  double total_s = 0.0;
};

// Called for each row as it is done, from the thread that works.
using CompareRowSink = std::function<void(const CompareRow&)>;

// The rows that a comparison will have, with their names only: what a table may show before anything is measured.
std::vector<CompareRow> CompareRows(const CompareOptions& options, int groups_of_model);

// Sets `pareto` of every row by (predicted_bytes, kl); rows without kl are none.
void MarkPareto(std::vector<CompareRow>* rows);

// The size in bytes that fixed latents of the same quality would take, interpolated between (bytes, nll) points sorted
// by bytes; absent where nll lies outside of theirs.
std::optional<double> BytesAtNll(const std::vector<std::pair<double, double>>& bytes_and_nll, double nll);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_COMPARE_H_
