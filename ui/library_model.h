// LibraryModel: the person's videos as rows: name, length, thumbnail, how far each is read. Knows no engine and no
// display; whoever learns something about a video tells it.
#ifndef LONGVIEW_UI_LIBRARY_MODEL_H_
#define LONGVIEW_UI_LIBRARY_MODEL_H_

#include <QAbstractListModel>
#include <QImage>
#include <QString>
#include <QStringList>
#include <vector>

#include "app/engine/events.h"

namespace longview::ui {

// How far a video is.
enum class ReadState { kUnknown, kWaiting, kReading, kPaused, kPartial, kDone, kFailed };

struct LibraryVideo {
  QString path;  // absolute
  double duration_s = 0.0;
  ReadState state = ReadState::kUnknown;
  double share = 0.0;  // 0..1 of it read
  QString failure;
  QImage thumbnail;
};

class LibraryModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { kPath = Qt::UserRole, kDuration, kState, kShare, kFailure };

  explicit LibraryModel(QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QHash<int, QByteArray> roleNames() const override;

  // Adds a video unless it is there; returns its row.
  int add(const QString& path);
  void remove(const QString& path);
  int find(const QString& path) const;  // -1: not there
  const LibraryVideo* video(const QString& path) const;
  QStringList paths() const;

  void setDuration(const QString& path, double seconds);
  void setState(const QString& path, ReadState state, const QString& failure = {});
  void setShare(const QString& path, double share);
  void setThumbnail(const QString& path, const QImage& image);
  // What was said to be read is not known any more; films that are read or fail at this moment stay as they are.
  void forgetIndexes();
  // Adds what the engine's library knows; a state that is known better already stays.
  void merge(const std::vector<LibraryEntry>& entries);

  // A call that leaves out what is unread knows of no reading that failed; the rows do.
  void explain(std::vector<LeftOut>* videos) const;
  // What a question's or a search's failure is, in the window's language.
  QString explain(const Status& status) const;

  // "Read", "Reading, 40 %" ... in the window's language.
  static QString stateText(const LibraryVideo& video);

 private:
  void changed(int row);

  std::vector<LibraryVideo> videos_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_LIBRARY_MODEL_H_
