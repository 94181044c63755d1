// Asking, streaming, stopping.
#include "ui/conversation.h"

#include <QDateTime>
#include <QUuid>
#include <algorithm>
#include <utility>

#include "ui/app_settings.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"
#include "ui/library_model.h"

namespace longview::ui {
namespace {

// Parts of a film that 'Chapters' aims at.
constexpr double kChapterParts = 12.0;
constexpr double kShortestChapter_s = 5.0;

}  // namespace

Conversation::Conversation(EngineBridge* bridge, AppSettings* settings, const LibraryModel* library, QObject* parent)
    : QObject(parent), bridge_(bridge), settings_(settings), library_(library) {}

int Conversation::ask(const Question& question) {
  Turn turn;
  turn.question = question.text;
  turn.prompt = question.prompt.isEmpty() ? question.text : question.prompt;
  turn.videos = question.videos;
  turn.range = question.range;
  turn.duration_s = question.duration_s;
  return add(std::move(turn));
}

int Conversation::chapters(const QString& title, const QString& video, double duration_s) {
  Turn turn;
  turn.kind = Turn::Kind::kChapters;
  turn.question = title;
  turn.videos = QStringList{video};
  turn.duration_s = duration_s;
  return add(std::move(turn));
}

int Conversation::add(Turn turn) {
  turn.id = QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMddhhmmsszzz-")) +
            QUuid::createUuid().toString(QUuid::Id128);
  turns_.push_back(std::move(turn));
  attempts_.push_back(0);
  const int number = static_cast<int>(turns_.size()) - 1;
  emit turnAdded(number);
  begin(number);
  return number;
}

void Conversation::stop(int turn) {
  if (turn < 0 || turn >= static_cast<int>(turns_.size())) return;
  bridge_->cancel(turns_[static_cast<size_t>(turn)].job);
}

void Conversation::stopAll() {
  for (size_t i = 0; i < turns_.size(); ++i) {
    if (turns_[i].running()) stop(static_cast<int>(i));
  }
}

void Conversation::retry(int turn) {
  if (turn < 0 || turn >= static_cast<int>(turns_.size())) return;
  stop(turn);
  begin(turn);
}

void Conversation::retryLastQuestion() {
  const auto last =
      std::find_if(turns_.rbegin(), turns_.rend(), [](const Turn& turn) { return turn.kind == Turn::Kind::kQuestion; });
  if (last != turns_.rend()) retry(static_cast<int>(turns_.rend() - last) - 1);
}

void Conversation::clear() {
  stopAll();
  for (const Turn& turn : turns_) forgotten_ << turn.id;
  turns_.clear();
  attempts_.clear();
  emit cleared();
}

void Conversation::restore(std::vector<Turn> turns) {
  turns_ = std::move(turns);
  // Those that were thrown away and come back have to be written again.
  for (Turn& turn : turns_) turn.own = forgotten_.removeAll(turn.id) > 0 || turn.own;
  attempts_.assign(turns_.size(), 0);
  tellAgain();
}

void Conversation::tellAgain() {
  for (size_t i = 0; i < turns_.size(); ++i) emit turnAdded(static_cast<int>(i));
}

Turn* Conversation::at(int turn, quint64 attempt) {
  const auto index = static_cast<size_t>(turn);
  return index < turns_.size() && attempts_[index] == attempt ? &turns_[index] : nullptr;
}

void Conversation::begin(int number) {
  Turn& turn = turns_[static_cast<size_t>(number)];
  turn.own = true;
  turn.state = Turn::State::kWaiting;
  turn.text.clear();
  turn.failure.clear();
  turn.answer = Answer();
  turn.sampling = settings_->sampling();
  turn.chapters.clear();
  turn.stage = tr("Waiting…");
  attempts_[static_cast<size_t>(number)] = ++last_attempt_;
  if (turn.kind == Turn::Kind::kChapters) {
    beginChapters(number);
  } else {
    beginQuestion(number);
  }
  emit turnChanged(number);
  emit begun(number);
}

std::vector<AskTurn> Conversation::historyOf(int number) const {
  std::vector<AskTurn> history;
  const Turn& now = turns_[static_cast<size_t>(number)];
  for (int i = 0; i < number; ++i) {
    const Turn& turn = turns_[static_cast<size_t>(i)];
    if (turn.kind != Turn::Kind::kQuestion || turn.state != Turn::State::kDone || turn.videos != now.videos) continue;
    history.push_back({turn.prompt.toStdString(), turn.text.toStdString()});
  }
  return history;
}

void Conversation::beginQuestion(int number) {
  const quint64 attempt = last_attempt_;
  Turn& turn = turns_[static_cast<size_t>(number)];
  AskOptions options;
  options.sampling = turn.sampling;
  options.cache = settings_->cache();
  options.scope = settings_->scope();
  options.at = turn.range;
  // A question never waits for hours of film.
  options.unread = turn.videos.size() > 1 ? Unread::kLeaveOut : Unread::kBegin;
  options.history = historyOf(number);
  const QStringList videos = turn.videos;
  const std::string question = turn.prompt.toStdString();
  const auto work = [this, number, attempt, options, videos, question](const EngineBridge::Call& call) {
    AskCallbacks callbacks;
    callbacks.on_text = [this, number, attempt, &call](std::string_view piece) {
      call.post([this, number, attempt, words = QString::fromUtf8(piece.data(), static_cast<qsizetype>(piece.size()))] {
        Turn* now = at(number, attempt);
        if (now == nullptr) return;
        now->state = Turn::State::kWriting;
        now->text += words;
        emit turnChanged(number);
      });
    };
    callbacks.on_stage = [this, number, attempt, &call](const StageEvent& event) {
      call.post([this, number, attempt, stage = event.stage] {
        Turn* now = at(number, attempt);
        if (now == nullptr) return;
        now->stage = stage == Stage::kLoadModel   ? tr("Loading the model…")
                     : stage == Stage::kIndex     ? tr("Reading the film…")
                     : stage == Stage::kLoadCache ? tr("Loading what was read…")
                                                  : tr("Thinking…");
        emit turnChanged(number);
      });
    };
    return call.engine.Ask(toPaths(videos), question, options, call.job, callbacks);
  };
  turn.job =
      bridge_->start<Answer>(Lane::kAsk, tr("Answering"), this, work, [this, number, attempt](Result<Answer> answer) {
        Turn* now = at(number, attempt);
        if (now == nullptr) return;
        if (answer.ok()) {
          now->answer = std::move(answer).value();
          library_->explain(&now->answer.left_out);
          now->text = toText(now->answer.text).trimmed();
          end(number, Status());
        } else {
          end(number, answer.status());
        }
      });
}

void Conversation::beginChapters(int number) {
  const quint64 attempt = last_attempt_;
  Turn& turn = turns_[static_cast<size_t>(number)];
  CaptionOptions options;
  options.sampling = turn.sampling;
  options.every_s = std::max(kShortestChapter_s, turn.duration_s / kChapterParts);
  options.max_segment_s = 0.0;
  options.unread = Unread::kBegin;
  const QString video = turn.videos.front();
  turn.job = bridge_->start<CaptionReport>(
      Lane::kCaption, tr("Chapters"), this,
      [this, number, attempt, options, video](const EngineBridge::Call& call) {
        return call.engine.Caption(toPath(video), options, call.job, [&](const CaptionEvent& event) {
          call.post([this, number, attempt, event] {
            Turn* now = at(number, attempt);
            if (now == nullptr) return;
            now->state = Turn::State::kWriting;
            now->chapters.push_back(event);
            now->text += timeText(event.start) + QLatin1Char(' ') + toText(event.text) + QLatin1Char('\n');
            emit turnChanged(number);
          });
          return Status::Ok();
        });
      },
      [this, number, attempt](const Result<CaptionReport>& report) {
        if (Turn* now = at(number, attempt); now != nullptr) {
          now->text = now->text.trimmed();
          if (report.ok() && report->read_until_s) {
            now->text +=
                QLatin1Char('\n') + tr("Only the first %1 were read so far.").arg(timeText(*report->read_until_s));
          }
          end(number, report.status());
        }
      });
}

void Conversation::end(int number, const Status& status) {
  Turn& turn = turns_[static_cast<size_t>(number)];
  turn.state = status.ok()                               ? Turn::State::kDone
               : status.code() == StatusCode::kCancelled ? Turn::State::kStopped
                                                         : Turn::State::kFailed;
  if (turn.state == Turn::State::kFailed) turn.failure = library_->explain(status);
  turn.stage.clear();
  emit turnChanged(number);
  if (status.ok()) emit answered(number);
  emit ended(number);
}

}  // namespace longview::ui
