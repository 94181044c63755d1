// Opening and background reading.
#include "ui/video_controller.h"

#include <QDir>
#include <QFileInfo>
#include <utility>

#include "ui/app_settings.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"
#include "ui/library_model.h"

namespace longview::ui {
namespace {
constexpr int kRefresh_ms = 1500;
}  // namespace

VideoController::VideoController(EngineBridge* bridge, LibraryModel* library, AppSettings* settings, QObject* parent)
    : QObject(parent), bridge_(bridge), library_(library), settings_(settings) {
  connect(bridge_, &EngineBridge::jobProgressed, this, &VideoController::onProgress);
  refresh_.setInterval(kRefresh_ms);
  connect(&refresh_, &QTimer::timeout, this, &VideoController::refreshFrames);
  connect(bridge_, &EngineBridge::reopened, this, &VideoController::readAgain);
}

void VideoController::open(const QString& path) {
  if (!opening_.isEmpty()) bridge_->cancel(opening_job_);
  opening_ = path;
  waiting_.removeAll(path);
  emit opening(path);
  const SamplingSettings sampling = settings_->sampling();
  opening_job_ = bridge_->start<Opened>(
      Lane::kMedia, tr("Opening %1").arg(path.section(QLatin1Char('/'), -1)), this,
      [path, sampling](const EngineBridge::Call& call) -> Result<Opened> {
        Opened opened;
        LV_ASSIGN_OR_RETURN(opened.info, call.engine.Info(toPath(path), sampling, call.job));
        const QFileInfo file(path);
        const QString captions = file.dir().filePath(file.completeBaseName() + QStringLiteral(".visual.en.srt"));
        if (QFileInfo::exists(captions)) opened.captions = captions;
        return opened;
      },
      [this, path, number = ++openings_](Result<Opened> opened) {
        if (number == openings_) finishOpening(path, std::move(opened));
      });
}

void VideoController::finishOpening(const QString& path, Result<Opened> opened) {
  opening_.clear();
  if (!opened.ok()) {
    const QString why = failureText(opened.status());
    if (opened.status().code() != StatusCode::kCancelled) library_->setState(path, ReadState::kFailed, why);
    emit openFailed(path, why);
    readWaiting();
    return;
  }
  path_ = path;
  info_ = std::move(opened->info);
  captions_ = opened->captions;
  frames_.clear();
  library_->add(path);
  library_->setDuration(path, info_.duration_s);
  settings_->addRecent(path);
  emit this->opened();
  emit framesChanged();
  refreshFrames();
  read(path);
  readWaiting();
}

void VideoController::readWaiting() {
  for (const QString& path : std::exchange(waiting_, {})) read(path);
}

void VideoController::read(const QString& path) {
  if (reading_.contains(path)) return;
  library_->add(path);
  library_->setState(path, ReadState::kWaiting);
  if (!opening_.isEmpty()) {
    if (!waiting_.contains(path)) waiting_ << path;
    return;
  }
  const IndexOptions options{settings_->sampling(), false};
  reading_[path] = bridge_->start<IndexReport>(
      Lane::kIndex, tr("Reading %1").arg(path.section(QLatin1Char('/'), -1)), this,
      [path, options](const EngineBridge::Call& call) { return call.engine.Index(toPath(path), options, call.job); },
      [this, path](const Result<IndexReport>& report) { finishReading(path, report); });
  refresh_.start();
}

void VideoController::pause(const QString& path) {
  again_.removeAll(path);
  if (waiting_.removeAll(path) > 0) library_->setState(path, ReadState::kPaused);
  if (const auto job = reading_.constFind(path); job != reading_.constEnd()) bridge_->cancel(*job);
}

void VideoController::readAgain() {
  const QStringList now = reading_.keys();
  for (const QString& path : now) pause(path);
  again_ = now;
  if (path_.isEmpty()) return;
  const LibraryVideo* open = library_->video(path_);
  if (!reading_.contains(path_) && open != nullptr && open->state != ReadState::kPaused) read(path_);
  frames_.clear();
  emit framesChanged();
  refreshFrames();
}

bool VideoController::reading(const QString& path) const { return reading_.contains(path); }

double VideoController::readUntil() const { return frames_.empty() ? 0.0 : frames_.back().end; }

void VideoController::finishReading(const QString& path, const Result<IndexReport>& report) {
  reading_.remove(path);
  if (reading_.isEmpty()) refresh_.stop();
  if (report.ok()) {
    library_->setState(path, ReadState::kDone);
  } else if (report.status().code() == StatusCode::kCancelled) {
    library_->setState(path, ReadState::kPaused);
  } else {
    library_->setState(path, ReadState::kFailed, failureText(report.status()));
  }
  if (again_.removeAll(path) > 0) read(path);
  if (path == path_) refreshFrames();
  emit readingEnded(path);
}

void VideoController::onProgress(quint64 id, double done, double total) {
  const QString path = reading_.key(id);
  if (path.isEmpty()) return;
  const LibraryVideo* video = library_->video(path);
  if (video != nullptr && video->state != ReadState::kReading) library_->setState(path, ReadState::kReading);
  if (total > 0.0) library_->setShare(path, done / total);
}

void VideoController::refreshFrames() {
  if (path_.isEmpty()) return;
  if (refreshing_) {
    refresh_again_ = true;
    return;
  }
  refreshing_ = true;
  const SamplingSettings sampling = settings_->sampling();
  const QString path = path_;
  bridge_->start<std::vector<KeptFrame>>(
      Lane::kMedia, QString(), this,
      [path, sampling](const EngineBridge::Call& call) {
        return call.engine.KeptFrames(toPath(path), sampling, call.job);
      },
      [this, path, sampling](Result<std::vector<KeptFrame>> frames) {
        refreshing_ = false;
        // What was found under other settings is of no use any more.
        const bool wanted = path == path_ && SamplingText(sampling) == SamplingText(settings_->sampling());
        if (wanted && frames.ok() && frames->size() != frames_.size()) {
          frames_ = std::move(frames).value();
          emit framesChanged();
        }
        if (std::exchange(refresh_again_, false)) refreshFrames();
      });
}

}  // namespace longview::ui
