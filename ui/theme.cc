// Palettes with contrasts of at least 4.5 between text and ground.
#include "ui/theme.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QEvent>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>
#include <QTimer>
#include <utility>

namespace longview::ui {
namespace {

// Fusion with room around the words of its buttons, edges of fields and boxes that are seen in the dark as well, and a
// focus that is seen everywhere.
class RoomyStyle : public QProxyStyle {
 public:
  RoomyStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}
  QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                         const QWidget* widget) const override {
    const QSize own = QProxyStyle::sizeFromContents(type, option, size, widget);
    if (type == CT_SpinBox) return own + QSize(0, 4);  // fonts of other scripts are higher than the one of the digits
    return type == CT_PushButton ? own + QSize(14, 2) : own;
  }
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    const bool focused = (option->state & State_HasFocus) != 0;
    // Fields and boxes with the focus have Fusion's own edge; lists, tables and what scrolls have none.
    const bool field = (element == PE_IndicatorCheckBox || element == PE_FrameLineEdit) && !focused;
    const bool list = element == PE_Frame && focused && qobject_cast<const QAbstractScrollArea*>(widget) != nullptr;
    if (!field && !list) return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing, false);
    painter->setPen(option->palette.color(list ? QPalette::Highlight : QPalette::PlaceholderText));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    painter->restore();
  }
};

QPalette& systemPalette() {
  static QPalette palette;
  return palette;
}

struct Colours {
  QColor window, base, raised, text, faint, disabled, mid, accent, accent_text, link;
};

QPalette make(const Colours& c) {
  QPalette palette;
  palette.setColor(QPalette::Window, c.window);
  palette.setColor(QPalette::WindowText, c.text);
  palette.setColor(QPalette::Base, c.base);
  palette.setColor(QPalette::AlternateBase, c.window);
  palette.setColor(QPalette::Text, c.text);
  palette.setColor(QPalette::PlaceholderText, c.faint);
  palette.setColor(QPalette::Button, c.raised);
  palette.setColor(QPalette::ButtonText, c.text);
  palette.setColor(QPalette::BrightText, Qt::white);
  palette.setColor(QPalette::ToolTipBase, c.raised);
  palette.setColor(QPalette::ToolTipText, c.text);
  palette.setColor(QPalette::Highlight, c.accent);
  palette.setColor(QPalette::HighlightedText, c.accent_text);
  palette.setColor(QPalette::Link, c.link);
  palette.setColor(QPalette::LinkVisited, c.link);
  palette.setColor(QPalette::Light, c.raised.lighter(120));
  palette.setColor(QPalette::Midlight, c.raised.lighter(110));
  palette.setColor(QPalette::Mid, c.mid);
  palette.setColor(QPalette::Dark, c.mid.darker(130));
  palette.setColor(QPalette::Shadow, Qt::black);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText}) {
    palette.setColor(QPalette::Disabled, role, c.disabled);
  }
  palette.setColor(QPalette::Disabled, QPalette::Highlight, c.mid);
  return palette;
}

}  // namespace

QPalette lightPalette() {
  return make({QColor(0xf3, 0xf4, 0xf6), Qt::white, QColor(0xe9, 0xeb, 0xee), QColor(0x1b, 0x1d, 0x21),
               QColor(0x5f, 0x66, 0x70), QColor(0x8b, 0x91, 0x99), QColor(0xc3, 0xc7, 0xcd), QColor(0x1f, 0x6f, 0x8b),
               Qt::white, QColor(0x0b, 0x57, 0xa4)});
}

QPalette darkPalette() {
  return make({QColor(0x27, 0x2a, 0x2f), QColor(0x18, 0x1a, 0x1d), QColor(0x37, 0x3b, 0x42), QColor(0xe8, 0xea, 0xed),
               QColor(0xa2, 0xa9, 0xb3), QColor(0x7b, 0x82, 0x8c), QColor(0x4a, 0x50, 0x59), QColor(0x3f, 0x9f, 0xc0),
               QColor(0x10, 0x12, 0x14), QColor(0x8a, 0xc2, 0xff)});
}

void rememberSystemPalette() { systemPalette() = QApplication::palette(); }

void applyTheme(Theme theme) {
  // One style everywhere, so that what was looked at is what people get.
  QApplication::setStyle(new RoomyStyle);
  const bool dark =
      theme == Theme::kDark || (theme == Theme::kSystem && systemPalette().color(QPalette::Window).lightness() < 128);
  QApplication::setPalette(dark ? darkPalette() : lightPalette());
}

SystemThemeFollower::SystemThemeFollower(const AppSettings* settings) : settings_(settings) {
  QCoreApplication::instance()->installEventFilter(this);
}

bool SystemThemeFollower::eventFilter(QObject* watched, QEvent* event) {
  // Every window is told of the same change.
  if (event->type() == QEvent::ThemeChange && !std::exchange(due_, true)) {
    QTimer::singleShot(0, this, [this] {
      due_ = false;
      if (settings_->theme() != Theme::kSystem) return;
      QApplication::setPalette(QPalette());  // ours would hide the system's
      rememberSystemPalette();
      applyTheme(Theme::kSystem);
    });
  }
  return QObject::eventFilter(watched, event);
}

}  // namespace longview::ui
