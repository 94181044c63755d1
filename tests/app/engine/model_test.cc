// The model's config and parts: what is refused, and how it is said.
#include "app/engine/model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/engine/engine_fixture.h"

namespace longview {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class EngineModel : public test::EngineFixture {
 protected:
  void SetUp() override {
    const fs::path vit = ModelPart(kVitPart);
    ModelPart(kTextPart);
    if (HasFailure()) GTEST_SKIP() << "without the model parts nothing can be loaded";
    parts_ = vit.parent_path();
    test::WriteTinyModel(folder_ / "model", parts_);
    config_ = json::parse(test::ReadBytes(folder_ / "model/config.json"));
  }
  // The config as it is now, written.
  void Write(const json& config) { folder_.Write("model/config.json", config.dump()); }
  json config_;
};

TEST_F(EngineModel, ReadsItsConfigAndRefusesWrongOnes) {
  const auto config = ParseModelConfig(config_.dump(), "c.json");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->bridge_shape.cross_layers.size(), 8u);
  EXPECT_EQ(config->caption_prompt, "Describe this moment.");
  EXPECT_EQ(IndexModelHash(*config).size(), 12u);

  const std::vector<std::pair<const char*, json>> wrong = {
      {"/format", "other"},     {"/version", 2},       {"/vit/file", "../x"},   {"/vit/sha256", "abc"},
      {"/vit/heads", 7},        {"/vit/image", 225},   {"/vit/mean", {1, 2}},   {"/vit/std", {0, 0, 0}},
      {"/text/file", ""},       {"/text/sha256", 7},   {"/bridge/d_c", 100000}, {"/bridge/cross_layers", json::array()},
      {"/prompts/caption", ""}, {"/bridge/d_v", 512},  {"/vit/layers", -1},     {"/prompts", nullptr},
      {"/vit/taps", {12}},      {"/vit/taps", {3, 3}},
  };
  for (const auto& [pointer, value] : wrong) {
    json changed = config_;
    changed[json::json_pointer(pointer)] = value;
    const auto refused = ParseModelConfig(changed.dump(), "c.json");
    EXPECT_FALSE(refused.ok()) << pointer;
    EXPECT_EQ(refused.status().message().rfind("c.json", 0), 0u) << pointer << ": " << refused.status().message();
  }
  for (const char* text : {"", "{", "[]", "null", "{}"}) EXPECT_FALSE(ParseModelConfig(text, "c.json").ok()) << text;
}

TEST_F(EngineModel, TheIndexHashFollowsWhatAnIndexDependsOn) {
  const auto base = ParseModelConfig(config_.dump(), "c");
  ASSERT_TRUE(base.ok());
  json text = config_;
  text["text"]["sha256"] = std::string(64, '1');
  json bridge = config_;
  bridge["bridge"]["sha256"] = std::string(64, '1');
  json taps = config_;
  taps["vit"]["taps"] = {3, 8};
  const auto other_text = ParseModelConfig(text.dump(), "c");
  const auto other_bridge = ParseModelConfig(bridge.dump(), "c");
  const auto other_taps = ParseModelConfig(taps.dump(), "c");
  ASSERT_TRUE(other_text.ok() && other_bridge.ok() && other_taps.ok());
  EXPECT_EQ(other_taps->bridge_shape.vit_width, 2 * other_taps->vit_shape.width);
  EXPECT_NE(IndexModelHash(*base), IndexModelHash(*other_taps));
  EXPECT_EQ(IndexModelHash(*base), IndexModelHash(*other_text));
  EXPECT_NE(WholeModelHash(*base), WholeModelHash(*other_text));
  EXPECT_NE(IndexModelHash(*base), IndexModelHash(*other_bridge));
}

TEST_F(EngineModel, PartsAreCheckedAndNamed) {
  auto engine = MakeEngine();
  for (const PartStatus& part : engine->ModelStatus()) {
    EXPECT_EQ(part.state, PartState::kOk) << part.name << ": " << part.detail;
    EXPECT_EQ(part.sha256.size(), 64u);
    EXPECT_GT(part.bytes, 0u);
  }
  EXPECT_TRUE(engine->LoadModel().ok());
  EXPECT_EQ(engine->ModelName()->rfind("longview-s ", 0), 0u);

  // A byte flipped in the bridge.
  std::string bytes = test::ReadBytes(folder_ / "model/bridge.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  folder_.Write("model/bridge.safetensors", bytes);
  auto damaged = MakeEngine()->LoadModel();
  EXPECT_EQ(damaged.code(), StatusCode::kDamaged);
  EXPECT_NE(damaged.message().find("bridge.safetensors"), std::string::npos) << damaged.message();

  // No parts at all.
  EngineOptions options = Options(folder_ / "library");
  options.models = folder_ / "nowhere";
  auto without = Engine::Create(options);
  ASSERT_TRUE(without.ok());
  const Status missing = (*without)->LoadModel();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("vit_s_focus.onnx"), std::string::npos) << missing.message();
  EXPECT_NE(missing.message().find("tools/quickstart"), std::string::npos) << missing.message();
  EXPECT_EQ((*without)->ModelStatus()[1].state, PartState::kMissing);

  options.assets = folder_ / "nowhere";
  auto no_config = Engine::Create(options);
  ASSERT_TRUE(no_config.ok());
  EXPECT_EQ((*no_config)->LoadModel().code(), StatusCode::kNotFound);
  ASSERT_EQ((*no_config)->ModelStatus().size(), 1u);
  EXPECT_EQ((*no_config)->ModelStatus()[0].state, PartState::kMissing);
}

TEST_F(EngineModel, APartOfTheWrongShapeIsRefused) {
  // The right hash, but another model's sizes.
  config_["bridge"]["mlp"] = 512;
  Write(config_);
  const Status bridge = MakeEngine()->LoadModel();
  EXPECT_EQ(bridge.code(), StatusCode::kDamaged);
  EXPECT_NE(bridge.message().find("cross.0.up"), std::string::npos) << bridge.message();

  config_["bridge"]["mlp"] = 768;
  config_["vit"]["mlp"] = 512;
  Write(config_);
  const Status vit = MakeEngine()->LoadModel();
  EXPECT_EQ(vit.code(), StatusCode::kDamaged) << vit.message();
  EXPECT_NE(vit.message().find("vit_s_focus.onnx"), std::string::npos) << vit.message();
}

TEST_F(EngineModel, OptionsThatCannotBeAreRefused) {
  EngineOptions options = Options(folder_ / "library");
  options.device = "cuda:99";  // no build, or no such GPU
  EXPECT_FALSE(Engine::Create(options).ok());
  options.device = "tpu";
  EXPECT_EQ(Engine::Create(options).status().code(), StatusCode::kInvalidArgument);
  options.device = "cpu";
  options.weights = "int2";
  EXPECT_EQ(Engine::Create(options).status().code(), StatusCode::kInvalidArgument);
  options.weights = "bf16";
  options.threads = -1;
  EXPECT_EQ(Engine::Create(options).status().code(), StatusCode::kInvalidArgument);
  options.threads = 1;
  EXPECT_TRUE(Engine::Create(options).ok());
}

}  // namespace
}  // namespace longview
