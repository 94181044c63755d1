// Batches of thumbnails from the engine.
#include "ui/thumbnail_store.h"

#include <algorithm>

#include "ui/app_settings.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"

namespace longview::ui {
namespace {

constexpr int kCache_KiB = 64 * 1024;
constexpr size_t kBatch = 48;

using Pictures = std::vector<QImage>;  // one a wish, null where there is none

}  // namespace

ThumbnailStore::ThumbnailStore(EngineBridge* bridge, AppSettings* settings, QObject* parent)
    : QObject(parent), bridge_(bridge), settings_(settings), images_(kCache_KiB) {
  // One request for all that is asked for while a view paints.
  collect_.setSingleShot(true);
  collect_.setInterval(10);
  connect(&collect_, &QTimer::timeout, this, &ThumbnailStore::fetch);
}

QString ThumbnailStore::Wish::key() const { return QString::number(time_s, 'f', 3) + QLatin1Char(' ') + index; }

QImage ThumbnailStore::get(const QString& video, double time_s, const std::optional<SamplingSettings>& sampling) {
  Wish wish{video, time_s, sampling ? *sampling : settings_->sampling(), {}};
  wish.index = toText(SamplingText(wish.sampling)) + QLatin1Char(' ') + video;
  const QString key = wish.key();
  if (const QImage* image = images_.object(key); image != nullptr) return *image;
  const bool known = std::any_of(wanted_.begin(), wanted_.end(), [&](const Wish& other) { return other.key() == key; });
  if (!known) wanted_.push_back(wish);
  if (!fetching_ && !collect_.isActive()) collect_.start();
  return {};
}

void ThumbnailStore::forget(const QString& video) {
  for (const QString& key : images_.keys()) {
    if (key.endsWith(QLatin1Char(' ') + video)) images_.remove(key);
  }
}

void ThumbnailStore::fetch() {
  if (wanted_.empty() || fetching_) return;
  // One index at a time.
  std::vector<Wish> batch;
  for (const Wish& wish : wanted_) {
    if (wish.index == wanted_.front().index && batch.size() < kBatch) batch.push_back(wish);
  }
  fetching_ = true;
  bridge_->start<Pictures>(
      Lane::kMedia, QString(), this,
      [batch](const EngineBridge::Call& call) -> Result<Pictures> {
        std::vector<double> times;
        times.reserve(batch.size());
        for (const Wish& wish : batch) times.push_back(wish.time_s);
        LV_ASSIGN_OR_RETURN(const auto thumbnails, call.engine.Thumbnails(toPath(batch.front().video),
                                                                          batch.front().sampling, times, call.job));
        Pictures pictures;
        for (const FramePicture& thumbnail : thumbnails) {
          pictures.push_back(QImage::fromData(thumbnail.jpeg.data(), static_cast<int>(thumbnail.jpeg.size())));
        }
        return pictures;
      },
      [this, batch](const Result<Pictures>& pictures) {
        fetching_ = false;
        std::erase_if(wanted_, [&](const Wish& wish) {
          return std::any_of(batch.begin(), batch.end(), [&](const Wish& taken) { return taken.key() == wish.key(); });
        });
        // What there is not yet is asked for again by whoever paints next.
        for (size_t i = 0; pictures.ok() && i < pictures->size(); ++i) {
          const QImage& image = (*pictures)[i];
          if (image.isNull()) continue;
          images_.insert(batch[i].key(), new QImage(image),
                         std::max<int>(1, static_cast<int>(image.sizeInBytes() / 1024)));
          emit arrived(batch[i].video, batch[i].time_s, image);
        }
        if (!wanted_.empty()) collect_.start();
      });
}

}  // namespace longview::ui
