// Pages of settings.
#include "ui/settings_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QSpinBox>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "ui/app_settings.h"
#include "ui/engine_bridge.h"
#include "ui/engine_compare.h"
#include "ui/format.h"
#include "ui/memory_page.h"
#include "ui/model_page.h"
#include "ui/selftest_page.h"
#include "ui/theme.h"

namespace longview::ui {
namespace {
constexpr uint64_t kBytesPerGb = 1000000000;
}  // namespace

SettingsDialog::SettingsDialog(EngineBridge* bridge, AppSettings* settings, const QString& video, QWidget* parent)
    : QDialog(parent), bridge_(bridge), settings_(settings), tabs_(new QTabWidget(this)), video_(video) {
  setWindowTitle(tr("Settings"));
  tabs_->setAccessibleName(tr("Pages of settings"));
  for (const QString& title : {tr("General"), tr("Reading"), tr("Memory"), tr("Self-test"), tr("Model")}) {
    auto* place = new QWidget(this);
    (new QVBoxLayout(place))->setContentsMargins(0, 0, 0, 0);
    tabs_->addTab(place, title);
  }
  connect(tabs_, &QTabWidget::currentChanged, this, &SettingsDialog::page);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  buttons->button(QDialogButtonBox::Close)->setText(tr("Close"));
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* column = new QVBoxLayout(this);
  column->addWidget(tabs_, 1);
  column->addWidget(buttons);
  for (auto* button : findChildren<QPushButton*>()) button->setAutoDefault(false);
  resize(860, 640);
}

void SettingsDialog::showPage(Page number) {
  (void)page(number);
  tabs_->setCurrentIndex(number);
}

void SettingsDialog::setVideo(const QString& video) {
  video_ = video;
  if (pages_[kMemory] != nullptr) {
    memoryPage()->setVideo(video);
    memoryPage()->filmRead();
  }
  if (pages_[kSelfTest] != nullptr) selfTestPage()->setVideo(video);
}

void SettingsDialog::filmRead() {
  if (pages_[kMemory] != nullptr && isVisible()) memoryPage()->filmRead();
}

bool SettingsDialog::measuring() const {
  const auto* memory = static_cast<const MemoryPage*>(pages_[kMemory]);
  const auto* test = static_cast<const SelfTestPage*>(pages_[kSelfTest]);
  return (memory != nullptr && memory->running()) || (test != nullptr && test->running());
}

MemoryPage* SettingsDialog::memoryPage() { return static_cast<MemoryPage*>(page(kMemory)); }
SelfTestPage* SettingsDialog::selfTestPage() { return static_cast<SelfTestPage*>(page(kSelfTest)); }

QWidget* SettingsDialog::page(int number) {
  QWidget*& made = pages_[static_cast<size_t>(number)];
  if (made == nullptr) {
    made = build(number);
    // On a small screen, or with large letters, a page scrolls rather than being cut off.
    auto* scroll = new QScrollArea(this);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidgetResizable(true);
    scroll->setWidget(made);
    made->setAutoFillBackground(false);
    scroll->viewport()->setAutoFillBackground(false);
    tabs_->widget(number)->layout()->addWidget(scroll);
    const QSize room = made->minimumSizeHint() + QSize(60, 120);  // tabs, edges and the button below
    resize(size().expandedTo(room).boundedTo(screen()->availableSize()));
    // Enter ends the editing of a field; it presses nothing.
    for (auto* button : made->findChildren<QPushButton*>()) button->setAutoDefault(false);
  }
  return made;
}

QWidget* SettingsDialog::build(int number) {
  switch (number) {
    case kGeneral:
      return buildGeneral();
    case kReading:
      return buildReading();
    case kMemory: {
      auto* memory = new MemoryPage(bridge_, settings_, makeEngineCompare(), video_, this);
      connect(memory, &MemoryPage::cacheChosen, this, &SettingsDialog::cacheChosen);
      connect(memory, &MemoryPage::samplingChosen, this, [this] {
        if (fps_ != nullptr) fps_->setValue(settings_->sampling().fps);
        emit samplingChosen();
      });
      return memory;
    }
    case kSelfTest:
      return new SelfTestPage(bridge_, settings_, video_, this);
    default:
      return new ModelPage(bridge_, this);
  }
}

QWidget* SettingsDialog::buildGeneral() {
  auto* page = new QWidget(this);
  auto* form = new QFormLayout(page);
  auto* language = new QComboBox(page);
  language->setObjectName(QStringLiteral("language"));
  language->addItem(tr("As the system"), QString());
  language->addItem(QStringLiteral("English"), QStringLiteral("en"));
  language->addItem(QStringLiteral("简体中文"), QStringLiteral("zh_CN"));
  language->setCurrentIndex(std::max(0, language->findData(settings_->language())));
  connect(language, &QComboBox::activated, this, [this, language] {
    settings_->setLanguage(language->currentData().toString());
    emit languageChosen(settings_->language());
  });
  form->addRow(tr("&Language"), language);
  auto* theme = new QComboBox(page);
  theme->setObjectName(QStringLiteral("theme"));
  theme->addItem(tr("As the system"), static_cast<int>(Theme::kSystem));
  theme->addItem(tr("Light"), static_cast<int>(Theme::kLight));
  theme->addItem(tr("Dark"), static_cast<int>(Theme::kDark));
  theme->setCurrentIndex(std::max(0, theme->findData(static_cast<int>(settings_->theme()))));
  connect(theme, &QComboBox::activated, this, [this, theme] {
    settings_->setTheme(static_cast<Theme>(theme->currentData().toInt()));
    applyTheme(settings_->theme());
  });
  form->addRow(tr("&Colours"), theme);
  addMachine(form);
  addFolder(form);
  return page;
}

void SettingsDialog::addMachine(QFormLayout* form) {
  auto* threads = new QSpinBox(form->parentWidget());
  threads->setObjectName(QStringLiteral("threads"));
  threads->setRange(0, 256);
  threads->setSpecialValueText(tr("All cores"));
  threads->setValue(settings_->threads());
  connect(threads, &QSpinBox::editingFinished, this, [this, threads] {
    if (threads->value() == settings_->threads()) return;
    settings_->setThreads(threads->value());
    reopenEngine(Option::kThreads);
  });
  form->addRow(tr("&Threads"), threads);
  addDevice(form);
}

// A GPU is offered where the engine found one, or where it was chosen before; the line below says what is in use, and
// why.
void SettingsDialog::addDevice(QFormLayout* form) {
  auto* device = new QComboBox(form->parentWidget());
  device->setObjectName(QStringLiteral("device"));
  device->addItem(tr("Best there is"), QStringLiteral("auto"));
  device->addItem(tr("Processor"), QStringLiteral("cpu"));
  const QString chosen = settings_->device();
  if (device->findData(chosen) < 0) device->addItem(chosen, chosen);
  device->setCurrentIndex(device->findData(chosen));
  form->addRow(tr("Compute &on"), device);
  auto* in_use = new QLabel(form->parentWidget());
  in_use->setObjectName(QStringLiteral("deviceInUse"));
  in_use->setWordWrap(true);
  in_use->setTextFormat(Qt::PlainText);
  in_use->setForegroundRole(QPalette::PlaceholderText);
  form->addRow(QString(), in_use);
  const auto look = [this, device, in_use] {
    bridge_->start<ComputeDevice>(
        Lane::kExport, QString(), device,
        [](const EngineBridge::Call& call) -> Result<ComputeDevice> { return call.engine.device(); },
        [device, in_use](const Result<ComputeDevice>& used) {
          in_use->setText(used.ok() ? tr("In use: %1 (%2)").arg(toText(used->name), toText(used->reason))
                                    : failureText(used.status()));
          const QString name = used.ok() && used->cuda ? QStringLiteral("cuda:%1").arg(used->index) : QString();
          if (!name.isEmpty() && device->findData(name) < 0) device->addItem(toText(used->name), name);
        });
  };
  connect(device, &QComboBox::activated, this, [this, device, look] {
    settings_->setDevice(device->currentData().toString());
    reopenEngine(Option::kDevice);
    look();
  });
  look();
}

void SettingsDialog::addFolder(QFormLayout* form) {
  auto* row = new QHBoxLayout;
  auto* folder = new QLineEdit(settings_->libraryFolder());
  folder->setObjectName(QStringLiteral("folder"));
  folder->setPlaceholderText(tr("The usual place"));
  auto* choose = new QPushButton(tr("Choose…"));
  row->addWidget(folder, 1);
  row->addWidget(choose);
  const auto keep = [this, folder] {
    if (folder->text() == settings_->libraryFolder()) return;
    settings_->setLibraryFolder(folder->text());
    reopenEngine(Option::kLibrary);
  };
  connect(folder, &QLineEdit::editingFinished, this, keep);
  connect(choose, &QPushButton::clicked, this, [this, folder, keep] {
    auto* dialog = new QFileDialog(this, tr("Cache folder"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, folder, [folder, keep](const QString& path) {
      folder->setText(path);
      keep();
    });
    dialog->open();
  });
  auto* label = new QLabel(tr("Cache &folder"));
  label->setBuddy(folder);
  form->addRow(label, row);
  auto* limit = new QSpinBox;
  limit->setObjectName(QStringLiteral("limit"));
  limit->setRange(0, 100000);
  limit->setSuffix(tr(" GB"));
  limit->setSpecialValueText(tr("No limit"));
  limit->setValue(static_cast<int>(settings_->cacheLimitBytes() / kBytesPerGb));
  // Not before the number is whole: on the way to 100 stands a 1, and all beyond that would be removed.
  connect(limit, &QSpinBox::editingFinished, this, [this, limit] {
    const int before = static_cast<int>(settings_->cacheLimitBytes() / kBytesPerGb);
    if (limit->value() == before) return;
    settings_->setCacheLimitBytes(static_cast<uint64_t>(limit->value()) * kBytesPerGb);
    emit limitChosen();
  });
  form->addRow(tr("Size &limit of the folder"), limit);
  auto* hint = new QLabel(tr("Beyond the limit, what was used longest ago is removed; films themselves never are."));
  hint->setWordWrap(true);
  hint->setForegroundRole(QPalette::PlaceholderText);
  form->addRow(QString(), hint);
}

QWidget* SettingsDialog::buildReading() {
  auto* page = new QWidget(this);
  auto* form = new QFormLayout(page);
  addSampling(form);
  auto* scope = new QComboBox(page);
  scope->addItem(tr("The best few pictures"), static_cast<int>(Scope::kFocus));
  scope->addItem(tr("Every picture (slower)"), static_cast<int>(Scope::kAll));
  scope->setCurrentIndex(scope->findData(static_cast<int>(settings_->scope())));
  connect(scope, &QComboBox::activated, this,
          [this, scope] { settings_->setScope(static_cast<Scope>(scope->currentData().toInt())); });
  form->addRow(tr("&Questions look at"), scope);
  auto* hint =
      new QLabel(tr("The open film is read again at once with new settings, any other when it is opened."), page);
  hint->setWordWrap(true);
  hint->setForegroundRole(QPalette::PlaceholderText);
  form->addRow(QString(), hint);
  return page;
}

void SettingsDialog::addSampling(QFormLayout* form) {
  auto* decoding = new QComboBox;
  decoding->setObjectName(QStringLiteral("decoding"));
  decoding->addItem(tr("Exact: every picture"), static_cast<int>(Decoding::kExact));
  decoding->addItem(tr("Fast: no loop filter, no unreferenced pictures"), static_cast<int>(Decoding::kFast));
  decoding->addItem(tr("Fastest: keyframes only"), static_cast<int>(Decoding::kKeyframe));
  decoding->setCurrentIndex(decoding->findData(static_cast<int>(settings_->sampling().decoding)));
  fps_ = new QDoubleSpinBox;
  fps_->setObjectName(QStringLiteral("fps"));
  fps_->setRange(0.01, 30.0);
  fps_->setDecimals(2);
  fps_->setValue(settings_->sampling().fps);
  auto* scenes = new QCheckBox(tr("Also the first picture of each shot"));
  scenes->setChecked(settings_->sampling().scene_changes);
  const auto keep = [this, decoding, scenes] {
    SamplingSettings sampling = settings_->sampling();
    sampling.decoding = static_cast<Decoding>(decoding->currentData().toInt());
    // The box shows two decimals: a rate that it only rounds stays as it was.
    if (std::abs(fps_->value() - std::clamp(sampling.fps, fps_->minimum(), fps_->maximum())) > 0.0051) {
      sampling.fps = fps_->value();
    }
    sampling.scene_changes = scenes->isChecked();
    if (SamplingText(sampling) == SamplingText(settings_->sampling())) return;
    settings_->setSampling(sampling);
    emit samplingChosen();
  };
  connect(decoding, &QComboBox::activated, this, keep);
  connect(fps_, &QDoubleSpinBox::editingFinished, this, keep);
  connect(scenes, &QCheckBox::toggled, this, keep);
  form->addRow(tr("&Decoding"), decoding);
  form->addRow(tr("Pictures a &second"), fps_);
  form->addRow(QString(), scenes);
}

void SettingsDialog::reopenEngine(Option changed) {
  EngineOptions chosen;
  settings_->fill(&chosen);
  EngineOptions options = bridge_->options();
  if (changed == Option::kThreads) options.threads = chosen.threads;
  if (changed == Option::kDevice) options.device = chosen.device;
  if (changed == Option::kLibrary) options.library = chosen.library;
  bridge_->reopen(options);
}

}  // namespace longview::ui
