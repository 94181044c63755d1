// The engine's comparison and budget as the memory page wants them.
#ifndef LONGVIEW_UI_ENGINE_COMPARE_H_
#define LONGVIEW_UI_ENGINE_COMPARE_H_

#include <memory>

#include "ui/compare_source.h"

namespace longview::ui {

// Never null.
std::shared_ptr<CompareSource> makeEngineCompare();

}  // namespace longview::ui

#endif  // LONGVIEW_UI_ENGINE_COMPARE_H_
