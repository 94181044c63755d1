// The solver: the best form that fits at one picture a second, then more or fewer pictures.
#include "app/engine/budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/engine/time_format.h"
#include "attention/mla/cache_mode.h"

namespace longview {
namespace {

constexpr double kUsualFps = 1.0;

struct Form {
  int latent = 0;
  CacheStore store = CacheStore::kBF16;
  size_t bytes = 0;  // a token
};

// What may be chosen, best first: larger latents before finer storage, because a number that is missing costs more than
// one that is rounded.
Result<std::vector<Form>> Forms(const BudgetRequest& request, const BudgetModel& model) {
  std::vector<CacheStore> stores = {CacheStore::kBF16, CacheStore::kI8};
  if (request.store) {
    LV_ASSIGN_OR_RETURN(const CacheStore store, ParseCacheStore(*request.store));
    stores = {store};
  }
  std::vector<Form> forms;
  for (size_t i = model.cuts.size(); i > 0; --i) {
    if (request.latent && *request.latent != model.cuts[i - 1]) continue;
    for (const CacheStore store : stores) {
      CacheShape shape;
      shape.d_c = static_cast<size_t>(model.cuts[i - 1]);
      shape.d_r = static_cast<size_t>(model.d_r);
      forms.push_back({model.cuts[i - 1], store, CacheBytesPerToken(CacheMode::kMla, store, shape)});
    }
  }
  if (!forms.empty()) return forms;
  return InvalidArgument("latents of " + std::to_string(request.latent.value_or(0)) +
                         " numbers are no size that a budget can be kept with");
}

std::string FpsText(double fps) {
  return fps >= 0.1 ? FormatNumber(fps, 2) + " pictures a second"
                    : "a picture every " + FormatNumber(1.0 / fps, 1) + " s";
}

std::string Describe(const BudgetPlan& plan, const BudgetRequest& request, const BudgetModel& model) {
  std::string text = FpsText(plan.fps) + ", " + std::to_string(plan.tokens_per_frame) +
                     " tokens each (fixed by the model), latents of " + std::to_string(plan.latent) + " in " +
                     plan.store + ": " + FormatSize(plan.bytes) + " of " + FormatSize(request.bytes) + " for " +
                     FormatDuration(request.seconds);
  if (plan.latent < model.cuts.back()) {
    text += "; " + std::to_string(plan.latent) + " of " + std::to_string(model.cuts.back()) +
            " numbers of a latent cost quality (see longview compare)";
  }
  if (plan.store == "int8") text += "; int8 rounds what bf16 would keep";
  if (plan.fps < kUsualFps) text += "; what lasts less than " + FormatNumber(1.0 / plan.fps, 1) + " s may be missed";
  if (plan.fps > kUsualFps) text += "; reading takes up to " + FormatNumber(plan.fps, 1) + " times as long as at one";
  return text;
}

Status CheckRequest(const BudgetRequest& request, const BudgetModel& model) {
  if (request.bytes == 0 || !(request.seconds > 0.0) || request.seconds > 1e9) {
    return InvalidArgument("a budget is a size above 0 and a length of film above 0, as --budget 4GB --for 12h");
  }
  if (request.fps && !(*request.fps > 0.0 && *request.fps <= 1000.0)) {
    return InvalidArgument("fps is not above 0 and at most 1000");
  }
  if (request.latent == kLatentAuto) {
    return InvalidArgument(
        "latent auto keeps what frames need, and a budget has to know it before: choose one of them");
  }
  if (model.tokens_per_frame <= 0 || model.cuts.empty()) return InvalidArgument("the model's sizes are missing");
  return Status::Ok();
}

}  // namespace

Result<BudgetPlan> SolveBudget(const BudgetRequest& request, const BudgetModel& model) {
  LV_RETURN_IF_ERROR(CheckRequest(request, model));
  LV_ASSIGN_OR_RETURN(const std::vector<Form> forms, Forms(request, model));
  const auto frame_bytes = [&](const Form& form) {
    return static_cast<double>(form.bytes) * static_cast<double>(model.tokens_per_frame);
  };
  // Pictures a second that the budget holds.
  const auto fps_of = [&](const Form& form) {
    return static_cast<double>(request.bytes) / frame_bytes(form) / request.seconds;
  };
  const double wanted = request.fps.value_or(kUsualFps);
  const auto found = std::find_if(forms.begin(), forms.end(), [&](const Form& form) { return fps_of(form) >= wanted; });
  const Form form = found != forms.end() ? *found : forms.back();
  const double held = fps_of(form);
  if (found == forms.end() && (request.fps || held < kBudgetMinFps)) {
    const double least = frame_bytes(form) * request.seconds * (request.fps ? wanted : kBudgetMinFps);
    return ResourceError(FormatSize(request.bytes) + " do not hold " + FormatDuration(request.seconds) + " at " +
                         FpsText(request.fps ? wanted : kBudgetMinFps) + ": at least " +
                         FormatSize(static_cast<uint64_t>(std::ceil(least))) + " are needed");
  }
  BudgetPlan plan;
  plan.latent = form.latent;
  plan.store = std::string(CacheStoreName(form.store));
  plan.tokens_per_frame = model.tokens_per_frame;
  plan.bytes_per_token = static_cast<double>(form.bytes);
  plan.max_frames = static_cast<uint64_t>(std::floor(static_cast<double>(request.bytes) / frame_bytes(form)));
  // To a hundredth, downwards, so that the number can be read and typed; below that to a thousandth of it.
  const double free = std::min(held, kBudgetMaxFps);
  const double rounded = free >= 0.1 ? std::floor(free * 100.0) / 100.0 : std::floor(free * 1e5) / 1e5;
  plan.fps = request.fps ? wanted : rounded;
  plan.bytes = static_cast<uint64_t>(std::floor(plan.fps * request.seconds * frame_bytes(form)));
  plan.text = Describe(plan, request, model);
  return plan;
}

void ApplyPlan(const BudgetPlan& plan, SamplingSettings* sampling, CacheOptions* cache) {
  sampling->fps = plan.fps;
  sampling->max_frames = sampling->max_frames == 0 ? plan.max_frames : std::min(sampling->max_frames, plan.max_frames);
  cache->latent = plan.latent;
  cache->store = plan.store;
}

std::span<const CachePreset> CachePresets() {
  static const auto presets = [] {
    std::array<CachePreset, 3> list = {{{"long"}, {"balanced"}, {"quality"}}};
    for (CachePreset& preset : list) preset.latent = static_cast<int>(*LatentPreset(preset.name));
    return list;
  }();
  return presets;
}

}  // namespace longview
