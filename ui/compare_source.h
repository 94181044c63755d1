// CompareSource: where the memory page gets its rows and its budget from; the engine in the program, a table in tests.
#ifndef LONGVIEW_UI_COMPARE_SOURCE_H_
#define LONGVIEW_UI_COMPARE_SOURCE_H_

#include <QString>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "app/engine/engine.h"
#include "app/engine/settings.h"
#include "core/base/progress.h"
#include "core/base/status.h"

namespace longview::ui {

// Lengths of film, in hours, that a row says its size for.
inline constexpr std::array<int, 3> kModeHours = {1, 3, 10};

// One way of holding the cache.
struct ModeRow {
  CacheOptions cache;
  QString name;           // "mla 128", "gqa 3 groups"
  bool measured = false;  // bytes and what follows were measured on this machine
  double bytes_per_token = 0.0;
  uint64_t predicted_bytes = 0;  // for the open film
  std::optional<uint64_t> bytes;
  std::array<uint64_t, 3> hours_bytes{};
  std::optional<double> first_token_s, token_s;
  std::optional<double> kl, agreement;  // against the exact attention
  bool best = false;                    // no measured row is both smaller and nearer to the exact one
  QString note;
};

// What a budget buys.
struct BudgetOffer {
  SamplingSettings sampling;
  CacheOptions cache;
  uint64_t bytes = 0;
  QString text;
};

class CompareSource {
 public:
  virtual ~CompareSource() = default;

  // Every way with its predicted size, nothing being measured; on a thread of the bridge's. kNotFound where nothing of
  // the video was read yet.
  virtual Result<std::vector<ModeRow>> predict(Engine& engine, const QString& video, const SamplingSettings& sampling,
                                               const JobContext& job) = 0;
  // Measures every way on one video; called on a thread of the bridge's. Rows are given as they are done, in the order
  // in which they are shown.
  virtual Status measure(Engine& engine, const QString& video, const SamplingSettings& sampling, const JobContext& job,
                         const std::function<void(const ModeRow&)>& on_row) = 0;
  // Also on a thread of the bridge's. `bytes` for `seconds` of film. Errors as the engine's solver.
  virtual Result<BudgetOffer> plan(Engine& engine, uint64_t bytes, double seconds) = 0;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_COMPARE_SOURCE_H_
