// Writing the random model.
#include "tests/support/tiny_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "app/engine/fingerprint.h"
#include "core/tensor/dtype.h"
#include "tests/support/model_parts.h"

namespace longview::test {
namespace {

using nlohmann::ordered_json;

constexpr size_t kTokens = 65, kWidth = 384, kText = 576, kLatent = 128, kKey = 32, kHeads = 9, kHead = 64, kMlp = 768;
constexpr size_t kHeadWidth = 64, kHeadWords = 300, kLongest = 12;  // of the caption head
constexpr int kCrossLayers[] = {15, 17, 19, 21, 23, 25, 27, 29};

// A safetensors file in the making.
class TensorWriter {
 public:
  explicit TensorWriter(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}

  // [out, in], uniform with variance gain^2 / in, bf16.
  void Matrix(const std::string& name, size_t out, size_t in, double gain = 1.0) {
    const double range = gain * std::sqrt(3.0 / static_cast<double>(in));
    std::vector<uint16_t> values(out * in);
    for (uint16_t& v : values) v = FloatToBF16(static_cast<float>(range * Uniform()));
    Add(name, "BF16", {out, in}, values.data(), values.size() * 2);
  }
  void Constant(const std::string& name, const std::vector<size_t>& shape, float value) {
    size_t count = 1;
    for (const size_t s : shape) count *= s;
    const std::vector<float> values(count, value);
    Add(name, "F32", shape, values.data(), values.size() * 4);
  }
  // first, first + 1, ...
  void Numbers(const std::string& name, size_t count, float first) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    Add(name, "F32", {count}, values.data(), values.size() * 4);
  }
  void Linear(const std::string& name, size_t out, size_t in, double gain = 1.0) {
    Matrix(name + ".weight", out, in, gain);
    Constant(name + ".bias", {out}, 0.0f);
  }
  void Norm(const std::string& name, size_t size, bool bias) {
    Constant(name + ".weight", {size}, 1.0f);
    if (bias) Constant(name + ".bias", {size}, 0.0f);
  }

  void Write(const std::filesystem::path& path) const {
    std::string header = header_.dump();
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t length = header.size();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header << data_;
    out.close();
    EXPECT_TRUE(out.good()) << path;
  }

 private:
  // xorshift64*, in [-1, 1).
  double Uniform() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<double>((state_ * 0x2545F4914F6CDD1Du) >> 11) / static_cast<double>(uint64_t{1} << 52) - 1.0;
  }
  void Add(const std::string& name, const char* type, const std::vector<size_t>& shape, const void* bytes,
           size_t count) {
    header_[name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + count}}};
    data_.append(static_cast<const char*>(bytes), count);
  }

  uint64_t state_;
  ordered_json header_ = ordered_json::object();
  std::string data_;
};

