// Lanes, jobs, and the way back to the window's thread.
#include "ui/engine_bridge.h"

#include <QMetaObject>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include "core/base/clock.h"
#include "ui/format.h"

namespace longview::ui {
namespace {

constexpr auto kProgressStep = std::chrono::milliseconds(50);
constexpr size_t kLanes = 7;

}  // namespace

// A queue and the thread that empties it.
class LaneThread {
 public:
  LaneThread() : thread_([this] { run(); }) {}
  ~LaneThread() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;

  void push(std::function<void()> work) {
    {
      const std::scoped_lock lock(mutex_);
      queue_.push_back(std::move(work));
    }
    wake_.notify_one();
  }

 private:
  void run() {
    while (true) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return closed_ || !queue_.empty(); });
        if (queue_.empty()) return;
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool closed_ = false;
  std::thread thread_;  // last: it uses the others
};

struct EngineBridge::Impl {
  EngineOptions options;
  std::shared_ptr<Engine> engine;  // null where the options cannot be
  Status status;
  QString complaint;
  quint64 last_id = 0;
  std::map<quint64, std::stop_source> jobs;  // started and not yet ended
  std::array<LaneThread, kLanes> lanes;      // last: joined first
};

EngineBridge::EngineBridge(const EngineOptions& options, QObject* parent)
    : QObject(parent), impl_(std::make_unique<Impl>()) {
  makeEngine(options);
}

EngineBridge::~EngineBridge() {
  cancelAll();
  impl_.reset();
}

void EngineBridge::makeEngine(const EngineOptions& options) {
  impl_->options = options;
  EngineOptions own = options;
  own.on_warning = [this](const std::string& text) {
    // The bridge outlives its lanes, and a queued call to a bridge that is gone is dropped by Qt.
    QMetaObject::invokeMethod(
        this, [this, words = QString::fromStdString(text)] { emit warned(words); }, Qt::QueuedConnection);
  };
  Result<std::unique_ptr<Engine>> engine = Engine::Create(own);
  impl_->complaint.clear();
  if (!engine.ok() && own.device != "cpu") {
    // The device was chosen on another machine, or is gone: the window works without it, and says so.
    own.device = "cpu";
    const Status refused = engine.status();
    engine = Engine::Create(own);
    if (engine.ok()) {
      impl_->complaint =
          tr("%1 cannot be used; the processor computes instead. %2").arg(toText(options.device), failureText(refused));
    }
  }
  impl_->status = engine.status();
  impl_->engine = engine.ok() ? std::shared_ptr<Engine>(std::move(engine).value()) : nullptr;
}

void EngineBridge::reopen(const EngineOptions& options) {
  cancelAll();
  makeEngine(options);
  emit reopened();
}

const EngineOptions& EngineBridge::options() const { return impl_->options; }

const QString& EngineBridge::complaint() const { return impl_->complaint; }

bool EngineBridge::busy() const { return !impl_->jobs.empty(); }

void EngineBridge::cancel(quint64 id) {
  if (const auto job = impl_->jobs.find(id); job != impl_->jobs.end()) job->second.request_stop();
}

void EngineBridge::cancelAll() {
  for (auto& [id, stop] : impl_->jobs) stop.request_stop();
}

quint64 EngineBridge::enqueue(Lane lane, const QString& title, QObject* receiver, ErasedWork work, ErasedDone done) {
  const quint64 id = ++impl_->last_id;
  const std::stop_token stop = impl_->jobs[id].get_token();
  const QPointer<QObject> guard(receiver);
  if (!title.isEmpty()) emit jobStarted(id, title);

  const Post post = [this, guard](std::function<void()> call) {
    QMetaObject::invokeMethod(
        this,
        [guard, call = std::move(call)] {
          if (guard) call();
        },
        Qt::QueuedConnection);
  };
  const auto progress = [this, id, told = Clock::time_point()](const Progress& now) mutable {
    const Clock::time_point time = Clock::now();
    if (time - told < kProgressStep && now.done < now.total) return;
    told = time;
    QMetaObject::invokeMethod(
        this, [this, id, now] { emit jobProgressed(id, now.done, now.total); }, Qt::QueuedConnection);
  };
  impl_->lanes[static_cast<size_t>(lane)].push([this, id, stop, guard, post, progress, engine = impl_->engine,
                                                refused = impl_->status, work = std::move(work),
                                                done = std::move(done)] {
    Status status = refused;
    if (status.ok()) status = stop.stop_requested() ? Cancelled() : work({*engine, {stop, progress}, post});
    QMetaObject::invokeMethod(
        this,
        [this, id, guard, status, done] {
          impl_->jobs.erase(id);
          if (guard) done(status);
          const bool cancelled = status.code() == StatusCode::kCancelled;
          emit jobEnded(id, status.ok() || cancelled ? QString() : failureText(status), cancelled);
        },
        Qt::QueuedConnection);
  });
  return id;
}

}  // namespace longview::ui
