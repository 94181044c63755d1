// Segments and their captions.
#include "app/engine/captioner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <locale>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "app/engine/caption_merge.h"
#include "attention/decoder/chat_prompt.h"
#include "attention/decoder/text_generator.h"

namespace longview {
namespace {

constexpr double kShortest = 0.001;

// The part [start, end) of frames[first, last), which follow each other in time.
CaptionSegment MakeSegment(std::span<const SessionFrame> frames, size_t first, size_t last, double start, double end) {
  CaptionSegment segment;
  segment.start = start;
  segment.end = std::max(end, start + kShortest);
  const double middle = (segment.start + segment.end) / 2.0;
  segment.middle = first;
  for (size_t i = first; i < last; ++i) {
    // The frame shown at a moment is the last that began by then.
    const double shown_until = i + 1 < last ? frames[i + 1].start : std::max(frames[i].end, segment.end);
    if (frames[i].start < segment.end && shown_until > segment.start) segment.frames.push_back(i);
    if (frames[i].start <= middle) segment.middle = i;
  }
  if (segment.frames.empty()) segment.frames.push_back(segment.middle);
  return segment;
}

// One thread's work: the caption of one segment after another.
class SegmentWriter {
 public:
  SegmentWriter(const Session& session, const ChatPrompt& prompt, const KvCache& prefix, const CaptionOptions& options,
                std::stop_token stop)
      : session_(session), prompt_(prompt), prefix_(prefix), options_(options), stop_(std::move(stop)) {}

  Result<std::string> Write(const CaptionSegment& segment) const {
    std::vector<size_t> frames = {segment.middle};
    if (options_.all_frames) frames = segment.frames;
    if (UsesCaptionHead(session_, options_)) {
      return session_.Describe(frames, static_cast<size_t>(options_.max_tokens), stop_);
    }
    LV_ASSIGN_OR_RETURN(const auto cross, session_.Attend(frames, 0.0, nullptr));
    KvCache kv = prefix_.Clone();
    GenerateOptions generate;
    generate.max_tokens = static_cast<size_t>(options_.max_tokens);
    generate.stop = stop_;
    LV_ASSIGN_OR_RETURN(Generation generation, Generate(*session_.text().decoder, *session_.text().tokenizer,
                                                        std::span(prompt_.tokens).subspan(kv.length()), &kv,
                                                        cross.get(), prompt_.cross_from, generate, nullptr));
    if (generation.end == Generation::End::kCancelled) return Cancelled();
    return std::move(generation.text);
  }

 private:
  const Session& session_;
  const ChatPrompt& prompt_;
  const KvCache& prefix_;
  const CaptionOptions& options_;
  std::stop_token stop_;
};

// Hands segments to threads and their texts back in order.
class OrderedTexts {
 public:
  OrderedTexts(size_t count, const std::map<size_t, std::string>& known) : texts_(count) {
    for (const auto& [index, text] : known) {
      if (index < count) texts_[index] = Result<std::string>(text);
    }
  }

  // The next segment for a thread; nothing where all are taken or the work has ended.
  std::optional<size_t> Take() {
    const std::scoped_lock lock(mutex_);
    while (next_ < texts_.size() && texts_[next_]) ++next_;
    if (ended_ || next_ >= texts_.size()) return std::nullopt;
    return next_++;
  }
  void Put(size_t index, Result<std::string> text) {
    const std::scoped_lock lock(mutex_);
    if (!text.ok()) ended_ = true;
    texts_[index] = std::move(text);
    changed_.notify_all();
  }
  // Waits for the text of one segment; a failure elsewhere that keeps it from coming is returned instead.
  Result<std::string> Wait(size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return texts_[index].has_value() || ended_; });
    if (texts_[index]) return std::move(*texts_[index]);
    for (const auto& text : texts_) {
      if (text && !text->ok()) return text->status();
    }
    return Cancelled();
  }
  void End() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Result<std::string>>> texts_;
  size_t next_ = 0;
  bool ended_ = false;
};

}  // namespace

bool UsesCaptionHead(const Session& session, const CaptionOptions& options) {
  return options.prompt.empty() && session.bridge().caption_head.has_value();
}

Status CheckCaption(const CaptionOptions& options) {
  const bool every_fits = options.every_s == 0.0 || (options.every_s >= 0.1 && options.every_s <= 86400.0);
  if (!every_fits) return InvalidArgument("a caption can be made every 0.1 s to 24 h");
  if (!(options.max_segment_s >= 0.0)) return InvalidArgument("the longest segment cannot be negative");
  if (options.max_segment_s > 0.0 && options.max_segment_s < 0.1) {
    return InvalidArgument("the longest segment cannot be below 0.1 s");
  }
  if (options.max_tokens < 1) return InvalidArgument("a caption of at most 0 tokens cannot be given");
  if (options.prompt.size() > 4096) return InvalidArgument("the caption prompt is longer than 4096 bytes");
  return Status::Ok();
}

