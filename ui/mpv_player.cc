// libmpv's client and render interfaces (client.h, render.h of libmpv 0.35).
#include "ui/mpv_player.h"

#include <mpv/client.h>
#include <mpv/render.h>

#include <QFile>
#include <QMetaObject>
#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace longview::ui {
namespace {

constexpr int kRowAlignment = 64;  // render.h: rows so aligned are drawn fastest

// Number the observed properties, to tell their events apart.
enum Property : uint64_t { kPosition = 1, kDuration, kPause, kSpeed, kVolume, kMute };

// A picture whose rows are aligned as libmpv likes them.
QImage alignedImage(QSize size) {
  const int stride = (size.width() * 4 + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  auto* bytes = static_cast<uchar*>(std::aligned_alloc(kRowAlignment, static_cast<size_t>(stride) * size.height()));
  if (bytes == nullptr) return {};
  return QImage(
      bytes, size.width(), size.height(), stride, QImage::Format_RGBX8888, [](void* p) { std::free(p); }, bytes);
}

}  // namespace

// Draws on a thread of its own: waiting for a picture's time and scaling must not hold up the window.
struct MpvPlayer::Impl {
  MpvPlayer* owner = nullptr;
  mpv_handle* mpv = nullptr;
  mpv_render_context* render = nullptr;
  QString failure;

  mutable std::mutex mutex;
  std::condition_variable wake;
  QSize target;
  bool draw = false;     // libmpv has something, or the size changed
  bool resized = false;  // draw even where libmpv has nothing new
  bool quit = false;
  QImage latest;
  bool told = false;  // pictureChanged is on its way
  std::thread thread;

  void requestDraw(bool size_changed) {
    {
      const std::scoped_lock lock(mutex);
      draw = true;
      resized = resized || size_changed;
    }
    wake.notify_one();
  }

  void drawLoop() {
    while (true) {
      QSize size;
      bool forced = false;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return quit || draw; });
        if (quit) return;
        draw = false;
        forced = std::exchange(resized, false);
        size = target;
      }
      const bool fresh = (mpv_render_context_update(render) & MPV_RENDER_UPDATE_FRAME) != 0;
      if ((fresh || forced) && !size.isEmpty()) drawPicture(size);
    }
  }

  void drawPicture(QSize size) {
    QImage image = alignedImage(size);
    if (image.isNull()) return;
    std::array<int, 2> wanted = {size.width(), size.height()};
    size_t stride = static_cast<size_t>(image.bytesPerLine());
    char format[] = "rgb0";
    mpv_render_param parameters[] = {{MPV_RENDER_PARAM_SW_SIZE, wanted.data()},
                                     {MPV_RENDER_PARAM_SW_FORMAT, format},
                                     {MPV_RENDER_PARAM_SW_STRIDE, &stride},
                                     {MPV_RENDER_PARAM_SW_POINTER, image.bits()},
                                     {MPV_RENDER_PARAM_INVALID, nullptr}};
    if (mpv_render_context_render(render, parameters) < 0) return;
    const std::scoped_lock lock(mutex);
    latest = std::move(image);
    if (!std::exchange(told, true)) {
      QMetaObject::invokeMethod(
          owner,
          [this] {
            {
              const std::scoped_lock inner(mutex);
              told = false;
            }
            emit owner->pictureChanged();
          },
          Qt::QueuedConnection);
    }
  }
};

