// TextDecoder against plain double arithmetic on a tiny random model: caches, hooks, limits, damaged files. The real
// model is in text_decoder_golden_test.cc.
#include "attention/decoder/text_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "tests/attention/decoder_calls.h"
#include "tests/attention/tiny_decoder.h"
#include "tests/support/compare.h"
#include "tests/support/temp_folder.h"

namespace longview {
namespace {

std::shared_ptr<const TextDecoder> Load(const TinyDecoder& tiny, WeightStore store = WeightStore::kF32) {
  const TempFolder folder;
  auto decoder = TextDecoder::Load(folder.Write("tiny.gguf", tiny.file.Bytes()), store);
  EXPECT_TRUE(decoder.ok()) << decoder.status().message();
  return decoder.ok() ? *decoder : nullptr;
}

TEST(TextDecoderTest, MatchesPlainArithmetic) {
  for (const bool tied : {true, false}) {
    const TinyDecoder tiny(tied);
    const auto decoder = Load(tiny);
    ASSERT_NE(decoder, nullptr);
    const std::vector<int32_t> tokens = SomeTokens(37);
    const std::vector<double> expected = tiny.Logits(tokens);
    for (const int threads : {0, 1, 3}) {
      const auto pool = threads > 0 ? std::make_unique<ThreadPool>(threads) : nullptr;
      KvCache cache;
      const auto result = decoder->Forward(AllLogits(tokens), &cache, pool.get());
      ASSERT_TRUE(result.ok()) << result.status().message();
      const Difference d = Compare(result->logits, std::vector<float>(expected.begin(), expected.end()));
      EXPECT_LT(d.max_error, 2e-4) << "at " << d.worst;
      EXPECT_GT(d.cosine, 0.9999999);
      EXPECT_EQ(cache.length(), tokens.size());
    }
  }
}

TEST(TextDecoderTest, ChunksStepsAndKeptPrefixesAgree) {
  const auto decoder = Load(TinyDecoder());
  const std::vector<int32_t> tokens = SomeTokens(530);  // more than two chunks
  KvCache whole;
  const auto once = decoder->Forward(AllLogits(tokens), &whole, nullptr);
  ASSERT_TRUE(once.ok()) << once.status().message();
  const auto row = [&](size_t i) { return std::span(once->logits).subspan(i * 300, 300); };

  // One token at a time.
  KvCache steps;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto step = decoder->Forward({.tokens = std::span(tokens).subspan(i, 1)}, &steps, nullptr);
    ASSERT_TRUE(step.ok());
    ASSERT_EQ(step->logits.size(), 300u);
    ASSERT_LT(Compare(step->logits, row(i)).max_error, 5e-4) << i;
  }

  // A copy of a prefix goes on as the whole did, and leaves its source alone.
  KvCache prefix = whole.Clone(300);
  EXPECT_EQ(prefix.length(), 300u);
  EXPECT_LT(prefix.bytes(), whole.bytes());
  const auto rest = decoder->Forward({.tokens = std::span(tokens).subspan(300)}, &prefix, nullptr);
  ASSERT_TRUE(rest.ok());
  EXPECT_LT(Compare(rest->logits, row(529)).max_error, 5e-4);
  EXPECT_EQ(whole.length(), 530u);

