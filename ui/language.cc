// Translators of the application.
#include "ui/language.h"

#include <QCoreApplication>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>
#include <memory>

namespace longview::ui {

void applyLanguage(const QString& language) {
  static std::unique_ptr<QTranslator> ours;
  static std::unique_ptr<QTranslator> qts;  // buttons of Qt's own dialogs
  for (auto* translator : {ours.get(), qts.get()}) {
    if (translator != nullptr) QCoreApplication::removeTranslator(translator);
  }
  ours = std::make_unique<QTranslator>();
  qts = std::make_unique<QTranslator>();
  const QLocale locale = language.isEmpty() ? QLocale::system() : QLocale(language);
  if (locale.language() != QLocale::Chinese) return;  // English is in the sources
  if (ours->load(QStringLiteral(":/longview/translations/longview_zh_CN.qm"))) {
    QCoreApplication::installTranslator(ours.get());
  }
  if (qts->load(QStringLiteral("qtbase_zh_CN"), QLibraryInfo::path(QLibraryInfo::TranslationsPath))) {
    QCoreApplication::installTranslator(qts.get());
  }
}

}  // namespace longview::ui
