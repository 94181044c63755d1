// Menus, dialogs and exports of the main window.
#include <QAction>
#include <QCoreApplication>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <algorithm>
#include <utility>

#include "ui/app_settings.h"
#include "ui/conversation.h"
#include "ui/conversation_export.h"
#include "ui/conversation_view.h"
#include "ui/engine_bridge.h"
#include "ui/exporter.h"
#include "ui/format.h"
#include "ui/main_window.h"
#include "ui/player_panel.h"
#include "ui/search_pane.h"
#include "ui/settings_dialog.h"
#include "ui/shortcuts_dialog.h"
#include "ui/timeline_widget.h"
#include "ui/video_controller.h"

namespace longview::ui {
namespace {

// What was chosen: of several quoted paths that are typed Qt's own dialog may tell only the last.
QStringList chosenFiles(const QFileDialog& dialog, const QStringList& told) {
  const auto* name = dialog.findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
  const QStringList parts = name != nullptr ? name->text().split(QLatin1Char('"')) : QStringList();
  QStringList typed;
  for (qsizetype i = 1; i < parts.size(); i += 2) typed << dialog.directory().absoluteFilePath(parts[i]);
  const bool there =
      std::all_of(typed.begin(), typed.end(), [](const QString& file) { return QFileInfo::exists(file); });
  return there && typed.size() > told.size() ? typed : told;
}

// Begins beside the film that was opened last.
void chooseAndOpen(MainWindow* window, const QString& title, QFileDialog::FileMode mode, const QStringList& recent) {
  auto* dialog = new QFileDialog(window, title);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(mode);
  if (!recent.isEmpty()) dialog->setDirectory(QFileInfo(recent.front()).path());
  QObject::connect(dialog, &QFileDialog::filesSelected, window,
                   [window, dialog](const QStringList& told) { window->openPaths(chosenFiles(*dialog, told)); });
  dialog->open();
}

}  // namespace

void MainWindow::buildMenus() {
  buildFileMenu();
  auto* ask = menuBar()->addMenu(tr("&Ask"));
  ask->addAction(tr("Ask a &question"), QKeySequence(Qt::CTRL | Qt::Key_L), this, [this] {
    showDock(QStringLiteral("conversation"));
    conversation_view_->focusQuestion();
  });
  ask->addAction(tr("&Search for a moment"), QKeySequence(QKeySequence::Find), this, [this] {
    showDock(QStringLiteral("search"));
    search_->focusWords();
  });
  ask->addAction(tr("S&top answering"), QKeySequence(Qt::CTRL | Qt::Key_Period), conversation_, &Conversation::stopAll);
  ask->addSeparator();
  ask->addAction(tr("&New conversation"), QKeySequence(Qt::CTRL | Qt::Key_N), this, &MainWindow::newConversation);
  buildUndo();

  auto* view = menuBar()->addMenu(tr("&View"));
  for (auto* dock : findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly)) view->addAction(dock->toggleViewAction());
  view->addSeparator();
  view->addAction(tr("&Full screen"), QKeySequence(Qt::Key_F11), this, &MainWindow::toggleFullScreen);
  view->addAction(tr("&Memory…"), QKeySequence(Qt::CTRL | Qt::Key_M), this,
                  [this] { showSettings(SettingsDialog::kMemory); });
  view->addAction(tr("&Settings…"), QKeySequence(Qt::CTRL | Qt::Key_Comma), this, [this] { showSettings(); });

  auto* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keyboard shortcuts"), QKeySequence(Qt::Key_F1), this, [this] {
    auto* dialog = new ShortcutsDialog(findChildren<QAction*>(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
  });
  help->addAction(tr("&About Longview"), this, [this] {
    auto* box =
        new QMessageBox(QMessageBox::NoIcon, tr("About Longview"),
                        tr("<b>Longview %1</b><p>Answers questions about hours of video on your own machine. "
                           "Nothing leaves it.</p><p>Treat answers as pointers to moments worth looking at: the "
                           "model is small and names wrong things with confidence.</p><p>Apache License 2.0</p>")
                            .arg(QCoreApplication::applicationVersion()),
                        QMessageBox::Close, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->button(QMessageBox::Close)->setText(tr("Close"));
    box->setIconPixmap(windowIcon().pixmap(64));
    box->open();
  });
}

// In the message bar, for as long as the message about it is shown and nothing new was asked.
void MainWindow::buildUndo() {
  undo_ = new QPushButton(tr("Undo"), message_bar_);
  undo_->setObjectName(QStringLiteral("undo"));
  undo_->hide();
  qobject_cast<QHBoxLayout*>(message_bar_->layout())->insertWidget(1, undo_, 0, Qt::AlignTop);
  connect(conversation_, &Conversation::turnAdded, undo_, &QWidget::hide);
  connect(undo_, &QPushButton::clicked, this, [this] {
    showMessage({});
    conversation_->restore(std::move(cleared_));
    keepConversation();
    showTurn(static_cast<int>(conversation_->turns().size()) - 1);
  });
}

void MainWindow::newConversation() {
  if (conversation_->turns().empty()) return;
  cleared_ = conversation_->turns();
  for (Turn& turn : cleared_) {
    if (turn.running()) turn.state = Turn::State::kStopped;
  }
  conversation_->clear();
  player_->timeline()->setAnswer({}, {});
  player_->setSubtitles(controller_->captions());
  showMessage(tr("A new conversation has begun."));
  undo_->show();
}

void MainWindow::buildFileMenu() {
  auto* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence(QKeySequence::Open), this, &MainWindow::chooseFiles);
  file->addAction(tr("Open a &folder…"), this, &MainWindow::chooseFolder);
  recent_menu_ = file->addMenu(tr("Open &recent"));
  fillRecentMenu();
  file->addSeparator();
  file->addAction(tr("&Pause reading"), this, [this] { controller_->pause(controller_->path()); });
  file->addAction(tr("&Go on reading"), this, [this] {
    if (!controller_->path().isEmpty()) controller_->readFirst(controller_->path());
  });
  file->addSeparator();
  auto* exports = file->addMenu(tr("&Export"));
  exports->addAction(tr("Conversation as &Markdown…"), this, [this] { exportText(TextExport::kMarkdown); });
  exports->addAction(tr("Moments as &clips…"), this, &MainWindow::exportClips);
  exports->addAction(tr("Moments as &edit list (EDL)…"), this, [this] { exportText(TextExport::kEdl); });
  exports->addAction(tr("Answers as &subtitles (SRT)…"), this, [this] { exportText(TextExport::kSrt); });
  connect(conversation_view_, &ConversationView::exportRequested, exports, [exports](const QPoint& at) {
    exports->popup(at);
    exports->setActiveAction(exports->actions().front());
  });
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence(QKeySequence::Quit), this, &QWidget::close);
}

