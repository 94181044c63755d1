// SearchPane: words in, a grid of moments out.
#ifndef LONGVIEW_UI_SEARCH_PANE_H_
#define LONGVIEW_UI_SEARCH_PANE_H_

#include <QAbstractListModel>
#include <QSize>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <vector>

#include "app/engine/events.h"
#include "app/engine/settings.h"
#include "core/base/status.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QListView;
class QPushButton;

namespace longview::ui {

class AppSettings;
class EngineBridge;
class LibraryModel;
class ThumbnailStore;

// The moments of a search with their pictures; where they are of several films, with the names of these.
class MomentModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { kVideo = Qt::UserRole, kStart, kEnd, kScore };
  explicit MomentModel(ThumbnailStore* thumbnails, QObject* parent = nullptr);
  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  // `sampling`: how the films were read that they were found in.
  void set(std::vector<Moment> moments, const SamplingSettings& sampling);
  // A moment's place in the grid, with its picture or before that has come.
  QSize placeSize() const;

 private:
  ThumbnailStore* thumbnails_;
  std::vector<Moment> moments_;
  SamplingSettings sampling_;
  bool several_ = false;
};

class SearchPane : public QWidget {
  Q_OBJECT

 public:
  SearchPane(EngineBridge* bridge, AppSettings* settings, const LibraryModel* library, ThumbnailStore* thumbnails,
             QWidget* parent = nullptr);
  void setVideo(const QString& path);
  void setAllVideos(const QStringList& paths) { all_ = paths; }
  void search(const QString& words);
  void focusWords();
  const MomentModel* moments() const { return model_; }

 signals:
  void momentActivated(const QString& video, double time_s);
  // A search did without these.
  void leftOut(const std::vector<LeftOut>& videos);

 private:
  void finish(Result<SearchResult> result, const SamplingSettings& sampling);
  void updateEnabled();

  EngineBridge* bridge_;
  AppSettings* settings_;
  const LibraryModel* library_;
  MomentModel* model_;
  QLineEdit* words_;
  QPushButton* go_;
  QCheckBox* everywhere_;
  QLabel* status_;
  QListView* grid_;
  QString video_;
  QStringList all_;
  quint64 job_ = 0;
  int searches_ = 0;  // begun; only the latest is shown
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_SEARCH_PANE_H_
