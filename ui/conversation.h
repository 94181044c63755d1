// Conversation: questions and their answers, asked of the engine in the background. Knows no display.
#ifndef LONGVIEW_UI_CONVERSATION_H_
#define LONGVIEW_UI_CONVERSATION_H_

#include <QObject>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "app/engine/engine.h"

namespace longview::ui {

class AppSettings;
class EngineBridge;
class LibraryModel;

struct Turn {
  enum class Kind { kQuestion, kChapters };
  enum class State { kWaiting, kWriting, kDone, kStopped, kFailed };
  QString id;        // of this turn and no other, whichever window asked; sorts by time
  bool own = false;  // asked, or asked again, in this window
  Kind kind = Kind::kQuestion;
  State state = State::kWaiting;
  QString question;
  QString prompt;  // what is sent to the model: the question, or its English where the two differ
  QStringList videos;
  std::optional<TimeSpan> range;
  SamplingSettings sampling;  // how the films were read that it was asked of
  double duration_s = 0.0;    // of the film asked about; 0 where several or unknown
  QString text;               // the answer as far as it is written
  QString stage;              // what is being done while waiting
  QString failure;
  Answer answer;                       // once done
  std::vector<CaptionEvent> chapters;  // kChapters: as they come
  quint64 job = 0;

  bool running() const { return state == State::kWaiting || state == State::kWriting; }
};

class Conversation : public QObject {
  Q_OBJECT

 public:
  // All outlive the conversation.
  Conversation(EngineBridge* bridge, AppSettings* settings, const LibraryModel* library, QObject* parent = nullptr);

  struct Question {
    QString text;
    QStringList videos;
    std::optional<TimeSpan> range;
    double duration_s = 0.0;
    // Text sent to the model where it differs from the text shown (one-click actions in another language).
    QString prompt;
  };
  // Adds a turn and asks; earlier turns about the same videos are what it may refer to. Of several videos those of
  // which nothing was read are left out. Returns the turn's number.
  int ask(const Question& question);
  // One line per part of the film, as captions; `title` is shown as the question.
  int chapters(const QString& title, const QString& video, double duration_s);
  void stop(int turn);
  void stopAll();
  // Asks the same again in the same turn; what is still written there is given up.
  void retry(int turn);
  // Chapters are no question.
  void retryLastQuestion();
  void clear();
  // Takes up a conversation that was kept (conversation_store.h); there must be none yet.
  void restore(std::vector<Turn> turns);
  // Tells of every turn as if it was just added, for a view that was not there when it was.
  void tellAgain();
  // Turns that `clear` took away.
  const QStringList& forgotten() const { return forgotten_; }

  const std::vector<Turn>& turns() const { return turns_; }

 signals:
  void turnAdded(int turn);
  void turnChanged(int turn);
  // The turn is asked, or asked again.
  void begun(int turn);
  // The turn's answer is whole.
  void answered(int turn);
  // It is answered, stopped or failed.
  void ended(int turn);
  void cleared();

 private:
  int add(Turn turn);
  void begin(int turn);
  void beginQuestion(int turn);
  void beginChapters(int turn);
  void end(int turn, const Status& status);
  std::vector<AskTurn> historyOf(int turn) const;
  Turn* at(int turn, quint64 generation);

  EngineBridge* bridge_;
  AppSettings* settings_;
  const LibraryModel* library_;
  std::vector<Turn> turns_;
  std::vector<quint64> attempts_;  // of each turn: words of an attempt that was given up are not shown
  quint64 last_attempt_ = 0;
  QStringList forgotten_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_CONVERSATION_H_