  // Cutting back and reading again.
  whole.Truncate(100);
  whole.Truncate(200);
  EXPECT_EQ(whole.length(), 100u);
  const auto again = decoder->Forward({.tokens = std::span(tokens).subspan(100, 50)}, &whole, nullptr);
  ASSERT_TRUE(again.ok());
  EXPECT_LT(Compare(again->logits, row(149)).max_error, 5e-4);
}

TEST(TextDecoderTest, HookSeesOnlyRowsFromItsPosition) {
  const auto decoder = Load(TinyDecoder());
  const std::vector<int32_t> tokens = SomeTokens(20);
  KvCache plain_cache, cache;
  const auto plain = decoder->Forward(AllLogits(tokens), &plain_cache, nullptr);
  AddingHook hook(0.5f);
  ForwardCall call = AllLogits(std::span(tokens).first(15));
  call.hook = &hook;
  call.hook_from = 12;
  const auto hooked = decoder->Forward(call, &cache, nullptr);
  ASSERT_TRUE(plain.ok() && hooked.ok());
  EXPECT_EQ(hook.calls, (std::vector<std::pair<int, size_t>>{{0, 3}, {1, 3}, {2, 3}}));
  const auto rows = [](const ForwardResult& r, size_t first, size_t count) {
    return std::span(r.logits).subspan(first * 300, count * 300);
  };
  EXPECT_LT(Compare(rows(*hooked, 0, 12), rows(*plain, 0, 12)).max_error, 1e-4);
  EXPECT_GT(Compare(rows(*hooked, 12, 3), rows(*plain, 12, 3)).max_error, 1e-2);
  // Positions count from the conversation's start: every row of a later call is acted on.
  hook.calls.clear();
  call.tokens = std::span(tokens).subspan(15);
  ASSERT_TRUE(decoder->Forward(call, &cache, nullptr).ok());
  EXPECT_EQ(hook.calls.front().second, 5u);
  // And none of a call that ends before.
  hook.calls.clear();
  call.hook_from = 1000;
  call.tokens = std::span(tokens).first(1);
  ASSERT_TRUE(decoder->Forward(call, &cache, nullptr).ok());
  EXPECT_TRUE(hook.calls.empty());
}

TEST(TextDecoderTest, CaptureIsWhatEntersALayerBeforeTheHook) {
  const auto decoder = Load(TinyDecoder());
  const std::vector<int32_t> tokens = SomeTokens(9);
  const auto states = [&](size_t layer) {
    KvCache none;
    return decoder->HiddenStates(tokens, layer, &none, nullptr);
  };
  const auto alone = states(2);
  ASSERT_TRUE(alone.ok());
  ASSERT_EQ(alone->size(), 9u * 32);
  KvCache cache;
  AddingHook hook(0.25f);
  ForwardCall call{.tokens = tokens, .hook = &hook, .logits = ForwardCall::Logits::kNone, .capture_layer = 0};
  const auto first = decoder->Forward(call, &cache, nullptr);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->logits.empty());
  EXPECT_EQ(first->captured, *states(0));
  cache.Truncate(0);
  call.hook = nullptr;
  call.capture_layer = 2;
  EXPECT_EQ(decoder->Forward(call, &cache, nullptr)->captured, *alone);
  call.capture_layer = 3;
  cache.Truncate(0);
  EXPECT_EQ(decoder->Forward(call, &cache, nullptr)->captured, *states(3));
  EXPECT_FALSE(states(4).ok());
}

TEST(TextDecoderTest, GoesOnFromWhatEnteredALayer) {
  const auto decoder = Load(TinyDecoder());
  const std::vector<int32_t> tokens = SomeTokens(12);
  KvCache cache;
  ASSERT_TRUE(decoder->Forward({.tokens = std::span(tokens).first(10)}, &cache, nullptr).ok());
  ForwardCall call{.tokens = std::span(tokens).subspan(10), .capture_layer = 1};
  const auto plain = decoder->Forward(call, &cache, nullptr);
  ASSERT_TRUE(plain.ok());
  // The hook acts above layer 0 only: what stands below is as it was read without it.
  AddingHook hook(0.5f);
  cache.Truncate(10);
  ForwardCall on{.tokens = call.tokens, .hook = &hook, .entering = plain->captured, .from_layer = 1};
  const auto hooked = decoder->Forward(on, &cache, nullptr);
  ASSERT_TRUE(hooked.ok());
  EXPECT_EQ(hook.calls, (std::vector<std::pair<int, size_t>>{{1, 2}, {2, 2}}));
  EXPECT_GT(Compare(hooked->logits, plain->logits).max_error, 1e-2);
  cache.Truncate(10);
  on.hook = nullptr;
  const auto again = decoder->Forward(on, &cache, nullptr);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->logits, plain->logits);
  EXPECT_EQ(cache.length(), 12u);
}

