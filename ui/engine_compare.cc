// From the engine's rows and plans to the page's.
#include "ui/engine_compare.h"

#include <QCoreApplication>
#include <QLocale>
#include <utility>

#include "app/engine/budget.h"
#include "app/engine/compare.h"
#include "ui/format.h"

namespace longview::ui {
namespace {

ModeRow toRow(const CompareRow& row) {
  ModeRow out;
  out.cache.mode = row.mode;
  out.cache.store = row.store;
  out.cache.groups = row.groups;
  if (row.latent != 0) out.cache.latent = row.latent;
  out.name = toText(row.mode);
  if (row.groups > 0) out.name += QStringLiteral(" %1").arg(row.groups);
  if (row.latent != 0) out.name += QLatin1Char(' ') + toText(LatentName(row.latent));
  out.measured = row.measured;
  out.bytes_per_token = row.bytes_per_token;
  out.predicted_bytes = row.predicted_bytes;
  out.bytes = row.bytes;
  out.hours_bytes = row.hours_bytes;
  out.first_token_s = row.first_token_s;
  out.token_s = row.token_s;
  out.kl = row.kl;
  out.agreement = row.agreement;
  out.best = row.pareto;
  out.note = toText(row.note);
  return out;
}

// What the plan is and what it costs, in the window's language.
QString planText(const BudgetPlan& plan, const BudgetRequest& request) {
  const auto number = [](double value) { return QLocale::c().toString(value, 'g', 3); };
  QString text =
      QCoreApplication::translate("longview::ui", "%1 pictures a second, latents of %2 in %3: %4 of %5 for %6.")
          .arg(number(plan.fps))
          .arg(plan.latent)
          .arg(toText(plan.store), sizeText(plan.bytes), sizeText(request.bytes), durationText(request.seconds));
  const auto add = [&text](const QString& sentence) { text += QLatin1Char(' ') + sentence; };
  if (plan.latent < CacheOptions().latent) {
    add(QCoreApplication::translate("longview::ui", "Smaller latents cost quality."));
  }
  if (plan.store == "int8") add(QCoreApplication::translate("longview::ui", "int8 rounds what bf16 would keep."));
  const double usual = SamplingSettings().fps;
  if (plan.fps < usual) {
    add(QCoreApplication::translate("longview::ui", "What lasts less than %1 s may be missed.")
            .arg(number(1.0 / plan.fps)));
  }
  if (plan.fps > usual) {
    add(QCoreApplication::translate("longview::ui", "Reading takes up to %1 times as long.")
            .arg(number(plan.fps / usual)));
  }
  return text;
}

class EngineCompare : public CompareSource {
 public:
  Result<std::vector<ModeRow>> predict(Engine& engine, const QString& video, const SamplingSettings& sampling,
                                       const JobContext& job) override {
    CompareOptions options;
    options.sampling = sampling;
    LV_ASSIGN_OR_RETURN(const std::vector<CompareRow> rows, engine.PredictCompare(toPath(video), options, job));
    std::vector<ModeRow> out;
    out.reserve(rows.size());
    for (const CompareRow& row : rows) out.push_back(toRow(row));
    return out;
  }

  Status measure(Engine& engine, const QString& video, const SamplingSettings& sampling, const JobContext& job,
                 const std::function<void(const ModeRow&)>& on_row) override {
    CompareOptions options;
    options.sampling = sampling;
    LV_ASSIGN_OR_RETURN(const CompareReport report, engine.Compare(toPath(video), options, job,
                                                                   [&](const CompareRow& row) { on_row(toRow(row)); }));
    // Which rows no other one beats is known only once all are there.
    for (const CompareRow& row : report.rows) on_row(toRow(row));
    return Status::Ok();
  }

  Result<BudgetOffer> plan(Engine& engine, uint64_t bytes, double seconds) override {
    BudgetRequest request;
    request.bytes = bytes;
    request.seconds = seconds;
    LV_ASSIGN_OR_RETURN(const BudgetPlan plan, engine.PlanBudget(request));
    BudgetOffer offer;
    ApplyPlan(plan, &offer.sampling, &offer.cache);
    offer.bytes = plan.bytes;
    offer.text = planText(plan, request);
    return offer;
  }
};

}  // namespace

std::shared_ptr<CompareSource> makeEngineCompare() { return std::make_shared<EngineCompare>(); }

}  // namespace longview::ui
