// The list of videos.
#include "ui/library_pane.h"

#include <QAction>
#include <QContextMenuEvent>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/library_model.h"

namespace longview::ui {

LibraryPane::LibraryPane(LibraryModel* model, QWidget* parent)
    : QWidget(parent),
      model_(model),
      filter_(new QSortFilterProxyModel(this)),
      words_(new QLineEdit(this)),
      list_(new QListView(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  words_->setPlaceholderText(tr("Find a video"));
  words_->setAccessibleName(tr("Find a video"));
  words_->setClearButtonEnabled(true);
  column->addWidget(words_);
  filter_->setSourceModel(model_);
  filter_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  filter_->setFilterRole(LibraryModel::kPath);
  connect(words_, &QLineEdit::textChanged, filter_, &QSortFilterProxyModel::setFilterFixedString);
  list_->setModel(filter_);
  list_->setObjectName(QStringLiteral("library"));
  list_->setAccessibleName(tr("Videos"));
  list_->setUniformItemSizes(false);
  list_->setTextElideMode(Qt::ElideMiddle);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  column->addWidget(list_, 1);
  connect(list_, &QListView::activated, this, [this](const QModelIndex& index) { emit openRequested(pathAt(index)); });
  auto* add = new QPushButton(tr("Add videos…"), this);
  connect(add, &QPushButton::clicked, this, &LibraryPane::addRequested);
  column->addWidget(add);
}

// In a narrow list the pictures leave the words their room.
void LibraryPane::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const int picture = std::clamp(list_->width() / 3, 24, 72);
  list_->setIconSize(QSize(picture, picture * 2 / 3));
}

QString LibraryPane::pathAt(const QModelIndex& index) const { return index.data(LibraryModel::kPath).toString(); }

void LibraryPane::select(const QString& path) {
  const QModelIndex index = filter_->mapFromSource(model_->index(model_->find(path)));
  if (index.isValid()) list_->setCurrentIndex(index);
}

void LibraryPane::contextMenuEvent(QContextMenuEvent* event) {
  const QWidget* inside = list_->viewport();
  if (event->reason() == QContextMenuEvent::Keyboard) {
    const QModelIndex index = list_->currentIndex();
    if (!list_->hasFocus() || !index.isValid()) return;
    list_->scrollTo(index);
    showMenu(index, inside->mapToGlobal(list_->visualRect(index).center()));
    return;
  }
  const QPoint at = inside->mapFromGlobal(event->globalPos());
  const QModelIndex index = inside->rect().contains(at) ? list_->indexAt(at) : QModelIndex();
  if (index.isValid()) showMenu(index, event->globalPos());
}

void LibraryPane::showMenu(const QModelIndex& index, const QPoint& at) {
  const QString path = pathAt(index);
  const auto state = static_cast<ReadState>(index.data(LibraryModel::kState).toInt());
  const bool running = state == ReadState::kReading || state == ReadState::kWaiting;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction(tr("Open"), this, [this, path] { emit openRequested(path); });
  menu->addAction(tr("Read now"), this, [this, path] { emit readRequested(path); })->setEnabled(!running);
  menu->addAction(tr("Pause reading"), this, [this, path] { emit pauseRequested(path); })->setEnabled(running);
  menu->addSeparator();
  menu->addAction(tr("Remove from the list"), this, [this, path] { emit removeRequested(path); });
  menu->popup(at);
}

}  // namespace longview::ui
