// libmpv's client and render interfaces (client.h, render.h of libmpv 0.35).
#include "ui/mpv_player.h"

#include <mpv/client.h>
#include <mpv/render.h>

#include <QFile>
#include <QMetaObject>
#include <QTimer>
#include <algorithm>
#include <array>
#include <atomic>
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

// Number the observed properties, to tell their events apart, then those that are asked for, and the moves. Where the
// n-th move landed is asked for as kLanded + n.
enum Property : uint64_t { kPosition = 1, kDuration, kPause, kSpeed, kVolume, kMute, kFormat, kRate, kMove, kLanded };

constexpr int kPictureWait_ms = 100;  // a picture is drawn about when its seek ends

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
  bool told = false;              // pictureChanged is on its way
  std::atomic<int> pictures = 0;  // drawn, the same one again left out
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
      if (fresh && isAnother()) ++pictures;
      if ((fresh || forced) && !size.isEmpty()) drawPicture(size);
    }
  }

  // Whether the picture to be drawn is not the one that was.
  bool isAnother() const {
    mpv_render_frame_info info = {};
    const mpv_render_param wanted = {MPV_RENDER_PARAM_NEXT_FRAME_INFO, &info};
    constexpr uint64_t kSame = MPV_RENDER_FRAME_INFO_REDRAW | MPV_RENDER_FRAME_INFO_REPEAT;
    return mpv_render_context_get_info(render, wanted) >= 0 && (info.flags & MPV_RENDER_FRAME_INFO_PRESENT) != 0 &&
           (info.flags & kSame) == 0;
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

void MpvPlayer::command(std::initializer_list<QByteArray> words, uint64_t reply) {
  if (!impl_->failure.isEmpty()) return;
  std::vector<const char*> pointers;
  for (const QByteArray& word : words) pointers.push_back(word.constData());
  pointers.push_back(nullptr);
  (void)mpv_command_async(impl_->mpv, reply, pointers.data());
}

void MpvPlayer::open(const QString& path, double start_s, double end_s) {
  end_ = end_s;
  sparse_ = false;
  behind_ = 0.0;
  move_ = Move::kSeek;
  aim_ = std::max(0.0, start_s);
  seeking_ = true;
  begun_ = false;
  ++moves_;
  pictures_before_ = impl_->pictures;
  command({"set", "hr-seek-demuxer-offset", "0"});
  command({"set", "pause", "yes"});
  command({"set", "start", QByteArray::number(aim_, 'f', 6)});
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
  // Where only sound is left, libmpv would leave the picture of before.
  const bool last = end_ > 0.0 && time_s > end_ - 0.9 * picture_s_;
  move(last ? Move::kLast : Move::kSeek, std::max(0.0, last ? std::max(end_, duration_) + 1.0 : time_s));
}

void MpvPlayer::step(int direction) {
  if (!open_) return;
  // Behind the last picture, where only sound is left, nothing leads back to it. Wherever a move to it or a step came,
  // there is one.
  const bool at_picture = move_ != Move::kSeek && std::abs(position_ - landed_) < 0.25 * picture_s_;
  const bool behind = end_ > 0.0 && position_ > end_ - 0.5 * picture_s_ && !at_picture;
  // libmpv forgets a step that comes while it seeks.
  if (seeking_) {
    step_after_seek_ = direction;
  } else if (direction > 0) {
    command({"frame-step"});
  } else if (behind) {
    setPaused(true);
    step_after_seek_ = direction;
    seek(end_);
  } else {
    move(Move::kBack, position_);
  }
}

void MpvPlayer::move(Move kind, double time_s) {
  move_ = kind;
  aim_ = time_s;
  sendMove();
}

void MpvPlayer::sendMove() {
  seeking_ = true;
  begun_ = false;
  ++moves_;
  ++unanswered_;
  if (move_ == Move::kBack) {
    command({"frame-back-step"}, kMove);
  } else {
    command({"seek", QByteArray::number(aim_, 'f', 6), "absolute+exact"}, kMove);
  }
}

void MpvPlayer::askWhereItLanded() {
  mpv_get_property_async(impl_->mpv, kFormat, "file-format", MPV_FORMAT_STRING);
  mpv_get_property_async(impl_->mpv, kRate, "container-fps", MPV_FORMAT_DOUBLE);
  mpv_get_property_async(impl_->mpv, kLanded + moves_, "time-pos", MPV_FORMAT_DOUBLE);
}

// In formats without an index libmpv may begin to read behind the keyframe that it needs, and shows the next one, or in
// the last part of a film nothing. Then it begins earlier, further back each time, and does so for the rest of the
// film.
void MpvPlayer::landed(double time_s, bool waited) {
  const bool drawn = impl_->pictures != pictures_before_;
  if (loose_ && !drawn && !waited) {
    QTimer::singleShot(kPictureWait_ms, this, [this, time_s, number = moves_] {
      if (number == moves_) landed(time_s, true);
    });
    return;
  }
  const bool late = move_ == Move::kSeek   ? time_s > aim_ + 1.5 * picture_s_
                    : move_ == Move::kBack ? time_s > aim_ - 0.25 * picture_s_
                                           : false;
  if (loose_ && (late || !drawn)) {
    if (behind_ <= aim_) {
      behind_ = std::max(1.0, 2.0 * behind_);
      command({"set", "hr-seek-demuxer-offset", QByteArray::number(behind_, 'f', 3)});
      sendMove();
      return;
    }
    if (move_ == Move::kSeek && late) {
      // Not even from the beginning: there are no pictures at that time.
      sparse_ = true;
      behind_ = 0.0;
      command({"set", "hr-seek-demuxer-offset", "0"});
    }
  }
  seeking_ = false;
  landed_ = time_s;
  position_ = time_s;  // its own message comes later
  if (const int direction = std::exchange(step_after_seek_, 0); direction != 0) step(direction);
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
      begun_ = true;
      emit loaded();
    } else if (event->event_id == MPV_EVENT_COMMAND_REPLY && event->reply_userdata == kMove) {
      --unanswered_;
      if (event->error < 0) seeking_ = false;  // nothing will land
    } else if (event->event_id == MPV_EVENT_SEEK) {
      pictures_before_ = impl_->pictures;
      begun_ = unanswered_ == 0;  // else it is of a move that another has overtaken
    } else if (event->event_id == MPV_EVENT_PLAYBACK_RESTART) {
      if (seeking_ && begun_ && unanswered_ == 0) askWhereItLanded();
    } else if (event->event_id == MPV_EVENT_END_FILE) {
      const auto* end = static_cast<const mpv_event_end_file*>(event->data);
      if (end->reason == MPV_END_FILE_REASON_ERROR) {
        open_ = false;
        seeking_ = false;
        emit failed(tr("The film cannot be played: %1").arg(QString::fromUtf8(mpv_error_string(end->error))));
      }
    } else if (event->event_id == MPV_EVENT_PROPERTY_CHANGE || event->event_id == MPV_EVENT_GET_PROPERTY_REPLY) {
      takeProperty(event->reply_userdata, *static_cast<const mpv_event_property*>(event->data));
    }
  }
}

