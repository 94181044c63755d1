// The text decoder's layers on a device against plain arithmetic in double, on the device that this program is linked
// with: caches, hooks, recordings. What TextDecoder checks before is in text_decoder_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/decoder/gpu_decoder.h"
#include "tests/attention/decoder_calls.h"
#include "tests/attention/tiny_decoder.h"
#include "tests/support/compare.h"
#include "tests/support/test_net.h"

namespace longview::test {
namespace {

constexpr size_t kVocabulary = 300;

TextDecoderConfig ConfigOf(const TinyDecoder& tiny) {
  TextDecoderConfig c;
  c.layers = tiny.layers;
  c.width = tiny.width;
  c.heads = tiny.heads;
  c.kv_heads = tiny.kv_heads;
  c.head_dim = tiny.head_dim();
  c.ffn = tiny.ffn;
  c.vocabulary = tiny.vocabulary;
  c.context = tiny.context;
  c.rms_epsilon = static_cast<float>(tiny.epsilon);
  c.rope_base = tiny.rope_base;
  return c;
}

// The tiny decoder's tensors; rows of q and k, whose pairs are neighbours in the file, in half-split order.
TextSource SourceOf(const TinyDecoder& tiny, const RopeTable& rope) {
  struct Part {
    std::string name;
    bool pairs;
  };
  const auto stack = [&tiny](const std::vector<Part>& parts) {
    TextMatrix matrix;
    std::vector<float> rows;
    for (const Part& part : parts) {
      const TinyGguf::Tensor& tensor = tiny.file.tensors.at(part.name);
      matrix.in = tensor.shape[1];
      matrix.out += tensor.shape[0];
      const size_t d = tiny.head_dim();
      for (size_t row = 0; row < tensor.shape[0]; ++row) {
        const size_t stored = part.pairs ? row / d * d + row % (d / 2) * 2 + row % d / (d / 2) : row;
        const auto from = tensor.numbers.begin() + static_cast<std::ptrdiff_t>(stored * matrix.in);
        rows.insert(rows.end(), from, from + static_cast<std::ptrdiff_t>(matrix.in));
      }
    }
    matrix.row = [rows = std::move(rows), in = matrix.in](size_t row, float* to) {
      std::copy_n(rows.data() + row * in, in, to);
    };
    return matrix;
  };
  TextSource source;
  for (size_t i = 0; i < tiny.layers; ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    source.layers.push_back(
        {tiny.file.tensors.at(block + "attn_norm.weight").numbers,
         tiny.file.tensors.at(block + "ffn_norm.weight").numbers,
         stack({{block + "attn_q.weight", true}, {block + "attn_k.weight", true}, {block + "attn_v.weight", false}}),
         stack({{block + "attn_output.weight", false}}),
         stack({{block + "ffn_gate.weight", false}, {block + "ffn_up.weight", false}}),
         stack({{block + "ffn_down.weight", false}})});
  }
  source.embedding = stack({{"token_embd.weight", false}});
  if (tiny.file.tensors.count("output.weight") != 0) source.output = stack({{"output.weight", false}});
  source.output_norm = tiny.file.tensors.at("output_norm.weight").numbers;
  source.rope = &rope;
  return source;
}

class TextDevice : public NetDevice {
 protected:
  std::unique_ptr<GpuDecoder> Make(const TinyDecoder& tiny) {
    const RopeTable rope(tiny.head_dim(), tiny.rope_base, tiny.context);
    auto decoder = GpuDecoder::Make(net_, ConfigOf(tiny), SourceOf(tiny, rope));
    EXPECT_TRUE(decoder.ok()) << decoder.status().message();
    return decoder.ok() ? std::move(decoder).value() : nullptr;
  }
  // All layers; the failure ends the test.
  static ForwardResult Run(GpuDecoder* decoder, const ForwardCall& call, KvCache* cache, size_t end_layer = 3) {
    auto result = decoder->Run(call, end_layer, cache);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *std::move(result) : ForwardResult();
  }
};

TEST_F(TextDevice, AgreesWithPlainArithmetic) {
  for (const bool tied : {true, false}) {
    const TinyDecoder tiny(tied);
    const auto decoder = Make(tiny);
    ASSERT_NE(decoder, nullptr);
    const std::vector<int32_t> tokens = SomeTokens(37);
    const std::vector<double> expected = tiny.Logits(tokens);
    KvCache cache;
    const ForwardResult result = Run(decoder.get(), AllLogits(tokens), &cache);
    const Difference d = Compare(result.logits, std::vector<float>(expected.begin(), expected.end()));
    EXPECT_GT(d.cosine, 0.9999);
    EXPECT_LT(d.max_error, 0.15) << "at " << d.worst;
    EXPECT_GT(d.max_error, 1e-5) << "bf16 cannot be that exact";
    EXPECT_EQ(cache.length(), tokens.size());
  }
}

TEST_F(TextDevice, ChunksStepsAndKeptPrefixesAgree) {
  const auto decoder = Make(TinyDecoder());
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = SomeTokens(530);  // more than two chunks
  KvCache whole;
  const ForwardResult once = Run(decoder.get(), AllLogits(tokens), &whole);
  ASSERT_EQ(once.logits.size(), tokens.size() * kVocabulary);
  const auto row = [&](size_t i) { return std::span(once.logits).subspan(i * kVocabulary, kVocabulary); };

  // One token at a time: recorded once, replayed afterwards, while the cache grows beneath it.
  KvCache steps;
  for (size_t i = 0; i < 300; ++i) {
    const ForwardResult step = Run(decoder.get(), {.tokens = std::span(tokens).subspan(i, 1)}, &steps);
    ASSERT_LT(Compare(step.logits, row(i)).max_error, 0.1) << i;
  }
  EXPECT_EQ(decoder->replays(), 299u);

  // A copy of a prefix goes on as the whole did, and leaves its source alone.
  KvCache prefix = whole.Clone(300);
  EXPECT_EQ(prefix.length(), 300u);
  EXPECT_GT(prefix.bytes(), 0u);
  EXPECT_LT(prefix.bytes(), whole.bytes());
  const ForwardResult rest = Run(decoder.get(), {.tokens = std::span(tokens).subspan(300)}, &prefix);
  EXPECT_LT(Compare(rest.logits, row(529)).max_error, 0.1);
  EXPECT_EQ(whole.length(), 530u);

  // Cutting back and reading again.
  whole.Truncate(100);
  const ForwardResult again = Run(decoder.get(), {.tokens = std::span(tokens).subspan(100, 50)}, &whole);
  EXPECT_LT(Compare(again.logits, row(149)).max_error, 0.1);
}

TEST_F(TextDevice, BranchesFollowOnTheCacheEachAlone) {
  const auto decoder = Make(TinyDecoder());
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = SomeTokens(18);
  const std::span<const int32_t> all(tokens);
  KvCache cache;
  Run(decoder.get(), {.tokens = all.first(10)}, &cache);
  for (const size_t each : {size_t{1}, size_t{2}}) {
    std::vector<float> alone;
    for (size_t b = 0; b < 4; ++b) {
      const ForwardResult one = Run(decoder.get(), {.tokens = all.subspan(10 + b * each, each)}, &cache);
      alone.insert(alone.end(), one.logits.begin(), one.logits.end());
      cache.Truncate(10);
    }
    const ForwardResult together = Run(decoder.get(), {.tokens = all.subspan(10, 4 * each), .branches = 4}, &cache);
    EXPECT_EQ(cache.length(), 10u) << "nothing is appended";
    ASSERT_EQ(together.logits.size(), alone.size());
    EXPECT_LT(Compare(together.logits, alone).max_error, 0.05) << each;
  }
}

TEST_F(TextDevice, TheHookActsOnItsRowsAtItsLayers) {
  const auto decoder = Make(TinyDecoder());
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = SomeTokens(20);
  KvCache plain_cache, cache;
  const ForwardResult plain = Run(decoder.get(), AllLogits(tokens), &plain_cache);
  AddingHook hook(0.5f, -1, {0, 2});
  ForwardCall call = AllLogits(std::span(tokens).first(15));
  call.hook = &hook;
  call.hook_from = 12;
  const ForwardResult hooked = Run(decoder.get(), call, &cache);
  EXPECT_EQ(hook.calls, (std::vector<std::pair<int, size_t>>{{0, 3}, {2, 3}}));
  const auto rows = [](const ForwardResult& r, size_t first, size_t count) {
    return std::span(r.logits).subspan(first * kVocabulary, count * kVocabulary);
  };
  EXPECT_LT(Compare(rows(hooked, 0, 12), rows(plain, 0, 12)).max_error, 0.05);
  EXPECT_GT(Compare(rows(hooked, 12, 3), rows(plain, 12, 3)).max_error, 0.2);
  // Single tokens go through the same stretches of layers, replayed.
  for (size_t i = 15; i < 18; ++i) {
    call.tokens = std::span(tokens).subspan(i, 1);
    Run(decoder.get(), call, &cache);
  }
  EXPECT_EQ(decoder->replays(), 4u);
}

// AddingHook whose rows stay on the device.
class AddingThere : public AddingHook {
 public:
  AddingThere(const std::shared_ptr<GpuNet>& net, float value, size_t width, std::vector<int> layers)
      : AddingHook(value, -1, std::move(layers)), width_(width) {
    // A product of zeros with the value as its bias.
    zeros_ = GpuBuffer::Make(net, GpuStream::Memory::kDevice, 32 * width * sizeof(float)).value();
    bias_ = GpuBuffer::Make(net, GpuStream::Memory::kDevice, width * sizeof(float)).value();
    const GpuBuffer pinned = GpuBuffer::Make(net, GpuStream::Memory::kPinned, width * sizeof(float)).value();
    std::fill_n(pinned.As<float>(), width, value);
    EXPECT_TRUE(net->Upload(bias_.As<float>(), pinned.As<float>(), width * sizeof(float)).ok() && net->Finish().ok());
  }
  bool OnDevice() const override { return true; }
  Status BeforeLayerOn(GpuNet* net, int layer, float* h, size_t rows, size_t width) override {
    if (!ActsBefore(layer)) return Status::Ok();
    EXPECT_EQ(width, width_);
    there.emplace_back(layer, rows);
    GpuGemm add;
    add.into = GpuGemm::Into::kAdd;
    add.x = zeros_.As<uint16_t>();
    add.x_stride = add.in = 8;
    add.w = zeros_.As<uint16_t>();
    add.bias = bias_.As<float>();
    add.y = h;
    add.y_stride = add.out = width;
    add.rows = rows;
    return net->Gemm(add);
  }
  std::vector<std::pair<int, size_t>> there;

