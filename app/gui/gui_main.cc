// The window's program: reads its options, makes engine, settings and window, runs the event loop.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QApplication>
#include <QCommandLineParser>
#include <QGuiApplication>
#include <QSocketNotifier>
#include <algorithm>
#include <clocale>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "app/engine/engine.h"
#include "core/base/standard_streams.h"
#include "ui/app_settings.h"
#include "ui/engine_bridge.h"
#include "ui/format.h"
#include "ui/language.h"
#include "ui/main_window.h"
#include "ui/theme.h"
#include "ui/workspace.h"

namespace longview::gui {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitNothingDone = 3;

int signal_pipe[2] = {-1, -1};

void OnSignal(int) {
  const char byte = 1;
  (void)!write(signal_pipe[0], &byte, 1);
}

// From the first moment on; a signal that comes before the window closes it as soon as it is there.
void CatchSignals() {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, signal_pipe) != 0) return;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// SIGINT and SIGTERM close the window as a person would: layout and position are kept, jobs are stopped.
void CloseOnSignals(QApplication* app) {
  if (signal_pipe[1] < 0) return;
  auto* notifier = new QSocketNotifier(signal_pipe[1], QSocketNotifier::Read, app);
  QObject::connect(notifier, &QSocketNotifier::activated, app, [app] {
    char byte = 0;
    (void)!read(signal_pipe[1], &byte, 1);
    app->closeAllWindows();
  });
}

struct Options {
  EngineOptions engine;
  QStringList videos;
};

// Absent where the words are wrong; a line on stderr says why.
std::optional<Options> ParseOptions() {
  QCommandLineParser parser;
  parser.setApplicationDescription(QStringLiteral("The window of Longview; started by `longview gui`."));
  const QCommandLineOption library(QStringLiteral("library"), QStringLiteral("Folder of indexes."),
                                   QStringLiteral("DIR"));
  const QCommandLineOption threads(QStringLiteral("threads"), QStringLiteral("Threads to use."), QStringLiteral("N"));
  const QCommandLineOption device(QStringLiteral("device"), QStringLiteral("auto, cpu or cuda[:N]."),
                                  QStringLiteral("DEVICE"));
  parser.addOptions({library, threads, device});
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("VIDEO"), QStringLiteral("Videos to open."),
                               QStringLiteral("[VIDEO...]"));
  parser.process(QCoreApplication::arguments());
  Options options;
  options.engine.library = ui::toPath(parser.value(library));
  if (parser.isSet(device)) options.engine.device = parser.value(device).toStdString();
  if (parser.isSet(threads)) {
    bool ok = false;
    options.engine.threads = parser.value(threads).toInt(&ok);
    if (!ok || options.engine.threads < 0) {
      std::fprintf(stderr, "longview-gui: --threads wants a number\n");
      return std::nullopt;
    }
  }
  options.videos = parser.positionalArguments();
  return options;
}

// Exit codes as the command line's: 0 closed, 2 wrong usage, 3 no display.
int RunWindow(int argc, char** argv) {
  OpenStandardStreams();
  signal(SIGPIPE, SIG_IGN);
  CatchSignals();
  // Words need no display.
  const bool words_only = std::any_of(argv + 1, argv + argc, [](std::string_view word) {
    return word == "--help" || word == "-h" || word == "--help-all" || word == "--version" || word == "-v";
  });
  if (words_only) qputenv("QT_QPA_PLATFORM", "offscreen");
  // Qt would end the program with a core dump.
  if (qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") &&
      qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
    std::fprintf(stderr, "longview: there is no display to open a window on; use ask, search or caption\n");
    return kExitNothingDone;
  }
  QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  QApplication app(argc, argv);
  // Numbers are ours to write, and libmpv wants this: the decimal point stays a point whatever the locale.
  setlocale(LC_NUMERIC, "C");
  QCoreApplication::setApplicationName(QStringLiteral("Longview"));
  QCoreApplication::setApplicationVersion(QStringLiteral(LONGVIEW_VERSION));
  QGuiApplication::setDesktopFileName(QStringLiteral("io.github.longview.Longview"));
  std::optional<Options> options = ParseOptions();
  if (!options) return kExitUsage;

  ui::AppSettings settings;
  ui::rememberSystemPalette();
  ui::applyTheme(settings.theme());
  const ui::SystemThemeFollower follower(&settings);
  ui::applyLanguage(settings.language());
  settings.fill(&options->engine);
  ui::EngineBridge bridge(options->engine);
  CloseOnSignals(&app);

  // Another language is another window: every text of it is made anew, while the engine and its jobs go on.
  std::unique_ptr<ui::MainWindow> window;
  const std::function<void(std::shared_ptr<ui::Workspace>)> build = [&](std::shared_ptr<ui::Workspace> workspace) {
    window = std::make_unique<ui::MainWindow>(&bridge, &settings, std::move(workspace));
    QObject::connect(
        window.get(), &ui::MainWindow::languageChosen, &app,
        [&](const QString& language) {
          std::shared_ptr<ui::Workspace> kept = window->handOver();
          window.reset();
          ui::applyLanguage(language);
          build(std::move(kept));
        },
        Qt::QueuedConnection);
    window->show();
  };
  QApplication::setQuitOnLastWindowClosed(false);
  QObject::connect(
      &app, &QGuiApplication::lastWindowClosed, &app,
      [&] {
        if (window == nullptr || !window->isVisible()) app.quit();
      },
      Qt::QueuedConnection);
  build(nullptr);
  QStringList open = options->videos;
  if (open.isEmpty() && !settings.openVideo().isEmpty()) open = QStringList{settings.openVideo()};
  if (!open.isEmpty()) window->openPaths(open);
  const int code = QApplication::exec();
  window.reset();
  return code;
}

}  // namespace
}  // namespace longview::gui

int main(int argc, char** argv) { return longview::gui::RunWindow(argc, argv); }