std::string CaptionVariant(const CaptionOptions& options, std::string_view prompt) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "every=" << options.every_s << " max_segment=" << options.max_segment_s << " tokens=" << options.max_tokens
       << " frames=" << (options.all_frames ? "all" : "middle") << " prompt=" << prompt;
  return text.str();
}

std::vector<CaptionSegment> CutSegments(std::span<const SessionFrame> frames, const CaptionOptions& options) {
  std::vector<CaptionSegment> segments;
  if (frames.empty()) return segments;
  if (options.every_s > 0.0) {
    const double first = frames.front().start;
    const double end = std::max(frames.back().end, first + kShortest);
    for (uint64_t k = 0;; ++k) {
      const double start = first + static_cast<double>(k) * options.every_s;
      // A rest that is nothing but rounding is no segment.
      if (k > 0 && end - start < kShortest) break;
      segments.push_back(MakeSegment(frames, 0, frames.size(), start, std::min(start + options.every_s, end)));
      if (start + options.every_s >= end) break;
    }
    return segments;
  }
  for (size_t first = 0; first < frames.size();) {
    size_t last = first + 1;
    while (last < frames.size() && frames[last].shot == frames[first].shot) ++last;
    const double start = frames[first].start;
    const double end = frames[last - 1].end;
    const double longest = options.max_segment_s;
    const double parts = longest > 0.0 ? std::max(1.0, std::ceil((end - start) / longest - 1e-9)) : 1.0;
    for (double k = 0; k < parts; ++k) {
      const double from = start + (end - start) * k / parts;
      const double to = k + 1 < parts ? start + (end - start) * (k + 1) / parts : end;
      segments.push_back(MakeSegment(frames, first, last, from, to));
    }
    first = last;
  }
  return segments;
}

Result<CaptionReport> CaptionSegments(const Session& session, const std::vector<CaptionSegment>& segments,
                                      std::string_view prompt_text, const CaptionOptions& options, int threads,
                                      const CaptionDrafts& drafts, const JobContext& job,
                                      const std::function<Status(const CaptionEvent&)>& on_caption) {
  LV_ASSIGN_OR_RETURN(const ChatPrompt prompt, MakeQuestionPrompt(*session.text().tokenizer, prompt_text, true));
  // What stands before the last token sees no video: read once, copied for each segment. The caption head needs none.
  KvCache prefix;
  ForwardCall call;
  call.tokens = std::span(prompt.tokens).first(prompt.cross_from);
  call.logits = ForwardCall::Logits::kNone;
  call.stop = job.stop;
  if (!UsesCaptionHead(session, options)) {
    LV_RETURN_IF_ERROR(session.text().decoder->Forward(call, &prefix, nullptr).status());
  }

  OrderedTexts texts(segments.size(), drafts.known);
  std::stop_source stop;
  const std::stop_callback forward(job.stop, [&] { stop.request_stop(); });
  const SegmentWriter writer(session, prompt, prefix, options, stop.get_token());
  const size_t workers = std::min<size_t>(segments.size(), static_cast<size_t>(std::max(1, threads)));
  std::vector<std::jthread> pool;
  for (size_t w = 0; w < workers; ++w) {
    pool.emplace_back([&] {
      while (const std::optional<size_t> index = texts.Take()) {
        Result<std::string> text = writer.Write(segments[*index]);
        if (text.ok() && drafts.on_written) drafts.on_written(*index, *text);
        texts.Put(*index, std::move(text));
      }
    });
  }
  CaptionReport report;
  report.resumed = drafts.known.size();
  CaptionMerger merger(on_caption);
  const std::string& name = session.videos().front().name;
  const double begin = segments.empty() ? 0.0 : segments.front().start;
  const double length = segments.empty() ? 0.0 : segments.back().end - begin;
  Status status;
  for (size_t i = 0; i < segments.size() && status.ok(); ++i) {
    auto text = texts.Wait(i);
    if (!text.ok()) {
      status = text.status();
      break;
    }
    status = merger.Add({name, segments[i].start, segments[i].end, std::move(text).value()});
    ++report.segments;
    if (job.progress) job.progress({segments[i].end - begin, length});
  }
  texts.End();
  stop.request_stop();
  pool.clear();
  // What was captioned before a stop is kept.
  if (status.ok() || status.code() == StatusCode::kCancelled) {
    const Status last = merger.Finish();
    if (status.ok()) status = last;
  }
  LV_RETURN_IF_ERROR(status);
  report.events = merger.events();
  return report;
}

}  // namespace longview
