// What this build's engine offers of the comparison.
#include "ui/engine_compare.h"

#include <QCoreApplication>

namespace longview::ui {
namespace {

class EngineCompare : public CompareSource {
 public:
  Status measure(Engine&, const QString&, const SamplingSettings&, const JobContext&,
                 const std::function<void(const ModeRow&)>&) override {
    return missing();
  }
  Result<BudgetOffer> plan(Engine&, uint64_t, double) override { return missing(); }

 private:
  static Status missing() {
    return Unsupported(
        QCoreApplication::translate("longview::ui", "The engine of this build does not compare cache modes.")
            .toStdString());
  }
};

}  // namespace

std::shared_ptr<CompareSource> makeEngineCompare() { return std::make_shared<EngineCompare>(); }

}  // namespace longview::ui
