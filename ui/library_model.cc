// Rows of videos.
#include "ui/library_model.h"

#include <QFileInfo>
#include <QIcon>
#include <QPixmap>
#include <algorithm>
#include <filesystem>

#include "ui/format.h"

namespace longview::ui {

LibraryModel::LibraryModel(QObject* parent) : QAbstractListModel(parent) {}

int LibraryModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(videos_.size());
}

QVariant LibraryModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const LibraryVideo& video = videos_[static_cast<size_t>(index.row())];
  const QString name = upright(video.path.section(QLatin1Char('/'), -1));
  switch (role) {
    case Qt::DisplayRole: {
      const QString length = video.duration_s > 0.0 ? timeText(video.duration_s) : QString();
      QStringList lines = {name, length, stateText(video)};
      lines.removeAll(QString());
      return lines.join(QLatin1Char('\n'));
    }
    case Qt::AccessibleTextRole:
      return tr("%1, %2, %3").arg(name, durationText(video.duration_s), stateText(video));
    case Qt::ToolTipRole:
      return plainTip(video.failure.isEmpty() ? video.path : video.path + QLatin1Char('\n') + video.failure);
    case Qt::DecorationRole:
      return video.thumbnail.isNull() ? QVariant() : QVariant(QIcon(QPixmap::fromImage(video.thumbnail)));
    case kPath:
      return video.path;
    case kDuration:
      return video.duration_s;
    case kState:
      return static_cast<int>(video.state);
    case kShare:
      return video.share;
    case kFailure:
      return video.failure;
    default:
      return {};
  }
}

QHash<int, QByteArray> LibraryModel::roleNames() const {
  QHash<int, QByteArray> names = QAbstractListModel::roleNames();
  names[kPath] = "path";
  names[kDuration] = "duration";
  names[kState] = "state";
  names[kShare] = "share";
  names[kFailure] = "failure";
  return names;
}

int LibraryModel::add(const QString& path) {
  if (const int row = find(path); row >= 0) return row;
  beginInsertRows({}, rowCount(), rowCount());
  LibraryVideo video;
  video.path = path;
  videos_.push_back(video);
  endInsertRows();
  return rowCount() - 1;
}

void LibraryModel::remove(const QString& path) {
  const int row = find(path);
  if (row < 0) return;
  beginRemoveRows({}, row, row);
  videos_.erase(videos_.begin() + row);
  endRemoveRows();
}

int LibraryModel::find(const QString& path) const {
  const auto found =
      std::find_if(videos_.begin(), videos_.end(), [&](const LibraryVideo& video) { return video.path == path; });
  return found == videos_.end() ? -1 : static_cast<int>(found - videos_.begin());
}

const LibraryVideo* LibraryModel::video(const QString& path) const {
  const int row = find(path);
  return row < 0 ? nullptr : &videos_[static_cast<size_t>(row)];
}

QStringList LibraryModel::paths() const {
  QStringList paths;
  for (const LibraryVideo& video : videos_) paths << video.path;
  return paths;
}

void LibraryModel::changed(int row) { emit dataChanged(index(row), index(row)); }

void LibraryModel::setDuration(const QString& path, double seconds) {
  const int row = find(path);
  if (row < 0) return;
  videos_[static_cast<size_t>(row)].duration_s = seconds;
  changed(row);
}

void LibraryModel::setState(const QString& path, ReadState state, const QString& failure) {
  const int row = find(path);
  if (row < 0) return;
  LibraryVideo& video = videos_[static_cast<size_t>(row)];
  video.state = state;
  video.failure = failure;
  if (state == ReadState::kDone) video.share = 1.0;
  changed(row);
}

void LibraryModel::setShare(const QString& path, double share) {
  const int row = find(path);
  if (row < 0) return;
  videos_[static_cast<size_t>(row)].share = std::clamp(share, 0.0, 1.0);
  changed(row);
}

void LibraryModel::setThumbnail(const QString& path, const QImage& image) {
  const int row = find(path);
  if (row < 0) return;
  videos_[static_cast<size_t>(row)].thumbnail = image;
  changed(row);
}

void LibraryModel::forgetIndexes() {
  for (int row = 0; row < rowCount(); ++row) {
    LibraryVideo& video = videos_[static_cast<size_t>(row)];
    if (video.state != ReadState::kDone && video.state != ReadState::kPartial) continue;
    video.state = ReadState::kUnknown;
    video.share = 0.0;
    changed(row);
  }
}

void LibraryModel::merge(const std::vector<LibraryEntry>& entries) {
  for (const LibraryEntry& entry : entries) {
    if (entry.last_path.empty()) continue;
    const QString path = QString::fromStdString(entry.last_path);
    LibraryVideo& video = videos_[static_cast<size_t>(add(path))];
    if (entry.duration_s > 0.0) video.duration_s = entry.duration_s;
    if (video.state == ReadState::kUnknown) {
      if (entry.index.state == IndexState::kComplete) video.state = ReadState::kDone;
      if (entry.index.state == IndexState::kPartial) video.state = ReadState::kPartial;
      video.share = video.state == ReadState::kDone ? 1.0
                    : video.duration_s > 0.0        ? std::clamp(entry.index.until_s / video.duration_s, 0.0, 1.0)
                                                    : 0.0;
    }
    changed(find(path));
  }
}

void LibraryModel::explain(std::vector<LeftOut>* videos) const {
  for (LeftOut& left : *videos) {
    const LibraryVideo* known = video(toText(std::filesystem::path(left.video)));
    const bool failed = known != nullptr && known->state == ReadState::kFailed;
    if (failed && left.cause == LeftOut::Cause::kUnread) left.cause = LeftOut::Cause::kFailed;
  }
}

QString LibraryModel::explain(const Status& status) const {
  const LibraryVideo* known = video(toText(std::filesystem::path(status.file())));
  const bool failed = known != nullptr && known->state == ReadState::kFailed;
  return failed && status.reason() == StatusReason::kNotReadYet ? known->failure : failureText(status);
}

QString LibraryModel::stateText(const LibraryVideo& video) {
  const int percent = static_cast<int>(video.share * 100.0);
  switch (video.state) {
    case ReadState::kUnknown:
      return {};
    case ReadState::kWaiting:
      return tr("waiting");
    case ReadState::kReading:
      return tr("reading, %1 %").arg(percent);
    case ReadState::kPaused:
      return tr("paused, %1 % read").arg(percent);
    case ReadState::kPartial:
      return percent > 0 ? tr("%1 % read").arg(percent) : tr("partly read");
    case ReadState::kDone:
      return tr("read");
    case ReadState::kFailed:
      return tr("reading failed");
  }
  return {};
}

}  // namespace longview::ui
