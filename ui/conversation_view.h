// ConversationView: the turns of a conversation, the line to ask in, the one-click actions, and exports.
#ifndef LONGVIEW_UI_CONVERSATION_VIEW_H_
#define LONGVIEW_UI_CONVERSATION_VIEW_H_

#include <QStringList>
#include <QWidget>
#include <optional>
#include <vector>

#include "app/engine/settings.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QScrollArea;
class QToolButton;
class QVBoxLayout;

namespace longview::ui {

class Conversation;
class ThumbnailStore;
class TurnWidget;

class ConversationView : public QWidget {
  Q_OBJECT

 public:
  ConversationView(Conversation* conversation, ThumbnailStore* thumbnails, QWidget* parent = nullptr);

  // What questions are about: the open film (an empty path: none), and all videos of the library.
  void setVideo(const QString& path, double duration_s);
  void setAllVideos(const QStringList& paths) { all_ = paths; }
  void setRange(const std::optional<TimeSpan>& range);
  // As if it were typed and sent.
  void ask(const QString& text);
  void focusQuestion();

 signals:
  void momentActivated(const QString& video, double time_s);
  // The turn whose evidence the timeline should show.
  void turnShown(int turn);
  void rangeCleared();
  // The menu of exports, to be opened at this place of the screen.
  void exportRequested(const QPoint& at);

 private:
  void buildQuestionRow(QVBoxLayout* column);
  void addTurn(int turn);
  void showTurn(int turn);
  void askPreset(const QString& shown, const QString& prompt);
  void copy(int turn);
  void updateEnabled();
  void scrollToEnd();

  Conversation* conversation_;
  ThumbnailStore* thumbnails_;
  QScrollArea* scroll_;
  QVBoxLayout* list_;
  QLabel* empty_;
  bool follow_ = true;  // the end of the conversation stays in view
  QLineEdit* question_ = nullptr;
  QLabel* too_long_ = nullptr;
  QPushButton* send_ = nullptr;
  QCheckBox* everywhere_ = nullptr;
  QLabel* range_text_ = nullptr;
  QToolButton* range_clear_ = nullptr;
  std::vector<QWidget*> needs_video_;
  std::vector<TurnWidget*> widgets_;
  QString video_;
  double duration_ = 0.0;
  QStringList all_;
  std::optional<TimeSpan> range_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_CONVERSATION_VIEW_H_
