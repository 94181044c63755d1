// EngineBridge: the engine on threads of its own. The window starts jobs and is told of their end on its own thread;
// nothing here ever makes the event loop wait.
#ifndef LONGVIEW_UI_ENGINE_BRIDGE_H_
#define LONGVIEW_UI_ENGINE_BRIDGE_H_

#include <QObject>
#include <QPointer>
#include <QString>
#include <functional>
#include <memory>
#include <utility>

#include "app/engine/engine.h"
#include "core/base/progress.h"
#include "core/base/status.h"

namespace longview::ui {

// Jobs of one lane run one after the other in the order of their start; lanes run side by side.
enum class Lane { kIndex, kAsk, kCaption, kMedia, kLook, kExport, kMeasure };

// A place to tell what a job's text or rows are, from the job's thread to the window's.
using Post = std::function<void(std::function<void()>)>;

class EngineBridge : public QObject {
  Q_OBJECT

 public:
  // What a job is given. `post` runs a function on the window's thread unless the receiver is gone by then.
  struct Call {
    Engine& engine;
    JobContext job;
    Post post;
  };
  template <typename T>
  using Work = std::function<Result<T>(const Call&)>;
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  explicit EngineBridge(const EngineOptions& options, QObject* parent = nullptr);
  // Asks every job to stop and waits for those that run.
  ~EngineBridge() override;

  // Runs `work` on the lane's thread, then `done` on this object's thread, unless `receiver` was destroyed meanwhile.
  // A job that was cancelled before it began is kCancelled without `work`. `title` is for the list of jobs; an empty
  // one keeps the job out of it. Returns the job's number.
  template <typename T>
  quint64 start(Lane lane, const QString& title, QObject* receiver, Work<T> work, Done<T> done) {
    auto result = std::make_shared<Result<T>>(Cancelled());
    return enqueue(
        lane, title, receiver,
        [result, work = std::move(work)](const Call& call) {
          *result = work(call);
          return result->status();
        },
        [result, done = std::move(done)](const Status& status) {
          // Also where `work` was never called: the reason is in the status alone.
          if (!status.ok()) *result = Result<T>(status);
          done(std::move(*result));
        });
  }

  void cancel(quint64 id);
  void cancelAll();
  // The same options with these changes from the next job on; jobs that run are cancelled.
  void reopen(const EngineOptions& options);
  const EngineOptions& options() const;
  // Why the device that the options name is not in use, and the processor is instead; empty where it is.
  const QString& complaint() const;
  bool busy() const;

 signals:
  void jobStarted(quint64 id, const QString& title);
  // At most every 50 ms a job. total is 0 where it is not known.
  void jobProgressed(quint64 id, double done, double total);
  // After the job's own `done`. `failure` is empty where it went well.
  void jobEnded(quint64 id, const QString& failure, bool cancelled);
  // After reopen: what was begun before is on its way to be cancelled.
  void reopened();
  // Something the person should know though work goes on.
  void warned(const QString& text);

 private:
  struct Impl;
  using ErasedWork = std::function<Status(const Call&)>;
  using ErasedDone = std::function<void(const Status&)>;
  quint64 enqueue(Lane lane, const QString& title, QObject* receiver, ErasedWork work, ErasedDone done);
  void makeEngine(const EngineOptions& options);

  std::unique_ptr<Impl> impl_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_ENGINE_BRIDGE_H_
