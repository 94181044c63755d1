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
  std::string prompt;  // what the decoder is asked
  std::string event;   // the words of the event, or a time; empty for kPlain
};

// Reads an English question. A question about what happens at a named time ("What happens at 12:40?") keeps its time
// for TimeInQuestion and is put to the decoder in the words that the bridge was trained on; everything else is kPlain
// with its own words.
QuestionPlan PlanQuestion(std::string_view question);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_QUESTION_H_
