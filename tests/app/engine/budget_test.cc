// The budget solver: what fits, what is kept of a person's own choices, and what is refused.
#include "app/engine/budget.h"

#include <gtest/gtest.h>

namespace longview {
namespace {

constexpr double kHour = 3600.0;

BudgetRequest Request(double gigabytes, double hours) {
  BudgetRequest request;
  request.bytes = static_cast<uint64_t>(gigabytes * 1e9);
  request.seconds = hours * kHour;
  return request;
}

void ExpectKept(const BudgetPlan& plan, const BudgetRequest& request) {
  EXPECT_LE(plan.bytes, request.bytes);
  EXPECT_LE(static_cast<double>(plan.max_frames) * plan.tokens_per_frame * plan.bytes_per_token,
            static_cast<double>(request.bytes));
  EXPECT_NEAR(static_cast<double>(plan.bytes),
              plan.fps * request.seconds * plan.tokens_per_frame * plan.bytes_per_token, 1.0);
}

TEST(Budget, TheBestLatentsWhereTheyFitAndMorePicturesWhereThereIsRoom) {
  // 12 h at one picture a second in full: 43,200 x 65 x 320 = 0.899 GB.
  const BudgetRequest request = Request(4, 12);
  const auto plan = SolveBudget(request, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->latent, 128);
  EXPECT_EQ(plan->store, "bf16");
  EXPECT_EQ(plan->tokens_per_frame, 65);
  EXPECT_DOUBLE_EQ(plan->bytes_per_token, 320.0);
  EXPECT_DOUBLE_EQ(plan->fps, 4.0);
  ExpectKept(*plan, request);
  EXPECT_NE(plan->text.find("65 tokens each (fixed by the model)"), std::string::npos) << plan->text;
  const auto tight = SolveBudget(Request(0.9, 12), {});
  EXPECT_EQ(tight->latent, 128);
  EXPECT_DOUBLE_EQ(tight->fps, 1.0);
}

TEST(Budget, SmallerFormsThenFewerPictures) {
  // The forms of 12 h at one a second, in GB: 0.899, 0.550 (int8), 0.539, 0.371, 0.359, 0.281.
  const struct {
    double gigabytes;
    int latent;
    const char* store;
    double fps;
  } cases[] = {{0.6, 128, "int8", 1.09}, {0.54, 64, "bf16", 1.0},  {0.38, 64, "int8", 1.02},   {0.36, 32, "bf16", 1.0},
               {0.29, 32, "int8", 1.03}, {0.14, 32, "int8", 0.49}, {0.01, 32, "int8", 0.03561}};
  for (const auto& c : cases) {
    const BudgetRequest request = Request(c.gigabytes, 12);
    const auto plan = SolveBudget(request, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->latent, c.latent) << c.gigabytes;
    EXPECT_EQ(plan->store, c.store) << c.gigabytes;
    EXPECT_NEAR(plan->fps, c.fps, 1e-9) << c.gigabytes;
    ExpectKept(*plan, request);
  }
}

TEST(Budget, WhatWasChosenStays) {
  BudgetRequest request = Request(0.3, 12);
  request.latent = 128;
  auto plan = SolveBudget(request, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->latent, 128);
  EXPECT_EQ(plan->store, "int8");
  EXPECT_LT(plan->fps, 1.0);
  request = Request(2, 12);
  request.fps = 0.5;
  request.store = "fp32";
  plan = SolveBudget(request, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_DOUBLE_EQ(plan->fps, 0.5);
  EXPECT_EQ(plan->store, "fp32");
  EXPECT_DOUBLE_EQ(plan->bytes_per_token, 640.0);
  ExpectKept(*plan, request);
}

TEST(Budget, WhatDoesNotFitSaysWhatWould) {
  const auto none = SolveBudget(Request(0.001, 1000), {});
  EXPECT_EQ(none.status().code(), StatusCode::kResource);
  EXPECT_NE(none.status().message().find("at least"), std::string::npos);
  BudgetRequest request = Request(0.1, 12);
  request.fps = 1.0;
  EXPECT_EQ(SolveBudget(request, {}).status().code(), StatusCode::kResource);
  for (const BudgetRequest& wrong : {Request(0, 1), Request(1, 0), Request(1, -1)}) {
    EXPECT_EQ(SolveBudget(wrong, {}).status().code(), StatusCode::kInvalidArgument);
  }
  request = Request(1, 1);
  request.latent = 48;
  EXPECT_EQ(SolveBudget(request, {}).status().code(), StatusCode::kInvalidArgument);
  request.latent = kLatentAuto;
  EXPECT_EQ(SolveBudget(request, {}).status().code(), StatusCode::kInvalidArgument);
  request.latent.reset();
  request.store = "fp8";
  EXPECT_EQ(SolveBudget(request, {}).status().code(), StatusCode::kInvalidArgument);
}

TEST(Budget, APlanBecomesSettings) {
  const auto plan = SolveBudget(Request(0.54, 12), {});
  SamplingSettings sampling;
  CacheOptions cache;
  ApplyPlan(*plan, &sampling, &cache);
  EXPECT_DOUBLE_EQ(sampling.fps, plan->fps);
  EXPECT_EQ(sampling.max_frames, plan->max_frames);
  EXPECT_EQ(cache.latent, 64);
  EXPECT_EQ(cache.store, "bf16");
  sampling.max_frames = 10;  // a person's own limit stays where it is lower
  ApplyPlan(*plan, &sampling, &cache);
  EXPECT_EQ(sampling.max_frames, 10u);
  ASSERT_EQ(CachePresets().size(), 3u);
  EXPECT_EQ(CachePresets()[0].latent, 32);
  EXPECT_EQ(CachePresets()[2].name, "quality");
}

}  // namespace
}  // namespace longview
