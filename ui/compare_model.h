// CompareModel: the ways of holding the cache as the rows of a table.
#ifndef LONGVIEW_UI_COMPARE_MODEL_H_
#define LONGVIEW_UI_COMPARE_MODEL_H_

#include <QAbstractTableModel>
#include <vector>

#include "ui/compare_source.h"

namespace longview::ui {

class CompareModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kMode,
    kStore,
    kPerToken,
    kPredicted,
    kMeasured,
    kHours1,
    kHours3,
    kHours10,
    kFirstToken,
    kToken,
    kQuality,
    kColumns
  };

  explicit CompareModel(QObject* parent = nullptr);
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  void clear();
  // Replaces the row of the same way, or adds one.
  void put(const ModeRow& row);
  const std::vector<ModeRow>& rows() const { return rows_; }

 private:
  QString text(const ModeRow& row, int column) const;
  std::vector<ModeRow> rows_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_COMPARE_MODEL_H_
