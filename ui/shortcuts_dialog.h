// The list of keys.
#ifndef LONGVIEW_UI_SHORTCUTS_DIALOG_H_
#define LONGVIEW_UI_SHORTCUTS_DIALOG_H_

#include <QDialog>
#include <QList>

class QAction;

namespace longview::ui {

class ShortcutsDialog : public QDialog {
  Q_OBJECT

 public:
  // The keys of the player, and those actions that have a shortcut.
  explicit ShortcutsDialog(const QList<QAction*>& actions, QWidget* parent = nullptr);
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_SHORTCUTS_DIALOG_H_
