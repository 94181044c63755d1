// Cells of the comparison.
#include "ui/compare_model.h"

#include <QFont>
#include <QLocale>
#include <algorithm>

#include "ui/format.h"

namespace longview::ui {
namespace {

QString milliseconds(const std::optional<double>& seconds) {
  return seconds ? QStringLiteral("%1 ms").arg(QLocale::c().toString(*seconds * 1000.0, 'f', *seconds < 0.1 ? 1 : 0))
                 : QStringLiteral("–");
}

bool sameWay(const ModeRow& a, const ModeRow& b) { return a.name == b.name && a.cache.store == b.cache.store; }

}  // namespace

CompareModel::CompareModel(QObject* parent) : QAbstractTableModel(parent) {}

int CompareModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int CompareModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString CompareModel::text(const ModeRow& row, int column) const {
  switch (column) {
    case kMode:
      return row.name;
    case kStore:
      return toText(row.cache.store);
    case kPerToken:
      return tr("%1 B").arg(QLocale::c().toString(row.bytes_per_token, 'f', 0));
    case kPredicted:
      return sizeText(row.predicted_bytes);
    case kMeasured:
      return row.bytes ? sizeText(*row.bytes) : QStringLiteral("–");
    case kHours1:
    case kHours3:
    case kHours10:
      return sizeText(row.hours_bytes[static_cast<size_t>(column - kHours1)]);
    case kFirstToken:
      return milliseconds(row.first_token_s);
    case kToken:
      return milliseconds(row.token_s);
    case kQuality:
      return row.agreement ? QStringLiteral("%1 %").arg(QLocale::c().toString(*row.agreement * 100.0, 'f', 1))
                           : QStringLiteral("–");
    default:
      return {};
  }
}

QVariant CompareModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const ModeRow& row = rows_[static_cast<size_t>(index.row())];
  if (role == Qt::DisplayRole) return text(row, index.column());
  if (role == Qt::ToolTipRole) return row.note;
  if (role == Qt::TextAlignmentRole && index.column() >= kPerToken) return int(Qt::AlignRight | Qt::AlignVCenter);
  if (role == Qt::FontRole && row.best) {
    QFont font;
    font.setBold(true);
    return font;
  }
  return {};
}

QVariant CompareModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole && section == kQuality) {
    return tr("Share of words that are the same as with exact attention");
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kMode:
      return tr("Mode");
    case kStore:
      return tr("Numbers");
    case kPerToken:
      return tr("Per token");
    case kPredicted:
      return tr("Predicted");
    case kMeasured:
      return tr("Measured");
    case kHours1:
    case kHours3:
    case kHours10:
      return tr("%1 h").arg(kModeHours[static_cast<size_t>(section - kHours1)]);
    case kFirstToken:
      return tr("First word");
    case kToken:
      return tr("Each word");
    case kQuality:
      return tr("Same words");
    default:
      return {};
  }
}

void CompareModel::clear() {
  beginResetModel();
  rows_.clear();
  endResetModel();
}

void CompareModel::put(const ModeRow& row) {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const ModeRow& other) { return sameWay(row, other); });
  if (found != rows_.end()) {
    *found = row;
    const int number = static_cast<int>(found - rows_.begin());
    emit dataChanged(index(number, 0), index(number, kColumns - 1));
    return;
  }
  beginInsertRows({}, rowCount(), rowCount());
  rows_.push_back(row);
  endInsertRows();
}

}  // namespace longview::ui
