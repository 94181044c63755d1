// A bar chart with a logarithmic scale: modes differ by a factor of a hundred.
#include "ui/compare_chart.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/compare_model.h"
#include "ui/format.h"

namespace longview::ui {

CompareChart::CompareChart(const CompareModel* model, QWidget* parent) : QWidget(parent), model_(model) {
  setAccessibleName(tr("Chart of the memory that each mode takes"));
  const auto changed = [this] {
    updateGeometry();
    update();
  };
  connect(model_, &QAbstractItemModel::rowsInserted, this, changed);
  connect(model_, &QAbstractItemModel::dataChanged, this, changed);
  connect(model_, &QAbstractItemModel::modelReset, this, changed);
}

int CompareChart::rowHeight() const { return fontMetrics().height() + 6; }

QSize CompareChart::sizeHint() const {
  return {360, rowHeight() * std::max(1, model_->rowCount()) + fontMetrics().height() + 8};
}

void CompareChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(palette().color(QPalette::WindowText));
  if (model_->rows().empty()) {
    painter.drawText(rect(), Qt::AlignCenter, tr("Nothing was measured yet."));
    return;
  }
  int label = 0;
  uint64_t most = 1;
  uint64_t least = UINT64_MAX;
  const auto name = [](const ModeRow& row) { return row.name + QLatin1Char(' ') + toText(row.cache.store); };
  for (const ModeRow& row : model_->rows()) {
    label = std::max(label, fontMetrics().horizontalAdvance(name(row)));
    most = std::max({most, row.predicted_bytes, row.bytes.value_or(0)});
    least = std::min(least, std::max<uint64_t>(1, std::min(row.predicted_bytes, row.bytes.value_or(UINT64_MAX))));
  }
  const int left = label + 10;
  const int value = fontMetrics().horizontalAdvance(QStringLiteral("000.00 MB")) + 8;
  const double room = std::max(20, width() - left - value);
  const double low = std::log10(static_cast<double>(least)) - 0.3;
  const double span = std::max(0.5, std::log10(static_cast<double>(most)) - low);
  const auto length = [&](uint64_t bytes) {
    return bytes == 0 ? 0.0 : std::max(2.0, (std::log10(static_cast<double>(bytes)) - low) / span * room);
  };
  QColor predicted = palette().color(QPalette::Mid);
  const QColor measured = palette().color(QPalette::Highlight);
  const int height = rowHeight();
  int y = 2;
  for (const ModeRow& row : model_->rows()) {
    const QRectF bar(left, y + 2, length(row.predicted_bytes), height - 5);
    painter.fillRect(bar, predicted);
    if (row.bytes) painter.fillRect(QRectF(left, y + height / 2.0, length(*row.bytes), height / 2.0 - 3), measured);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(2, y, label, height), Qt::AlignVCenter | Qt::AlignLeft, name(row));
    const uint64_t bytes = row.bytes.value_or(row.predicted_bytes);
    painter.drawText(QRectF(left + std::max(bar.width(), length(bytes)) + 4, y, value, height), Qt::AlignVCenter,
                     sizeText(bytes));
    y += height;
  }
  const QString words = tr("grey: predicted · colour: measured · each step of the same length is the same factor");
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(QRect(2, y + 2, width() - 4, fontMetrics().height() + 4), Qt::AlignLeft,
                   fontMetrics().elidedText(words, Qt::ElideRight, width() - 4));
}

}  // namespace longview::ui