MpvPlayer::MpvPlayer(QObject* parent) : QObject(parent), impl_(std::make_unique<Impl>()) {
  impl_->owner = this;
  // libmpv refuses to start in a locale with a decimal comma, which QApplication may have set.
  std::setlocale(LC_NUMERIC, "C");
  impl_->mpv = mpv_create();
  if (impl_->mpv == nullptr) {
    impl_->failure = tr("The player could not start (out of memory?).");
    return;
  }
  // Only the file that is asked for is opened: no configuration, scripts, neighbours or addresses.
  const std::pair<const char*, const char*> options[] = {{"config", "no"},
                                                         {"load-scripts", "no"},
                                                         {"ytdl", "no"},
                                                         {"terminal", "no"},
                                                         {"osc", "no"},
                                                         {"input-default-bindings", "no"},
                                                         {"vo", "libmpv"},
                                                         {"hwdec", "no"},
                                                         {"keep-open", "yes"},
                                                         {"pause", "yes"},
                                                         {"hr-seek", "yes"},
                                                         {"audio-fallback-to-null", "yes"},
                                                         {"osd-level", "0"},
                                                         {"sub-auto", "no"},
                                                         {"audio-file-auto", "no"},
                                                         {"autoload-files", "no"},
                                                         {"access-references", "no"},
                                                         {"image-display-duration", "inf"},
                                                         {"idle", "yes"},
                                                         {"resume-playback", "no"},
                                                         {"audio-client-name", "Longview"}};
  for (const auto& [name, value] : options) (void)mpv_set_option_string(impl_->mpv, name, value);
  int code = mpv_initialize(impl_->mpv);
  if (code >= 0) {
    char api[] = MPV_RENDER_API_TYPE_SW;
    mpv_render_param parameters[] = {{MPV_RENDER_PARAM_API_TYPE, api}, {MPV_RENDER_PARAM_INVALID, nullptr}};
    code = mpv_render_context_create(&impl_->render, impl_->mpv, parameters);
  }
  if (code < 0) {
    impl_->failure = tr("The player could not start: %1").arg(QString::fromUtf8(mpv_error_string(code)));
    return;
  }
  mpv_observe_property(impl_->mpv, kPosition, "time-pos", MPV_FORMAT_DOUBLE);
  mpv_observe_property(impl_->mpv, kDuration, "duration", MPV_FORMAT_DOUBLE);
  mpv_observe_property(impl_->mpv, kPause, "pause", MPV_FORMAT_FLAG);
  mpv_observe_property(impl_->mpv, kSpeed, "speed", MPV_FORMAT_DOUBLE);
  mpv_observe_property(impl_->mpv, kVolume, "volume", MPV_FORMAT_DOUBLE);
  mpv_observe_property(impl_->mpv, kMute, "mute", MPV_FORMAT_FLAG);
  mpv_set_wakeup_callback(
      impl_->mpv,
      [](void* self) {
        auto* player = static_cast<MpvPlayer*>(self);
        QMetaObject::invokeMethod(
            player, [player] { player->drainEvents(); }, Qt::QueuedConnection);
      },
      this);
  mpv_render_context_set_update_callback(
      impl_->render, [](void* impl) { static_cast<Impl*>(impl)->requestDraw(false); }, impl_.get());
  impl_->thread = std::thread([this] { impl_->drawLoop(); });
}

MpvPlayer::~MpvPlayer() {
  if (impl_->render != nullptr) {
    mpv_render_context_set_update_callback(impl_->render, nullptr, nullptr);
    {
      const std::scoped_lock lock(impl_->mutex);
      impl_->quit = true;
    }
    impl_->wake.notify_one();
    if (impl_->thread.joinable()) impl_->thread.join();
    mpv_render_context_free(impl_->render);
  }
  if (impl_->mpv != nullptr) {
    mpv_set_wakeup_callback(impl_->mpv, nullptr, nullptr);
    mpv_terminate_destroy(impl_->mpv);
  }
}

const QString& MpvPlayer::failure() const { return impl_->failure; }

void MpvPlayer::command(std::initializer_list<QByteArray> words) {
  if (!impl_->failure.isEmpty()) return;
  std::vector<const char*> pointers;
  for (const QByteArray& word : words) pointers.push_back(word.constData());
  pointers.push_back(nullptr);
  (void)mpv_command_async(impl_->mpv, 0, pointers.data());
}

