// Table, chart, budget.
#include "ui/memory_page.h"

#include <QGroupBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>
#include <QTableView>
#include <QVBoxLayout>
#include <cmath>
#include <utility>

#include "ui/app_settings.h"
#include "ui/compare_chart.h"
#include "ui/compare_model.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"
#include "ui/table_columns.h"

namespace longview::ui {
namespace {

// The slider goes from 1 MB to 64 GB in equal factors.
constexpr int kSliderSteps = 480;
constexpr double kLowestBytes = 1e6;
constexpr double kDecades = 4.8;

QString wayText(const CacheOptions& cache) {
  const QString way = QStringLiteral("%1 · %2").arg(toText(cache.mode), toText(cache.store));
  return cache.mode == "mla" ? QStringLiteral("%1 · %2").arg(way, toText(LatentName(cache.latent))) : way;
}

}  // namespace

MemoryPage::MemoryPage(EngineBridge* bridge, AppSettings* settings, std::shared_ptr<CompareSource> source,
                       const QString& video, QWidget* parent)
    : FilmPage(bridge, video, parent), settings_(settings), source_(std::move(source)), model_(new CompareModel(this)) {
  auto* column = new QVBoxLayout(this);
  buildTable(column);
  buildBudget(column);
  plan_timer_.setSingleShot(true);
  plan_timer_.setInterval(60);
  connect(&plan_timer_, &QTimer::timeout, this, &MemoryPage::plan);
  updateEnabled();
  planSoon();
  predict();
}

void MemoryPage::buildTable(QVBoxLayout* column) {
  now_ = new QLabel(tr("In use: %1").arg(wayText(settings_->cache())), this);
  column->addWidget(now_);
  table_ = new QTableView(this);
  table_->setModel(model_);
  table_->setAccessibleName(tr("Ways of holding the cache"));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setTabKeyNavigation(false);  // Tab leaves it
  table_->verticalHeader()->hide();
  fitColumns(table_);
  table_->setMinimumHeight(160);
  column->addWidget(table_, 3);
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(new CompareChart(model_, scroll));
  scroll->setWidgetResizable(true);
  scroll->setMinimumHeight(110);
  scroll->setAccessibleName(scroll->widget()->accessibleName());
  column->addWidget(scroll, 2);
  auto* row = new QHBoxLayout;
  measure_ = new QPushButton(tr("Measure now"), this);
  measure_->setObjectName(QStringLiteral("measure"));
  use_ = new QPushButton(tr("Use the selected mode and ask again"), this);
  use_->setObjectName(QStringLiteral("use"));
  progress_ = new QProgressBar(this);
  progress_->setAccessibleName(tr("Progress of the measurement"));
  progress_->hide();
  row->addWidget(measure_);
  row->addWidget(progress_, 1);
  row->addStretch();
  row->addWidget(use_);
  column->addLayout(row);
  column->addWidget(status_);
  connect(measure_, &QPushButton::clicked, this, [this] {
    if (job_ != 0) {
      bridge_->cancel(job_);
    } else {
      measure();
    }
  });
  connect(use_, &QPushButton::clicked, this, &MemoryPage::useSelected);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &MemoryPage::updateEnabled);
}

void MemoryPage::buildBudget(QVBoxLayout* column) {
  auto* group = new QGroupBox(tr("Budget"), this);
  auto* inside = new QVBoxLayout(group);
  auto* row = new QHBoxLayout;
  budget_ = new QSlider(Qt::Horizontal, group);
  budget_->setObjectName(QStringLiteral("budget"));
  budget_->setRange(0, kSliderSteps);
  budget_->setValue(static_cast<int>(std::lround(std::log10(4e9 / kLowestBytes) / kDecades * kSliderSteps)));
  budget_->setAccessibleName(tr("Memory for the cache"));
  budget_text_ = new QLabel(group);
  budget_text_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("000.00 GB")));
  hours_ = new QSpinBox(group);
  hours_->setRange(1, 1000);
  hours_->setValue(12);
  hours_->setSuffix(tr(" hours"));
  hours_->setAccessibleName(tr("Hours of film"));
  row->addWidget(budget_, 1);
  row->addWidget(budget_text_);
  row->addWidget(new QLabel(tr("for"), group));
  row->addWidget(hours_);
  inside->addLayout(row);
  auto* second = new QHBoxLayout;
  offer_text_ = new QLabel(group);
  offer_text_->setWordWrap(true);
  offer_text_->setTextFormat(Qt::PlainText);
  offer_text_->setMinimumHeight(3 * fontMetrics().height());
  offer_text_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  take_ = new QPushButton(tr("Use this"), group);
  take_->setObjectName(QStringLiteral("take"));
  take_->setEnabled(false);
  second->addWidget(offer_text_, 1);
  second->addWidget(take_);
  inside->addLayout(second);
  column->addWidget(group);
  connect(budget_, &QSlider::valueChanged, this, &MemoryPage::planSoon);
  connect(hours_, &QSpinBox::valueChanged, this, &MemoryPage::planSoon);
  connect(take_, &QPushButton::clicked, this, [this] {
    if (!offer_) return;
    settings_->setCache(offer_->cache);
    settings_->setSampling(offer_->sampling);
    now_->setText(tr("In use: %1").arg(wayText(offer_->cache)));
    emit samplingChosen();
  });
}

