// The engine's measurements: cache modes compared, the machine measured, needles planted, budgets planned.
#include <algorithm>
#include <system_error>
#include <utility>

#include "app/engine/comparer.h"
#include "app/engine/engine_impl.h"
#include "app/engine/fingerprint.h"
#include "app/engine/memory_report.h"
#include "app/engine/planter.h"
#include "core/base/clock.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

// The frame tokens of one video, read from it once and kept for the other storage types where they fit.
class StatesMemory {
 public:
  StatesMemory(std::shared_ptr<const VideoIndex> index, size_t d_v, std::function<Status(const StatesSink&)> read)
      : index_(std::move(index)), d_v_(d_v), read_(std::move(read)) {}

  Status Read(const StatesSink& sink) {
    if (!kept_.empty()) {
      const float* states = kept_.data();
      for (size_t i = 0; i < index_->frames(); ++i) {
        LV_RETURN_IF_ERROR(sink(i, states));
        states += index_->info(i).tokens * d_v_;
      }
      return Status::Ok();
    }
    constexpr uint64_t kMostBytes = uint64_t{1} << 30;
    const uint64_t bytes = index_->tokens() * d_v_ * sizeof(float);
    const bool keep = bytes <= std::min(kMostBytes, AvailableMemory() / 4);
    if (keep) kept_.reserve(index_->tokens() * d_v_);
    const Status status = read_([&](size_t frame, const float* states) {
      if (keep) kept_.insert(kept_.end(), states, states + index_->info(frame).tokens * d_v_);
      return sink(frame, states);
    });
    if (!status.ok()) kept_.clear();
    return status;
  }

 private:
  std::shared_ptr<const VideoIndex> index_;
  size_t d_v_;
  std::function<Status(const StatesSink&)> read_;
  std::vector<float> kept_;
};

}  // namespace

Result<CompareReport> Engine::Compare(const fs::path& video, const CompareOptions& options, const JobContext& job,
                                      const CompareRowSink& on_row) {
  const Clock::time_point called = Clock::now();
  LV_RETURN_IF_ERROR(CheckSampling(options.sampling));
  LV_RETURN_IF_ERROR(StampFile(video).status());
  {
    // The memory of an earlier question's cache counts for the rows.
    const std::scoped_lock lock(impl_->session_mutex);
    impl_->session.reset();
  }
  LV_ASSIGN_OR_RETURN(Session::Parts parts, impl_->Parts(job));
  IndexRequest request;
  request.video = video;
  request.sampling = options.sampling;
  request.sampling.latent = 0;
  request.memory_fallback = true;
  LV_ASSIGN_OR_RETURN(const IndexOutcome outcome, impl_->indexer.Ensure(request, {job.stop, {}}));
  StatesMemory states(outcome.index, parts.bridge->config.d_v, [&](const StatesSink& sink) {
    return impl_->indexer.EncodeStates(video, request.sampling, *outcome.index, {job.stop, {}}, sink);
  });
  parts.states = [&states](size_t, const StatesSink& sink) { return states.Read(sink); };
  LV_ASSIGN_OR_RETURN(CompareReport report, CompareModes(parts, {video.string(), outcome.index}, options, job, on_row));
  report.index_s = outcome.report.seconds;
  report.total_s = SecondsSince(called);
  return report;
}

Result<std::vector<CompareRow>> Engine::PredictCompare(const fs::path& video, const CompareOptions& options,
                                                       const JobContext& job) {
  LV_ASSIGN_OR_RETURN(const auto index, impl_->indexer.Find(video, options.sampling, job));
  if (index->frames() == 0) {
    return NotFound(video.string() + ": nothing of it was read yet").About(video.string(), StatusReason::kNotReadYet);
  }
  Session::Parts parts;
  LV_ASSIGN_OR_RETURN(parts.bridge, impl_->model.Bridge(job));
  return PredictModes(parts, {video.string(), index}, options, job);
}

Result<BenchReport> Engine::Bench(const JobContext& job) {
  BenchParts parts;
  LV_ASSIGN_OR_RETURN(parts.vit, impl_->model.LoadVit(WeightStore::kBF16, job));
  LV_ASSIGN_OR_RETURN(parts.vit_int8, impl_->model.LoadVit(WeightStore::kI8, job));
  LV_ASSIGN_OR_RETURN(const TextPart text, impl_->model.Text(job));
  parts.decoder = text.decoder;
  return RunBench(parts, &impl_->pool, job);
}

Result<SelfTestReport> Engine::SelfTest(const fs::path& video, SelfTestOptions options, const JobContext& job,
                                        const SelfTestSink& on_cell) {
  LV_RETURN_IF_ERROR(CheckSampling(options.sampling));
  LV_RETURN_IF_ERROR(CheckCache(options.cache));
  LV_RETURN_IF_ERROR(StampFile(video).status());
  std::error_code unknown;  // where files cannot be compared they are different
  std::erase_if(options.needles, [&](const Needle& needle) { return fs::equivalent(needle.file, video, unknown); });
  LV_RETURN_IF_ERROR(CheckSelfTest(options));
  LV_ASSIGN_OR_RETURN(const Session::Parts parts, impl_->Parts(job));
  const auto index = [&](const fs::path& file, bool keep) {
    IndexRequest request;
    request.video = file;
    request.sampling = options.sampling;
    request.memory_fallback = true;
    request.keep = keep;
    return impl_->indexer.Ensure(request, {job.stop, {}});
  };
  LV_ASSIGN_OR_RETURN(const IndexOutcome host, index(video, true));
  std::vector<std::shared_ptr<const VideoIndex>> planted;
  for (const Needle& needle : options.needles) {
    LV_ASSIGN_OR_RETURN(const IndexOutcome outcome, index(needle.file, false));
    planted.push_back(outcome.index);
  }
  return PlantAndFind(parts, host.index, planted, options, job, on_cell);
}

std::vector<Needle> Engine::DemoNeedles() const {
  const fs::path demo = impl_->folders.parts / "demo";
  std::vector<Needle> needles = {{demo / "bikes.mp4", "people riding bicycles on a street"},
                                 {demo / "bigbuckbunny.mp4", "a rabbit in the grass"},
                                 {demo / "carphone.mp4", "a man in a suit in a car"}};
  std::error_code unknown;
  std::erase_if(needles, [&](const Needle& needle) { return !fs::is_regular_file(needle.file, unknown); });
  return needles;
}

Result<BudgetPlan> Engine::PlanBudget(const BudgetRequest& request) {
  LV_ASSIGN_OR_RETURN(const auto config, impl_->model.Config());
  BudgetModel model;
  model.tokens_per_frame = static_cast<int>(config->bridge_shape.tokens_per_frame());
  model.d_r = static_cast<int>(config->bridge_shape.d_r);
  model.cuts.assign(config->bridge_shape.cuts.begin(), config->bridge_shape.cuts.end());
  return SolveBudget(request, model);
}

}  // namespace longview
