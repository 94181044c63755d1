// Docks, wiring, opening and closing. Menus are in main_window_menus.cc.
#include "ui/main_window.h"

#include <QAccessible>
#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QStatusBar>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>
#include <utility>

#include "app/engine/media_names.h"
#include "ui/app_settings.h"
#include "ui/conversation_export.h"
#include "ui/conversation_store.h"
#include "ui/conversation_view.h"
#include "ui/engine_bridge.h"
#include "ui/exporter.h"
#include "ui/format.h"
#include "ui/icons.h"
#include "ui/job_model.h"
#include "ui/library_model.h"
#include "ui/library_pane.h"
#include "ui/mpv_player.h"
#include "ui/player_panel.h"
#include "ui/player_view.h"
#include "ui/progress_bar.h"
#include "ui/search_pane.h"
#include "ui/settings_dialog.h"
#include "ui/thumbnail_store.h"
#include "ui/timeline_widget.h"
#include "ui/video_controller.h"
#include "ui/workspace.h"

namespace longview::ui {
namespace {
constexpr int kLayoutVersion = 1;
}  // namespace

MainWindow::MainWindow(EngineBridge* bridge, AppSettings* settings, const std::shared_ptr<Workspace>& workspace)
    : bridge_(bridge),
      settings_(settings),
      workspace_(workspace != nullptr ? workspace : std::make_shared<Workspace>(bridge, settings)),
      library_(workspace_->library),
      jobs_(workspace_->jobs),
      thumbnails_(workspace_->thumbnails),
      controller_(workspace_->controller),
      conversation_(workspace_->conversation),
      exporter_(workspace_->exporter),
      player_(new PlayerPanel(thumbnails_, this)),
      library_pane_(new LibraryPane(library_, this)),
      conversation_view_(new ConversationView(conversation_, thumbnails_, this)),
      search_(new SearchPane(bridge, settings, library_, thumbnails_, this)) {
  setWindowTitle(tr("Longview"));
  setWindowIcon(QIcon(QStringLiteral(":/longview/icons/io.github.longview.Longview.svg")));
  setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
  buildMessageBar();
  auto* center = new QWidget(this);
  auto* column = new QVBoxLayout(center);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(message_bar_);
  column->addWidget(player_, 1);
  setCentralWidget(center);
  addDock(QStringLiteral("library"), tr("Library"), library_pane_, Qt::LeftDockWidgetArea);
  auto* ask = addDock(QStringLiteral("conversation"), tr("Conversation"), conversation_view_, Qt::RightDockWidgetArea);
  auto* find = addDock(QStringLiteral("search"), tr("Search"), search_, Qt::RightDockWidgetArea);
  tabifyDockWidget(ask, find);
  ask->raise();
  // The keyboard comes to the dock behind as well; it is brought to the front then.
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
    for (auto* dock : findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly)) {
      if (now != nullptr && dock->isAncestorOf(now)) dock->raise();
    }
  });
  buildStatusBar();
  buildMenus();
  connectVideo();
  connectLibrary();
  connectConversation();
  connectJobs();
  // A film dropped on a field or a list is opened, as anywhere in the window.
  for (auto* widget : findChildren<QWidget*>()) widget->setAcceptDrops(false);
  setAcceptDrops(true);
  player_->setVolume(settings_->volume());
  player_->view()->setMessage(tr("Drop a video here, or open one with Ctrl+O."));
  resize(QSize(1280, 760).boundedTo(screen()->availableSize()));
  const auto usual_widths = [this, ask] {
    resizeDocks({findChild<QDockWidget*>(QStringLiteral("library")), ask}, {250, 400}, Qt::Horizontal);
  };
  usual_widths();
  restoreGeometry(settings_->layout(QStringLiteral("geometry")));
  restoreState(settings_->layout(QStringLiteral("docks")), kLayoutVersion);
  // Widths that another screen or scale forced upon the docks are no one's choice.
  if (settings_->layout(QStringLiteral("screen")) != screenText()) usual_widths();
  conversation_->tellAgain();
  if (workspace == nullptr) {
    loadLibrary();
    controller_->restore();
  } else {
    shareVideos();
    showJobs();
    if (!controller_->path().isEmpty()) {
      onOpened();
      showFrames();
    }
    if (workspace_->stopped_measuring) showMessage(tr("The measurement ended with the window. Begin it again."));
  }
  if (!bridge_->complaint().isEmpty()) showMessage(bridge_->complaint());
}

