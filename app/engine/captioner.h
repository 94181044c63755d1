// Captions of a session's only video: cutting it into segments, and describing each.
#ifndef LONGVIEW_APP_ENGINE_CAPTIONER_H_
#define LONGVIEW_APP_ENGINE_CAPTIONER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/engine.h"
#include "app/engine/session.h"
#include "core/base/progress.h"

namespace longview {

// A stretch of video that gets one caption. Segments follow each other in time and cover every frame.
struct CaptionSegment {
  double start = 0.0;
  double end = 0.0;            // > start
  std::vector<size_t> frames;  // shown within it, ascending; not empty
  size_t middle = 0;           // the one shown at its middle
};

// kInvalidArgument names the option that is out of range.
Status CheckCaption(const CaptionOptions& options);

// To be raised when the same model and settings give other captions than before.
inline constexpr int kCaptionVersion = 1;

// What the captions depend on beside the index, as one line: how they are told apart in the library.
std::string CaptionVariant(const CaptionOptions& options, std::string_view prompt);

// By shots (every_s 0), long ones cut into equal parts, or every so many seconds. `frames` are those of one video.
std::vector<CaptionSegment> CutSegments(std::span<const SessionFrame> frames, const CaptionOptions& options);

// Whether the bridge's caption head writes the captions: it does where there is one and no prompt of the user's own,
// which the text decoder alone understands.
bool UsesCaptionHead(const Session& session, const CaptionOptions& options);

// What an earlier run already wrote, and where texts are kept as they are made. Both may be empty.
struct CaptionDrafts {
  std::map<size_t, std::string> known;                                      // by the segment's number
  std::function<void(size_t segment, const std::string& text)> on_written;  // from the thread that wrote it
};

// Captions every segment, by the caption head or with `prompt`, that `drafts` does not know, several at once, each on
// one thread (so that a caption does not depend on how many there are); events as Engine::Caption says. progress:
// seconds captioned of the video's length.
Result<CaptionReport> CaptionSegments(const Session& session, const std::vector<CaptionSegment>& segments,
                                      std::string_view prompt, const CaptionOptions& options, int threads,
                                      const CaptionDrafts& drafts, const JobContext& job,
                                      const std::function<Status(const CaptionEvent&)>& on_caption);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_CAPTIONER_H_
