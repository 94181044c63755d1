// What a question asks of time: nothing, when something is, or what comes before or after something. Pure text.
#ifndef LONGVIEW_APP_ENGINE_QUESTION_H_
#define LONGVIEW_APP_ENGINE_QUESTION_H_

#include <string>
#include <string_view>

namespace longview {

struct QuestionPlan {
  enum class Kind {
    kPlain,   // for the decoder, as it stands
    kWhen,    // "When does the dog jump?": answered by the moment that fits `event` best
    kBefore,  // "What came before the dog jumped?": the shot before that moment
    kAfter,
  };
  Kind kind = Kind::kPlain;
  // "What is happening?", "Describe the video.": about nothing in particular, so that captions answer it. Also where
  // only a time is named, and for kBefore and kAfter.
  bool general = false;
  std::string prompt;  // what the decoder is asked
  std::string event;   // the words of the event, or a time; empty for kPlain
};

// Reads an English question. What is put to the decoder is in the words that the bridge was trained on: a time at the
// question's beginning or end ("What is the dog doing at 12:40?") is left out, for it reaches the attention as a number
// by TimeInQuestion, and a question about nothing in particular ("What happens at 12:40?") becomes the caption prompt.
// Everything else is kPlain with its own words.
QuestionPlan PlanQuestion(std::string_view question);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_QUESTION_H_