void MpvPlayer::takeProperty(uint64_t which, const mpv_event_property& property) {
  if (property.format == MPV_FORMAT_FLAG) {
    const bool set = *static_cast<const int*>(property.data) != 0;
    if (which == kMute) muted_ = set;
    if (which == kPause) {
      paused_ = set;
      emit pausedChanged(paused_);
    }
    return;
  }
  if (property.format == MPV_FORMAT_STRING) {
    const QByteArray format = *static_cast<const char* const*>(property.data);
    loose_ = !sparse_ && (format == "mpegts" || format == "mpeg");
    return;
  }
  const bool has_landed = which == kLanded + moves_;
  if (property.format != MPV_FORMAT_DOUBLE) {
    if (has_landed) landed(position_, false);  // there is no place, in a film without pictures
    return;
  }
  const double value = *static_cast<const double*>(property.data);
  if (which == kPosition) {
    position_ = value;
    emit positionChanged(value);
  } else if (which == kDuration) {
    duration_ = value;
    emit durationChanged(value);
  } else if (which == kSpeed) {
    speed_ = value;
    emit speedChanged(value);
  } else if (which == kVolume) {
    volume_ = static_cast<int>(std::lround(value));
  } else if (which == kRate) {
    picture_s_ = 1.0 / std::clamp(value, 1.0, 240.0);
  } else if (has_landed) {
    landed(value, false);
  }
}

}  // namespace longview::ui
