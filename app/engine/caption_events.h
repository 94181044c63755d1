// What the engine tells of captioning. Part of events.h.
#ifndef LONGVIEW_APP_ENGINE_CAPTION_EVENTS_H_
#define LONGVIEW_APP_ENGINE_CAPTION_EVENTS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace longview {

// One caption; a still picture is one from 0 to 1 s.
struct CaptionEvent {
  std::string video;
  double start = 0.0;
  double end = 0.0;
  std::string text;  // one line, valid UTF-8
};

struct CaptionReport {
  uint64_t segments = 0;               // captioned
  uint64_t resumed = 0;                // of these, taken over from a run that was stopped
  uint64_t events = 0;                 // after equal neighbours were merged
  uint64_t frames = 0;                 // kept frames of the index
  std::optional<double> read_until_s;  // where only the part of the video up to there was read
  std::string damage;                  // spans of the film that could not be decoded, for people; empty where all could
  double index_s = 0.0;
  double total_s = 0.0;
};

// What captioning is expected to take.
struct CaptionEstimate {
  uint64_t frames = 0;  // kept
  uint64_t captions = 0;
  uint64_t index_bytes = 0;  // that the library grows by
  double seconds = 0.0;
  bool measured = false;  // by earlier work on this machine, not a guess
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_CAPTION_EVENTS_H_
