// Light and dark: the application's palette by the person's choice or the system's.
#ifndef LONGVIEW_UI_THEME_H_
#define LONGVIEW_UI_THEME_H_

#include <QPalette>

#include "ui/app_settings.h"

namespace longview::ui {

// What the system had when the program began; call before the first applyTheme.
void rememberSystemPalette();
// Sets the application's style and palette.
void applyTheme(Theme theme);
QPalette lightPalette();
QPalette darkPalette();

}  // namespace longview::ui

#endif  // LONGVIEW_UI_THEME_H_
