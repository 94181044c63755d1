// Translators and fonts of the application.
#include "ui/language.h"

#include <QApplication>
#include <QFont>
#include <QFontDatabase>
#include <QLibraryInfo>
#include <QLocale>
#include <QStringList>
#include <QTranslator>
#include <memory>

namespace longview::ui {

namespace {

// Simplified Chinese in its own shapes and weights: what Qt falls back to by itself may be the Japanese font, or bold.
void useFonts(bool chinese) {
  static const QFont usual = QApplication::font();
  QFont font = usual;
  if (chinese) {
    QStringList families = usual.families();
    for (const char* name : {"Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei"}) {
      const QString family = QString::fromLatin1(name);
      if (QFontDatabase::hasFamily(family)) families << family;
    }
    font.setFamilies(families);
  }
  QApplication::setFont(font);
}

}  // namespace

void applyLanguage(const QString& language) {
  static std::unique_ptr<QTranslator> ours;
  static std::unique_ptr<QTranslator> qts;  // buttons of Qt's own dialogs
  for (auto* translator : {ours.get(), qts.get()}) {
    if (translator != nullptr) QCoreApplication::removeTranslator(translator);
  }
  ours = std::make_unique<QTranslator>();
  qts = std::make_unique<QTranslator>();
  const QLocale locale = language.isEmpty() ? QLocale::system() : QLocale(language);
  const bool chinese = locale.language() == QLocale::Chinese;
  useFonts(chinese);
  if (!chinese) return;  // English is in the sources
  if (ours->load(QStringLiteral(":/longview/translations/longview_zh_CN.qm"))) {
    QCoreApplication::installTranslator(ours.get());
  }
  if (qts->load(QStringLiteral("qtbase_zh_CN"), QLibraryInfo::path(QLibraryInfo::TranslationsPath))) {
    QCoreApplication::installTranslator(qts.get());
  }
}

}  // namespace longview::ui
