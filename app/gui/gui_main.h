// The window's program: reads its options, makes engine, settings and window, runs the event loop.
#ifndef LONGVIEW_APP_GUI_GUI_MAIN_H_
#define LONGVIEW_APP_GUI_GUI_MAIN_H_

namespace longview::gui {

// Exit codes as the command line's: 0 closed, 2 wrong usage, 3 no display.
int RunWindow(int argc, char** argv);

}  // namespace longview::gui

#endif  // LONGVIEW_APP_GUI_GUI_MAIN_H_