TEST(TextDecoderTest, BranchesFollowOnTheCacheEachAlone) {
  const auto decoder = Load(TinyDecoder());
  const std::vector<int32_t> tokens = SomeTokens(18);
  const std::span<const int32_t> all(tokens);
  KvCache cache;
  ASSERT_TRUE(decoder->Forward({.tokens = all.first(10)}, &cache, nullptr).ok());
  for (const size_t each : {size_t{1}, size_t{2}}) {
    const std::span<const int32_t> rows = all.subspan(10, 4 * each);
    std::vector<float> logits, entering;
    for (size_t b = 0; b < 4; ++b) {
      const std::span<const int32_t> branch = rows.subspan(b * each, each);
      const auto alone = decoder->Forward({.tokens = branch}, &cache, nullptr);
      ASSERT_TRUE(alone.ok());
      logits.insert(logits.end(), alone->logits.begin(), alone->logits.end());
      cache.Truncate(10);
      const auto states = decoder->HiddenStates(branch, 1, &cache, nullptr);
      ASSERT_TRUE(states.ok());
      entering.insert(entering.end(), states->begin(), states->end());
    }
    const auto together = decoder->Forward({.tokens = rows, .branches = 4}, &cache, nullptr);
    ASSERT_TRUE(together.ok()) << together.status().message();
    EXPECT_EQ(cache.length(), 10u) << "nothing is appended";
    ASSERT_EQ(together->logits.size(), logits.size());
    EXPECT_LT(Compare(together->logits, logits).max_error, each == 1 ? 1e-12 : 1e-4) << each;
    const auto on =
        decoder->Forward({.tokens = rows, .entering = entering, .from_layer = 1, .branches = 4}, &cache, nullptr);
    ASSERT_TRUE(on.ok()) << on.status().message();
    EXPECT_LT(Compare(on->logits, logits).max_error, 1e-4) << each;
  }
}

TEST(TextDecoderTest, FailuresLeaveTheCacheAsItWas) {
  const auto decoder = Load(TinyDecoder());
  const std::vector<int32_t> tokens = SomeTokens(580);
  KvCache cache;
  ASSERT_TRUE(decoder->Forward({.tokens = std::span(tokens).first(10)}, &cache, nullptr).ok());
  const auto fails = [&](const ForwardCall& call, StatusCode code) {
    const auto result = decoder->Forward(call, &cache, nullptr);
    EXPECT_EQ(result.status().code(), code);
    EXPECT_EQ(cache.length(), 10u);
    return result.status().message();
  };
  AddingHook hook(0.0f, /*fail_at=*/1);
  EXPECT_EQ(fails({.tokens = tokens, .hook = &hook, .hook_from = 500}, StatusCode::kResource), "the hook gave up");
  std::stop_source stop;
  stop.request_stop();
  fails({.tokens = tokens, .stop = stop.get_token()}, StatusCode::kCancelled);
  fails({}, StatusCode::kInvalidArgument);
  const std::vector<int32_t> foreign = {5, 300}, negative = {-1};
  EXPECT_NE(fails({.tokens = foreign}, StatusCode::kInvalidArgument).find("300"), std::string::npos);
  fails({.tokens = negative}, StatusCode::kInvalidArgument);
  fails({.tokens = tokens, .capture_layer = 4}, StatusCode::kInvalidArgument);
  const std::vector<float> states(size_t{3} * 32);
  fails({.tokens = std::span(tokens).first(2), .entering = states, .from_layer = 1}, StatusCode::kInvalidArgument);
  fails({.tokens = std::span(tokens).first(3), .entering = states, .from_layer = 4}, StatusCode::kInvalidArgument);
  fails({.tokens = std::span(tokens).first(4), .branches = 0}, StatusCode::kInvalidArgument);
  fails({.tokens = std::span(tokens).first(4), .branches = 3}, StatusCode::kInvalidArgument);
  fails({.tokens = std::span(tokens).first(4), .hook = &hook, .hook_from = 11, .branches = 2},
        StatusCode::kInvalidArgument);
  fails({.tokens = std::span(tokens).first(258), .branches = 2}, StatusCode::kInvalidArgument);
  const std::vector<int32_t> long_text = SomeTokens(591);
  EXPECT_NE(fails({.tokens = long_text}, StatusCode::kOutOfRange).find("600"), std::string::npos);
  EXPECT_TRUE(decoder->Forward({.tokens = std::span(long_text).first(590)}, &cache, nullptr).ok());
  EXPECT_EQ(cache.length(), 600u);
}

