// The parts of the model. The only place of the window that may use the network, and only when told to: it runs the
// same script that set-up runs.
#include "ui/model_page.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QShowEvent>
#include <QTableWidget>
#include <QVBoxLayout>
#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

#include "ui/engine_bridge.h"
#include "ui/format.h"
#include "ui/table_columns.h"

namespace longview::ui {
namespace {

using Parts = std::vector<PartStatus>;
constexpr int kStop_ms = 5000;  // that the script may take to clear up
enum Column { kName, kSize, kState, kHash, kFile, kColumns };

// Parts that the script brings; the others are Longview's own.
bool isBrought(const PartStatus& part) { return part.name == "vit" || part.name == "text"; }

}  // namespace

ModelPage::ModelPage(EngineBridge* bridge, QWidget* parent)
    : QWidget(parent),
      bridge_(bridge),
      table_(new QTableWidget(0, kColumns, this)),
      status_(new QLabel(this)),
      bring_(new QPushButton(this)),
      remove_(new QPushButton(tr("Remove the selected part"), this)) {
  auto* column = new QVBoxLayout(this);
  table_->setAccessibleName(tr("Parts of the model"));
  table_->setHorizontalHeaderLabels({tr("Part"), tr("Size"), tr("State"), tr("SHA-256"), tr("File")});
  table_->setTabKeyNavigation(false);  // Tab leaves it
  table_->verticalHeader()->hide();
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  fitColumns(table_);
  table_->setTextElideMode(Qt::ElideMiddle);
  column->addWidget(table_, 1);
  status_->setObjectName(QStringLiteral("status"));
  status_->setTextFormat(Qt::PlainText);
  bring_->setObjectName(QStringLiteral("bring"));
  remove_->setObjectName(QStringLiteral("remove"));
  status_->setWordWrap(true);
  status_->setTextFormat(Qt::PlainText);
  status_->setText(tr("Checking…"));
  column->addWidget(status_);
  auto* row = new QHBoxLayout;
  row->addWidget(bring_);
  row->addStretch(1);
  row->addWidget(remove_);
  column->addLayout(row);
  connect(bring_, &QPushButton::clicked, this, [this] {
    if (process_ != nullptr) {
      stopBringing();
    } else {
      bring();
    }
  });
  connect(remove_, &QPushButton::clicked, this, &ModelPage::remove);
  connect(table_, &QTableWidget::itemSelectionChanged, this, &ModelPage::updateEnabled);
  updateEnabled();
}

ModelPage::~ModelPage() {
  if (process_ == nullptr) return;
  process_->disconnect(this);
  stopBringing();
  process_->waitForFinished(kStop_ms);
}

// As Ctrl-C: the script ends its download and takes away what is not whole.
void ModelPage::stopBringing() {
  stopped_ = true;
  if (process_->processId() > 0) ::kill(static_cast<pid_t>(process_->processId()), SIGINT);
}

void ModelPage::showEvent(QShowEvent* event) {
  if (!event->spontaneous()) check();
  QWidget::showEvent(event);
}

void ModelPage::check() {
  bridge_->start<Parts>(
      Lane::kExport, tr("Checking the model"), this,
      [](const EngineBridge::Call& call) -> Result<Parts> { return call.engine.ModelStatus(call.job); },
      [this](Result<Parts> parts) {
        if (parts.ok()) {
          show(*parts);
        } else {
          status_->setText(failureText(parts.status()));
        }
      });
}

void ModelPage::show(const Parts& parts) {
  parts_ = parts;
  QStringList faults;
  table_->setRowCount(static_cast<int>(parts.size()));
  for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
    const PartStatus& part = parts[static_cast<size_t>(i)];
    const QString state = part.state == PartState::kOk        ? tr("right")
                          : part.state == PartState::kMissing ? tr("missing")
                                                              : tr("damaged");
    const QString cells[kColumns] = {toText(part.name), part.bytes > 0 ? sizeText(part.bytes) : QString(), state,
                                     toText(part.sha256.substr(0, 16)), toText(part.path)};
    for (int c = 0; c < kColumns; ++c) {
      auto* item = new QTableWidgetItem(cells[c]);
      item->setToolTip(c == kHash ? toText(part.sha256) : plainTip(cells[c]));
      table_->setItem(i, c, item);
    }
    if (part.state != PartState::kOk) faults << toText(part.detail);
  }
  if (!failure_.isEmpty()) faults << std::exchange(failure_, QString());
  status_->setText(faults.isEmpty() ? tr("Every part is there and right.") : faults.join(QLatin1Char('\n')));
  updateEnabled();
}

