// Questions over every form of the cache, and indexes that keep less, through the engine on a real clip.
#include <algorithm>
#include <cmath>

#include "attention/mla/cache_mode.h"
#include "tests/app/engine/engine_fixture.h"

namespace longview::test {
namespace {

using EngineForms = EngineFixture;

AskOptions FormOptions(const std::string& mode, const std::string& store, int latent = 128) {
  AskOptions options;
  options.cache.mode = mode;
  options.cache.store = store;
  options.cache.latent = latent;
  options.scope = Scope::kAll;
  options.max_tokens = 4;
  return options;
}

TEST_F(EngineForms, EveryModeAnswersWithTheBytesThatItsFormulaSays) {
  const auto engine = MakeEngine();
  const auto expected = engine->Ask({clip_}, "What is shown?", FormOptions("mla", "fp32"));
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  CacheShape shape;
  shape.layers = 8;  // of the random model
  for (const char* mode : {"mha", "gqa", "mqa", "mla", "states"}) {
    for (const char* store : {"fp32", "int8"}) {
      const auto answer = engine->Ask({clip_}, "What is shown?", FormOptions(mode, store));
      ASSERT_TRUE(answer.ok()) << mode << " " << store << ": " << answer.status().message();
      EXPECT_EQ(answer->cache.mode, mode);
      EXPECT_EQ(answer->cache.tokens, expected->cache.tokens);
      const double predicted = static_cast<double>(
          answer->cache.tokens * CacheBytesPerToken(*ParseCacheMode(mode), *ParseCacheStore(store), shape));
      EXPECT_NEAR(static_cast<double>(answer->cache.bytes), predicted, 0.01 * predicted) << mode << " " << store;
      // What is exact says the same.
      if (std::string(store) == "fp32" && (std::string(mode) == "mha" || std::string(mode) == "mla")) {
        EXPECT_EQ(answer->text, expected->text) << mode;
        EXPECT_NEAR(answer->in_footage, expected->in_footage, 1e-4) << mode;
      }
    }
  }
  const auto layers = engine->Ask({clip_}, "What is shown?", FormOptions("mla_layers", "bf16"));
  ASSERT_TRUE(layers.ok()) << layers.status().message();
  EXPECT_LE(layers->cache.bytes, layers->cache.tokens * (8 * 128 + 32) * 2);
  const auto by_frame = engine->Ask({clip_}, "What is shown?", FormOptions("mla", "bf16", kLatentAuto));
  ASSERT_TRUE(by_frame.ok()) << by_frame.status().message();
  // Never more than every frame at 64; the mean of what frames keep is told.
  EXPECT_LE(by_frame->cache.bytes, by_frame->cache.tokens * (64 + 32) * 2);
  EXPECT_GE(by_frame->cache.latent, 32);
  EXPECT_LE(by_frame->cache.latent, 64);
  AskOptions wrong = FormOptions("gqa", "bf16");
  wrong.cache.groups = 2;  // of nine heads
  EXPECT_EQ(engine->Ask({clip_}, "What is shown?", wrong).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(EngineForms, AnIndexMayKeepLess) {
  const auto engine = MakeEngine();
  IndexOptions lean;
  lean.sampling.latent = 32;
  const auto report = engine->Index(clip_, lean);
  ASSERT_TRUE(report.ok()) << report.status().message();
  // It serves a question that needs no more, and is not made again.
  AskOptions options = FormOptions("mla", "bf16", 32);
  const auto answer = engine->Ask({clip_}, "What is shown?", options);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->time.index_s, 0.0);
  EXPECT_EQ(IndexFiles(folder_ / "library").size(), 1u);
  // One that needs more has its own, whose first numbers are the same.
  const auto whole = engine->Ask({clip_}, "What is shown?", FormOptions("mla", "bf16", 128));
  ASSERT_TRUE(whole.ok());
  EXPECT_GT(whole->time.index_s, 0.0);
  std::vector<std::filesystem::path> files = IndexFiles(folder_ / "library");
  ASSERT_EQ(files.size(), 2u);
  const auto again = engine->Ask({clip_}, "What is shown?", options);
  EXPECT_EQ(again->text, answer->text);
  EXPECT_EQ(again->in_footage, answer->in_footage);
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return std::filesystem::file_size(a) < std::filesystem::file_size(b); });
  const auto saved = std::filesystem::file_size(files[1]) - std::filesystem::file_size(files[0]);
  EXPECT_NEAR(static_cast<double>(saved), static_cast<double>(answer->cache.tokens * 96 * 2), 4096.0);
  // The model has no latents of 48.
  lean.sampling.latent = 48;
  EXPECT_EQ(engine->Index(clip_, lean).status().code(), StatusCode::kInvalidArgument);
  // All of them is what is kept anyway.
  lean.sampling.latent = 128;
  const auto all = engine->Index(clip_, lean);
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all->was_complete);
}

TEST_F(EngineForms, ABudgetKnowsTheModel) {
  const auto engine = MakeEngine();
  BudgetRequest request;
  request.bytes = 900'000'000;
  request.seconds = 12 * 3600.0;
  const auto plan = engine->PlanBudget(request);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->tokens_per_frame, 65);
  EXPECT_EQ(plan->latent, 128);
}

TEST_F(EngineForms, WhatDoesNotFitIsPredicted) {
  const auto engine = MakeEngine();
  std::stop_source stop;
  JobContext job;
  job.stop = stop.get_token();
  CompareOptions options;
  options.memory_bytes = 2'000'000;  // latents fit, keys and values of every head do not
  std::vector<CompareRow> rows;
  (void)engine->Compare(clip_, options, job, [&](const CompareRow& row) {
    rows.push_back(row);
    if (row.mode == "gqa") stop.request_stop();
  });
  ASSERT_GE(rows.size(), 4u);
  for (const CompareRow& row : rows) {
    if (row.mode != "mha") continue;
    EXPECT_FALSE(row.measured);
    EXPECT_FALSE(row.bytes || row.nll || row.kl || row.agreement || row.first_token_s || row.token_s);
    EXPECT_GT(row.predicted_bytes, options.memory_bytes);
    EXPECT_NE(row.note.find("memory"), std::string::npos);
  }
  options.memory_bytes = 1000;
  EXPECT_EQ(engine->Compare(clip_, options).status().code(), StatusCode::kResource);
  options = {};
  options.groups = 2;  // of nine heads
  EXPECT_EQ(engine->Compare(clip_, options).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(EngineForms, AComparisonGivesRowsAsItGoesAndStops) {
  const auto engine = MakeEngine();
  std::stop_source stop;
  std::vector<CompareRow> rows;
  double last = -1.0;
  JobContext job;
  job.stop = stop.get_token();
  job.progress = [&](const Progress& progress) {
    EXPECT_GE(progress.done, last);
    EXPECT_LE(progress.done, progress.total);
    last = progress.done;
  };
  const auto report = engine->Compare(clip_, {}, job, [&](const CompareRow& row) {
    rows.push_back(row);
    if (rows.size() == 2) stop.request_stop();
  });
  EXPECT_EQ(report.status().code(), StatusCode::kCancelled);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].mode, "mha");
  EXPECT_EQ(rows[0].store, "fp32");
  ASSERT_TRUE(rows[0].measured);
  // The reference is the same attention in the same type: only the order of sums differs.
  EXPECT_LT(*rows[0].kl, 1e-5);
  EXPECT_GE(*rows[0].agreement, 0.99);
  EXPECT_EQ(rows[1].store, "bf16");
  EXPECT_LT(*rows[1].bytes, *rows[0].bytes);
}

}  // namespace
}  // namespace longview::test
