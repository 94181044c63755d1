// SelfTestModel: the self-test as a heat map in a table: a row a depth, a column a length of footage. Every box has its
// colour, its numbers and a sentence for screen readers.
#ifndef LONGVIEW_UI_SELFTEST_MODEL_H_
#define LONGVIEW_UI_SELFTEST_MODEL_H_

#include <QAbstractTableModel>
#include <optional>
#include <vector>

#include "app/engine/selftest.h"

namespace longview::ui {

class SelfTestModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  // What counts as found.
  enum class Shown { kFound, kAttended };

  explicit SelfTestModel(QObject* parent = nullptr);
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  // Empty boxes for these lengths in seconds (ascending) and this many depths.
  void start(const std::vector<double>& lengths_s, int depths);
  // Fills the box of the cell's length and depth; one that belongs to no box is left out.
  void put(const SelfTestCell& cell);
  void show(Shown shown);

  // Boxes that were filled; the needles planted in them and those found, as shown now.
  int filled() const;
  int planted() const;
  int found() const;
  // The table as text: lengths in the first line, then a line a depth, parted by tabs.
  QString text() const;

 private:
  using Cell = std::optional<SelfTestCell>;
  const Cell& cell(int row, int column) const;
  int count(const SelfTestCell& cell) const { return shown_ == Shown::kFound ? cell.found : cell.attended; }
  QString depthText(int row) const;

  std::vector<double> lengths_s_;
  int depths_ = 0;
  std::vector<Cell> cells_;  // by length, then by depth
  Shown shown_ = Shown::kFound;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_SELFTEST_MODEL_H_
