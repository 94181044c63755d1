// The self-test's work: a film in memory with needles in it, and the questions that look for them.
#ifndef LONGVIEW_APP_ENGINE_PLANTER_H_
#define LONGVIEW_APP_ENGINE_PLANTER_H_

#include <memory>
#include <vector>

#include "app/engine/selftest.h"
#include "app/engine/session.h"
#include "core/base/progress.h"
#include "core/base/status.h"

namespace longview {

// `host` is repeated to each length, its time keys turned to their new times; planted[i] is the index of
// options.needles[i], options passes CheckSelfTest. progress: cells done. Errors: kInvalidArgument, kResource where
// memory is short, kCancelled.
Result<SelfTestReport> PlantAndFind(const Session::Parts& parts, const std::shared_ptr<const VideoIndex>& host,
                                    const std::vector<std::shared_ptr<const VideoIndex>>& planted,
                                    const SelfTestOptions& options, const JobContext& job, const SelfTestSink& on_cell);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_PLANTER_H_
