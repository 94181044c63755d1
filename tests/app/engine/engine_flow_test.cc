// The engine end to end on a real clip with real parts and a random bridge: shapes and determinism, not sense.
#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>

#include "tests/app/engine/engine_fixture.h"

namespace longview {
namespace {

namespace fs = std::filesystem;
using EngineFlow = test::EngineFixture;

void ExpectSound(const Answer& answer, const fs::path& clip) {
  EXPECT_GE(answer.in_footage, 0.0);
  EXPECT_LE(answer.in_footage, 1.0);
  EXPECT_LE(answer.evidence.size(), 8u);
  EXPECT_FALSE(answer.evidence.empty());
  for (size_t i = 0; i < answer.evidence.size(); ++i) {
    const Evidence& e = answer.evidence[i];
    EXPECT_EQ(e.video, clip.string());
    EXPECT_GE(e.start, 0.0);
    EXPECT_GT(e.end, e.start);
    EXPECT_LE(e.end, 18.001);
    // Never more than one shot: cuts at 6 and 12.
    EXPECT_EQ(std::floor(e.start / 6.0 + 1e-6), std::ceil(e.end / 6.0 - 1e-6) - 1.0) << e.start << " " << e.end;
    EXPECT_GT(e.weight, 0.0);
    EXPECT_LE(e.weight, 1.0);
    if (i > 0) {
      EXPECT_LE(e.weight, answer.evidence[i - 1].weight);
    }
  }
}

TEST_F(EngineFlow, AsksAboutAClipTwiceTheSame) {
  auto engine = MakeEngine();
  AskOptions options;
  options.max_tokens = 12;
  std::string streamed;
  AskCallbacks callbacks;
  callbacks.on_text = [&](std::string_view text) { streamed += text; };
  const auto first = engine->Ask({clip_}, "What is shown?", options, {}, callbacks);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->text, streamed);
  ExpectSound(*first, clip_);
  EXPECT_GT(first->time.index_s, 0.0);
  EXPECT_GT(first->time.first_token_s, 0.0);
  EXPECT_GE(first->time.total_s, first->time.index_s + first->time.first_token_s);
  EXPECT_EQ(first->cache.mode, "mla");
  EXPECT_GT(first->cache.tokens, 18u * 65u - 1u);
  EXPECT_NEAR(static_cast<double>(first->cache.bytes), 320.0 * static_cast<double>(first->cache.tokens),
              0.01 * 320.0 * static_cast<double>(first->cache.tokens));
  EXPECT_NEAR(first->read_until_s, 18.0, 0.2);

  auto fresh = MakeEngine();
  const auto second = fresh->Ask({clip_}, "What is shown?", options);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second->text, first->text);
  EXPECT_EQ(second->time.index_s, 0.0);
  ASSERT_EQ(second->evidence.size(), first->evidence.size());
  for (size_t i = 0; i < first->evidence.size(); ++i) {
    EXPECT_EQ(second->evidence[i].weight, first->evidence[i].weight);
  }

  // Another form of the cache, everything attended to, and a span of time.
  options.scope = Scope::kAll;
  options.cache.store = "int8";
  options.cache.latent = 64;
  const auto all = fresh->Ask({clip_}, "What is shown?", options);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->cache.latent, 64);
  EXPECT_LT(all->cache.bytes, first->cache.bytes);
  options.at = TimeSpan{7.0, 9.0};
  const auto within = fresh->Ask({clip_}, "What is shown?", options);
  ASSERT_TRUE(within.ok()) << within.status().message();
  for (const Evidence& e : within->evidence) {
    EXPECT_GE(e.start, 6.0);
    EXPECT_LE(e.end, 10.01);
  }
  options.at = TimeSpan{100.0, 200.0};
  EXPECT_EQ(fresh->Ask({clip_}, "What is shown?", options).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(fresh->Ask({clip_}, "  ", {}).status().code(), StatusCode::kInvalidArgument);

  // A named time decides where to look.
  options = {};
  options.max_tokens = 4;
  options.focus_frames = 2;
  const auto named = fresh->Ask({clip_}, "What happens at 0:15?", options);
  ASSERT_TRUE(named.ok()) << named.status().message();
  for (const Evidence& e : named->evidence) {
    EXPECT_GE(e.start, 13.0);
    EXPECT_LE(e.end, 17.1);
  }
}

