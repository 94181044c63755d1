// Generate on a tiny random model whose 256 first tokens are the bytes.
#include "attention/decoder/text_generator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/attention/tiny_decoder.h"
#include "tests/support/temp_folder.h"

namespace longview {
namespace {

class TextGeneratorTest : public testing::Test {
 protected:
  void SetUp() override {
    auto decoder = TextDecoder::Load(folder_.Write("tiny.gguf", TinyDecoder().file.Bytes()), WeightStore::kF32);
    ASSERT_TRUE(decoder.ok()) << decoder.status().message();
    decoder_ = *decoder;
    TokenizerSpec spec{.model = "gpt2", .pre = "smollm"};
    int next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      const int c = printable ? b : next++;
      spec.tokens.push_back(c < 128
                                ? std::string(1, static_cast<char>(c))
                                : std::string{static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))});
    }
    while (spec.tokens.size() < 299) spec.tokens.push_back("t" + std::to_string(spec.tokens.size()));
    spec.tokens.push_back("<|im_end|>");
    spec.token_types.assign(300, 1);
    spec.token_types[299] = 3;
    auto tokenizer = Tokenizer::Make(spec, "tiny");
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    tokenizer_ = *tokenizer;
  }
  Result<Generation> Run(const GenerateOptions& options) {
    cache_.Truncate(0);
    return Generate(*decoder_, *tokenizer_, prompt_, &cache_, nullptr, 0, options, nullptr);
  }

  TempFolder folder_;
  std::shared_ptr<const TextDecoder> decoder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<int32_t> prompt_ = {72, 105, 33};
  KvCache cache_;
};

TEST_F(TextGeneratorTest, GreedyIsTheArgMaxOfEachStepAndTheTextIsWhatWasTold) {
  std::string told;
  GenerateOptions options{.max_tokens = 40};
  options.stop_tokens = {-1};
  options.on_text = [&](std::string_view text) {
    EXPECT_EQ(RepairUtf8(text), text);
    told += text;
  };
  const auto made = Run(options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->end, Generation::End::kMaxTokens);
  ASSERT_EQ(made->tokens.size(), 40u);
  EXPECT_EQ(told, made->text);
  EXPECT_EQ(told, tokenizer_->Decode(made->tokens));
  EXPECT_EQ(cache_.length(), prompt_.size() + 39);
  KvCache cache;
  std::vector<int32_t> all = prompt_;
  all.insert(all.end(), made->tokens.begin(), made->tokens.end());
  const auto logits = decoder_->Forward({.tokens = all, .logits = ForwardCall::Logits::kAll}, &cache, nullptr);
  ASSERT_TRUE(logits.ok());
  for (size_t i = 0; i < 40; ++i) {
    const auto row = logits->logits.begin() + static_cast<std::ptrdiff_t>((prompt_.size() - 1 + i) * 300);
    EXPECT_EQ(std::max_element(row, row + 300) - row, made->tokens[i]) << i;
  }
}

TEST_F(TextGeneratorTest, EndsBeforeAStopToken) {
  GenerateOptions options{.max_tokens = 20};
  options.stop_tokens = {-1};
  const auto whole = Run(options);
  ASSERT_TRUE(whole.ok());
  const int32_t last = whole->tokens[4];
  const auto first = std::find(whole->tokens.begin(), whole->tokens.end(), last);
  options.stop_tokens = {last};
  const auto made = Run(options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->end, Generation::End::kStopToken);
  EXPECT_EQ(made->tokens, std::vector<int32_t>(whole->tokens.begin(), first));
  EXPECT_EQ(cache_.length(), prompt_.size() + made->tokens.size());
}

TEST_F(TextGeneratorTest, StopGivesWhatWasMade) {
  std::stop_source stop;
  int pieces = 0;
  GenerateOptions options{.max_tokens = 500};
  options.stop_tokens = {-1};
  options.stop = stop.get_token();
  options.on_text = [&](std::string_view) {
    if (++pieces == 5) stop.request_stop();
  };
  const auto made = Run(options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->end, Generation::End::kCancelled);
  EXPECT_LT(made->tokens.size(), 100u);
  EXPECT_FALSE(made->text.empty());
}

TEST_F(TextGeneratorTest, EndsWhereTheContextDoes) {
  GenerateOptions options{.max_tokens = 5000};
  options.stop_tokens = {-1};
  const auto made = Run(options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->end, Generation::End::kContextFull);
  EXPECT_EQ(cache_.length(), 600u);
}

TEST_F(TextGeneratorTest, RefusesWhatItsPartsRefuse) {
  GenerateOptions options;
  options.sampler.temperature = -1.0f;
  EXPECT_EQ(Run(options).status().code(), StatusCode::kInvalidArgument);
  options.sampler.temperature = 0.0f;
  prompt_ = {9999};
  EXPECT_EQ(Run(options).status().code(), StatusCode::kInvalidArgument);
  prompt_ = {1};
  options.max_tokens = 0;
  const auto none = Run(options);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->tokens.empty());
  EXPECT_EQ(none->end, Generation::End::kMaxTokens);
}

TEST_F(TextGeneratorTest, PenaltyAndSeed) {
  GenerateOptions options{.max_tokens = 30};
  options.stop_tokens = {-1};
  options.sampler = {.temperature = 1.0f, .top_p = 0.9f, .seed = 3};
  const auto a = Run(options), b = Run(options);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->tokens, b->tokens);
  options.sampler.seed = 4;
  EXPECT_NE(Run(options)->tokens, a->tokens);
  // A penalty this large makes every greedy token a new one.
  options.sampler = {.repetition_penalty = 1e6f};
  auto unique = Run(options)->tokens;
  std::sort(unique.begin(), unique.end());
  EXPECT_EQ(std::unique(unique.begin(), unique.end()), unique.end());
}

}  // namespace
}  // namespace longview
