// Planting: a film in memory made of the footage's own index, repeated, with the needles' frames in it.
#include "app/engine/planter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "app/engine/answerer.h"
#include "app/engine/frame_choice.h"
#include "attention/mla/compressor.h"
#include "core/base/clock.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

// One frame at another time: its rows are the source's, but for the time keys, which are turned on by the difference.
class MovedFrame {
 public:
  MovedFrame(const CacheFileFrame& source, const TimeRope& rope, double time_s, double end_s, bool shot_start)
      : frame_(source) {
    std::vector<float> keys(source.keys.size());
    std::transform(source.keys.begin(), source.keys.end(), keys.begin(), BF16ToFloat);
    rope.Apply(time_s - source.time_s, keys.data(), source.tokens, rope.d_r());
    keys_.resize(keys.size());
    std::transform(keys.begin(), keys.end(), keys_.begin(), FloatToBF16);
    frame_.time_s = time_s;
    frame_.end_s = end_s;
    frame_.flags = shot_start ? kFrameShotStart : 0;
    frame_.keys = keys_;
    frame_.thumbnail = {};
  }
  std::span<const CacheFileFrame> frame() const { return {&frame_, 1}; }

 private:
  CacheFileFrame frame_;
  std::vector<uint16_t> keys_;
};

struct Place {
  double start = 0.0;
  size_t needle = 0;
};

class Film {
 public:
  Film(const VideoIndex& host, const TimeRope& rope, const CacheFileHeader& header)
      : host_(host), rope_(rope), frames_(std::make_shared<MemoryFrames>(header)) {}

  // The host again and again until `length_s`, a needle instead of it at each place (in order of time, apart).
  Result<std::shared_ptr<const VideoIndex>> Make(double length_s, const std::vector<Place>& places,
                                                 const std::vector<std::shared_ptr<const VideoIndex>>& needles,
                                                 const std::stop_token& stop) {
    const double period = std::max(1.0, host_.info(host_.frames() - 1).end_s);
    size_t next = 0;
    bool cut = true;  // the next host frame begins a shot
    for (double offset = 0.0; offset < length_s; offset += period) {
      if (stop.stop_requested()) return Cancelled();
      for (size_t i = 0; i < host_.frames(); ++i) {
        const CacheFileFrameInfo& info = host_.info(i);
        const double start = offset + info.time_s;
        if (start >= length_s) break;
        while (next < places.size() && places[next].start <= start) {
          LV_RETURN_IF_ERROR(Plant(places[next++], needles));
          cut = true;
        }
        if (next > 0 && start < places[next - 1].start + kNeedle_s) continue;
        const double limit = next < places.size() ? std::min(length_s, places[next].start) : length_s;
        LV_ASSIGN_OR_RETURN(const CacheFileFrame frame, host_.Frame(i));
        const bool begins = cut || i == 0 || (info.flags & kFrameShotStart) != 0;
        const MovedFrame moved(frame, rope_, start, std::min(offset + info.end_s, limit), begins);
        LV_RETURN_IF_ERROR(frames_->Append(moved.frame()));
        cut = false;
      }
    }
    for (; next < places.size(); ++next) LV_RETURN_IF_ERROR(Plant(places[next], needles));
    IndexTotals totals;
    totals.duration_s = length_s;
    return VideoIndex::FromMemory(frames_, totals);
  }

 private:
  Status Plant(const Place& place, const std::vector<std::shared_ptr<const VideoIndex>>& needles) {
    const VideoIndex& needle = *needles[place.needle];
    LV_ASSIGN_OR_RETURN(const CacheFileFrame frame, needle.Frame(needle.frames() / 2));
    const MovedFrame moved(frame, rope_, place.start, place.start + kNeedle_s, true);
    return frames_->Append(moved.frame());
  }

  const VideoIndex& host_;
  const TimeRope& rope_;
  std::shared_ptr<MemoryFrames> frames_;
};

// The frame that gets the most attention when the caption is asked over everything.
Result<double> MostAttended_s(const Session& session, const ChatPrompt& prompt, ThreadPool* pool,
                              const std::stop_token& stop) {
  std::vector<size_t> frames(session.frames().size());
  std::iota(frames.begin(), frames.end(), size_t{0});
  PromptReading reading;
  LV_ASSIGN_OR_RETURN(const std::vector<double> mass,
                      ScoreByAttention(session, prompt, frames, 0.0, &reading, pool, stop));
  const auto best = std::max_element(mass.begin(), mass.end()) - mass.begin();
  return session.frames()[static_cast<size_t>(best)].start;
}