// A time that no picture has is said to be none, not answered from the last one.
TEST_F(EngineFlow, ATimeBeyondTheEndIsNotAnswered) {
  test::TinyModelOptions model;
  model.caption = true;
  test::WriteTinyModel(folder_ / "model", parts_, model);
  const fs::path still = folder_ / "still.png";
  test::RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=200x100:d=1", "-frames:v", "1", still.string()});
  const fs::path brief = folder_ / "brief.mp4";
  test::MakeThreeShots(brief, 3);
  auto engine = MakeEngine();
  AskOptions options;
  options.max_tokens = 2;
  for (const char* question : {"Who is in the picture at 0:50?", "What happens at 0:50?", "What happens after 0:50?",
                               "What is the dog doing between 0:50 and 1:10?"}) {
    const Status beyond = engine->Ask({clip_, brief}, question, options).status();
    EXPECT_EQ(beyond.code(), StatusCode::kOutOfRange) << question;
    EXPECT_NE(beyond.message().find("0:50"), std::string::npos) << beyond.message();
    EXPECT_NE(beyond.message().find("0:18"), std::string::npos) << beyond.message();
  }
  // Of several videos one that goes so far is enough; a film's length as people round it is its end.
  EXPECT_TRUE(engine->Ask({brief, clip_}, "Who is in the picture at 0:15?", options).ok());
  EXPECT_TRUE(engine->Ask({clip_}, "Who is in the picture at 0:19?", options).ok());
  EXPECT_EQ(engine->Ask({brief}, "Who is in the picture at 0:15?", options).status().code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(engine->Ask({still}, "Does the clock show 12:40?", options).ok());
  options.at = TimeSpan{0.0, 3.0};
  EXPECT_TRUE(engine->Ask({clip_}, "Does the clock show 12:40?", options).ok());
}

// The damage inside a film is told once, with its path once.
TEST_F(EngineFlow, DamageIsNamedByItsPathOnce) {
  std::string bytes = test::ReadBytes(clip_);
  for (size_t at = bytes.size() * 2 / 5; at < bytes.size() / 2; ++at) bytes[at] = static_cast<char>(at * 7919 >> 5);
  const fs::path damaged = folder_.Write("damaged.mp4", bytes);
  ASSERT_TRUE(MakeEngine()->Index(damaged, {}).ok());
  ASSERT_TRUE(Warned(damaged.string() + ": could not be decoded"));
  for (const std::string& warning : warnings_) {
    EXPECT_EQ(warning.find("damaged.mp4"), warning.rfind("damaged.mp4")) << warning;
  }
}

TEST_F(EngineFlow, SeveralVideosAreAskedTogetherAndNamed) {
  const fs::path still = folder_ / "still.png";
  test::RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=200x100:d=1", "-frames:v", "1", still.string()});
  auto engine = MakeEngine();
  AskOptions options;
  options.max_tokens = 4;
  options.scope = Scope::kAll;
  const auto answer = engine->Ask({still, clip_}, "What is shown?", options);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  for (const Evidence& e : answer->evidence) {
    EXPECT_TRUE(e.video == still.string() || e.video == clip_.string());
    EXPECT_GT(e.end, e.start);
  }
  const auto found = engine->Search({still, clip_}, "a pattern", {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_FALSE(found->trained_heads);
  ASSERT_FALSE(found->moments.empty());
  for (size_t i = 0; i < found->moments.size(); ++i) {
    const Moment& m = found->moments[i];
    EXPECT_GT(m.end, m.start);
    EXPECT_EQ(std::floor(m.start / 6.0 + 1e-6), std::ceil(m.end / 6.0 - 1e-6) - 1.0) << m.start << " " << m.end;
    if (i > 0) {
      EXPECT_LE(m.score, found->moments[i - 1].score);
    }
  }
}

TEST_F(EngineFlow, TrainedHeadsRankASearch) {
  test::TinyModelOptions model;
  model.retrieval = true;
  test::WriteTinyModel(folder_ / "model", parts_, model);
  auto engine = MakeEngine();
  SearchOptions options;
  options.limit = 3;
  const auto found = engine->Search({clip_}, "a pattern", options);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->trained_heads);
  EXPECT_EQ(found->moments.size(), 3u);
  for (const Moment& m : found->moments) EXPECT_LE(std::abs(m.score), 1.0001);
  AskOptions ask;
  ask.max_tokens = 4;
  ask.focus_frames = 3;
  const auto answer = engine->Ask({clip_}, "What is shown?", ask);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ExpectSound(*answer, clip_);
}

TEST_F(EngineFlow, TheCaptionHeadReadsTheBestOfASearchAgain) {
  test::TinyModelOptions model;
  model.retrieval = true;
  const auto search = [&](const char* library) {
    test::WriteTinyModel(folder_ / "model", parts_, model);
    SearchOptions options;
    options.limit = 100;
    auto found = MakeEngine(library)->Search({clip_}, "a car on rent", options);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found->moments;
  };
  const std::vector<Moment> plain = search("plain");
  model.caption = true;
  const std::vector<Moment> read = search("read");
  ASSERT_EQ(read.size(), plain.size());
  bool differs = false;
  for (size_t i = 0; i < read.size(); ++i) {
    if (i > 0) {
      EXPECT_LE(read[i].score, read[i - 1].score);
    }
    differs |= read[i].score != plain[i].score;
    // Nothing is found better than its vector says.
    EXPECT_LE(read[i].score, 1.0001);
  }
  EXPECT_TRUE(differs);
}

TEST_F(EngineFlow, CaptionsFollowShotsAndTheClock) {
  auto engine = MakeEngine();
  for (const double every : {0.0, 5.0}) {
    CaptionOptions options;
    options.every_s = every;
    options.max_tokens = 8;
    std::vector<CaptionEvent> events;
    const auto collect = [&](const CaptionEvent& event) {
      events.push_back(event);
      return Status::Ok();
    };
    double done = 0.0, total = 0.0;
    JobContext job;
    job.progress = [&](const Progress& p) {
      EXPECT_GE(p.done, done - 1e-9);
      done = p.done;
      total = p.total;
    };
    const auto report = engine->Caption(clip_, options, job, collect);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->segments, every == 0.0 ? 3u : 4u);
    EXPECT_EQ(report->events, events.size());
    EXPECT_NEAR(done, total, 1e-6);
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_GT(events[i].end, events[i].start);
      EXPECT_EQ(events[i].text.find('\n'), std::string::npos);
      EXPECT_EQ(events[i].video, clip_.string());
      if (i > 0) {
        EXPECT_GE(events[i].start, events[i - 1].end - 1e-9);
      }
    }
    // They can be found again by their first word, if they have one that is a word.
    const auto words = engine->FindCaptions(events.empty() ? "" : events[0].text, 100);
    ASSERT_TRUE(words.ok()) << words.status().message();
    for (const CaptionEvent& hit : *words) EXPECT_EQ(hit.video, clip_.string());
    // The same again with other threads: captions do not depend on them.
    EngineOptions one = Options(folder_ / "library");
    one.threads = 1;
    std::vector<CaptionEvent> again;
    auto single = Engine::Create(one);
    ASSERT_TRUE(single.ok());
    ASSERT_TRUE((*single)
                    ->Caption(clip_, options, {},
                              [&](const CaptionEvent& event) {
                                again.push_back(event);
                                return Status::Ok();
                              })
                    .ok());
    ASSERT_EQ(again.size(), events.size());
    for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(again[i].text, events[i].text);
    // A sink that fails ends it with its own reason.
    const auto failed = engine->Caption(clip_, options, {}, [](const CaptionEvent&) { return IoError("disk full"); });
    if (!events.empty()) {
      EXPECT_EQ(failed.status().message(), "disk full");
    }
  }
  // Nothing of the film is held: one of many hours needs no more memory.
  for (const MemoryReport::Item& item : engine->Memory().items) EXPECT_NE(item.label, "frame cache") << item.bytes;
  const fs::path still = folder_ / "still.png";
  test::RunFfmpeg({"-f", "lavfi", "-i", "testsrc2=s=200x100:d=1", "-frames:v", "1", still.string()});
  std::vector<CaptionEvent> events;
  const auto report = engine->Caption(still, {}, {}, [&](const CaptionEvent& event) {
    events.push_back(event);
    return Status::Ok();
  });
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].start, 0.0);
  EXPECT_EQ(events[0].end, 1.0);
}