MainWindow::~MainWindow() = default;

QByteArray MainWindow::screenText() const {
  const QSize room = screen()->availableSize();
  return QByteArray::number(room.width()) + 'x' + QByteArray::number(room.height());
}

QDockWidget* MainWindow::addDock(const QString& name, const QString& title, QWidget* widget, Qt::DockWidgetArea area) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(name);
  dock->setWidget(widget);
  dock->setAllowedAreas(Qt::LeftDockWidgetArea | Qt::RightDockWidgetArea | Qt::BottomDockWidgetArea);
  addDockWidget(area, dock);
  return dock;
}

void MainWindow::buildMessageBar() {
  message_bar_ = new QWidget(this);
  message_bar_->setAutoFillBackground(true);
  message_bar_->setBackgroundRole(QPalette::ToolTipBase);
  auto* row = new QHBoxLayout(message_bar_);
  message_text_ = new QLabel(message_bar_);
  message_text_->setObjectName(QStringLiteral("message"));
  message_text_->setAccessibleName(tr("Message: %1").arg(QString()));
  message_text_->setWordWrap(true);
  message_text_->setTextFormat(Qt::PlainText);
  message_text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* close = new QToolButton(message_bar_);
  close->setIcon(themedIcon(QStringLiteral("close")));
  close->setAutoRaise(true);
  close->setAccessibleName(tr("Close this message"));
  close->setToolTip(tr("Close this message"));
  connect(close, &QToolButton::clicked, message_bar_, &QWidget::hide);
  row->addWidget(message_text_, 1);
  row->addWidget(close, 0, Qt::AlignTop);
  message_bar_->hide();
}

void MainWindow::buildStatusBar() {
  job_text_ = new QLabel(this);
  job_text_->setTextFormat(Qt::PlainText);
  job_bar_ = new QProgressBar(this);
  job_bar_->setMaximumWidth(180);
  job_bar_->setAccessibleName(tr("Progress"));
  job_stop_ = new QToolButton(this);
  job_stop_->setObjectName(QStringLiteral("stopJobs"));
  job_stop_->setIcon(themedIcon(QStringLiteral("stop")));
  job_stop_->setAutoRaise(true);
  job_stop_->setToolTip(tr("Stop what runs; what was read is kept"));
  job_stop_->setAccessibleName(tr("Stop what runs"));
  auto* menu = new QMenu(job_stop_);
  job_stop_->setMenu(menu);
  job_stop_->setPopupMode(QToolButton::InstantPopup);
  connect(menu, &QMenu::aboutToShow, this, [this, menu] { fillJobMenu(menu); });
  statusBar()->addPermanentWidget(job_text_);
  statusBar()->addPermanentWidget(job_bar_);
  statusBar()->addPermanentWidget(job_stop_);
  for (QWidget* widget : std::initializer_list<QWidget*>{job_text_, job_bar_, job_stop_}) widget->hide();
}

// One entry for all jobs that run, and one for each of the first; a menu of hundreds could not be used.
void MainWindow::fillJobMenu(QMenu* menu) {
  constexpr int kListed = 12;
  menu->clear();
  menu->addAction(tr("Stop all that runs"), this, [this] {
    controller_->pauseAll();
    bridge_->cancelAll();
  });
  menu->addSeparator();
  int running = 0;
  for (int row = 0; row < jobs_->rowCount(); ++row) {
    const QModelIndex job = jobs_->index(row);
    if (job.data(JobModel::kState).toInt() != static_cast<int>(JobModel::State::kRunning)) continue;
    if (++running > kListed) continue;
    QString title = fontMetrics().elidedText(job.data(Qt::DisplayRole).toString(), Qt::ElideMiddle, 400);
    title.replace(QLatin1Char('&'), QLatin1String("&&"));  // it would be taken for a mnemonic
    menu->addAction(tr("Stop: %1").arg(title), bridge_,
                    [this, id = job.data(JobModel::kId).toULongLong()] { bridge_->cancel(id); });
  }
  if (running > kListed) menu->addAction(tr("… and %1 more").arg(running - kListed))->setEnabled(false);
}

