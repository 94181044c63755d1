// One turn on the screen.
#include "ui/turn_widget.h"

#include <QFocusEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/conversation_export.h"
#include "ui/flow_layout.h"
#include "ui/format.h"
#include "ui/icons.h"
#include "ui/thumbnail_store.h"

namespace longview::ui {
namespace {

constexpr QSize kThumbnail(112, 63);

// Tab comes to a link of the text at once rather than to the label first, where no focus would be seen.
class LinkLabel : public QLabel {
 public:
  using QLabel::QLabel;

 protected:
  void focusInEvent(QFocusEvent* event) override {
    QLabel::focusInEvent(event);
    if (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason) {
      (void)focusNextPrevChild(event->reason() == Qt::TabFocusReason);
    }
  }
};

QLabel* textLabel(QWidget* parent) {
  auto* label = new LinkLabel(parent);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextBrowserInteraction);
  QSizePolicy policy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  label->setSizePolicy(policy);
  return label;
}

QToolButton* action(QWidget* parent, const QString& icon, const QString& text) {
  auto* button = new QToolButton(parent);
  button->setIcon(themedIcon(icon));
  button->setText(text);
  button->setToolTip(text);
  button->setAccessibleName(text);
  button->setAutoRaise(true);
  button->setFocusPolicy(Qt::StrongFocus);
  return button;
}

// The film that the times of an answer are of: where several were asked, the one that the best moment is in.
QString videoOf(const Turn& turn) {
  if (turn.videos.size() > 1 && !turn.answer.evidence.empty()) return toText(turn.answer.evidence.front().video);
  return turn.videos.isEmpty() ? QString() : turn.videos.front();
}

QString asHtml(const QString& plain) { return plain.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")); }

}  // namespace

TurnWidget::TurnWidget(ThumbnailStore* thumbnails, QWidget* parent)
    : QFrame(parent),
      thumbnails_(thumbnails),
      question_(textLabel(this)),
      answer_(textLabel(this)),
      note_(textLabel(this)),
      evidence_(new QWidget(this)),
      evidence_row_(new FlowLayout(evidence_, 4)),
      stop_(action(this, QStringLiteral("stop"), tr("Stop"))),
      retry_(action(this, QStringLiteral("retry"), tr("Ask again"))),
      copy_(action(this, QStringLiteral("copy"), tr("Copy the answer"))) {
  setFrameShape(QFrame::StyledPanel);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 6, 8, 6);
  column->setSpacing(4);
  auto* top = new QHBoxLayout;
  top->addWidget(question_, 1);
  top->addWidget(stop_);
  top->addWidget(retry_);
  top->addWidget(copy_);
  column->addLayout(top);
  column->addWidget(answer_);
  column->addWidget(evidence_);
  column->addWidget(note_);
  QFont bold = question_->font();
  bold.setBold(true);
  question_->setFont(bold);
  question_->setTextFormat(Qt::PlainText);
  answer_->setTextFormat(Qt::RichText);
  note_->setTextFormat(Qt::PlainText);
  note_->setForegroundRole(QPalette::PlaceholderText);
  for (QLabel* label : {question_, note_}) label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  connect(answer_, &QLabel::linkActivated, this, [this](const QString& address) {
    if (const auto link = parseMomentUrl(QUrl(address))) emit momentActivated(link->video, link->time_s);
  });
  connect(stop_, &QToolButton::clicked, this, &TurnWidget::stopRequested);
  connect(retry_, &QToolButton::clicked, this, &TurnWidget::retryRequested);
  connect(copy_, &QToolButton::clicked, this, &TurnWidget::copyRequested);
  connect(thumbnails_, &ThumbnailStore::arrived, this, [this](const QString& video, double time) {
    for (auto* button : evidence_->findChildren<QToolButton*>()) {
      if (button->property("video").toString() == video && button->property("time").toDouble() == time) {
        placeThumbnail(button, thumbnails_->get(video, time, sampling_));
      }
    }
  });
}

