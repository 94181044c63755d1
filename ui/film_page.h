// FilmPage: a page of the settings on which something is done with the open film, for minutes.
#ifndef LONGVIEW_UI_FILM_PAGE_H_
#define LONGVIEW_UI_FILM_PAGE_H_

#include <QString>
#include <QWidget>

class QLabel;
class QProgressBar;

namespace longview::ui {

class EngineBridge;

class FilmPage : public QWidget {
  Q_OBJECT

 public:
  // Stops what runs.
  ~FilmPage() override;

  // The film that is open now. What is done with another one, or was, stays until this begins anew; the page says so.
  void setVideo(const QString& video);
  bool running() const { return job_ != 0; }

 protected:
  // `video` is the open film; empty where there is none.
  FilmPage(EngineBridge* bridge, const QString& video, QWidget* parent);

  // Before something is done with the open film, whose results are kept from now on.
  void beginWithOpen();
  // `words` in the status line, behind the name of the film where that is not the open one.
  void tell(const QString& words);

  // Something was done with the film that is shown.
  bool kept() const { return kept_; }

  // video_ has become another film: nothing of the one before is shown.
  virtual void showAnother() = 0;
  // By running(), and whether a film is open.
  virtual void updateEnabled() = 0;
  // That something is still done with the film of that name.
  virtual QString runningText(const QString& name) const = 0;

  EngineBridge* bridge_;
  QString video_;  // what is shown here is of this one
  QString open_;
  QLabel* status_;
  QProgressBar* progress_ = nullptr;  // made by the page; shows how far job_ is
  quint64 job_ = 0;

 private:
  void turnToOpen();

  bool kept_ = false;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_FILM_PAGE_H_