// Asks for every needle of a film and counts into the cell of its place.
Status AskForAll(const Session& session, const std::vector<Place>& places, const SelfTestOptions& options,
                 std::span<SelfTestCell> cells, const std::vector<size_t>& cell_of, const JobContext& job,
                 ThreadPool* pool) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (job.stop.stop_requested()) return Cancelled();
    const std::string& caption = options.needles[places[i].needle].caption;
    SearchOptions search;
    search.limit = 1;
    LV_ASSIGN_OR_RETURN(const SearchResult found, SearchIn(session, caption, search, {job.stop, {}}, pool));
    LV_ASSIGN_OR_RETURN(const ChatPrompt prompt, MakeQuestionPrompt(*session.text().tokenizer, caption, true));
    LV_ASSIGN_OR_RETURN(const double attended, MostAttended_s(session, prompt, pool, job.stop));
    const auto on_needle = [&](double start) {
      return start >= places[i].start - 0.001 && start < places[i].start + kNeedle_s;
    };
    SelfTestCell& cell = cells[cell_of[i]];
    ++cell.planted;
    cell.found += !found.moments.empty() && on_needle(found.moments.front().start) ? 1 : 0;
    cell.attended += on_needle(attended) ? 1 : 0;
  }
  return Status::Ok();
}

// Turn `turn` of a film of this length: needle n stands at depth (n + turn) mod depths, those of one depth side by
// side.
void Places(double length_s, const SelfTestOptions& options, size_t turn, std::vector<Place>* places,
            std::vector<size_t>* depth_of) {
  const auto depths = static_cast<size_t>(options.depths);
  std::vector<std::vector<size_t>> at(depths);
  for (size_t n = 0; n < options.needles.size(); ++n) at[(n + turn) % depths].push_back(n);
  for (size_t d = 0; d < depths; ++d) {
    const double width = length_s / static_cast<double>(depths);
    for (size_t k = 0; k < at[d].size(); ++k) {
      const double share = (static_cast<double>(k) + 0.5) / static_cast<double>(at[d].size());
      places->push_back({(static_cast<double>(d) + share) * width - kNeedle_s / 2.0, at[d][k]});
      depth_of->push_back(d);
    }
  }
}

}  // namespace

Result<SelfTestReport> PlantAndFind(const Session::Parts& parts, const std::shared_ptr<const VideoIndex>& host,
                                    const std::vector<std::shared_ptr<const VideoIndex>>& planted,
                                    const SelfTestOptions& options, const JobContext& job,
                                    const SelfTestSink& on_cell) {
  const Clock::time_point began = Clock::now();
  const BridgeConfig& bridge = parts.bridge->config;
  LV_ASSIGN_OR_RETURN(const TimeRope rope,
                      TimeRope::Make(bridge.d_r, bridge.min_wavelength_s, bridge.max_wavelength_s));
  LV_ASSIGN_OR_RETURN(const CacheFileFrame first, host->Frame(0));
  CacheFileHeader header;
  header.d_c = static_cast<uint32_t>(host->latent());
  header.d_r = static_cast<uint32_t>(bridge.d_r);
  header.retrieval_width = static_cast<uint32_t>(first.retrieval.size());

  SelfTestReport report;
  report.trained_heads = bridge.retrieval.has_value();
  const auto depths = static_cast<size_t>(options.depths);
  const double steps = static_cast<double>(options.lengths_s.size() * depths);
  for (const double length : options.lengths_s) {
    std::vector<SelfTestCell> cells(depths);
    for (size_t d = 0; d < depths; ++d) cells[d] = {length, (static_cast<double>(d) + 0.5) / options.depths, 0, 0, 0};
    for (size_t turn = 0; turn < depths; ++turn) {
      std::vector<Place> places;
      std::vector<size_t> depth_of;
      Places(length, options, turn, &places, &depth_of);
      LV_ASSIGN_OR_RETURN(auto film, Film(*host, rope, header).Make(length, places, planted, job.stop));
      report.tokens = std::max(report.tokens, film->tokens());
      LV_ASSIGN_OR_RETURN(const auto session,
                          Session::Load(parts, {{"footage", std::move(film)}}, options.cache, job.stop));
      LV_RETURN_IF_ERROR(AskForAll(*session, places, options, cells, depth_of, job, parts.pool));
      const double done = static_cast<double>(report.cells.size() + turn + 1);
      if (job.progress) job.progress({done, steps});
    }
    for (const SelfTestCell& cell : cells) {
      report.cells.push_back(cell);
      if (on_cell) on_cell(cell);
    }
  }
  report.total_s = SecondsSince(began);
  return report;
}

}  // namespace longview
