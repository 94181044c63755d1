// Which film a page is of.
#include "ui/film_page.h"

#include <QLabel>

#include "ui/engine_bridge.h"
#include "ui/format.h"
#include "ui/progress_bar.h"

namespace longview::ui {

FilmPage::FilmPage(EngineBridge* bridge, const QString& video, QWidget* parent)
    : QWidget(parent), bridge_(bridge), video_(video), open_(video), status_(new QLabel(this)) {
  status_->setWordWrap(true);
  status_->setTextFormat(Qt::PlainText);
  status_->hide();
  connect(bridge_, &EngineBridge::jobProgressed, this, [this](quint64 id, double done, double total) {
    if (id == job_) showShare(progress_, total > 0.0 ? done / total : -1.0);
  });
}

FilmPage::~FilmPage() {
  if (job_ != 0) bridge_->cancel(job_);
}

void FilmPage::setVideo(const QString& video) {
  open_ = video;
  if (!kept_) turnToOpen();
  updateEnabled();
  if (video_ == open_ && job_ == 0) return;  // what the last run said stays
  tell({});
}

void FilmPage::turnToOpen() {
  kept_ = false;
  if (video_ == open_) return;
  video_ = open_;
  status_->hide();
  showAnother();
}

void FilmPage::beginWithOpen() {
  turnToOpen();
  kept_ = true;
  status_->hide();
  showShare(progress_, -1.0);
}

void FilmPage::tell(const QString& words) {
  QString film;
  if (video_ != open_) {
    const QString name = upright(video_.section(QLatin1Char('/'), -1));
    film = job_ != 0 ? runningText(name) : tr("This is of %1.").arg(name);
  }
  status_->setText((film + QLatin1Char(' ') + words).trimmed());
  status_->setVisible(!status_->text().isEmpty());
}

}  // namespace longview::ui
