// TokenSampler against distributions that can be computed by hand.
#include "attention/decoder/token_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace longview {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TokenSampler MakeSampler(const SamplerOptions& options) {
  auto sampler = TokenSampler::Make(options);
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  return std::move(sampler).value();
}

// How often each token comes in `draws` draws.
std::vector<int> Histogram(const SamplerOptions& options, const std::vector<float>& logits, int draws,
                           const std::vector<int32_t>& seen = {}) {
  TokenSampler sampler = MakeSampler(options);
  std::vector<int> counts(logits.size(), 0);
  for (int i = 0; i < draws; ++i) {
    std::vector<float> copy = logits;
    ++counts[static_cast<size_t>(sampler.Sample(copy, seen))];
  }
  return counts;
}

TEST(TokenSamplerTest, GreedyTakesTheLowestIdOfTheLargest) {
  TokenSampler sampler = MakeSampler({});
  std::vector<float> logits = {kNan, 1.0f, 3.0f, 3.0f, -5.0f, kNan};
  EXPECT_EQ(sampler.Sample(logits, {}), 2);
}

TEST(TokenSamplerTest, RefusesOptionsOutOfRange) {
  EXPECT_EQ(TokenSampler::Make({.temperature = -1.0f}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TokenSampler::Make({.temperature = kNan}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TokenSampler::Make({.top_p = 0.0f}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TokenSampler::Make({.top_p = 1.5f}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TokenSampler::Make({.repetition_penalty = 0.5f}).status().code(), StatusCode::kInvalidArgument);
}

TEST(TokenSamplerTest, TemperatureGivesTheSoftmaxFrequencies) {
  // Logits t·ln(p) at temperature t draw with probabilities p.
  const std::vector<double> p = {0.5, 0.25, 0.15, 0.1};
  std::vector<float> logits;
  for (const double q : p) logits.push_back(static_cast<float>(0.7 * std::log(q)));
  constexpr int kDraws = 40000;
  const std::vector<int> counts = Histogram({.temperature = 0.7f, .seed = 5}, logits, kDraws);
  for (size_t i = 0; i < p.size(); ++i) {
    const double sigma = std::sqrt(kDraws * p[i] * (1 - p[i]));
    EXPECT_NEAR(counts[i], kDraws * p[i], 4 * sigma) << i;
  }
}

TEST(TokenSamplerTest, TopPKeepsTheSmallestSetThatReachesIt) {
  std::vector<float> logits;
  for (const double q : {0.1, 0.5, 0.15, 0.25}) logits.push_back(static_cast<float>(std::log(q)));
  // 0.5 + 0.25 reaches 0.7; 0.15 and 0.1 must never come, and the two keep their ratio.
  const std::vector<int> counts = Histogram({.temperature = 1.0f, .top_p = 0.7f}, logits, 9000);
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[1], 6000, 4 * std::sqrt(9000 * 2.0 / 9.0));
  // The best token alone where it holds more than top-p.
  EXPECT_EQ(Histogram({.temperature = 1.0f, .top_p = 0.3f}, logits, 100)[1], 100);
}

TEST(TokenSamplerTest, RepetitionPenaltyDividesPositiveAndMultipliesNegative) {
  TokenSampler sampler = MakeSampler({.repetition_penalty = 2.0f});
  std::vector<float> logits = {4.0f, 3.0f, -1.0f};
  const std::vector<int32_t> seen = {0, 2, 0, -7, 99};  // twice seen, penalised once; foreign ids ignored
  EXPECT_EQ(sampler.Sample(logits, seen), 1);
  EXPECT_EQ(logits, (std::vector<float>{2.0f, 3.0f, -2.0f}));
}

TEST(TokenSamplerTest, TheSameSeedGivesTheSameDraws) {
  const std::vector<float> logits(50, 0.0f);
  const auto draws = [&](uint64_t seed) {
    TokenSampler sampler = MakeSampler({.temperature = 1.0f, .seed = seed});
    std::vector<int32_t> ids;
    for (int i = 0; i < 20; ++i) {
      std::vector<float> copy = logits;
      ids.push_back(sampler.Sample(copy, {}));
    }
    return ids;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(TokenSamplerTest, NanAndMinusInfinityAreNeverDrawn) {
  const std::vector<float> logits = {kNan, 0.0f, -std::numeric_limits<float>::infinity(), 0.0f};
  const std::vector<int> counts = Histogram({.temperature = 1.5f}, logits, 1000);
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[2], 0);
  EXPECT_GT(counts[1], 400);
  // Nothing possible at all: some token, no crash.
  std::vector<float> none(3, kNan);
  EXPECT_EQ(MakeSampler({.temperature = 1.0f}).Sample(none, {}), 0);
}

}  // namespace
}  // namespace longview
