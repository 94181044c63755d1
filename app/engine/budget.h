// The budget: from "4 GB for 12 hours" to frames a second, latent size and storage type (design.md §4). Pure; the
// command line and the window's slider share it. Engine::PlanBudget fills in the model's shape.
#ifndef LONGVIEW_APP_ENGINE_BUDGET_H_
#define LONGVIEW_APP_ENGINE_BUDGET_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/settings.h"
#include "core/base/status.h"

namespace longview {

struct BudgetRequest {
  uint64_t bytes = 0;    // for the cache in memory, > 0
  double seconds = 0.0;  // of film, > 0
  // What the person chose already, and the solver leaves as it is.
  std::optional<double> fps;
  std::optional<int> latent;         // 32, 64, 128
  std::optional<std::string> store;  // fp32, fp16, bf16, int8
};

// What of the model a budget depends on.
struct BudgetModel {
  int tokens_per_frame = 65;  // fixed by the model
  int d_r = 32;
  std::vector<int> cuts = {32, 64, 128};  // usable latent sizes, ascending
};

struct BudgetPlan {
  double fps = 0.0;          // at most kBudgetMaxFps
  int tokens_per_frame = 0;  // the model's, not a choice
  int latent = 0;            // numbers of a latent
  std::string store;         // storage type
  uint64_t max_frames = 0;   // kept frames that the budget holds: the bound on shots' first frames too
  double bytes_per_token = 0.0;
  uint64_t bytes = 0;  // what `seconds` of film take at this choice, <= the budget
  std::string text;    // one sentence for a person: the choice, its size, and what it costs in quality and time
};

// More pictures a second than this seldom show anything new.
inline constexpr double kBudgetMaxFps = 4.0;
// Fewer than one a minute is no index of a film.
inline constexpr double kBudgetMinFps = 1.0 / 60.0;

// The best choice that fits: one picture a second with the best latents, then smaller latents and storage types (bf16
// and int8 at each size), then fewer pictures; where the best fits easily, more pictures. kInvalidArgument for a budget
// or a length out of range; kResource where even the smallest choice does not fit, with the size that would.
Result<BudgetPlan> SolveBudget(const BudgetRequest& request, const BudgetModel& model);

// Puts a plan into the settings of a call.
void ApplyPlan(const BudgetPlan& plan, SamplingSettings* sampling, CacheOptions* cache);

// The presets of latents, smallest first: "long" 32, "balanced" 64, "quality" 128, in the default storage type.
struct CachePreset {
  std::string_view name;
  int latent = 0;
};
std::span<const CachePreset> CachePresets();

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_BUDGET_H_