uint64_t MemoryPage::budgetBytes() const {
  return static_cast<uint64_t>(kLowestBytes * std::pow(10.0, budget_->value() * kDecades / kSliderSteps));
}

void MemoryPage::planSoon() {
  budget_text_->setText(sizeText(budgetBytes()));
  take_->setEnabled(false);  // the offer that stands there is of another budget
  plan_timer_.start();
}

void MemoryPage::plan() {
  const uint64_t bytes = budgetBytes();
  const int hours = hours_->value();
  bridge_->start<BudgetOffer>(
      Lane::kExport, QString(), this,
      [source = source_, bytes, hours](const EngineBridge::Call& call) {
        return source->plan(call.engine, bytes, hours * 3600.0);
      },
      [this, bytes, hours](const Result<BudgetOffer>& offer) {
        if (bytes != budgetBytes() || hours != hours_->value()) return;  // another is on its way
        offer_.reset();
        if (offer.ok()) offer_ = offer.value();
        offer_text_->setText(offer_ ? offer_->text : failureText(offer.status()));
        take_->setEnabled(offer_.has_value());
      });
}

void MemoryPage::showAnother() {
  model_->clear();
  updateEnabled();
  predict();
}

void MemoryPage::filmRead() {
  if (video_ == open_ && !kept()) predict();
}

QString MemoryPage::runningText(const QString& name) const { return tr("%1 is still measured.").arg(name); }

// What the formulas say stands there before anything is measured. Where nothing was read yet there is nothing to say.
void MemoryPage::predict() {
  if (video_.isEmpty() || predicting_) return;
  predicting_ = true;
  bridge_->start<std::vector<ModeRow>>(
      Lane::kMeasure, QString(), this,
      [source = source_, video = video_, sampling = settings_->sampling()](const EngineBridge::Call& call) {
        return source->predict(call.engine, video, sampling, call.job);
      },
      [this, video = video_](const Result<std::vector<ModeRow>>& rows) {
        predicting_ = false;
        if (video != video_) {
          if (!kept()) predict();
        } else if (rows.ok()) {
          for (const ModeRow& row : *rows) model_->put(row);
        }
      });
}

void MemoryPage::measure() {
  beginWithOpen();
  const SamplingSettings sampling = settings_->sampling();
  const auto work = [this, source = source_, video = video_, sampling](const EngineBridge::Call& call) -> Result<bool> {
    LV_RETURN_IF_ERROR(source->measure(call.engine, video, sampling, call.job,
                                       [&](const ModeRow& row) { call.post([this, row] { model_->put(row); }); }));
    return true;
  };
  job_ = bridge_->start<bool>(Lane::kMeasure, tr("Measuring the cache modes"), this, work,
                              [this](const Result<bool>& done) {
                                job_ = 0;
                                tell(failureText(done.status()));
                                updateEnabled();
                              });
  updateEnabled();
}

void MemoryPage::useSelected() {
  const QModelIndexList selected = table_->selectionModel()->selectedRows();
  if (selected.isEmpty()) return;
  const CacheOptions cache = model_->rows()[static_cast<size_t>(selected.front().row())].cache;
  settings_->setCache(cache);
  now_->setText(tr("In use: %1").arg(wayText(cache)));
  emit cacheChosen();
}

void MemoryPage::updateEnabled() {
  const bool running = job_ != 0;
  measure_->setText(running ? tr("Stop measuring") : tr("Measure now"));
  measure_->setEnabled(running || !open_.isEmpty());
  measure_->setToolTip(open_.isEmpty() ? tr("Open a video first") : QString());
  progress_->setVisible(running);
  use_->setEnabled(table_->selectionModel()->hasSelection());
}

}  // namespace longview::ui