TEST_F(EngineFlow, TheCaptionHeadDescribesAndAnswersGeneralQuestions) {
  test::TinyModelOptions model;
  model.caption = true;
  test::WriteTinyModel(folder_ / "model", parts_, model);
  auto engine = MakeEngine();
  CaptionOptions captions;
  std::vector<CaptionEvent> events;
  const auto collect = [&](const CaptionEvent& event) {
    events.push_back(event);
    return Status::Ok();
  };
  const auto report = engine->Caption(clip_, captions, {}, collect);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->segments, 3u);
  ASSERT_FALSE(events.empty());
  std::string joined;
  for (const CaptionEvent& event : events) {
    EXPECT_FALSE(event.text.empty());
    EXPECT_NE(event.text.front(), ' ');
    // A sentence is said once.
    if (joined.find(event.text) == std::string::npos) joined += (joined.empty() ? "" : " ") + event.text;
  }
  // The same sentences answer what asks about nothing in particular; each shot is a moment to go to.
  std::string streamed;
  AskCallbacks callbacks;
  callbacks.on_text = [&](std::string_view text) { streamed += text; };
  const auto answer = engine->Ask({clip_}, "What happens in this video?", {}, {}, callbacks);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->text, streamed);
  if (events.size() == 3) {
    EXPECT_EQ(answer->text, joined);
  }
  ASSERT_EQ(answer->evidence.size(), 3u);
  EXPECT_EQ(answer->in_footage, 1.0);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(answer->evidence[i].start, 6.0 * static_cast<double>(i), 0.1);
    EXPECT_NEAR(answer->evidence[i].end, 6.0 * static_cast<double>(i + 1), 0.2);
  }
  // A time that is named is the one described.
  const auto at = engine->Ask({clip_}, "What happens at 0:15?", {});
  ASSERT_TRUE(at.ok()) << at.status().message();
  ASSERT_EQ(at->evidence.size(), 1u);
  EXPECT_LE(at->evidence[0].start, 15.0);
  EXPECT_GE(at->evidence[0].end, 15.0);
  AskOptions span;
  span.at = TimeSpan{100.0, 200.0};
  EXPECT_EQ(engine->Ask({clip_}, "What happens?", span).status().code(), StatusCode::kOutOfRange);
  // Words of the user's own go to the text decoder, and are kept apart from the head's captions.
  std::vector<CaptionEvent> own;
  captions.prompt = "Describe this moment.";
  captions.max_tokens = 8;
  ASSERT_TRUE(engine
                  ->Caption(clip_, captions, {},
                            [&](const CaptionEvent& event) {
                              own.push_back(event);
                              return Status::Ok();
                            })
                  .ok());
  ASSERT_FALSE(own.empty());
  EXPECT_NE(own[0].text, events[0].text);
}