void MainWindow::connectVideo() {
  connect(controller_, &VideoController::opening, this, [this](const QString& path) {
    message_bar_->hide();
    player_->view()->setMessage(tr("Opening %1…").arg(upright(QFileInfo(path).fileName())));
  });
  connect(controller_, &VideoController::opened, this, &MainWindow::onOpened);
  connect(controller_, &VideoController::openFailed, this, [this](const QString&, const QString& why) {
    const bool next = !candidates_.isEmpty();
    openNext();
    showMessage(why);
    if (next) return;
    player_->view()->setMessage(controller_->path().isEmpty() ? tr("Drop a video here, or open one with Ctrl+O.")
                                                              : QString());
  });
  connect(controller_, &VideoController::replaced, this, [this](const QString& path) {
    thumbnails_->forget(path);
    library_->setThumbnail(path, QImage());
    showMessage(tr("%1 was replaced by another file; it is opened anew.").arg(path));
  });
  connect(controller_, &VideoController::framesChanged, this, &MainWindow::showFrames);
  connect(thumbnails_, &ThumbnailStore::arrived, this, [this](const QString& video, double, const QImage& image) {
    const LibraryVideo* known = library_->video(video);
    if (known != nullptr && known->thumbnail.isNull()) library_->setThumbnail(video, image);
  });
  connect(controller_, &VideoController::readingEnded, this, [this](const QString& path) {
    const LibraryVideo* video = library_->video(path);
    if (video == nullptr) return;
    if (video->state == ReadState::kFailed && path == controller_->path()) showMessage(video->failure);
    if (video->state == ReadState::kDone && video->thumbnail.isNull()) (void)thumbnails_->get(path, 0.0);
    applyLimit();
  });
  connect(player_->player(), &MpvPlayer::loaded, this, [this] {
    if (pending_video_ == controller_->path() && !pending_video_.isEmpty()) {
      player_->player()->seek(pending_time_);
      pending_video_.clear();
    }
  });
  connect(player_, &PlayerPanel::fullScreenRequested, this, &MainWindow::toggleFullScreen);
}

void MainWindow::showFrames() {
  player_->timeline()->setFrames(controller_->frames(), controller_->readUntil());
  if (settings_dialog_ != nullptr) settings_dialog_->filmRead();
  if (controller_->frames().empty()) return;
  const QString path = controller_->path();
  const QImage image = thumbnails_->get(path, controller_->frames().front().start);
  if (!image.isNull()) library_->setThumbnail(path, image);
}

void MainWindow::connectLibrary() {
  connect(library_pane_, &LibraryPane::openRequested, this, [this](const QString& path) {
    forgetCandidates();
    controller_->open(path);
  });
  connect(library_pane_, &LibraryPane::readRequested, controller_, &VideoController::read);
  connect(library_pane_, &LibraryPane::pauseRequested, controller_, &VideoController::pause);
  connect(library_pane_, &LibraryPane::removeRequested, this, [this](const QString& path) {
    controller_->pause(path);
    library_->remove(path);
    settings_->setListed(path, false);
    settings_->removeRecent(path);
    settings_->setHidden(path, true);
  });
  connect(library_pane_, &LibraryPane::addRequested, this, &MainWindow::chooseFiles);
  connect(library_, &LibraryModel::dataChanged, this, &MainWindow::shareVideos);
  connect(library_, &LibraryModel::rowsRemoved, this, &MainWindow::shareVideos);
}

