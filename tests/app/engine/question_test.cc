// What a question asks of time.
#include "app/engine/question.h"

#include <gtest/gtest.h>

#include "app/engine/question_words.h"

namespace longview {
namespace {

using Kind = QuestionPlan::Kind;

TEST(Question, WhenQuestionsNameTheirEvent) {
  const std::pair<const char*, const char*> cases[] = {
      {"When does the dog jump?", "the dog jump"},
      {"when is there a red car", "a red car"},
      {"When can we see a Man on a bike?", "a Man on a bike"},
      {"When do you see snow?", "snow"},
      {"At what time does a boy swim ?", "a boy swim"},
      {"At which moment are two dogs running?", "two dogs running"},
      {"What time is the race?", "the race"},
      {"Where in the video is a horse?", "a horse"},
  };
  for (const auto& [question, event] : cases) {
    const QuestionPlan plan = PlanQuestion(question);
    EXPECT_EQ(plan.kind, Kind::kWhen) << question;
    EXPECT_EQ(plan.event, event) << question;
  }
}

TEST(Question, NeighboursNameTheirEventAndAskWhatHappens) {
  const std::tuple<const char*, Kind, const char*> cases[] = {
      {"What came before the dog jumped?", Kind::kBefore, "the dog jumped"},
      {"What happens right after 12:40?", Kind::kAfter, "12:40"},
      {"what do we see just before a man sits down", Kind::kBefore, "a man sits down"},
      {"What follows the race?", Kind::kAfter, "the race"},
      {"What comes next after the goal?", Kind::kAfter, "the goal"},
  };
  for (const auto& [question, kind, event] : cases) {
    const QuestionPlan plan = PlanQuestion(question);
    EXPECT_EQ(plan.kind, kind) << question;
    EXPECT_EQ(plan.event, event) << question;
    EXPECT_EQ(plan.prompt, "What is happening?") << question;
    EXPECT_TRUE(plan.general) << question;
  }
}

TEST(Question, AboutNothingInParticular) {
  for (const char* question :
       {"What is happening?", "What happens in this video?", "what do you see", "What can you see here?",
        "Describe the video.", "Can you describe what is happening in this scene?", "Tell me what happens!",
        "Please summarize the footage", "What is this video about?", "What is in the picture?",
        "Describe this moment."}) {
    const QuestionPlan plan = PlanQuestion(question);
    EXPECT_EQ(plan.kind, Kind::kPlain) << question;
    EXPECT_TRUE(plan.general) << question;
    EXPECT_EQ(plan.prompt, "What is happening?") << question;
  }
  for (const char* question : {"What is the dog doing?", "Describe the dog.", "Who is in the picture?", "What?",
                               "Can you", "Is there a dog in the picture?", "Tell me what the man carries.",
                               "What color is it?", "When does it happen?", "Please", ""}) {
    EXPECT_FALSE(PlanQuestion(question).general) << question;
  }
}

TEST(Question, ATimeAloneIsAskedInTheTrainedWords) {
  for (const char* question : {"What happens at 12:40?", "What is going on at 1:02:03?", "What do you see around 0:30",
                               "What can be seen between 1:00 and 2:00?"}) {
    const QuestionPlan plan = PlanQuestion(question);
    EXPECT_EQ(plan.kind, Kind::kPlain) << question;
    EXPECT_EQ(plan.prompt, "What is happening?") << question;
    EXPECT_TRUE(plan.general) << question;
  }
}

TEST(Question, ATimeIsLeftOutOfThePrompt) {
  const std::pair<const char*, const char*> cases[] = {
      {"What color is the car at 12:40?", "What color is the car?"},
      {"Is there a dog around 1 hour 20 minutes?", "Is there a dog in the picture?"},
      {"At 12:40, what is the man doing?", "What is the man doing?"},
      {"Who is in the picture between 1:00 and 2:00", "Who or what is in the picture?"},
      {"What is the man at the table doing?", "What is the man at the table doing?"},
      {"What is the man doing at 12:40 with the dog?", "What is the man doing at 12:40 with the dog?"},
      {"At 12:40?", "At 12:40?"},
  };
  for (const auto& [question, prompt] : cases) {
    const QuestionPlan plan = PlanQuestion(question);
    EXPECT_EQ(plan.kind, Kind::kPlain) << question;
    EXPECT_EQ(plan.prompt, prompt) << question;
  }
}

TEST(Question, WhatTheBridgeWasTaughtIsAskedInItsWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"Is there a dog?", "Is there a dog in the picture?"},
      {"Is there a dog in this video?", "Is there a dog in the picture?"},
      {"Are there any dogs in the clip?", "Is there a dog in the picture?"},
      {"Are there any people here?", "Is there a person in the picture?"},
      {"is there any snow", "Is there snow in the picture?"},
      {"Are there any red buses?", "Is there a red bus in the picture?"},
      {"Can you see an old man?", "Is there an old man in the picture?"},
      {"Does the video show a boat?", "Is there a boat in the picture?"},
      {"Is the horse in this film?", "Is there a horse in the picture?"},
      {"How many men can you see?", "How many men are there?"},
      {"How many big dogs are in the video?", "How many big dogs are there?"},
      {"Who is in the video?", "Who or what is in the picture?"},
      {"Who's there?", "Who or what is in the picture?"},
      {"Where was this filmed?", "Where is this?"},
      {"Where are we in this clip?", "Where is this?"},
      {"What's the man doing?", "What is the man doing?"},
      {"What colour is the car in the video?", "What color is the car?"},
      {"Is the man wearing a hat in this scene?", "Is the man wearing a hat?"},
  };
  for (const auto& [question, prompt] : cases) EXPECT_EQ(PlanQuestion(question).prompt, prompt) << question;
  for (const char* question :
       {"Is there a dog in the snow?", "Are there any?", "How many?", "How many men carry a bag?", "Who is the man?",
        "Where is the dog?", "Is it Anna?", "Can you see?", "Does the video show", "What does Bob's dog do?"}) {
    EXPECT_EQ(PlanQuestion(question).prompt, question) << question;
  }
}

