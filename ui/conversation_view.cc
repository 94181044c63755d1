// The list of turns and the line to ask in.
#include "ui/conversation_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/conversation.h"
#include "ui/flow_layout.h"
#include "ui/format.h"
#include "ui/icons.h"
#include "ui/turn_widget.h"

namespace longview::ui {
namespace {
constexpr int kLongestQuestion = 2000;  // characters
}  // namespace

ConversationView::ConversationView(Conversation* conversation, ThumbnailStore* thumbnails, QWidget* parent)
    : QWidget(parent), conversation_(conversation), thumbnails_(thumbnails), scroll_(new QScrollArea(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  auto* inside = new QWidget;
  list_ = new QVBoxLayout(inside);
  list_->setContentsMargins(4, 4, 4, 4);
  empty_ = new QLabel(tr("Ask something about the film, or try one of the buttons below. Answers name the moments that "
                         "they come from; click one to go there."),
                      inside);
  empty_->setWordWrap(true);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setForegroundRole(QPalette::PlaceholderText);
  list_->addWidget(empty_);
  list_->addStretch(1);
  scroll_->setWidget(inside);
  scroll_->setWidgetResizable(true);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setAccessibleName(tr("Conversation"));
  column->addWidget(scroll_, 1);
  // What comes at the end is followed for as long as nobody looks further up. The layout knows a new height only later.
  QScrollBar* bar = scroll_->verticalScrollBar();
  connect(bar, &QScrollBar::rangeChanged, this, [this] {
    if (follow_) scrollToEnd();
  });
  connect(bar, &QScrollBar::valueChanged, this, [this, bar](int value) { follow_ = value == bar->maximum(); });
  buildQuestionRow(column);
  connect(conversation_, &Conversation::turnAdded, this, &ConversationView::addTurn);
  connect(conversation_, &Conversation::turnChanged, this, &ConversationView::showTurn);
  connect(conversation_, &Conversation::cleared, this, [this] {
    qDeleteAll(widgets_);
    widgets_.clear();
    empty_->show();
    updateEnabled();
  });
  updateEnabled();
}

void ConversationView::buildQuestionRow(QVBoxLayout* column) {
  auto* range_row = new QHBoxLayout;
  range_text_ = new QLabel(this);
  range_clear_ = new QToolButton(this);
  range_clear_->setText(tr("Whole film"));
  range_clear_->setToolTip(tr("Ask about the whole film again"));
  range_row->addWidget(range_text_, 1);
  range_row->addWidget(range_clear_);
  column->addLayout(range_row);
  connect(range_clear_, &QToolButton::clicked, this, [this] {
    setRange(std::nullopt);
    emit rangeCleared();
  });

  auto* presets = new QWidget(this);
  auto* flow = new FlowLayout(presets, 4);
  const auto preset = [&](const QString& text, const QString& hint, auto act) {
    auto* button = new QPushButton(text, presets);
    button->setToolTip(hint);
    connect(button, &QPushButton::clicked, this, act);
    flow->addWidget(button);
    needs_video_.push_back(button);
  };
  preset(tr("Describe"), tr("Describe what is seen"),
         [this] { askPreset(tr("Describe what is seen."), QStringLiteral("Describe what is seen.")); });
  preset(tr("Chapters"), tr("One line for each part of the film"),
         [this] { conversation_->chapters(tr("Chapters"), video_, duration_); });
  preset(tr("Summary"), tr("Sum up the film"),
         [this] { askPreset(tr("Sum up this film."), QStringLiteral("Summarize this video.")); });
  auto* export_button = new QPushButton(tr("Export…"), presets);
  export_button->setToolTip(tr("Save the conversation or its moments"));
  connect(export_button, &QPushButton::clicked, this, [this, export_button] {
    emit exportRequested(export_button->mapToGlobal(QPoint(0, export_button->height())));
  });
  flow->addWidget(export_button);
  column->addWidget(presets);

  everywhere_ = new QCheckBox(tr("Ask all videos of the library"), this);
  column->addWidget(everywhere_);
  connect(everywhere_, &QCheckBox::toggled, this, &ConversationView::updateEnabled);

  too_long_ =
      new QLabel(tr("A question has at most %1 characters; what was more is left out.").arg(kLongestQuestion), this);
  too_long_->setObjectName(QStringLiteral("tooLong"));
  too_long_->setWordWrap(true);
  column->addWidget(too_long_);

  auto* row = new QHBoxLayout;
  question_ = new QLineEdit(this);
  question_->setObjectName(QStringLiteral("question"));
  question_->setPlaceholderText(tr("Ask about this film"));
  question_->setAccessibleName(tr("Question"));
  question_->setClearButtonEnabled(true);
  question_->setMaxLength(kLongestQuestion);
  send_ = new QPushButton(tr("Ask"), this);
  send_->setObjectName(QStringLiteral("ask"));
  row->addWidget(question_, 1);
  row->addWidget(send_);
  column->addLayout(row);
  connect(question_, &QLineEdit::returnPressed, send_, &QPushButton::click);
  connect(question_, &QLineEdit::textChanged, this, &ConversationView::updateEnabled);
  connect(send_, &QPushButton::clicked, this, [this] { ask(question_->text()); });
  setRange(std::nullopt);
}

void ConversationView::updateEnabled() {
  const bool can = everywhere_->isChecked() ? !all_.isEmpty() : !video_.isEmpty();
  send_->setEnabled(can && !question_->text().trimmed().isEmpty());
  too_long_->setVisible(question_->text().size() >= kLongestQuestion);
  for (QWidget* widget : needs_video_) widget->setEnabled(!video_.isEmpty());
}

void ConversationView::setVideo(const QString& path, double duration_s) {
  video_ = path;
  duration_ = duration_s;
  setRange(std::nullopt);
  updateEnabled();
}

void ConversationView::setRange(const std::optional<TimeSpan>& range) {
  range_ = range;
  range_text_->setVisible(range.has_value());
  range_clear_->setVisible(range.has_value());
  if (!range) return;
  const int decimals = spanDecimals(range->start, range->end);
  range_text_->setText(
      tr("Questions are about %1 – %2.").arg(timeText(range->start, decimals), timeText(range->end, decimals)));
}

void ConversationView::ask(const QString& text) {
  const bool everywhere = everywhere_->isChecked() && !all_.isEmpty();
  if (text.trimmed().isEmpty() || (!everywhere && video_.isEmpty())) return;
  Conversation::Question question;
  question.text = text.trimmed();
  question.videos = everywhere ? all_ : QStringList{video_};
  question.range = everywhere ? std::nullopt : range_;
  question.duration_s = everywhere && all_.size() > 1 ? 0.0 : duration_;
  question_->clear();
  conversation_->ask(question);
}

void ConversationView::askPreset(const QString& shown, const QString& prompt) {
  Conversation::Question question;
  question.text = shown;
  question.prompt = prompt;
  question.videos = QStringList{video_};
  question.range = range_;
  question.duration_s = duration_;
  conversation_->ask(question);
}

void ConversationView::focusQuestion() {
  question_->setFocus(Qt::ShortcutFocusReason);
  question_->selectAll();
}

void ConversationView::addTurn(int turn) {
  empty_->hide();
  auto* widget = new TurnWidget(thumbnails_, scroll_->widget());
  list_->insertWidget(list_->count() - 1, widget);
  widgets_.push_back(widget);
  connect(widget, &TurnWidget::momentActivated, this, &ConversationView::momentActivated);
  connect(widget, &TurnWidget::stopRequested, this, [this, turn] { conversation_->stop(turn); });
  connect(widget, &TurnWidget::retryRequested, this, [this, turn] { conversation_->retry(turn); });
  connect(widget, &TurnWidget::copyRequested, this, [this, turn] { copy(turn); });
  connect(widget, &TurnWidget::showRequested, this, [this, turn] { emit turnShown(turn); });
  showTurn(turn);
  scrollToEnd();
}

void ConversationView::scrollToEnd() {
  follow_ = true;
  scroll_->verticalScrollBar()->setValue(scroll_->verticalScrollBar()->maximum());
}

void ConversationView::showTurn(int turn) {
  if (turn >= static_cast<int>(widgets_.size())) return;
  widgets_[static_cast<size_t>(turn)]->show(conversation_->turns()[static_cast<size_t>(turn)]);
}

void ConversationView::copy(int turn) {
  QApplication::clipboard()->setText(conversation_->turns()[static_cast<size_t>(turn)].text);
}

}  // namespace longview::ui