// Which videos 'all videos' are. What is not read, or cannot be, is left out by the engine, which says so; of those
// that nothing is known of, nothing was ever read.
void MainWindow::shareVideos() {
  QStringList all;
  for (int row = 0; row < library_->rowCount(); ++row) {
    const QModelIndex video = library_->index(row);
    const auto state = static_cast<ReadState>(video.data(LibraryModel::kState).toInt());
    if (state != ReadState::kUnknown) all << video.data(LibraryModel::kPath).toString();
  }
  conversation_view_->setAllVideos(all);
  search_->setAllVideos(all);
}

void MainWindow::tellLeftOut(const std::vector<LeftOut>& videos) {
  for (const LeftOut& video : videos) {
    if (video.cause == LeftOut::Cause::kGone) {
      library_->setState(toText(std::filesystem::path(video.video)), ReadState::kFailed, failureText(video.why));
    }
  }
  if (!videos.empty()) showMessage(leftOutText(videos));
}

void MainWindow::onOpened() {
  const QString& path = controller_->path();
  const MediaInfo& info = controller_->info();
  forgetCandidates();
  keepPosition();
  playing_ = path;
  if (!info.warnings.empty()) showMessage(path + QStringLiteral(": ") + toText(info.warnings.front()));
  player_->open(path, info.first_time_s + info.duration_s, settings_->lastPosition(path), info.still);
  player_->setSubtitles(controller_->captions());
  conversation_view_->setVideo(path, info.duration_s);
  search_->setVideo(path);
  library_pane_->select(path);
  setWindowTitle(tr("%1 – Longview").arg(upright(path.section(QLatin1Char('/'), -1))));
  fillRecentMenu();
  showTurn(static_cast<int>(conversation_->turns().size()) - 1);
}

void MainWindow::connectConversation() {
  connect(conversation_view_, &ConversationView::momentActivated, this, &MainWindow::goTo);
  connect(search_, &SearchPane::momentActivated, this, &MainWindow::goTo);
  connect(conversation_view_, &ConversationView::turnShown, this, &MainWindow::showTurn);
  connect(search_, &SearchPane::leftOut, this, &MainWindow::tellLeftOut);
  connect(conversation_, &Conversation::begun, this, &MainWindow::beginTurn);
  connect(conversation_, &Conversation::answered, this, &MainWindow::showTurn);
  connect(conversation_, &Conversation::answered, this,
          [this](int turn) { tellLeftOut(conversation_->turns()[static_cast<size_t>(turn)].answer.left_out); });
  connect(conversation_, &Conversation::ended, this, &MainWindow::keepConversation);
  connect(conversation_, &Conversation::cleared, this, &MainWindow::keepConversation);
  connect(conversation_view_, &ConversationView::rangeCleared, this,
          [this] { player_->timeline()->setRange(std::nullopt); });
  connect(player_->timeline(), &TimelineWidget::rangeChosen, conversation_view_, &ConversationView::setRange);
  connect(exporter_, &Exporter::done, this, [this](const QString& text) { statusBar()->showMessage(text, 8000); });
  connect(exporter_, &Exporter::failed, this, &MainWindow::showMessage);
}

// What is asked about the open film is asked about the file that is there now, and it is read before all others.
void MainWindow::beginTurn(int turn) {
  const Turn& asked = conversation_->turns()[static_cast<size_t>(turn)];
  const QString& open = controller_->path();
  if (!asked.videos.contains(open)) return;
  controller_->checkUnchanged();
  const LibraryVideo* video = library_->video(open);
  if (asked.videos.size() == 1 && video != nullptr && video->state == ReadState::kWaiting) controller_->readFirst(open);
}

void MainWindow::showTurn(int turn) {
  const auto& turns = conversation_->turns();
  if (turn < 0 || turn >= static_cast<int>(turns.size())) return;
  const Turn& shown = turns[static_cast<size_t>(turn)];
  if (shown.kind == Turn::Kind::kQuestion) {
    player_->timeline()->setAnswer(momentsOf(shown), shown.answer.looked);
    return;
  }
  // Chapters are shown over the film as well.
  QFile file(captions_.filePath(QStringLiteral("chapters-%1.srt").arg(turn)));
  if (shown.videos.front() != controller_->path() || !file.open(QIODevice::WriteOnly)) return;
  file.write(toSrt({shown}, controller_->path()));
  file.close();
  player_->setSubtitles(file.fileName());
}