void TurnWidget::show(const Turn& turn) {
  question_->setText(turn.question);
  QString html = linkTimes(turn.text, videoOf(turn));
  if (turn.state == Turn::State::kFailed) {
    html = QStringLiteral("<b>%1</b> %2").arg(tr("No answer:").toHtmlEscaped(), asHtml(turn.failure));
  } else if (turn.state == Turn::State::kStopped) {
    html += QStringLiteral(" <i>%1</i>").arg(tr("(stopped)").toHtmlEscaped());
  } else if (turn.running() && turn.text.isEmpty()) {
    html = QStringLiteral("<i>%1</i>").arg(turn.stage.toHtmlEscaped());
  }
  answer_->setText(html);
  // The keyboard stops here only where there are links; a screen reader is told what is written, once it is whole.
  answer_->setFocusPolicy(html.contains(QLatin1String("<a ")) ? Qt::StrongFocus : Qt::ClickFocus);
  question_->setAccessibleName(tr("Question: %1").arg(turn.question));
  if (!turn.running()) answer_->setAccessibleName(tr("Answer: %1").arg(turn.failure + turn.text));
  stop_->setVisible(turn.running());
  retry_->setVisible(!turn.running());
  copy_->setVisible(!turn.text.isEmpty());
  const QString words = note(turn);
  note_->setText(words);
  note_->setVisible(!words.isEmpty());
  showEvidence(turn);
}

QString TurnWidget::note(const Turn& turn) {
  if (turn.state != Turn::State::kDone || turn.kind != Turn::Kind::kQuestion) return {};
  QStringList parts;
  if (turn.range) {
    const int decimals = spanDecimals(turn.range->start, turn.range->end);
    parts << tr("asked about %1 – %2").arg(timeText(turn.range->start, decimals), timeText(turn.range->end, decimals));
  }
  const double read = turn.answer.read_until_s;
  if (turn.duration_s > 0.0 && read < turn.duration_s - 1.0) {
    parts << tr("only the first %1 of %2 were read so far").arg(timeText(read), timeText(turn.duration_s));
  }
  if (turn.answer.cache.bytes > 0) {
    parts << tr("from %1 of cache (%2, %3) in %4")
                 .arg(sizeText(turn.answer.cache.bytes), toText(turn.answer.cache.mode),
                      toText(turn.answer.cache.store), durationText(turn.answer.time.total_s));
  }
  const QString line = parts.join(QStringLiteral(" · "));
  return turn.answer.left_out.empty() ? line : leftOutText(turn.answer.left_out) + QLatin1Char('\n') + line;
}

void TurnWidget::showEvidence(const Turn& turn) {
  const std::vector<Evidence> evidence = momentsOf(turn);
  const bool same = SamplingText(turn.sampling) == SamplingText(sampling_) &&
                    std::equal(evidence.begin(), evidence.end(), shown_.begin(), shown_.end(),
                               [](const Evidence& a, const Evidence& b) {
                                 return a.video == b.video && a.start == b.start && a.weight == b.weight;
                               });
  evidence_->setVisible(!evidence.empty());
  if (same) return;
  shown_ = evidence;
  sampling_ = turn.sampling;
  qDeleteAll(evidence_->findChildren<QToolButton*>(Qt::FindDirectChildrenOnly));
  for (const Evidence& moment : evidence) {
    const QString video = toText(moment.video);
    auto* button = new QToolButton(evidence_);
    button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
    button->setIconSize(kThumbnail);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::StrongFocus);
    const QString name = upright(video.section(QLatin1Char('/'), -1));
    QString below = tr("%1 · %2 %").arg(timeText(moment.start, 1), QString::number(qRound(moment.weight * 100.0)));
    if (turn.videos.size() > 1) {
      QString shown = fontMetrics().elidedText(name, Qt::ElideMiddle, kThumbnail.width());
      below += QLatin1Char('\n') + shown.replace(QLatin1Char('&'), QLatin1String("&&"));  // no mnemonic
    }
    button->setText(below);
    const QString words = tr("Go to %1 of %2").arg(timeText(moment.start, 1), name);
    button->setToolTip(plainTip(words));
    button->setAccessibleName(words);
    button->setProperty("video", video);
    button->setProperty("time", moment.start);
    placeThumbnail(button, thumbnails_->get(video, moment.start, sampling_));
    connect(button, &QToolButton::clicked, this, [this, video, time = moment.start] {
      emit showRequested();
      emit momentActivated(video, time);
    });
    evidence_row_->addWidget(button);
    button->show();
  }
  updateGeometry();
}

void TurnWidget::placeThumbnail(QToolButton* button, const QImage& image) {
  QPixmap pixmap(kThumbnail * devicePixelRatioF());
  pixmap.fill(palette().color(QPalette::Mid));
  if (!image.isNull()) {
    pixmap = QPixmap::fromImage(image.scaled(pixmap.size(), Qt::KeepAspectRatio, Qt::SmoothTransformation));
  }
  pixmap.setDevicePixelRatio(devicePixelRatioF());
  button->setIcon(QIcon(pixmap));
}

void TurnWidget::mousePressEvent(QMouseEvent* event) {
  emit showRequested();
  QFrame::mousePressEvent(event);
}

}  // namespace longview::ui