void MainWindow::fillRecentMenu() {
  recent_menu_->clear();
  for (const QString& path : settings_->recent()) {
    // '&' would be taken for a mnemonic.
    QString name = upright(QFileInfo(path).fileName());
    recent_menu_->addAction(name.replace(QLatin1Char('&'), QLatin1String("&&")), this,
                            [this, path] { openPaths({path}); });
  }
  recent_menu_->setEnabled(!recent_menu_->isEmpty());
}

void MainWindow::showDock(const QString& name) {
  if (auto* dock = findChild<QDockWidget*>(name); dock != nullptr) {
    dock->show();
    dock->raise();
  }
}

void MainWindow::chooseFiles() {
  chooseAndOpen(this, tr("Open videos"), QFileDialog::ExistingFiles, settings_->recent());
}

void MainWindow::chooseFolder() {
  chooseAndOpen(this, tr("Open a folder of videos"), QFileDialog::Directory, settings_->recent());
}

void MainWindow::exportText(TextExport kind) {
  const QString& video = controller_->path();
  QByteArray bytes;
  QString suffix;
  if (conversation_->turns().empty()) {
    showMessage(tr("There is nothing to save yet: ask something first."));
    return;
  }
  switch (kind) {
    case TextExport::kMarkdown:
      bytes = toMarkdown(conversation_->turns());
      suffix = QStringLiteral("md");
      break;
    case TextExport::kEdl:
      if (const auto moments = momentsOf(conversation_->turns(), video); !moments.empty()) {
        bytes = toEdl(moments, controller_->info());
      }
      suffix = QStringLiteral("edl");
      break;
    case TextExport::kSrt:
      bytes = toSrt(conversation_->turns(), video);
      suffix = QStringLiteral("srt");
      break;
  }
  if (bytes.isEmpty()) {
    showMessage(tr("No answer names a moment of this film yet: ask something about it first."));
    return;
  }
  auto* dialog = new QFileDialog(this, tr("Save"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix(suffix);
  // Without a film the name would begin with a point, and the file would be hidden.
  dialog->selectFile((video.isEmpty() ? QString() : QFileInfo(video).completeBaseName() + QLatin1Char('.')) +
                     QStringLiteral("longview.") + suffix);
  connect(dialog, &QFileDialog::fileSelected, exporter_,
          [this, bytes](const QString& file) { exporter_->save(file, bytes); });
  dialog->open();
}

void MainWindow::exportClips() {
  const QString video = controller_->path();
  const auto moments = momentsOf(conversation_->turns(), video);
  if (moments.empty()) {
    showMessage(tr("No answer names a moment of this film yet: ask something about it first."));
    return;
  }
  auto* dialog = new QFileDialog(this, tr("Folder for the clips"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::Directory);
  connect(dialog, &QFileDialog::fileSelected, exporter_,
          [this, video, moments](const QString& folder) { exporter_->clips(video, moments, folder); });
  dialog->open();
}

SettingsDialog* MainWindow::showSettings(int page) {
  if (settings_dialog_ == nullptr) {
    settings_dialog_ = new SettingsDialog(bridge_, settings_, controller_->path(), this);
    connect(settings_dialog_, &SettingsDialog::languageChosen, this, &MainWindow::languageChosen);
    connect(settings_dialog_, &SettingsDialog::limitChosen, this, &MainWindow::applyLimit);
    connect(settings_dialog_, &SettingsDialog::samplingChosen, controller_, &VideoController::readAgain);
    connect(settings_dialog_, &SettingsDialog::cacheChosen, conversation_, &Conversation::retryLastQuestion);
  }
  settings_dialog_->setVideo(controller_->path());
  settings_dialog_->showPage(static_cast<SettingsDialog::Page>(page));
  settings_dialog_->show();
  settings_dialog_->raise();
  settings_dialog_->activateWindow();
  return settings_dialog_;
}

void MainWindow::toggleFullScreen() {
  if (isFullScreen()) {
    showNormal();
  } else {
    showFullScreen();
  }
  const bool full = isFullScreen();
  if (full) docks_before_full_ = QMainWindow::saveState();
  for (auto* dock : findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly)) {
    if (full) dock->hide();
  }
  if (!full && !docks_before_full_.isEmpty()) restoreState(docks_before_full_);
}

}  // namespace longview::ui
