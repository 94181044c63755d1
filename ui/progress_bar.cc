// A share as Qt's whole numbers.
#include "ui/progress_bar.h"

#include <QProgressBar>

namespace longview::ui {

void showShare(QProgressBar* bar, double share) {
  bar->setRange(0, share < 0.0 ? 0 : 1000);
  if (share >= 0.0) bar->setValue(static_cast<int>(share * 1000.0));
}

}  // namespace longview::ui
