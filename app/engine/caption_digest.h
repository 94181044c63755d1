// A summary and chapters of a film, made of its captions and nothing else: every word of them was said of a moment of
// it. Pure: no model is asked, equal captions give equal digests.
#ifndef LONGVIEW_APP_ENGINE_CAPTION_DIGEST_H_
#define LONGVIEW_APP_ENGINE_CAPTION_DIGEST_H_

#include <span>
#include <string>
#include <vector>

#include "app/engine/export_subtitles.h"

namespace longview {

// A stretch of a film whose captions speak of the same things. Chapters follow each other from 0 to the film's end.
struct Chapter {
  double start_s = 0.0;
  double end_s = 0.0;
  std::string title;  // one line, at most 80 bytes and an ellipsis, without a full stop
};

struct CaptionDigest {
  std::string summary;  // up to three captions as sentences, in the order of the film; empty without captions
  std::vector<Chapter> chapters;
};

// The summary takes the captions whose words stand for most of the film's time, each for what the ones before it left
// out (maximal coverage, greedily). Chapters grow from single captions: the two neighbours that differ least, short
// ones first, become one until there are at most 2 * sqrt(minutes) + 1, at most 50, none of them below 10 s (unless the
// film is). Words are told apart without case; function words of English do not count. film_end_s <= 0: the end of the
// last caption.
CaptionDigest DigestCaptions(std::span<const Cue> cues, double film_end_s);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_CAPTION_DIGEST_H_