TEST(TextDecoderTest, ACacheOfAnotherModelIsRefused) {
  TinyDecoder other;
  other.file.uints["llama.block_count"] = 2;
  for (auto it = other.file.tensors.begin(); it != other.file.tensors.end();) {
    it = it->first.rfind("blk.2.", 0) == 0 ? other.file.tensors.erase(it) : std::next(it);
  }
  const auto a = Load(TinyDecoder()), b = Load(other);
  ASSERT_NE(b, nullptr);
  const std::vector<int32_t> tokens = SomeTokens(3);
  KvCache cache;
  ASSERT_TRUE(a->Forward({.tokens = tokens}, &cache, nullptr).ok());
  EXPECT_EQ(b->Forward({.tokens = tokens}, &cache, nullptr).status().code(), StatusCode::kInvalidArgument);
}

TEST(TextDecoderTest, DamagedFilesAreRefusedByName) {
  const TempFolder folder;
  const auto message = [&](const TinyDecoder& tiny) {
    const auto result = TextDecoder::Load(folder.Write("bad.gguf", tiny.file.Bytes()), WeightStore::kF32);
    EXPECT_FALSE(result.ok());
    EXPECT_NE(result.status().message().find("bad.gguf"), std::string::npos) << result.status().message();
    return result.status().message();
  };
  for (const auto& [key, value] : TinyDecoder().file.uints) {
    TinyDecoder tiny;
    if (key != "llama.rope.dimension_count") {
      tiny.file.uints.erase(key);
      EXPECT_NE(message(tiny).find(key), std::string::npos);
    }
    tiny.file.uints[key] = 0;
    message(tiny);
    tiny.file.uints[key] = 0xFFFFFFFF;
    message(tiny);
    if (key == "llama.context_length") continue;
    tiny.file.uints[key] = value + 1;
    message(tiny);
  }
  TinyDecoder tiny;
  tiny.file.tensors.erase("blk.1.attn_v.weight");
  EXPECT_NE(message(tiny).find("blk.1.attn_v.weight"), std::string::npos);
  tiny = TinyDecoder();
  tiny.file.tensors["blk.2.ffn_down.weight"].shape = {48, 32};
  EXPECT_NE(message(tiny).find("blk.2.ffn_down.weight"), std::string::npos);
  tiny = TinyDecoder();
  tiny.file.tensors["blk.0.attn_q.bias"] = {{32}, std::vector<float>(32)};
  EXPECT_NE(message(tiny).find("tensors"), std::string::npos);
  tiny = TinyDecoder();
  tiny.file.strings["general.architecture"] = "qwen2";
  EXPECT_NE(message(tiny).find("qwen2"), std::string::npos);
  tiny = TinyDecoder();
  tiny.file.strings["llama.rope.scaling.type"] = "yarn";
  EXPECT_NE(message(tiny).find("yarn"), std::string::npos);
  tiny = TinyDecoder();
  tiny.file.floats["llama.rope.freq_base"] = -1.0f;
  message(tiny);
  tiny.file.floats.erase("llama.rope.freq_base");
  EXPECT_NE(message(tiny).find("llama.rope.freq_base"), std::string::npos);
}

}  // namespace
}  // namespace longview
