// Opening and background reading.
#include "ui/video_controller.h"

#include <QDir>
#include <QFileInfo>
#include <system_error>
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

VideoController::Stamp VideoController::stampOf(const QString& path) {
  std::error_code ignored;
  const std::filesystem::path file = toPath(path);
  return {std::filesystem::file_size(file, ignored), std::filesystem::last_write_time(file, ignored)};
}

void VideoController::open(const QString& path) {
  if (!opening_.isEmpty()) bridge_->cancel(opening_job_);
  opening_ = path;
  emit opening(path);
  const SamplingSettings sampling = settings_->sampling();
  opening_job_ = bridge_->start<Opened>(
      Lane::kMedia, tr("Opening %1").arg(path.section(QLatin1Char('/'), -1)), this,
      [path, sampling](const EngineBridge::Call& call) -> Result<Opened> {
        Opened opened;
        opened.stamp = stampOf(path);
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
    if (opened.status().code() != StatusCode::kCancelled) {
      queue_.removeAll(path);
      library_->setState(path, ReadState::kFailed, why);
    }
    emit openFailed(path, why);
    beginReading();
    return;
  }
  path_ = path;
  stamp_ = opened->stamp;
  info_ = std::move(opened->info);
  captions_ = opened->captions;
  frames_.clear();
  library_->add(path);
  library_->setDuration(path, info_.duration_s);
  settings_->addRecent(path);
  emit this->opened();
  emit framesChanged();
  refreshFrames();
  if (info_.index && info_.index->state == IndexState::kComplete) {
    // It is only checked, and need not keep another film from being read.
    library_->setState(path, ReadState::kDone);
    if (!reading(path)) queue_.prepend(path);
    beginReading();
  } else {
    library_->setState(path, ReadState::kUnknown);  // it may be read under other settings
    readFirst(path);
  }
}

void VideoController::checkUnchanged() {
  if (path_.isEmpty() || !opening_.isEmpty()) return;
  bridge_->start<Stamp>(
      Lane::kMedia, QString(), this,
      [path = path_](const EngineBridge::Call&) -> Result<Stamp> { return stampOf(path); },
      [this, path = path_, before = stamp_](const Result<Stamp>& now) {
        if (!now.ok() || *now == before || path != path_ || !opening_.isEmpty()) return;
        if (now_ == path) stopReading();  // it is begun anew with the new file
        open(path);
        emit replaced(path);
      });
}

void VideoController::read(const QString& path) {
  if (queue_.contains(path) || (now_ == path && !stopping_)) return;
  queue_ << path;
  library_->add(path);
  showWaiting(path);
  measure(path);
  beginReading();
}

void VideoController::measure(const QString& path) {
  const LibraryVideo* known = library_->video(path);
  if (known == nullptr || known->duration_s > 0.0) return;
  bridge_->start<double>(
      Lane::kLook, QString(), this,
      [path, sampling = settings_->sampling()](const EngineBridge::Call& call) -> Result<double> {
        LV_ASSIGN_OR_RETURN(const MediaInfo info, call.engine.Info(toPath(path), sampling, call.job));
        return info.duration_s;
      },
      [this, path](const Result<double>& length) {
        // A film that cannot be looked at says why when it is read.
        const LibraryVideo* video = library_->video(path);
        if (length.ok() && video != nullptr && video->duration_s <= 0.0) library_->setDuration(path, *length);
      });
}

void VideoController::showWaiting(const QString& path) {
  const LibraryVideo* video = library_->video(path);
  if (video != nullptr && video->state != ReadState::kDone) library_->setState(path, ReadState::kWaiting);
}

void VideoController::readFirst(const QString& path) {
  if (now_ == path && !stopping_) {
    library_->setState(path, ReadState::kReading);
    return;
  }
  queue_.removeAll(path);
  if (!now_.isEmpty() && !queue_.contains(now_) && !stopping_) {
    queue_.prepend(now_);
    showWaiting(now_);
  }
  stopReading();
  queue_.prepend(path);
  library_->add(path);
  showWaiting(path);
  beginReading();
}

void VideoController::beginReading() {
  if (ended_) return;
  QStringList unread = queue_;
  if (!now_.isEmpty() && !stopping_) unread.prepend(now_);
  settings_->setQueue(unread);
  // Nothing is begun while a film is being opened: it comes first.
  if (!now_.isEmpty() || !opening_.isEmpty() || queue_.isEmpty()) return;
  const QString path = now_ = queue_.takeFirst();
  stopping_ = false;
  const IndexOptions options{settings_->sampling(), false};
  now_job_ = bridge_->start<IndexReport>(
      Lane::kIndex, tr("Reading %1").arg(path.section(QLatin1Char('/'), -1)), this,
      [path, options](const EngineBridge::Call& call) { return call.engine.Index(toPath(path), options, call.job); },
      [this, path](const Result<IndexReport>& report) { finishReading(path, report); });
  refresh_.start();
}

void VideoController::stopReading() {
  if (now_.isEmpty()) return;
  stopping_ = true;
  bridge_->cancel(now_job_);
}

void VideoController::pause(const QString& path) {
  const LibraryVideo* video = library_->video(path);
  if (reading(path) && video != nullptr && video->state != ReadState::kDone) {
    library_->setState(path, ReadState::kPaused);
  }
  queue_.removeAll(path);
  if (path == now_) stopReading();
  beginReading();
}

void VideoController::pauseAll() {
  QStringList all = queue_;
  all << now_;
  for (const QString& path : all) pause(path);
}

void VideoController::restore() {
  for (const QString& path : settings_->queue()) read(path);
}

void VideoController::end() {
  ended_ = true;
  stopReading();
}

void VideoController::readAgain() {
  const LibraryVideo* open = library_->video(path_);
  const bool first = open != nullptr && open->state != ReadState::kPaused;
  if (!now_.isEmpty() && !stopping_) {
    queue_.prepend(now_);
    showWaiting(now_);
    stopReading();
  }
  beginReading();
  if (path_.isEmpty()) return;
  if (first) {
    library_->setState(path_, ReadState::kUnknown);
    readFirst(path_);
  }
  frames_.clear();
  emit framesChanged();
  refreshFrames();
}

bool VideoController::reading(const QString& path) const {
  return queue_.contains(path) || (!path.isEmpty() && path == now_);
}

double VideoController::readUntil() const { return frames_.empty() ? 0.0 : frames_.back().end; }

void VideoController::finishReading(const QString& path, const Result<IndexReport>& report) {
  now_.clear();
  if (report.ok() && report->duration_s > 0.0) library_->setDuration(path, report->duration_s);
  const LibraryVideo* video = library_->video(path);
  if (queue_.contains(path)) {
    showWaiting(path);
  } else if (report.ok()) {
    library_->setState(path, ReadState::kDone);
  } else if (report.status().code() == StatusCode::kCancelled) {
    if (video != nullptr && video->state != ReadState::kDone) library_->setState(path, ReadState::kPaused);
  } else {
    library_->setState(path, ReadState::kFailed, failureText(report.status()));
  }
  beginReading();
  if (now_.isEmpty()) refresh_.stop();
  if (path == path_) refreshFrames();
  emit readingEnded(path);
}

void VideoController::onProgress(quint64 id, double done, double total) {
  if (now_.isEmpty() || id != now_job_ || stopping_) return;
  const LibraryVideo* video = library_->video(now_);
  if (video == nullptr) return;
  if (video->state != ReadState::kReading) library_->setState(now_, ReadState::kReading);
  if (total <= 0.0) return;
  if (video->duration_s <= 0.0) library_->setDuration(now_, total);
  library_->setShare(now_, done / total);
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
