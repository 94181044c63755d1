// Runs the window's tests without a display, or on the one that QT_QPA_PLATFORM names.
#include <gtest/gtest.h>

#include <QApplication>
#include <clocale>

#include "ui/theme.h"

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  QApplication app(argc, argv);
  std::setlocale(LC_NUMERIC, "C");
  longview::ui::rememberSystemPalette();
  longview::ui::applyTheme(longview::ui::Theme::kLight);
  QGuiApplication::setQuitOnLastWindowClosed(false);
  return RUN_ALL_TESTS();
}
