// Bars of jobs that may not know their length.
#ifndef LONGVIEW_UI_PROGRESS_BAR_H_
#define LONGVIEW_UI_PROGRESS_BAR_H_

class QProgressBar;

namespace longview::ui {

// Shows the part of a job that is done, 0 to 1; below 0, where it is not known, the bar only moves.
void showShare(QProgressBar* bar, double share);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_PROGRESS_BAR_H_
