// What the process uses: memory by what it is for, and when it began.
#ifndef LONGVIEW_APP_ENGINE_MEMORY_REPORT_H_
#define LONGVIEW_APP_ENGINE_MEMORY_REPORT_H_

#include <vector>

#include "app/engine/events.h"
#include "core/base/arena.h"

namespace longview {

// The accounts of `arenas` by label (labels that several have are added up), largest first, and the process's own
// numbers from the system (0 where it does not tell).
MemoryReport MakeMemoryReport(const std::vector<const Arena*>& arenas);

// Bytes that a new allocation may take without others being pushed out to disk: what the system calls available, or
// what a control group leaves of it.
uint64_t AvailableMemory();

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_MEMORY_REPORT_H_
