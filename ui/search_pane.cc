// Search and its grid.
#include "ui/search_pane.h"

#include <QCheckBox>
#include <QFontMetrics>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QPixmap>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/app_settings.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"
#include "ui/library_model.h"
#include "ui/thumbnail_store.h"

namespace longview::ui {
namespace {
constexpr int kMoments = 24;
constexpr QSize kPicture(128, 80);

// In the middle of a box of kPicture's shape: views put wide pictures at the top of theirs, against the frame.
QIcon centred(const QImage& image) {
  const QSize box = kPicture.scaled(image.size(), Qt::KeepAspectRatioByExpanding);
  QPixmap pixmap(box);
  pixmap.fill(Qt::transparent);
  QPainter(&pixmap).drawImage((box.width() - image.width()) / 2, (box.height() - image.height()) / 2, image);
  return pixmap;
}
}  // namespace

MomentModel::MomentModel(ThumbnailStore* thumbnails, QObject* parent)
    : QAbstractListModel(parent), thumbnails_(thumbnails) {
  connect(thumbnails_, &ThumbnailStore::arrived, this, [this](const QString& video, double time) {
    for (int row = 0; row < rowCount(); ++row) {
      const Moment& moment = moments_[static_cast<size_t>(row)];
      if (moment.start == time && toText(moment.video) == video) {
        emit dataChanged(index(row), index(row), {Qt::DecorationRole});
      }
    }
  });
}

int MomentModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(moments_.size());
}

QVariant MomentModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Moment& moment = moments_[static_cast<size_t>(index.row())];
  const QString video = toText(moment.video);
  const QString name = upright(video.section(QLatin1Char('/'), -1));
  switch (role) {
    case Qt::DisplayRole:
      return several_ ? timeText(moment.start, 1) + QLatin1Char('\n') + name : timeText(moment.start, 1);
    case Qt::AccessibleTextRole:
    case Qt::ToolTipRole: {
      const QString words = tr("%1 – %2 of %3").arg(timeText(moment.start, 1), timeText(moment.end, 1), name);
      return role == Qt::ToolTipRole ? plainTip(words) : words;
    }
    case Qt::DecorationRole: {
      const QImage image = thumbnails_->get(video, moment.start, sampling_);
      return image.isNull() ? QVariant() : QVariant(centred(image));
    }
    case Qt::SizeHintRole:
      return placeSize();
    case kVideo:
      return video;
    case kStart:
      return moment.start;
    case kEnd:
      return moment.end;
    case kScore:
      return moment.score;
    default:
      return {};
  }
}

void MomentModel::set(std::vector<Moment> moments, const SamplingSettings& sampling) {
  beginResetModel();
  moments_ = std::move(moments);
  several_ = std::any_of(moments_.begin(), moments_.end(),
                         [this](const Moment& moment) { return moment.video != moments_.front().video; });
  sampling_ = sampling;
  endResetModel();
}

QSize MomentModel::placeSize() const {
  return {kPicture.width() + 12,
          kPicture.height() + (several_ ? 2 : 1) * QFontMetrics(QGuiApplication::font()).height() + 10};
}

SearchPane::SearchPane(EngineBridge* bridge, AppSettings* settings, const LibraryModel* library,
                       ThumbnailStore* thumbnails, QWidget* parent)
    : QWidget(parent),
      bridge_(bridge),
      settings_(settings),
      library_(library),
      model_(new MomentModel(thumbnails, this)),
      words_(new QLineEdit(this)),
      go_(new QPushButton(tr("Search"), this)),
      everywhere_(new QCheckBox(tr("In all videos of the library"), this)),
      status_(new QLabel(this)),
      grid_(new QListView(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  auto* row = new QHBoxLayout;
  words_->setObjectName(QStringLiteral("words"));
  words_->setPlaceholderText(tr("Words for what is seen"));
  words_->setAccessibleName(tr("Words to search for"));
  words_->setClearButtonEnabled(true);
  row->addWidget(words_, 1);
  row->addWidget(go_);
  column->addLayout(row);
  column->addWidget(everywhere_);
  status_->setWordWrap(true);
  status_->setTextFormat(Qt::PlainText);
  status_->hide();
  column->addWidget(status_);
  grid_->setObjectName(QStringLiteral("moments"));
  grid_->setAccessibleName(tr("Moments found"));
  grid_->setModel(model_);
  grid_->setViewMode(QListView::IconMode);
  grid_->setResizeMode(QListView::Adjust);
  grid_->setMovement(QListView::Static);
  grid_->setIconSize(kPicture);
  grid_->setTextElideMode(Qt::ElideMiddle);
  column->addWidget(grid_, 1);
  connect(words_, &QLineEdit::returnPressed, go_, &QPushButton::click);
  connect(words_, &QLineEdit::textChanged, this, &SearchPane::updateEnabled);
  connect(everywhere_, &QCheckBox::toggled, this, &SearchPane::updateEnabled);
  connect(go_, &QPushButton::clicked, this, [this] { search(words_->text()); });
  const auto activate = [this](const QModelIndex& index) {
    emit momentActivated(index.data(MomentModel::kVideo).toString(), index.data(MomentModel::kStart).toDouble());
  };
  connect(grid_, &QListView::clicked, this, activate);
  connect(grid_, &QListView::activated, this, activate);
  updateEnabled();
}

void SearchPane::setVideo(const QString& path) {
  video_ = path;
  updateEnabled();
}

void SearchPane::updateEnabled() {
  const bool can = everywhere_->isChecked() ? !all_.isEmpty() : !video_.isEmpty();
  go_->setEnabled(can && !words_->text().trimmed().isEmpty());
}

void SearchPane::focusWords() {
  words_->setFocus(Qt::ShortcutFocusReason);
  words_->selectAll();
}

void SearchPane::search(const QString& words) {
  const QStringList videos = everywhere_->isChecked() ? all_ : QStringList{video_};
  if (words.trimmed().isEmpty() || videos.isEmpty() || videos.front().isEmpty()) return;
  if (job_ != 0) bridge_->cancel(job_);
  SearchOptions options;
  options.sampling = settings_->sampling();
  options.cache = settings_->cache();
  options.limit = kMoments;
  options.unread = videos.size() > 1 ? Unread::kLeaveOut : Unread::kBegin;
  status_->setText(tr("Searching…"));
  status_->show();
  const std::string text = words.trimmed().toStdString();
  job_ = bridge_->start<SearchResult>(
      Lane::kAsk, tr("Searching"), this,
      [paths = toPaths(videos), text, options](const EngineBridge::Call& call) {
        return call.engine.Search(paths, text, options, call.job);
      },
      [this, search = ++searches_, sampling = options.sampling](Result<SearchResult> result) {
        if (search == searches_) finish(std::move(result), sampling);
      });
}

void SearchPane::finish(Result<SearchResult> result, const SamplingSettings& sampling) {
  if (result.ok()) {
    library_->explain(&result->left_out);
    QStringList words;
    if (result->moments.empty()) words << tr("Nothing was found.");
    if (!result->left_out.empty()) words << leftOutText(result->left_out);
    status_->setText(words.join(QLatin1Char(' ')));
    model_->set(std::move(result->moments), sampling);
    emit leftOut(result->left_out);
  } else {
    model_->set({}, sampling);  // the moments of an earlier search would be taken for the answer
    status_->setText(library_->explain(result.status()));
  }
  grid_->setGridSize(model_->placeSize());
  status_->setVisible(!status_->text().isEmpty());
}

}  // namespace longview::ui