void MainWindow::connectJobs() {
  connect(jobs_, &JobModel::activeChanged, this, &MainWindow::showJobs);
  connect(bridge_, &EngineBridge::reopened, this, [this] {
    if (!bridge_->complaint().isEmpty()) showMessage(bridge_->complaint());
    library_->forgetIndexes();  // the folder may be another
    loadLibrary();
  });
  connect(bridge_, &EngineBridge::warned, this,
          [this](const QString& text) { statusBar()->showMessage(text.simplified(), 10000); });
}

void MainWindow::showJobs() {
  const bool busy = jobs_->running() > 0;
  for (QWidget* widget : std::initializer_list<QWidget*>{job_text_, job_bar_, job_stop_}) widget->setVisible(busy);
  if (!busy) return;
  // A long name is cut in its middle, so that the bar keeps its place.
  job_text_->setText(fontMetrics().elidedText(jobs_->activeTitle(), Qt::ElideMiddle, 320));
  showShare(job_bar_, jobs_->activeShare());
}

void MainWindow::loadLibrary() {
  for (const QString& path : settings_->recent() + settings_->listed()) library_->add(path);
  bridge_->start<std::vector<LibraryEntry>>(
      Lane::kMedia, QString(), this, [](const EngineBridge::Call& call) { return call.engine.LibraryEntries(); },
      [this](Result<std::vector<LibraryEntry>> entries) {
        if (!entries.ok()) return;
        std::erase_if(*entries, [this](const LibraryEntry& entry) {
          return settings_->hidden(QString::fromStdString(entry.last_path));
        });
        library_->merge(*entries);
        for (const QString& path : library_->paths()) {
          const LibraryVideo* video = library_->video(path);
          if (video->state == ReadState::kDone && video->thumbnail.isNull()) (void)thumbnails_->get(path, 0.0);
        }
      });
}

// Every index beyond the limit that the person set, the least recently used first.
void MainWindow::applyLimit() {
  const uint64_t limit = settings_->cacheLimitBytes();
  if (limit == 0) return;
  bridge_->start<uint64_t>(
      Lane::kExport, QString(), this,
      [limit](const EngineBridge::Call& call) { return call.engine.PruneLibrary(limit); },
      [this](const Result<uint64_t>& freed) {
        if (!freed.ok() || *freed == 0) return;
        statusBar()->showMessage(tr("%1 of the cache were removed, as the limit wants.").arg(sizeText(*freed)), 8000);
        library_->forgetIndexes();
        loadLibrary();
      });
}

void MainWindow::openPaths(const QStringList& paths) {
  QStringList films;
  QStringList others;
  for (const QString& path : paths) {
    const QString absolute = QDir::cleanPath(QDir::current().absoluteFilePath(path));
    (MediaNameOf(toPath(absolute)) == MediaName::kNone ? others : films) << absolute;
  }
  to_open_ = true;
  candidates_.clear();
  if (!films.isEmpty()) addFiles(films, true);
  if (others.isEmpty()) return;
  // What has not the name of a film may be a folder, which takes long to be looked at where it is on a slow disk.
  bridge_->start<QStringList>(
      Lane::kMedia, QString(), this,
      [others](const EngineBridge::Call&) -> Result<QStringList> {
        QStringList found;
        for (const QString& path : others) {
          QStringList inside;
          for (const QString& name : QDir(path).entryList(QDir::Files, QDir::Name)) {
            if (MediaNameOf(toPath(name)) == MediaName::kVideo) inside << path + QLatin1Char('/') + name;
          }
          // One without any is named by the failure to open it.
          found << (inside.isEmpty() ? QStringList{path} : inside);
        }
        return found;
      },
      [this, beside = !films.isEmpty()](const Result<QStringList>& found) {
        if (!found.ok()) return;
        const QString said = beside ? message() : QString();  // why the films could not be opened
        // What the person opened meanwhile stays open.
        addFiles(*found, to_open_ && controller_->openingPath().isEmpty());
        if (!said.isEmpty()) showMessage(said);
      });
}

