// LibraryPane: the list of videos with a filter, opening by double click or Enter, and what can be done with each.
#ifndef LONGVIEW_UI_LIBRARY_PANE_H_
#define LONGVIEW_UI_LIBRARY_PANE_H_

#include <QWidget>

class QLineEdit;
class QListView;
class QSortFilterProxyModel;

namespace longview::ui {

class LibraryModel;

class LibraryPane : public QWidget {
  Q_OBJECT

 public:
  explicit LibraryPane(LibraryModel* model, QWidget* parent = nullptr);
  // Marks the video that is open.
  void select(const QString& path);

 signals:
  void openRequested(const QString& path);
  void addRequested();
  void readRequested(const QString& path);
  void pauseRequested(const QString& path);
  void removeRequested(const QString& path);

 protected:
  void resizeEvent(class QResizeEvent* event) override;
  // What can be done with a video: the one under the pointer, or by the keyboard the chosen one.
  void contextMenuEvent(class QContextMenuEvent* event) override;

 private:
  QString pathAt(const class QModelIndex& index) const;
  void showMenu(const class QModelIndex& index, const class QPoint& at);

  LibraryModel* model_;
  QSortFilterProxyModel* filter_;
  QLineEdit* words_;
  QListView* list_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_LIBRARY_PANE_H_
