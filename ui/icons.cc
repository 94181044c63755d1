// SVG resources drawn in the text's colour at the moment of painting, so that an icon follows the palette by itself.
#include "ui/icons.h"

#include <QApplication>
#include <QColor>
#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QPixmap>
#include <QSvgRenderer>
#include <utility>

namespace longview::ui {
namespace {

class ThemedEngine : public QIconEngine {
 public:
  explicit ThemedEngine(QByteArray svg) : svg_(std::move(svg)) {}
  QIconEngine* clone() const override { return new ThemedEngine(svg_); }

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    const auto group = mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active;
    const QColor colour = QApplication::palette().color(group, QPalette::ButtonText);
    QByteArray svg = svg_;
    QSvgRenderer renderer(svg.replace("currentColor", colour.name().toLatin1()));
    renderer.render(painter, rect);
  }

  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap pixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint(&painter, pixmap.rect(), mode, state);
    return pixmap;
  }

 private:
  QByteArray svg_;
};

}  // namespace

QIcon themedIcon(const QString& name) {
  QFile file(QStringLiteral(":/longview/icons/%1.svg").arg(name));
  return file.open(QIODevice::ReadOnly) ? QIcon(new ThemedEngine(file.readAll())) : QIcon();
}

}  // namespace longview::ui
