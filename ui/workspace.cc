// The parts that a window puts together.
#include "ui/workspace.h"

#include "ui/app_settings.h"
#include "ui/conversation.h"
#include "ui/conversation_store.h"
#include "ui/exporter.h"
#include "ui/job_model.h"
#include "ui/library_model.h"
#include "ui/thumbnail_store.h"
#include "ui/video_controller.h"

namespace longview::ui {

Workspace::Workspace(EngineBridge* bridge, AppSettings* settings)
    : library(new LibraryModel(&owner)),
      jobs(new JobModel(bridge, &owner)),
      thumbnails(new ThumbnailStore(bridge, settings, &owner)),
      controller(new VideoController(bridge, library, settings, &owner)),
      conversation(new Conversation(bridge, settings, library, &owner)),
      exporter(new Exporter(bridge, &owner)),
      turn_file(std::make_shared<TurnFile>(settings->conversationFile())) {
  conversation->restore(loadTurns(settings->conversationFile()));
}

}  // namespace longview::ui