QString ModelPage::scriptPath() {
  // Installed beside the program, or in the source tree that a build folder belongs to.
  const QDir program(QCoreApplication::applicationDirPath());
  for (const char* place : {"../share/longview/tools/fetch_parts.py", "../../../tools/fetch_parts.py"}) {
    const QFileInfo file(program.filePath(QString::fromLatin1(place)));
    if (file.isFile()) return file.canonicalFilePath();
  }
  return {};
}

void ModelPage::bring() {
  const QString script = scriptPath();
  if (script.isEmpty()) {
    status_->setText(tr("The script that brings the parts is not installed beside this program."));
    return;
  }
  process_ = new QProcess(this);
  process_->setProcessChannelMode(QProcess::MergedChannels);
  // A program that a script started in the background ignores Ctrl-C, and so would this one.
  process_->setChildProcessModifier([] { (void)::signal(SIGINT, SIG_DFL); });
  QStringList arguments = {script};
  if (!bridge_->options().models.empty()) arguments << QStringLiteral("--models") << toText(bridge_->options().models);
  // What the script says is shown as it comes; what it said last stands where it failed.
  auto said = std::make_shared<QByteArray>();
  connect(process_, &QProcess::readyRead, this, [this, said] {
    *said += process_->readAll();
    status_->setText(QString::fromUtf8(*said).trimmed());
  });
  connect(process_, &QProcess::finished, this, [this, said](int code, QProcess::ExitStatus how) {
    const QString words = QString::fromUtf8(*said + process_->readAll()).trimmed();
    process_->deleteLater();
    process_ = nullptr;
    failure_ = how == QProcess::NormalExit && code == 0 ? QString()
               : stopped_                               ? tr("Stopped; what was brought whole is kept.")
                                                        : words;
    check();
    updateEnabled();
  });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    status_->setText(tr("Python 3 could not be started; it is needed to bring the parts."));
    process_->deleteLater();
    process_ = nullptr;
    updateEnabled();
  });
  stopped_ = false;
  status_->setText(tr("Bringing the parts…"));
  process_->start(QStringLiteral("python3"), arguments);
  updateEnabled();
}

void ModelPage::remove() {
  const int row = table_->currentRow();
  if (row < 0 || row >= static_cast<int>(parts_.size())) return;
  const PartStatus part = parts_[static_cast<size_t>(row)];
  auto* box = new QMessageBox(
      QMessageBox::Question, tr("Remove a part"),
      tr("Remove %1? No question can be answered without it until it is brought again.").arg(toText(part.path)),
      QMessageBox::Yes | QMessageBox::No, this);
  box->setTextFormat(Qt::PlainText);
  box->button(QMessageBox::Yes)->setText(tr("Remove"));
  box->button(QMessageBox::No)->setText(tr("Keep"));
  box->setAttribute(Qt::WA_DeleteOnClose);
  connect(box, &QDialog::finished, this, [this, part](int answer) {
    if (answer != QMessageBox::Yes) return;
    std::error_code error;
    std::filesystem::remove(part.path, error);
    if (error) failure_ = toText(part.path) + QStringLiteral(": ") + QString::fromStdString(error.message());
    check();
  });
  box->open();
}

void ModelPage::updateEnabled() {
  bool missing = false;
  for (const PartStatus& part : parts_) missing = missing || (isBrought(part) && part.state != PartState::kOk);
  bring_->setText(process_ != nullptr ? tr("Stop bringing") : tr("Bring missing parts (uses the network)"));
  bring_->setEnabled(process_ != nullptr || missing);
  const int row = table_->currentRow();
  const bool chosen = row >= 0 && row < static_cast<int>(parts_.size());
  remove_->setEnabled(process_ == nullptr && chosen && isBrought(parts_[static_cast<size_t>(row)]) &&
                      parts_[static_cast<size_t>(row)].state != PartState::kMissing);
}

}  // namespace longview::ui
