// MainWindow: puts the parts together and passes signals between them; what a part does is in the part.
#ifndef LONGVIEW_UI_MAIN_WINDOW_H_
#define LONGVIEW_UI_MAIN_WINDOW_H_

#include <QByteArray>
#include <QMainWindow>
#include <QStringList>
#include <QTemporaryDir>
#include <memory>
#include <vector>

#include "app/engine/events.h"
#include "ui/conversation.h"

class QDockWidget;
class QLabel;
class QMenu;
class QProgressBar;
class QPushButton;
class QToolButton;

namespace longview::ui {

class AppSettings;
class ConversationView;
class EngineBridge;
class Exporter;
class JobModel;
class LibraryModel;
class LibraryPane;
class PlayerPanel;
class SearchPane;
class SettingsDialog;
class ThumbnailStore;
class VideoController;
struct Workspace;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // Both outlive the window. `workspace`: what another window handed over; null where there was none.
  MainWindow(EngineBridge* bridge, AppSettings* settings, const std::shared_ptr<Workspace>& workspace = nullptr);
  ~MainWindow() override;

  // Adds these, and of folders the videos inside, to the library and opens the first that can be opened; what is no
  // film is named in a message.
  void openPaths(const QStringList& paths);
  // For a window that takes this one's place: its jobs go on there. This one is of no use afterwards.
  std::shared_ptr<Workspace> handOver();

  PlayerPanel* playerPanel() const { return player_; }
  VideoController* controller() const { return controller_; }
  Conversation* conversation() const { return conversation_; }
  ConversationView* conversationView() const { return conversation_view_; }
  SearchPane* searchPane() const { return search_; }
  LibraryModel* library() const { return library_; }
  JobModel* jobs() const { return jobs_; }
  // The settings, opened on this page (SettingsDialog::Page). Closed, they stay as they are: what is measured there
  // goes on, and its rows can be looked at later. Pages that measure nothing turn to the film that is open now.
  SettingsDialog* showSettings(int page = 0);
  // The words of the message bar; empty where it is hidden.
  QString message() const;

 public slots:
  void goTo(const QString& video, double time_s);

 signals:
  void languageChosen(const QString& language);

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QDockWidget* addDock(const QString& name, const QString& title, QWidget* widget, Qt::DockWidgetArea area);
  void buildMenus();
  void buildFileMenu();
  void buildStatusBar();
  void fillJobMenu(QMenu* menu);
  void buildUndo();
  void newConversation();
  void buildMessageBar();
  void connectVideo();
  void connectConversation();
  void connectJobs();
  void loadLibrary();
  void connectLibrary();
  void addFiles(const QStringList& files, bool open);
  void openNext();
  void forgetCandidates();
  void showFrames();
  void shareVideos();
  void tellLeftOut(const std::vector<LeftOut>& videos);
  void beginTurn(int turn);
  void showJobs();
  void showMessage(const QString& text);
  void fillRecentMenu();
  void onOpened();
  void showTurn(int turn);
  void saveState();
  // The room that windows have on the screen, in the units of widgets.
  QByteArray screenText() const;
  void keepPosition();
  void keepConversation();
  void chooseFiles();
  void chooseFolder();
  enum class TextExport { kMarkdown, kEdl, kSrt };
  void exportText(TextExport kind);
  void exportClips();
  void showDock(const QString& name);
  void toggleFullScreen();
  void applyLimit();

  EngineBridge* bridge_;
  AppSettings* settings_;
  std::shared_ptr<Workspace> workspace_;
  LibraryModel* library_;
  JobModel* jobs_;
  ThumbnailStore* thumbnails_;
  VideoController* controller_;
  Conversation* conversation_;
  Exporter* exporter_;
  PlayerPanel* player_;
  LibraryPane* library_pane_;
  ConversationView* conversation_view_;
  SearchPane* search_;
  QWidget* message_bar_ = nullptr;
  QLabel* message_text_ = nullptr;
  QPushButton* undo_ = nullptr;
  QMenu* recent_menu_ = nullptr;
  SettingsDialog* settings_dialog_ = nullptr;
  QLabel* job_text_ = nullptr;
  QProgressBar* job_bar_ = nullptr;
  QToolButton* job_stop_ = nullptr;
  QString playing_;         // what the player has
  bool to_open_ = false;    // none of the films that were asked for is open yet
  QStringList candidates_;  // then: to be tried, one after the other, the next first
  QString pending_video_;   // goes to pending_time_ once it is open
  double pending_time_ = 0.0;
  std::vector<Turn> cleared_;  // what Undo brings back
  QByteArray docks_before_full_;
  QTemporaryDir captions_;  // of the chapters that are shown over the film
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_MAIN_WINDOW_H_
