// The words of an English question, and the question in the words that the bridge was trained on. Pure text.
#ifndef LONGVIEW_APP_ENGINE_QUESTION_WORDS_H_
#define LONGVIEW_APP_ENGINE_QUESTION_WORDS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace longview {

struct QuestionWord {
  std::string lower;      // ASCII letters in lower case, a question mark or comma behind it left out
  std::size_t begin = 0;  // in the question
};

// The words between white space, in order.
std::vector<QuestionWord> WordsOf(std::string_view question);

// The same question as tools/train/questions.py would put it, where it has a form for it: "Are there any dogs in this
// video?" becomes "Is there a dog in the picture?", "How many men can you see?" becomes "How many men are there?". A
// small bridge answers the words that it knows better than their paraphrase. Others come back as they are.
std::string InTrainedWords(std::string_view question);

// Whether a word of a question says what is asked ("what", "many", "color", "?") rather than what is to be seen.
bool AsksOnly(std::string_view lower);

// "Is there a dog in the picture?" for "How many dogs are there?": the bridge was never taught to deny a count, so
// whether there is anything to be counted is asked first. Empty for every other question.
std::string PresenceQuestion(std::string_view prompt);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_QUESTION_WORDS_H_