TEST(Question, WhatIsCountedMustBeThere) {
  EXPECT_EQ(PresenceQuestion("How many dogs are there?"), "Is there a dog in the picture?");
  EXPECT_EQ(PresenceQuestion("How many old women are there?"), "Is there an old woman in the picture?");
  for (const char* question : {"How many are there?", "How many dogs bark?", "How many grass are there?",
                               "What is the dog doing?", "Is there a dog in the picture?", ""}) {
    EXPECT_EQ(PresenceQuestion(question), "") << question;
  }
}

TEST(Question, OnlyWhatIsToBeSeenIsLookedFor) {
  const auto looked_for = [](std::string_view question) {
    std::string left;
    for (const QuestionWord& word : WordsOf(question)) {
      if (!AsksOnly(word.lower)) left += (left.empty() ? "" : " ") + word.lower;
    }
    return left;
  };
  EXPECT_EQ(looked_for("What color is the dog's collar?"), "dog's collar");
  EXPECT_EQ(looked_for("How many men are there?"), "men");
  EXPECT_EQ(looked_for("Is there a bicycle in the picture?"), "bicycle");
  EXPECT_EQ(looked_for("What is the woman doing?"), "woman");
  EXPECT_EQ(looked_for("What is this?"), "");
  for (const char* mark : {"?", ",", ".", ""}) EXPECT_TRUE(AsksOnly(mark)) << mark;
}

TEST(Question, OtherQuestionsStayAsTheyAre) {
  for (const char* question : {"What is the dog doing?", "When you look at the dog, what do you feel?", "When?",
                               "Where is the dog?", "What did the man carry before he sat down?", "", "   ", "When is",
                               "Is there a dog before the man?", "What happens before"}) {
    const QuestionPlan plan = PlanQuestion(question);
    EXPECT_EQ(plan.kind, Kind::kPlain) << question;
    EXPECT_EQ(plan.prompt, question) << question;
  }
}

}  // namespace
}  // namespace longview
