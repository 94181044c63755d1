// Tables that are filled while they are looked at.
#ifndef LONGVIEW_UI_TABLE_COLUMNS_H_
#define LONGVIEW_UI_TABLE_COLUMNS_H_

class QTableView;

namespace longview::ui {

// Keeps every column as wide as its widest cell and its header, and every cell on one line, also when rows come or
// change later; Qt by itself measures only when the table is laid out as a whole. The view has its model already.
void fitColumns(QTableView* table);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_TABLE_COLUMNS_H_
