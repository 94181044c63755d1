// A table of keys and what they do.
#include "ui/shortcuts_dialog.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QPushButton>
#include <QRegularExpression>
#include <QTableWidget>
#include <QVBoxLayout>

#include "ui/player_panel.h"

namespace longview::ui {

ShortcutsDialog::ShortcutsDialog(const QList<QAction*>& actions, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Keyboard shortcuts"));
  QList<QPair<QString, QString>> rows;
  for (const QAction* action : actions) {
    if (action->shortcut().isEmpty()) continue;
    // "&Open", and "打开(&O)" as Chinese menus have it.
    static const QRegularExpression mnemonic(QStringLiteral(R"(\(&.\)|&)"));
    rows.append({action->shortcut().toString(QKeySequence::NativeText), action->text().remove(mnemonic)});
  }
  rows.append(PlayerPanel::keys());
  auto* table = new QTableWidget(static_cast<int>(rows.size()), 2, this);
  table->setAccessibleName(windowTitle());
  table->setHorizontalHeaderLabels({tr("Key"), tr("What it does")});
  table->setTabKeyNavigation(false);  // Tab leaves it
  table->verticalHeader()->hide();
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  table->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
  for (int row = 0; row < rows.size(); ++row) {
    table->setItem(row, 0, new QTableWidgetItem(rows[row].first));
    table->setItem(row, 1, new QTableWidgetItem(rows[row].second));
  }
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  buttons->button(QDialogButtonBox::Close)->setText(tr("Close"));
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* column = new QVBoxLayout(this);
  column->addWidget(table, 1);
  column->addWidget(buttons);
  resize(560, 560);
}

}  // namespace longview::ui