TEST_F(EngineFlow, TellsAboutFilesFramesAndTheLibrary) {
  auto engine = MakeEngine();
  const auto before = engine->Info(clip_);
  ASSERT_TRUE(before.ok()) << before.status().message();
  EXPECT_NEAR(before->duration_s, 18.0, 0.11);
  EXPECT_EQ(before->width, 320);
  EXPECT_EQ(before->height, 240);
  EXPECT_EQ(before->video_codec, "h264");
  EXPECT_FALSE(before->audio);
  EXPECT_FALSE(before->index);
  const auto report = engine->Index(clip_, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->was_complete);
  EXPECT_TRUE(engine->Index(clip_, {})->was_complete);
  const auto after = engine->Info(clip_);
  ASSERT_TRUE(after.ok() && after->index);
  EXPECT_EQ(after->index->state, IndexState::kComplete);
  EXPECT_EQ(after->index->frames, report->index.frames);

  const auto picture = engine->FrameAt(clip_, 7.05);
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_NEAR(picture->time_s, 7.0, 0.06);
  EXPECT_EQ(picture->width, 320);
  EXPECT_TRUE(SavePng(*picture, folder_ / "at.png").ok());
  EXPECT_EQ(test::ReadBytes(folder_ / "at.png").substr(1, 3), "PNG");
  EXPECT_EQ(engine->FrameAt(clip_, 99.0).status().code(), StatusCode::kOutOfRange);

  auto entries = engine->LibraryEntries();
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->at(0).last_path, clip_.string());
  EXPECT_EQ(entries->at(0).index.state, IndexState::kComplete);
  EXPECT_TRUE(engine->RepairLibrary()->empty());
  const auto freed = engine->PruneLibrary(0);
  ASSERT_TRUE(freed.ok());
  EXPECT_EQ(*freed, report->index.bytes);
  EXPECT_TRUE(engine->LibraryEntries()->empty());
  EXPECT_TRUE(test::IndexFiles(folder_ / "library").empty());

  const MemoryReport memory = engine->Memory();
  EXPECT_GT(memory.peak_resident_bytes, memory.resident_bytes / 2);
}

TEST_F(EngineFlow, APlainQuestionIsAnsweredByTheDecoderAlone) {
  auto engine = MakeEngine();
  AskOptions options;
  options.max_tokens = 24;
  const auto answer = engine->Ask({}, "What is the capital of France?", options);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_NE(answer->text.find("Paris"), std::string::npos) << answer->text;
  EXPECT_TRUE(answer->evidence.empty());
  EXPECT_EQ(answer->cache.tokens, 0u);
}

}  // namespace
}  // namespace longview
