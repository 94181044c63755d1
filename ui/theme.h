// Light and dark: the application's palette by the person's choice or the system's.
#ifndef LONGVIEW_UI_THEME_H_
#define LONGVIEW_UI_THEME_H_

#include <QObject>
#include <QPalette>

#include "ui/app_settings.h"

namespace longview::ui {

// What the system had when the program began; call before the first applyTheme.
void rememberSystemPalette();
// Sets the application's style and palette.
void applyTheme(Theme theme);
QPalette lightPalette();
QPalette darkPalette();

// As long as it lives, the application takes the system's colours anew when they change, where the person's choice is
// "as the system". `settings` must outlive it.
class SystemThemeFollower : public QObject {
 public:
  explicit SystemThemeFollower(const AppSettings* settings);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  const AppSettings* settings_;
  bool due_ = false;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_THEME_H_