 private:
  size_t width_;
  GpuBuffer zeros_, bias_;
};

TEST_F(TextDevice, AHookMayKeepItsRowsOnTheDevice) {
  const auto decoder = Make(TinyDecoder());
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = SomeTokens(20);
  AddingHook here(0.5f, -1, {0, 2});
  AddingThere there(net_, 0.5f, 32, {0, 2});
  KvCache cache_here, cache_there;
  // A prompt, and then tokens one by one: between two recordings.
  for (const auto& [first, count] : {std::pair<size_t, size_t>{0, 15}, {15, 1}, {16, 1}, {17, 1}}) {
    ForwardCall call = AllLogits(std::span(tokens).subspan(first, count));
    call.hook_from = 12;
    call.capture_layer = 2;
    call.hook = &here;
    const ForwardResult expected = Run(decoder.get(), call, &cache_here);
    call.hook = &there;
    const ForwardResult got = Run(decoder.get(), call, &cache_there);
    EXPECT_LT(Compare(got.logits, expected.logits).max_error, 1e-3) << first;
    EXPECT_LT(Compare(got.captured, expected.captured).max_error, 1e-3) << first;
  }
  EXPECT_EQ(there.there, here.calls);
  EXPECT_TRUE(there.calls.empty()) << "it was never asked on the processor";
}

TEST_F(TextDevice, CapturesAndGoesOnFromWhatEnteredALayer) {
  const auto decoder = Make(TinyDecoder());
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = SomeTokens(12);
  KvCache cache;
  Run(decoder.get(), {.tokens = std::span(tokens).first(10)}, &cache);
  AddingHook hook(0.5f, -1, {1});
  ForwardCall call{.tokens = std::span(tokens).subspan(10), .hook = &hook, .capture_layer = 1};
  const ForwardResult whole = Run(decoder.get(), call, &cache);
  ASSERT_EQ(whole.captured.size(), 2u * 32) << "before the hook acts on it";
  cache.Truncate(10);
  hook.calls.clear();
  const ForwardCall on{.tokens = call.tokens, .hook = &hook, .entering = whole.captured, .from_layer = 1};
  const ForwardResult again = Run(decoder.get(), on, &cache);
  EXPECT_EQ(hook.calls, (std::vector<std::pair<int, size_t>>{{1, 2}}));
  EXPECT_LT(Compare(again.logits, whole.logits).max_error, 1e-3);
  EXPECT_EQ(cache.length(), 12u);
  // What leaves the last layer, and what enters one when the layers above are not computed.
  KvCache fresh, part;
  ForwardCall ends{.tokens = tokens, .logits = ForwardCall::Logits::kNone, .capture_layer = 3};
  EXPECT_EQ(Run(decoder.get(), ends, &fresh).captured.size(), 12u * 32);
  ends.capture_layer = 2;
  const ForwardResult below = Run(decoder.get(), ends, &part, 2);
  EXPECT_EQ(below.captured.size(), 12u * 32);
  EXPECT_TRUE(below.logits.empty());
}

TEST_F(TextDevice, ChoosesTokensAsTheSamplerDoes) {
  const auto decoder = Make(TinyDecoder());
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = SomeTokens(9);
  KvCache cache;
  for (const SamplerOptions& options :
       {SamplerOptions{}, SamplerOptions{.repetition_penalty = 1.3f}, SamplerOptions{.temperature = 1.5f, .seed = 3},
        SamplerOptions{.temperature = 3.0f, .top_p = 0.6f, .repetition_penalty = 1.1f, .seed = 4}}) {
    TokenSampler sampler = *TokenSampler::Make(options), same = *TokenSampler::Make(options);
    std::vector<int32_t> seen = {17, 40, -3, 17, 5000};
    for (int i = 0; i < 12; ++i) {
      cache.Truncate(0);
      ForwardResult logits = Run(decoder.get(), {.tokens = tokens}, &cache);
      ASSERT_EQ(logits.logits.size(), kVocabulary);
      cache.Truncate(0);
      const ForwardResult chosen = Run(decoder.get(), {.tokens = tokens, .sampler = &sampler, .seen = seen}, &cache);
      EXPECT_TRUE(chosen.logits.empty());
      EXPECT_EQ(chosen.token, same.Sample(logits.logits, seen)) << i;
      seen.push_back(chosen.token);
    }
  }
}

TEST_F(TextDevice, FailuresLeaveTheCacheAsItWas) {
  const auto decoder = Make(TinyDecoder());
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> tokens = SomeTokens(300);
  KvCache cache;
  Run(decoder.get(), {.tokens = std::span(tokens).first(10)}, &cache);
  AddingHook hook(0.0f, /*fail_at=*/1, {0, 1});
  EXPECT_EQ(decoder->Run({.tokens = tokens, .hook = &hook, .hook_from = 290}, 3, &cache).status().code(),
            StatusCode::kResource);
  EXPECT_EQ(cache.length(), 10u);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(decoder->Run({.tokens = tokens, .stop = stop.get_token()}, 3, &cache).status().code(),
            StatusCode::kCancelled);
  EXPECT_EQ(cache.length(), 10u);
  TextDecoderConfig odd = ConfigOf(TinyDecoder());
  odd.context = 20000;
  EXPECT_EQ(GpuDecoder::Make(net_, odd, {}).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace longview::test
