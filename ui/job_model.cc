// Rows of jobs.
#include "ui/job_model.h"

#include <algorithm>

#include "ui/engine_bridge.h"
#include "ui/format.h"

namespace longview::ui {
namespace {
// Ended jobs that stay listed.
constexpr int kKept = 50;
}  // namespace

JobModel::JobModel(EngineBridge* bridge, QObject* parent) : QAbstractListModel(parent) {
  connect(bridge, &EngineBridge::jobStarted, this, &JobModel::add);
  connect(bridge, &EngineBridge::jobProgressed, this, &JobModel::progress);
  connect(bridge, &EngineBridge::jobEnded, this, &JobModel::end);
}

int JobModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant JobModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = rows_[static_cast<size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole:
      if (row.state == State::kFailed) return tr("%1: failed").arg(row.title);
      if (row.state == State::kCancelled) return tr("%1: stopped").arg(row.title);
      if (row.state == State::kDone) return tr("%1: done").arg(row.title);
      if (row.share < 0.0) return row.title;
      return tr("%1: %2 %").arg(row.title, QString::number(static_cast<int>(row.share * 100.0)));
    case Qt::ToolTipRole:
    case kFailure:
      return row.failure;
    case kId:
      return row.id;
    case kShare:
      return row.share;
    case kState:
      return static_cast<int>(row.state);
    default:
      return {};
  }
}

QHash<int, QByteArray> JobModel::roleNames() const {
  QHash<int, QByteArray> names = QAbstractListModel::roleNames();
  names[kId] = "jobId";
  names[kShare] = "share";
  names[kState] = "state";
  names[kFailure] = "failure";
  return names;
}

int JobModel::running() const {
  return static_cast<int>(
      std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.state == State::kRunning; }));
}

const JobModel::Row* JobModel::active() const {
  // The latest that tells how far it is, else the first: those behind it wait.
  const Row* best = nullptr;
  for (const Row& row : rows_) {
    if (row.state != State::kRunning) continue;
    if (best == nullptr || row.share >= 0.0) best = &row;
  }
  return best;
}

QString JobModel::activeTitle() const { return active() != nullptr ? active()->title : QString(); }
double JobModel::activeShare() const { return active() != nullptr ? active()->share : -1.0; }

void JobModel::clearEnded() {
  for (int i = rowCount() - 1; i >= 0; --i) {
    if (rows_[static_cast<size_t>(i)].state == State::kRunning) continue;
    beginRemoveRows({}, i, i);
    rows_.erase(rows_.begin() + i);
    endRemoveRows();
  }
}

int JobModel::find(quint64 id) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [id](const Row& row) { return row.id == id; });
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

void JobModel::add(quint64 id, const QString& title) {
  if (rowCount() >= kKept) clearEnded();
  beginInsertRows({}, rowCount(), rowCount());
  Row row;
  row.id = id;
  row.title = upright(title);
  rows_.push_back(row);
  endInsertRows();
  emit activeChanged();
}

void JobModel::progress(quint64 id, double done, double total) {
  const int row = find(id);
  if (row < 0) return;
  rows_[static_cast<size_t>(row)].share = total > 0.0 ? std::clamp(done / total, 0.0, 1.0) : -1.0;
  emit dataChanged(index(row), index(row));
  emit activeChanged();
}

void JobModel::end(quint64 id, const QString& failure, bool cancelled) {
  const int row = find(id);
  if (row < 0) return;
  Row& job = rows_[static_cast<size_t>(row)];
  job.state = cancelled ? State::kCancelled : failure.isEmpty() ? State::kDone : State::kFailed;
  job.failure = failure;
  emit dataChanged(index(row), index(row));
  emit activeChanged();
}

}  // namespace longview::ui
