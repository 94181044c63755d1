// Boxes of the heat map.
#include "ui/selftest_model.h"

#include <QColor>
#include <QFont>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ui/format.h"

namespace longview::ui {
namespace {

// The colours of the engine's picture (DrawHeatMap): red where nothing was found, green where everything was. Black can
// be read on all of them.
QColor heatColour(double share) {
  return {static_cast<int>(std::lround(220.0 - 170.0 * share)), static_cast<int>(std::lround(60.0 + 110.0 * share)),
          70};
}

}  // namespace

SelfTestModel::SelfTestModel(QObject* parent) : QAbstractTableModel(parent) {}

int SelfTestModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : depths_; }

int SelfTestModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lengths_s_.size());
}

const SelfTestModel::Cell& SelfTestModel::cell(int row, int column) const {
  return cells_[static_cast<size_t>(column) * static_cast<size_t>(depths_) + static_cast<size_t>(row)];
}

QString SelfTestModel::depthText(int row) const {
  return QStringLiteral("%1 %").arg(std::lround(100.0 * (row + 0.5) / depths_));
}

QVariant SelfTestModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const Cell& box = cell(index.row(), index.column());
  if (role == Qt::TextAlignmentRole) return int(Qt::AlignCenter);
  if (!box) return {};
  switch (role) {
    case Qt::DisplayRole:
      return QStringLiteral("%1/%2").arg(count(*box)).arg(box->planted);
    case Qt::BackgroundRole:
      return heatColour(box->planted == 0 ? 0.0 : static_cast<double>(count(*box)) / box->planted);
    case Qt::ForegroundRole:
      return QColor(Qt::black);
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
      return tr("At %1 of %2: %3 of %4 found")
          .arg(depthText(index.row()), durationText(box->length_s))
          .arg(count(*box))
          .arg(box->planted);
    default:
      return {};
  }
}

QVariant SelfTestModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role != Qt::DisplayRole || section < 0) return {};
  if (orientation == Qt::Vertical) return section < depths_ ? depthText(section) : QVariant();
  return section < columnCount() ? durationText(lengths_s_[static_cast<size_t>(section)]) : QVariant();
}

void SelfTestModel::start(const std::vector<double>& lengths_s, int depths) {
  beginResetModel();
  lengths_s_ = lengths_s;
  depths_ = depths;
  cells_.assign(lengths_s_.size() * static_cast<size_t>(depths_), std::nullopt);
  endResetModel();
}

void SelfTestModel::put(const SelfTestCell& cell) {
  const auto length = std::find(lengths_s_.begin(), lengths_s_.end(), cell.length_s);
  const int row = static_cast<int>(std::floor(cell.depth * depths_));
  if (length == lengths_s_.end() || row < 0 || row >= depths_) return;
  const int column = static_cast<int>(length - lengths_s_.begin());
  cells_[static_cast<size_t>(column) * static_cast<size_t>(depths_) + static_cast<size_t>(row)] = cell;
  emit dataChanged(index(row, column), index(row, column));
}

void SelfTestModel::show(Shown shown) {
  shown_ = shown;
  if (!cells_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int SelfTestModel::filled() const {
  return static_cast<int>(std::count_if(cells_.begin(), cells_.end(), [](const Cell& box) { return box.has_value(); }));
}

int SelfTestModel::planted() const {
  return std::accumulate(cells_.begin(), cells_.end(), 0,
                         [](int sum, const Cell& box) { return sum + (box ? box->planted : 0); });
}

int SelfTestModel::found() const {
  return std::accumulate(cells_.begin(), cells_.end(), 0,
                         [this](int sum, const Cell& box) { return sum + (box ? count(*box) : 0); });
}

QString SelfTestModel::text() const {
  QStringList line = {tr("Depth")};
  for (int column = 0; column < columnCount(); ++column) {
    line << headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
  }
  QString all = line.join(QLatin1Char('\t')) + QLatin1Char('\n');
  for (int row = 0; row < depths_; ++row) {
    line = QStringList{depthText(row)};
    for (int column = 0; column < columnCount(); ++column) {
      line << data(index(row, column), Qt::DisplayRole).toString();
    }
    all += line.join(QLatin1Char('\t')) + QLatin1Char('\n');
  }
  return all;
}

}  // namespace longview::ui