// `open`: the first of those that were asked for that can be, at once.
void MainWindow::addFiles(const QStringList& files, bool open) {
  for (const QString& path : files) {
    settings_->setHidden(path, false);
    settings_->setListed(path, true);
    library_->add(path);
    if (to_open_) candidates_ << path;
  }
  if (open) openNext();
  for (const QString& path : files) {
    if (path != controller_->openingPath()) controller_->read(path);
  }
}

void MainWindow::forgetCandidates() {
  to_open_ = false;
  candidates_.clear();
}

void MainWindow::openNext() {
  if (!candidates_.isEmpty()) controller_->open(candidates_.takeFirst());
}

std::shared_ptr<Workspace> MainWindow::handOver() {
  saveState();
  workspace_->stopped_measuring = settings_dialog_ != nullptr && settings_dialog_->measuring();
  return workspace_;
}

void MainWindow::goTo(const QString& video, double time_s) {
  if (video.isEmpty() || video == controller_->path()) {
    player_->player()->seek(time_s);
    player_->view()->setFocus(Qt::OtherFocusReason);
    return;
  }
  forgetCandidates();
  pending_video_ = video;
  pending_time_ = time_s;
  settings_->setLastPosition(video, time_s);
  controller_->open(video);
}

void MainWindow::showMessage(const QString& text) {
  undo_->hide();
  message_text_->setText(text);
  message_text_->setAccessibleName(tr("Message: %1").arg(text));
  message_bar_->setVisible(!text.isEmpty());
  QAccessibleEvent event(message_text_, QAccessible::Alert);
  QAccessible::updateAccessibility(&event);
}

QString MainWindow::message() const { return message_bar_->isHidden() ? QString() : message_text_->text(); }

void MainWindow::saveState() {
  settings_->setLayout(QStringLiteral("geometry"), saveGeometry());
  settings_->setLayout(QStringLiteral("docks"), QMainWindow::saveState(kLayoutVersion));
  settings_->setLayout(QStringLiteral("screen"), screenText());
  settings_->setVolume(player_->volume());
  // One that was taken off the list is not opened again.
  settings_->setOpenVideo(library_->find(controller_->path()) < 0 ? QString() : controller_->path());
  keepPosition();
}

void MainWindow::keepPosition() {
  if (!playing_.isEmpty() && player_->player()->isOpen()) {
    settings_->setLastPosition(playing_, player_->player()->position());
  }
}

// In the background, after each turn: not even a crash loses one.
void MainWindow::keepConversation() {
  const std::shared_ptr<TurnFile>& turns = workspace_->turn_file;
  bridge_->start<bool>(
      Lane::kExport, QString(), this,
      [turns, changes = turns->changesOf(*conversation_)](const EngineBridge::Call&) -> Result<bool> {
        LV_RETURN_IF_ERROR(turns->save(changes));
        return true;
      },
      [this](const Result<bool>& kept) {
        if (!kept.ok()) showMessage(failureText(kept.status()));
      });
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (isFullScreen()) toggleFullScreen();  // the next window begins with its docks
  saveState();
  controller_->end();
  bridge_->cancelAll();
  // A question that is not answered yet is kept as well.
  const std::shared_ptr<TurnFile>& turns = workspace_->turn_file;
  if (const Status kept = turns->save(turns->changesOf(*conversation_)); !kept.ok()) {
    qWarning("%s", kept.message().c_str());
  }
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  // Text and other things are taken too, so that they are refused with words rather than without.
  if (event->mimeData()->hasUrls() || event->mimeData()->hasText()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList files;
  QString refused;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (!url.isLocalFile()) {
      refused = tr("%1 is not a file on this machine. Longview opens files only.").arg(url.toDisplayString());
      continue;
    }
    files << url.toLocalFile();
  }
  if (files.isEmpty() && refused.isEmpty()) {
    refused = tr("Only files can be dropped here.");
  }
  event->acceptProposedAction();
  if (!files.isEmpty()) openPaths(files);
  if (!refused.isEmpty()) showMessage(refused);
}

}  // namespace longview::ui
