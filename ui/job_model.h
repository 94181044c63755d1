// JobModel: the bridge's jobs as rows: what runs, how far it is, what went wrong.
#ifndef LONGVIEW_UI_JOB_MODEL_H_
#define LONGVIEW_UI_JOB_MODEL_H_

#include <QAbstractListModel>
#include <QString>
#include <vector>

namespace longview::ui {

class EngineBridge;

class JobModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { kId = Qt::UserRole, kShare, kState, kFailure };
  enum class State { kRunning, kDone, kFailed, kCancelled };

  explicit JobModel(EngineBridge* bridge, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  // kShare: 0..1, or -1 where it cannot be told. The text names the job and its share.
  QVariant data(const QModelIndex& index, int role) const override;
  QHash<int, QByteArray> roleNames() const override;

  int running() const;
  // Title and share of the job that told last how far it is, else of the first that runs; an empty title where none
  // does.
  QString activeTitle() const;
  double activeShare() const;
  void clearEnded();

 signals:
  void activeChanged();

 private:
  struct Row {
    quint64 id = 0;
    QString title;
    double share = -1.0;
    State state = State::kRunning;
    QString failure;
  };
  void add(quint64 id, const QString& title);
  void progress(quint64 id, double done, double total);
  void end(quint64 id, const QString& failure, bool cancelled);
  int find(quint64 id) const;
  const Row* active() const;

  std::vector<Row> rows_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_JOB_MODEL_H_
