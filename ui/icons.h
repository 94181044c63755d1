// Icons in the colour of the window's text, so that they are seen in light and in dark.
#ifndef LONGVIEW_UI_ICONS_H_
#define LONGVIEW_UI_ICONS_H_

#include <QIcon>
#include <QString>

namespace longview::ui {

// The icon of assets/icons with this name, drawn in the application's colours as they are whenever it is painted.
QIcon themedIcon(const QString& name);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_ICONS_H_
