// Batches of thumbnails from the engine.
#include "ui/thumbnail_store.h"

#include <algorithm>
#include <utility>

#include "ui/app_settings.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"

namespace longview::ui {
namespace {

constexpr int kCache_KiB = 64 * 1024;
constexpr size_t kBatch = 48;

QString keyOf(const QString& video, double time_s) {
  return QString::number(time_s, 'f', 3) + QLatin1Char(' ') + video;
}

using Pictures = std::vector<std::pair<double, QImage>>;  // time asked for, picture (null where there is none)

}  // namespace

ThumbnailStore::ThumbnailStore(EngineBridge* bridge, AppSettings* settings, QObject* parent)
    : QObject(parent), bridge_(bridge), settings_(settings), images_(kCache_KiB) {
  // One request for all that is asked for while a view paints.
  collect_.setSingleShot(true);
  collect_.setInterval(10);
  connect(&collect_, &QTimer::timeout, this, &ThumbnailStore::fetch);
}

QImage ThumbnailStore::get(const QString& video, double time_s) {
  if (const QImage* image = images_.object(keyOf(video, time_s)); image != nullptr) return *image;
  const std::pair<QString, double> wish(video, time_s);
  if (std::find(wanted_.begin(), wanted_.end(), wish) == wanted_.end()) wanted_.push_back(wish);
  if (!fetching_ && !collect_.isActive()) collect_.start();
  return {};
}

void ThumbnailStore::fetch() {
  if (wanted_.empty() || fetching_) return;
  const QString video = wanted_.front().first;
  std::vector<double> times;
  for (const auto& [path, time] : wanted_) {
    if (path == video && times.size() < kBatch) times.push_back(time);
  }
  fetching_ = true;
  const SamplingSettings sampling = settings_->sampling();
  bridge_->start<Pictures>(
      Lane::kMedia, QString(), this,
      [video, times, sampling](const EngineBridge::Call& call) -> Result<Pictures> {
        LV_ASSIGN_OR_RETURN(const auto thumbnails, call.engine.Thumbnails(toPath(video), sampling, times, call.job));
        Pictures pictures;
        for (size_t i = 0; i < thumbnails.size(); ++i) {
          const std::vector<uint8_t>& jpeg = thumbnails[i].jpeg;
          pictures.emplace_back(times[i], QImage::fromData(jpeg.data(), static_cast<int>(jpeg.size())));
        }
        return pictures;
      },
      [this, video, times](Result<Pictures> pictures) {
        fetching_ = false;
        std::erase_if(wanted_, [&](const auto& wish) {
          return wish.first == video && std::find(times.begin(), times.end(), wish.second) != times.end();
        });
        // What there is not yet is asked for again by whoever paints next.
        for (const auto& [time, image] : pictures.ok() ? *pictures : Pictures()) {
          if (image.isNull()) continue;
          images_.insert(keyOf(video, time), new QImage(image),
                         std::max<int>(1, static_cast<int>(image.sizeInBytes() / 1024)));
          emit arrived(video, time, image);
        }
        if (!wanted_.empty()) collect_.start();
      });
}

}  // namespace longview::ui
