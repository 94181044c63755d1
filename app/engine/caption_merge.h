// Captions in time order, equal neighbours made one. Pure, tested without a model.
#ifndef LONGVIEW_APP_ENGINE_CAPTION_MERGE_H_
#define LONGVIEW_APP_ENGINE_CAPTION_MERGE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "app/engine/events.h"
#include "core/base/status.h"

namespace longview {

// One line of text: control characters and runs of blanks become one blank, the ends are trimmed.
std::string OneLine(std::string_view text);

// Whether two captions say the same: case, punctuation and blanks aside.
bool SameCaption(std::string_view a, std::string_view b);

// Takes captions in time order and passes each on once the next one says something else.
class CaptionMerger {
 public:
  using Sink = std::function<Status(const CaptionEvent&)>;
  explicit CaptionMerger(Sink sink) : sink_(std::move(sink)) {}

  // An empty text is dropped, and the time it stood for stays without a caption.
  Status Add(CaptionEvent event);
  // The last one; call once at the end.
  Status Finish();
  uint64_t events() const { return events_; }

 private:
  Sink sink_;
  std::optional<CaptionEvent> pending_;
  uint64_t events_ = 0;
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_CAPTION_MERGE_H_
