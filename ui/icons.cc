// SVG resources drawn in the text's colour.
#include "ui/icons.h"

#include <QApplication>
#include <QColor>
#include <QFile>
#include <QPainter>
#include <QPalette>
#include <QPixmap>
#include <QSvgRenderer>

namespace longview::ui {
namespace {

QPixmap drawn(QByteArray svg, const QColor& colour, int side) {
  QSvgRenderer renderer(svg.replace("currentColor", colour.name().toLatin1()));
  QPixmap pixmap(side, side);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  renderer.render(&painter);
  return pixmap;
}

}  // namespace

QIcon themedIcon(const QString& name) {
  QFile file(QStringLiteral(":/longview/icons/%1.svg").arg(name));
  if (!file.open(QIODevice::ReadOnly)) return {};
  const QByteArray svg = file.readAll();
  const QPalette palette = QApplication::palette();
  QIcon icon;
  for (const int side : {16, 20, 24, 32, 48, 64}) {
    icon.addPixmap(drawn(svg, palette.color(QPalette::Active, QPalette::ButtonText), side), QIcon::Normal);
    icon.addPixmap(drawn(svg, palette.color(QPalette::Disabled, QPalette::ButtonText), side), QIcon::Disabled);
  }
  return icon;
}

}  // namespace longview::ui
