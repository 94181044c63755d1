// Sums over the files of a batch.
#include "app/cli/caption_progress.h"

#include <algorithm>

#include "app/engine/time_format.h"

namespace longview::cli {

CaptionProgress::CaptionProgress(std::vector<uint64_t> bytes, double fps) : fps_(fps), tasks_(bytes.size()) {
  for (size_t i = 0; i < bytes.size(); ++i) tasks_[i].weight = static_cast<double>(std::max<uint64_t>(bytes[i], 1));
}

void CaptionProgress::Show(size_t index, const Progress& progress) {
  const std::lock_guard lock(mutex_);
  Task& task = tasks_[index];
  if (progress.total <= 0.0) return;
  const double film_s = progress.total / 2.0;
  task.film_s = film_s;
  task.share = std::clamp(progress.done / progress.total, task.share, 1.0);
  // Beyond the first half nothing is read; a film whose index stood begins there.
  if (progress.done <= film_s) task.read_s = std::max(task.read_s, progress.done);
}

void CaptionProgress::Finish(size_t index, bool worked) {
  const std::lock_guard lock(mutex_);
  Task& task = tasks_[index];
  task.ended = true;
  task.skipped = !worked;
  if (worked) task.share = 1.0;
}

BatchState CaptionProgress::State(double elapsed_s) const {
  const std::lock_guard lock(mutex_);
  BatchState state;
  state.files = tasks_.size();
  double total = 0.0;
  double done = 0.0;
  double read_s = 0.0;
  for (const Task& task : tasks_) {
    if (task.ended) ++state.files_done;
    if (task.skipped) continue;
    total += task.weight;
    done += task.weight * task.share;
    read_s += task.read_s;
    state.hours += task.film_s * task.share / 3600.0;
  }
  if (total > 0.0) state.share = done / total;
  if (state.files > 0 && state.files_done == state.files) state.share = 1.0;
  if (elapsed_s > 0.0) state.frames_per_s = read_s * fps_ / elapsed_s;
  if (state.share >= 0.01) state.eta_s = elapsed_s * (1.0 - state.share) / state.share;
  return state;
}

std::string BatchText(const BatchState& state) {
  return std::to_string(state.files_done) + " of " + std::to_string(state.files) + " files, " +
         FormatNumber(state.hours, state.hours < 10.0 ? 2 : 0) + " h, " + FormatNumber(state.frames_per_s, 1) +
         " frames/s";
}

}  // namespace longview::cli
