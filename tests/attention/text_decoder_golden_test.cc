// TextDecoder with SmolLM2's weights against transformers (tools/golden/make_decoder.py).
#include <gtest/gtest.h>

#include <algorithm>

#include "attention/decoder/text_decoder.h"
#include "attention/decoder/text_generator.h"
#include "core/io/json.h"
#include "core/io/weights.h"
#include "tests/support/compare.h"
#include "tests/support/model_parts.h"
#include "tests/support/test_net.h"

namespace longview {
namespace {

struct Golden {
  std::vector<int32_t> prompt, greedy;
  std::vector<float> last_logits;           // every 8th id
  std::vector<float> all_logits;            // [rows, every 96th id]
  std::vector<float> hidden_12, hidden_15;  // [every 2nd row, 576]
};

Golden ReadGolden(const std::string& name) {
  Golden golden;
  const auto json = Json::ParseFile(GoldenFile("decoder.json").string());
  const auto file = WeightFile::Open(GoldenFile("decoder.safetensors"));
  if (!json.ok() || !file.ok()) {
    ADD_FAILURE() << json.status().message() << file.status().message();
    return golden;
  }
  const Json entry = *json->Get(name);
  const auto prompt = *entry.GetInts("prompt"), greedy = *entry.GetInts("greedy");
  golden.prompt.assign(prompt.begin(), prompt.end());
  golden.greedy.assign(greedy.begin(), greedy.end());
  const auto read = [&](const std::string& part) {
    const auto found = (*file)->tensors().find(name + "." + part);
    EXPECT_NE(found, (*file)->tensors().end()) << part;
    return *found->second.CopyToFloat();
  };
  golden.last_logits = read("last_logits");
  golden.all_logits = read("all_logits");
  golden.hidden_12 = read("hidden_12");
  golden.hidden_15 = read("hidden_15");
  return golden;
}

std::vector<float> Every(std::span<const float> numbers, size_t step) {
  std::vector<float> out;
  for (size_t i = 0; i < numbers.size(); i += step) out.push_back(numbers[i]);
  return out;
}

// The smallest cosine over every 2nd row of `actual` [rows, width] and the rows of `expected`.
double WorstRow(std::span<const float> actual, std::span<const float> expected, size_t width) {
  double worst = 1.0;
  for (size_t i = 0; i * width < expected.size(); ++i) {
    worst = std::min(worst, Compare(actual.subspan(2 * i * width, width), expected.subspan(i * width, width)).cosine);
  }
  return worst;
}

void CheckAgainstGolden(WeightStore store, double min_cosine, double min_row_cosine,
                        std::shared_ptr<GpuNet> device = nullptr) {
  const auto decoder = TextDecoder::Load(ModelPart(kTextPart), store, std::move(device));
  ASSERT_TRUE(decoder.ok()) << decoder.status().message();
  ThreadPool pool;
  for (const char* name : {"plain", "video"}) {
    const Golden golden = ReadGolden(name);
    KvCache cache;
    const ForwardCall call{.tokens = golden.prompt, .logits = ForwardCall::Logits::kAll, .capture_layer = 12};
    const auto result = (*decoder)->Forward(call, &cache, &pool);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const size_t vocabulary = (*decoder)->config().vocabulary;
    const std::span<const float> last = std::span(result->logits).last(vocabulary);
    EXPECT_GE(Compare(Every(last, 8), golden.last_logits).cosine, min_cosine) << name;
    EXPECT_GE(Compare(Every(result->logits, 96), golden.all_logits).cosine, min_cosine) << name;
    EXPECT_EQ(std::max_element(last.begin(), last.end()) - last.begin(), golden.greedy[0]) << name;
    EXPECT_GE(WorstRow(result->captured, golden.hidden_12, 576), min_row_cosine) << name;
    KvCache none;
    const auto hidden = (*decoder)->HiddenStates(golden.prompt, 15, &none, &pool);
    ASSERT_TRUE(hidden.ok());
    EXPECT_GE(WorstRow(*hidden, golden.hidden_15, 576), min_row_cosine) << name;
  }
}

TEST(TextDecoderGoldenTest, FloatLogits) { CheckAgainstGolden(WeightStore::kF32, 0.99999999, 0.99999999); }

TEST(TextDecoderGoldenTest, QuantisedLogits) { CheckAgainstGolden(WeightStore::kAsStored, 0.9999999, 0.9999999); }

TEST(TextDecoderGoldenTest, Bf16Logits) { CheckAgainstGolden(WeightStore::kBF16, 0.9995, 0.9995); }

// A GPU's launches, emulated.
TEST(TextDecoderGoldenTest, DeviceLogits) {
  CheckAgainstGolden(WeightStore::kAsStored, 0.9995, 0.9995, test::MakeTestNet());
}

TEST(TextDecoderGoldenTest, GreedyTokensAreIdenticalInFloat) {
  const auto decoder = TextDecoder::Load(ModelPart(kTextPart), WeightStore::kF32);
  const auto tokenizer = Tokenizer::Load(ModelPart(kTextPart));
  ASSERT_TRUE(decoder.ok() && tokenizer.ok()) << decoder.status().message() << tokenizer.status().message();
  ThreadPool pool;
  for (const char* name : {"plain", "video"}) {
    const Golden golden = ReadGolden(name);
    KvCache cache;
    GenerateOptions options{.max_tokens = golden.greedy.size()};
    options.stop_tokens = {-1};
    std::string told;
    options.on_text = [&](std::string_view text) { told += text; };
    const auto made = Generate(**decoder, **tokenizer, golden.prompt, &cache, nullptr, 0, options, &pool);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->tokens, golden.greedy) << name << ": " << made->text;
    EXPECT_EQ(told, (*tokenizer)->Decode(golden.greedy));
  }
}

TEST(TextDecoderGoldenTest, ConfigurationAndSize) {
  const auto decoder = TextDecoder::Load(ModelPart(kTextPart), WeightStore::kAsStored);
  ASSERT_TRUE(decoder.ok()) << decoder.status().message();
  const TextDecoderConfig& c = (*decoder)->config();
  EXPECT_EQ(c.layers, 30u);
  EXPECT_EQ(c.width, 576u);
  EXPECT_EQ(c.heads, 9u);
  EXPECT_EQ(c.kv_heads, 3u);
  EXPECT_EQ(c.head_dim, 64u);
  EXPECT_EQ(c.ffn, 1536u);
  EXPECT_EQ(c.vocabulary, 49152u);
  EXPECT_EQ(c.context, 8192u);
  EXPECT_DOUBLE_EQ(c.rope_base, 100000.0);
  EXPECT_FLOAT_EQ(c.rms_epsilon, 1e-5f);
  EXPECT_LT((*decoder)->weight_bytes(), 100u << 20);
}

}  // namespace
}  // namespace longview
