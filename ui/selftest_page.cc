// Choices, the heat map, and the job behind it.
#include "ui/selftest_page.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QVBoxLayout>
#include <utility>
#include <vector>

#include "app/engine/engine.h"
#include "ui/app_settings.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"
#include "ui/selftest_model.h"

namespace longview::ui {
namespace {

// Lengths of footage in seconds; a test takes those up to the chosen one.
constexpr double kLengths_s[] = {600.0, 3600.0, 10800.0, 36000.0};
constexpr int kUsualLongest = 1;  // of them
constexpr int kMostDepths = 20;

Result<std::vector<Needle>> needlesOf(const Engine& engine, const QString& folder) {
  if (!folder.isEmpty()) return ReadNeedles(toPath(folder));
  std::vector<Needle> needles = engine.DemoNeedles();
  if (needles.empty()) {
    return NotFound((engine.models_dir() / "demo").string() +
                    ": the demo clips, which would be planted, are not there; choose a folder of pictures instead");
  }
  return needles;
}

}  // namespace

SelfTestPage::SelfTestPage(EngineBridge* bridge, AppSettings* settings, const QString& video, QWidget* parent)
    : FilmPage(bridge, video, parent), settings_(settings), model_(new SelfTestModel(this)) {
  auto* column = new QVBoxLayout(this);
  auto* about = new QLabel(tr("Plants pictures in hours made of the open film and looks for each by its caption. A box "
                              "is a place in a length of film: green where every picture was found, red where none "
                              "was."),
                           this);
  about->setWordWrap(true);
  column->addWidget(about);
  buildChoices(column);
  buildMap(column);
  buildActions(column);
  showSum();
  updateEnabled();
}

void SelfTestPage::buildChoices(QVBoxLayout* column) {
  auto* form = new QFormLayout;
  auto* row = new QHBoxLayout;
  longest_ = new QComboBox(this);
  longest_->setObjectName(QStringLiteral("longest"));
  for (const double length : kLengths_s) longest_->addItem(durationText(length));
  longest_->setCurrentIndex(kUsualLongest);
  longest_->setToolTip(tr("Shorter ones are tested, too. Ten hours take long and much memory."));
  depths_ = new QSpinBox(this);
  depths_->setObjectName(QStringLiteral("depths"));
  depths_->setRange(1, kMostDepths);
  depths_->setValue(10);
  auto* depths_label = new QLabel(tr("&Places along it"), this);
  depths_label->setBuddy(depths_);
  row->addWidget(longest_);
  row->addSpacing(12);
  row->addWidget(depths_label);
  row->addWidget(depths_);
  row->addStretch(1);
  auto* longest_label = new QLabel(tr("Longest &film"), this);
  longest_label->setBuddy(longest_);
  form->addRow(longest_label, row);
  auto* folder_row = new QHBoxLayout;
  folder_ = new QLineEdit(this);
  folder_->setObjectName(QStringLiteral("needles"));
  folder_->setPlaceholderText(tr("The demo clips"));
  folder_->setToolTip(tr("A folder with captions.tsv: a line a picture, its file, a tab, and what it shows"));
  folder_->setClearButtonEnabled(true);
  choose_ = new QPushButton(tr("Choose…"), this);
  choose_->setAccessibleName(tr("Choose the folder of pictures"));
  folder_row->addWidget(folder_, 1);
  folder_row->addWidget(choose_);
  auto* folder_label = new QLabel(tr("P&ictures to plant"), this);
  folder_label->setBuddy(folder_);
  form->addRow(folder_label, folder_row);
  column->addLayout(form);
  connect(choose_, &QPushButton::clicked, this, &SelfTestPage::chooseFolder);
}

void SelfTestPage::buildMap(QVBoxLayout* column) {
  shown_ = new QComboBox(this);
  shown_->setObjectName(QStringLiteral("shown"));
  shown_->setAccessibleName(tr("What counts as found"));
  shown_->addItem(tr("Found first by a search for the caption"));
  shown_->addItem(tr("Most attention of all when the whole film is asked"));
  connect(shown_, &QComboBox::currentIndexChanged, this, [this](int index) {
    model_->show(index == 0 ? SelfTestModel::Shown::kFound : SelfTestModel::Shown::kAttended);
    showSum();
  });
  column->addWidget(shown_, 0, Qt::AlignLeft);
  map_ = new QTableView(this);
  map_->setObjectName(QStringLiteral("map"));
  map_->setModel(model_);
  map_->setAccessibleName(tr("What was found, by depth and length"));
  map_->setSelectionMode(QAbstractItemView::SingleSelection);
  map_->setTabKeyNavigation(false);  // Tab leaves it
  // The boxes share all the room that there is; the numbers stay readable.
  map_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  map_->verticalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  map_->verticalHeader()->setMinimumSectionSize(fontMetrics().height() + 2);
  map_->verticalHeader()->setDefaultAlignment(Qt::AlignCenter);
  map_->setMinimumHeight(8 * fontMetrics().height());
  column->addWidget(map_, 1);
  sum_ = new QLabel(this);
  sum_->setObjectName(QStringLiteral("sum"));
  sum_->setWordWrap(true);
  column->addWidget(sum_);
}

void SelfTestPage::buildActions(QVBoxLayout* column) {
  auto* row = new QHBoxLayout;
  run_ = new QPushButton(this);
  run_->setObjectName(QStringLiteral("run"));
  progress_ = new QProgressBar(this);
  progress_->setAccessibleName(tr("Progress of the self-test"));
  copy_ = new QPushButton(tr("Copy as text"), this);
  copy_->setObjectName(QStringLiteral("copy"));
  row->addWidget(run_);
  row->addWidget(progress_, 1);
  row->addStretch();
  row->addWidget(copy_);
  column->addLayout(row);
  status_->setObjectName(QStringLiteral("status"));
  column->addWidget(status_);
  connect(run_, &QPushButton::clicked, this, [this] {
    if (job_ != 0) {
      bridge_->cancel(job_);
    } else {
      run();
    }
  });
  connect(copy_, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(model_->text()); });
}

