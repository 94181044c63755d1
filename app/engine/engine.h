// Engine: the one door to Longview. It joins the video reader, the ViT, the latent cache on disk and in memory, the
// bridge and the text decoder; the command line and the window use nothing else.
//
//   auto engine = Engine::Create({});
//   auto answer = engine.value()->Ask({"ride.mp4"}, "What is on the road?", {}, {}, {.on_text = print});
//
// Every failure is a Status whose message names the file and the reason. Nothing here throws or prints.
#ifndef LONGVIEW_APP_ENGINE_ENGINE_H_
#define LONGVIEW_APP_ENGINE_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/bench.h"
#include "app/engine/budget.h"
#include "app/engine/compare.h"
#include "app/engine/engine_options.h"
#include "app/engine/events.h"
#include "app/engine/selftest.h"
#include "app/engine/settings.h"
#include "core/backend/device.h"
#include "core/base/progress.h"
#include "core/base/status.h"

namespace longview {

// Thread-safe: several calls may run at once (they share the threads); calls that index the same video wait for each
// other. The model is loaded by the first call that needs it, each part at most once.
class Engine {
 public:
  // kInvalidArgument or kUnsupported for options that cannot be; touches no file but the folders' names.
  static Result<std::unique_ptr<Engine>> Create(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The folders in use, after the search that EngineOptions describes.
  const std::filesystem::path& library_dir() const;
  const std::filesystem::path& assets_dir() const;
  const std::filesystem::path& models_dir() const;
  int threads() const;
  // Where it computes, and why there.
  const ComputeDevice& device() const;

  // Every part of the model with size and SHA-256 (read in full only where size or mtime changed since it was last
  // checked). Never fails: a part that is missing or damaged says so.
  std::vector<PartStatus> ModelStatus(const JobContext& job = {});
  // Loads every part now. kNotFound, kDamaged: a part and what to do (exit code 3).
  Status LoadModel(const JobContext& job = {});
  // "longview-s <first 12 hex digits of the model hash>"; loads config.json only.
  Result<std::string> ModelName();

  // What a file is, and its index under `sampling`. kNotFound, kInvalidArgument (a folder), kDamaged (empty, cut, not a
  // video), kUnsupported (sound only).
  Result<MediaInfo> Info(const std::filesystem::path& video, const SamplingSettings& sampling = {},
                         const JobContext& job = {});

  // Builds, resumes or finds the index of one video. progress: seconds of video read. A cancelled or killed call keeps
  // what it finished. An index that is stale, cut or damaged is rebuilt. While another process writes the same index
  // the call waits for it, and is kCancelled at a stop. Where the library cannot be written: kIo.
  Result<IndexReport> Index(const std::filesystem::path& video, const IndexOptions& options,
                            const JobContext& job = {});

  // Answers a question about videos (indexing them first where needed), or from the decoder alone where `videos` is
  // empty. Unless they are to be left out (Unread), the first video that fails ends the call; its Status names it.
  // Where the library cannot be written the index is made in memory and a warning given.
  Result<Answer> Ask(const std::vector<std::filesystem::path>& videos, std::string_view question,
                     const AskOptions& options, const JobContext& job = {}, const AskCallbacks& callbacks = {});

  // The moments that fit the words best.
  Result<SearchResult> Search(const std::vector<std::filesystem::path>& videos, std::string_view words,
                              const SearchOptions& options, const JobContext& job = {});

  // Every cache mode side by side on one video (indexing it first where needed): size, speed and what is lost against
  // mha in fp32, measured now; rows that do not fit into memory are predicted (CompareRow::measured). Rows are given to
  // `on_row` as they are done, and stand where the call is cancelled later. progress: rows, the reference being one.
  Result<CompareReport> Compare(const std::filesystem::path& video, const CompareOptions& options,
                                const JobContext& job = {}, const CompareRowSink& on_row = {});
  // The rows of Compare with their predicted sizes only, from what is there of the video's index; loads the bridge
  // alone. kNotFound where there is no index yet.
  Result<std::vector<CompareRow>> PredictCompare(const std::filesystem::path& video, const CompareOptions& options,
                                                 const JobContext& job = {});

  // Measures the machine and the kernels; loads the model, with the ViT in bf16. progress: steps.
  Result<BenchReport> Bench(const JobContext& job = {});

  // SolveBudget for this model; loads config.json only, so that it may follow a slider.
  Result<BudgetPlan> PlanBudget(const BudgetRequest& request);

  // Plants pictures in footage and looks for them again: `video` (indexed first where needed), repeated to each length.
  // Of the planted nothing is put into the library.
  // In options.needles those that are `video` itself are left out; kInvalidArgument where none is left. progress:
  // cells.
  Result<SelfTestReport> SelfTest(const std::filesystem::path& video, SelfTestOptions options,
                                  const JobContext& job = {}, const SelfTestSink& on_cell = {});
  // The needles that the set-up brings: its demo clips, told in a sentence each. Empty where they are not there.
  std::vector<Needle> DemoNeedles() const;

  // Captions one video or still, event by event in time order, each given to `on_caption` once no later segment can
  // still be merged into it. Each segment's text is kept as it is made, so that a call after a kill goes on from there.
  // A Status returned by on_caption ends the call with it. progress: seconds read, then
  // seconds captioned (done counts to 2 x total).
  Result<CaptionReport> Caption(const std::filesystem::path& video, const CaptionOptions& options,
                                const JobContext& job, const std::function<Status(const CaptionEvent&)>& on_caption);

  // What captioning a video of this length would take, by what such work took on this machine before; rough guesses
  // where nothing was captioned yet. Looks at no file but the library.
  CaptionEstimate EstimateCaption(double duration_s, const CaptionOptions& options, bool indexed);

  // Captions made by earlier calls that hold every word of `words` (in any form: "dog runs" finds "dogs running"), best
  // first. Their video is where it was last seen.
  Result<std::vector<CaptionEvent>> FindCaptions(std::string_view words, int limit);

  // The picture shown at `time_s`: the last with time <= it. kOutOfRange before the first or after the end of the last.
  Result<Picture> FrameAt(const std::filesystem::path& video, double time_s, const JobContext& job = {});
  // The same for many times (sorted by the caller for speed), one decoder for all. `on_picture` gets each time asked
  // for and the picture or the reason why there is none; its own Status ends the call.
  Status FramesAt(const std::filesystem::path& video, const std::vector<double>& times_s, const JobContext& job,
                  const std::function<Status(double time_s, Result<Picture> picture)>& on_picture);

  // The frames of an index, in order of time, also while it still grows. kNotFound where there is no index yet.
  Result<std::vector<KeptFrame>> KeptFrames(const std::filesystem::path& video, const SamplingSettings& sampling,
                                            const JobContext& job = {});
  // The thumbnail of the kept frame shown at each time (before the first: the first). Errors as KeptFrames.
  Result<std::vector<FramePicture>> Thumbnails(const std::filesystem::path& video, const SamplingSettings& sampling,
                                               const std::vector<double>& times_s, const JobContext& job = {});
  // Copies the film within `span` into `out` without decoding, from the keyframe before its start on (CopyClip).
  Status CutClip(const std::filesystem::path& video, const TimeSpan& span, const std::filesystem::path& out,
                 const JobContext& job = {});

  // The library's videos and indexes.
  Result<std::vector<LibraryEntry>> LibraryEntries();
  // Reads every index file in full and names the damaged ones; changes nothing.
  Result<std::vector<std::string>> CheckLibrary(const JobContext& job = {});
  // Reads every index file in full: a damaged one is removed and named in the list returned. Never the videos
  // themselves.
  Result<std::vector<std::string>> RepairLibrary(const JobContext& job = {});
  // Removes the least recently used indexes until at most `max_bytes` remain; returns the bytes freed. Those that are
  // being written at the time stay.
  Result<uint64_t> PruneLibrary(uint64_t max_bytes);

  MemoryReport Memory() const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// When this process started, by the system's own record (10 ms steps).
std::chrono::steady_clock::time_point ProcessStart();

// Writes a picture as PNG through a temporary name, replacing `path`. kIo names the path.
Status SavePng(const Picture& picture, const std::filesystem::path& path);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_ENGINE_H_
