// Comparer: measures the cache modes on one video: size, speed, and what each loses against mha in fp32.
#ifndef LONGVIEW_APP_ENGINE_COMPARER_H_
#define LONGVIEW_APP_ENGINE_COMPARER_H_

#include <span>
#include <string_view>

#include "app/engine/compare.h"
#include "app/engine/session.h"
#include "core/base/progress.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"

namespace longview {

// The questions that every comparison asks.
std::span<const std::string_view> CompareQuestions();

// Fills the rows one after the other; see Engine::Compare. `parts.pool` computes; `parts.states` reads the video again.
// progress: rows done, the reference being one. kResource where even the latents that the reference expands do not fit.
Result<CompareReport> CompareModes(const Session::Parts& parts, const SessionVideo& video,
                                   const CompareOptions& options, const JobContext& job, const CompareRowSink& on_row);
// The same rows with their sizes only, nothing being measured: of `parts` only the bridge is used.
Result<std::vector<CompareRow>> PredictModes(const Session::Parts& parts, const SessionVideo& video,
                                             const CompareOptions& options, const JobContext& job);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_COMPARER_H_