void SelfTestPage::chooseFolder() {
  auto* dialog = new QFileDialog(this, tr("Folder of pictures to plant"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::Directory);
  connect(dialog, &QFileDialog::fileSelected, folder_, &QLineEdit::setText);
  dialog->open();
}

void SelfTestPage::showAnother() {
  model_->start({}, 0);
  showSum();
  updateEnabled();
}

QString SelfTestPage::runningText(const QString& name) const { return tr("%1 is still tested.").arg(name); }

void SelfTestPage::run() {
  beginWithOpen();
  SelfTestOptions options;
  options.sampling = settings_->sampling();
  options.cache = settings_->cache();
  options.lengths_s.assign(kLengths_s, kLengths_s + longest_->currentIndex() + 1);
  options.depths = depths_->value();
  model_->start(options.lengths_s, options.depths);
  showSum();
  const auto work = [this, video = video_, folder = folder_->text(),
                     options](const EngineBridge::Call& call) -> Result<SelfTestReport> {
    SelfTestOptions own = options;
    LV_ASSIGN_OR_RETURN(own.needles, needlesOf(call.engine, folder));
    return call.engine.SelfTest(toPath(video), std::move(own), call.job, [&](const SelfTestCell& cell) {
      call.post([this, cell] {
        model_->put(cell);
        showSum();
      });
    });
  };
  job_ = bridge_->start<SelfTestReport>(Lane::kMeasure, tr("Self-test"), this, work,
                                        [this](const Result<SelfTestReport>& report) {
                                          job_ = 0;
                                          finish(report);
                                        });
  updateEnabled();
}

void SelfTestPage::finish(const Result<SelfTestReport>& report) {
  QString words;
  if (!report.ok()) {
    words = failureText(report.status());
  } else if (!report->trained_heads) {
    words = tr("This model has no trained retrieval heads: a search ranks by attention, too.");
  }
  tell(words);
  updateEnabled();
}

void SelfTestPage::showSum() {
  const int boxes = model_->filled();
  sum_->setText(boxes == 0 ? tr("Nothing was tested yet.")
                           : tr("Found: %1 of %2. Boxes tested: %3 of %4.")
                                 .arg(model_->found())
                                 .arg(model_->planted())
                                 .arg(boxes)
                                 .arg(model_->rowCount() * model_->columnCount()));
  copy_->setEnabled(boxes > 0);
}

void SelfTestPage::updateEnabled() {
  const bool running = job_ != 0;
  run_->setText(running ? tr("Stop the test") : tr("Run the test"));
  run_->setEnabled(running || !open_.isEmpty());
  run_->setToolTip(open_.isEmpty() ? tr("Open a video first") : QString());
  progress_->setVisible(running);
  for (QWidget* choice : std::initializer_list<QWidget*>{longest_, depths_, folder_, choose_}) {
    choice->setEnabled(!running);
  }
}

}  // namespace longview::ui
