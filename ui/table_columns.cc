// Widths taken anew at each change of the model.
#include "ui/table_columns.h"

#include <QAbstractItemModel>
#include <QHeaderView>
#include <QTableView>

namespace longview::ui {

void fitColumns(QTableView* table) {
  QHeaderView* header = table->horizontalHeader();
  header->setSectionResizeMode(QHeaderView::ResizeToContents);
  header->setResizeContentsPrecision(-1);  // rows out of sight count, too
  table->setWordWrap(false);
  const QAbstractItemModel* model = table->model();
  const auto fit = [header] { header->resizeSections(QHeaderView::ResizeToContents); };
  QObject::connect(model, &QAbstractItemModel::rowsInserted, header, fit);
  QObject::connect(model, &QAbstractItemModel::dataChanged, header, fit);
  QObject::connect(model, &QAbstractItemModel::modelReset, header, fit);
}

}  // namespace longview::ui