void MpvPlayer::open(const QString& path, double start_s) {
  command({"set", "pause", "yes"});
  command({"set", "start", QByteArray::number(std::max(0.0, start_s), 'f', 6)});
  command({"loadfile", QFile::encodeName(path), "replace"});
  position_ = start_s;
}

void MpvPlayer::close() {
  open_ = false;
  command({"stop"});
}

void MpvPlayer::setPaused(bool paused) { command({"set", "pause", paused ? "yes" : "no"}); }

void MpvPlayer::seek(double time_s) {
  if (!open_) return;
  const double end = duration_ > 0.0 ? duration_ : time_s;
  seeking_ = true;
  command({"seek", QByteArray::number(std::clamp(time_s, 0.0, end), 'f', 6), "absolute+exact"});
}

void MpvPlayer::step(int direction) {
  if (!open_) return;
  // libmpv forgets a step that comes while it seeks.
  if (seeking_) {
    step_after_seek_ = direction;
  } else {
    command({direction < 0 ? "frame-back-step" : "frame-step"});
  }
}

void MpvPlayer::setSpeed(double speed) {
  command({"set", "speed", QByteArray::number(std::clamp(speed, 0.1, 8.0), 'f', 3)});
}

void MpvPlayer::setVolume(int volume) { command({"set", "volume", QByteArray::number(std::clamp(volume, 0, 100))}); }
void MpvPlayer::setMuted(bool muted) { command({"set", "mute", muted ? "yes" : "no"}); }

void MpvPlayer::setSubtitles(const QString& file) {
  command({"sub-remove"});
  if (!file.isEmpty()) command({"sub-add", QFile::encodeName(file), "select"});
}

void MpvPlayer::setTarget(QSize pixels) {
  if (impl_->render == nullptr) return;
  {
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->target == pixels) return;
    impl_->target = pixels;
  }
  impl_->requestDraw(true);
}

QImage MpvPlayer::picture() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->latest;
}

void MpvPlayer::drainEvents() {
  while (true) {
    const mpv_event* event = mpv_wait_event(impl_->mpv, 0.0);
    if (event->event_id == MPV_EVENT_NONE) return;
    if (event->event_id == MPV_EVENT_FILE_LOADED) {
      open_ = true;
      emit loaded();
    } else if (event->event_id == MPV_EVENT_PLAYBACK_RESTART) {
      seeking_ = false;
      if (const int direction = std::exchange(step_after_seek_, 0); direction != 0) step(direction);
      emit sought();
    } else if (event->event_id == MPV_EVENT_END_FILE) {
      const auto* end = static_cast<const mpv_event_end_file*>(event->data);
      if (end->reason == MPV_END_FILE_REASON_ERROR) {
        open_ = false;
        emit failed(tr("The film cannot be played: %1").arg(QString::fromUtf8(mpv_error_string(end->error))));
      }
    } else if (event->event_id == MPV_EVENT_PROPERTY_CHANGE) {
      const auto* property = static_cast<const mpv_event_property*>(event->data);
      if (property->format == MPV_FORMAT_FLAG && event->reply_userdata == kPause) {
        paused_ = *static_cast<const int*>(property->data) != 0;
        emit pausedChanged(paused_);
      } else if (property->format == MPV_FORMAT_FLAG && event->reply_userdata == kMute) {
        muted_ = *static_cast<const int*>(property->data) != 0;
      }
      if (property->format != MPV_FORMAT_DOUBLE) continue;
      const double value = *static_cast<const double*>(property->data);
      if (event->reply_userdata == kPosition) {
        position_ = value;
        emit positionChanged(value);
      } else if (event->reply_userdata == kDuration) {
        duration_ = value;
        emit durationChanged(value);
      } else if (event->reply_userdata == kSpeed) {
        speed_ = value;
        emit speedChanged(value);
      } else if (event->reply_userdata == kVolume) {
        volume_ = static_cast<int>(std::lround(value));
      }
    }
  }
}

}  // namespace longview::ui