void WriteBridge(const std::filesystem::path& path, const TinyModelOptions& options) {
  TensorWriter writer(options.seed);
  writer.Norm("encoder.in_norm", kWidth, true);
  writer.Linear("encoder.in", kWidth, kWidth);
  writer.Matrix("encoder.position", kTokens, kWidth);
  for (int i = 0; i < 2; ++i) {
    const std::string at = "encoder.layers." + std::to_string(i) + ".";
    writer.Norm(at + "norm1", kWidth, true);
    writer.Linear(at + "qkv", 3 * kWidth, kWidth);
    writer.Linear(at + "proj", kWidth, kWidth, 0.3);
    writer.Norm(at + "norm2", kWidth, true);
    writer.Linear(at + "fc1", 4 * kWidth, kWidth);
    writer.Linear(at + "fc2", kWidth, 4 * kWidth, 0.3);
  }
  writer.Norm("encoder.out_norm", kWidth, true);
  writer.Matrix("compress.down.weight", kLatent, kWidth);
  writer.Norm("compress.norm", kLatent, false);
  writer.Matrix("compress.time_key.weight", kKey, kWidth);
  for (size_t n = 0; n < std::size(kCrossLayers); ++n) {
    const std::string at = "cross." + std::to_string(n) + ".";
    writer.Norm(at + "norm", kText, false);
    // Scores must differ from token to token, or attention is the same everywhere and hides mistakes.
    writer.Matrix(at + "q.weight", kHeads * kHead, kText, 3.0);
    writer.Matrix(at + "q_time.weight", kHeads * kKey, kText);
    writer.Matrix(at + "uk.weight", kHeads * kHead, kLatent);
    writer.Matrix(at + "uv.weight", kHeads * kHead, kLatent);
    writer.Constant(at + "sink", {kHeads}, 0.0f);
    writer.Matrix(at + "o.weight", kText, kHeads * kHead, 8.0);
    writer.Norm(at + "mlp_norm", kText, false);
    writer.Linear(at + "up", kMlp, kText);
    writer.Matrix(at + "down.weight", kText, kMlp, 0.3);
  }
  if (options.retrieval) {
    writer.Linear("retrieval.frame.fc1", 64, kWidth);
    writer.Matrix("retrieval.frame.place", 4 + 2, 64);
    writer.Linear("retrieval.frame.fc2", 32, 64);
    writer.Linear("retrieval.text.fc1", 64, 2 * kText);
    writer.Linear("retrieval.text.fc2", 32 + 1, 64);
    writer.Constant("retrieval.scale", {1}, 20.0f);
  }
  if (options.caption) {
    // Tokens of words rather than of single bytes.
    writer.Numbers("caption.tokens", kHeadWords, 1000.0f);
    writer.Linear("caption.embed", 1 + kHeadWords, kHeadWidth);
    writer.Matrix("caption.position", kLongest, kHeadWidth);
    writer.Norm("caption.norm", kHeadWidth, true);
    const std::string at = "caption.layers.0.";
    for (const char* norm : {"norm1", "norm2", "norm3"}) writer.Norm(at + norm, kHeadWidth, true);
    writer.Linear(at + "qkv", 3 * kHeadWidth, kHeadWidth);
    for (const char* square : {"o", "cross_q", "cross_o"}) writer.Linear(at + square, kHeadWidth, kHeadWidth, 3.0);
    writer.Matrix(at + "cross_k.weight", kHeadWidth, kLatent);
    writer.Matrix(at + "cross_v.weight", kHeadWidth, kLatent);
    writer.Linear(at + "up", 2 * kHeadWidth, kHeadWidth);
    writer.Linear(at + "down", kHeadWidth, 2 * kHeadWidth);
  }
  writer.Write(path);
}

std::string HashOf(const std::filesystem::path& path) {
  const auto hash = Sha256OfFile(path);
  EXPECT_TRUE(hash.ok()) << hash.status().message();
  return hash.ok() ? *hash : std::string(64, '0');
}

}  // namespace

void WriteTinyModel(const std::filesystem::path& folder, const std::filesystem::path& parts,
                    const TinyModelOptions& options) {
  std::filesystem::create_directories(folder);
  WriteBridge(folder / "bridge.safetensors", options);
  ordered_json config = {{"format", "longview-model"},
                         {"version", 1},
                         {"name", "longview-s"},
                         {"vit",
                          {{"file", kVitPart},
                           {"sha256", HashOf(parts / kVitPart)},
                           {"layers", 12},
                           {"width", kWidth},
                           {"heads", 6},
                           {"patch", 14},
                           {"image", 224},
                           {"mlp", 1536},
                           {"mean", {0.485, 0.456, 0.406}},
                           {"std", {0.229, 0.224, 0.225}}}},
                         {"text", {{"file", kTextPart}, {"sha256", HashOf(parts / kTextPart)}}},
                         {"bridge",
                          {{"file", "bridge.safetensors"},
                           {"sha256", HashOf(folder / "bridge.safetensors")},
                           {"pool", 8},
                           {"d_v", kWidth},
                           {"encoder_layers", 2},
                           {"encoder_heads", 6},
                           {"encoder_mlp", 4 * kWidth},
                           {"d_c", kLatent},
                           {"d_r", kKey},
                           {"cuts", {32, 64, 128}},
                           {"cross_layers", kCrossLayers},
                           {"heads", kHeads},
                           {"d_k", kHead},
                           {"mlp", kMlp},
                           {"min_wavelength_s", 2},
                           {"max_wavelength_s", 144000}}},
                         {"retrieval", nullptr},
                         {"prompts", {{"caption", "Describe this moment."}}}};
  if (options.retrieval)
    config["retrieval"] = {{"layer", 12}, {"width", 32}, {"hidden", 64}, {"pool", 2}, {"sharpness", 10}};
  if (options.caption) {
    config["caption"] = {{"layers", 1},           {"width", kHeadWidth},  {"heads", 2},
                         {"mlp", 2 * kHeadWidth}, {"tokens", kHeadWords}, {"longest", kLongest}};
  }
  std::ofstream out(folder / "config.json");
  out << config.dump(1) << "\n";
  out.close();
  EXPECT_TRUE(out.good()) << folder;
}

}  // namespace longview::test
