// The window's language: translations that are built in, chosen by the person or the system.
#ifndef LONGVIEW_UI_LANGUAGE_H_
#define LONGVIEW_UI_LANGUAGE_H_

#include <QString>

namespace longview::ui {

// Installs the translation and the fonts for "en", "zh_CN", or the system's language where `language` is empty;
// replaces one that was installed before. Widgets that exist are told by QEvent::LanguageChange.
void applyLanguage(const QString& language);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_LANGUAGE_H_
