// How far a batch is, for people and for machines.
#ifndef LONGVIEW_APP_CLI_CAPTION_PROGRESS_H_
#define LONGVIEW_APP_CLI_CAPTION_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"

namespace longview::cli {

struct BatchState {
  size_t files_done = 0;  // finished, skipped or failed
  size_t files = 0;
  double hours = 0.0;         // of film captioned in this run
  double frames_per_s = 0.0;  // kept frames read
  double share = 0.0;         // of the work, 0..1
  std::optional<double> eta_s;
};

// Files count by their bytes; what was skipped counts neither as done nor as left. Thread-safe.
class CaptionProgress {
 public:
  // `bytes` of each task; `fps` samples a second of film.
  CaptionProgress(std::vector<uint64_t> bytes, double fps);

  // As Engine::Caption tells it: seconds of film, first read, then captioned (done counts to the total).
  void Show(size_t task, const Progress& progress);
  // The task ended; `worked`: it was captioned in this run.
  void Finish(size_t task, bool worked);
  // After `elapsed_s` of work. The time left is told once a hundredth is done.
  BatchState State(double elapsed_s) const;

 private:
  struct Task {
    double weight = 1.0;
    double share = 0.0;
    double film_s = 0.0;  // its length, as far as known
    double read_s = 0.0;  // of it read in this run
    bool ended = false;
    bool skipped = false;
  };
  const double fps_;
  mutable std::mutex mutex_;
  std::vector<Task> tasks_;
};

// "12 of 5000 files, 3.4 h, 18.2 frames/s".
std::string BatchText(const BatchState& state);

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_CAPTION_PROGRESS_H_
