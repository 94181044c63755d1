// Workspace: what a window works on: its films, its conversation and their jobs. It outlives the window where another
// one, in another language, takes its place.
#ifndef LONGVIEW_UI_WORKSPACE_H_
#define LONGVIEW_UI_WORKSPACE_H_

#include <QObject>
#include <memory>

namespace longview::ui {

class AppSettings;
class Conversation;
class EngineBridge;
class Exporter;
class JobModel;
class LibraryModel;
class ThumbnailStore;
class TurnFile;
class VideoController;

struct Workspace {
  // Both outlive it. Takes up the conversation that was kept.
  Workspace(EngineBridge* bridge, AppSettings* settings);

  QObject owner;  // of all below
  LibraryModel* library;
  JobModel* jobs;
  ThumbnailStore* thumbnails;
  VideoController* controller;
  Conversation* conversation;
  Exporter* exporter;
  std::shared_ptr<TurnFile> turn_file;
  bool stopped_measuring = false;  // with the settings of the last window, which the next one should tell
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_WORKSPACE_H_
