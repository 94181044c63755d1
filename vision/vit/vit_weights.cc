// Which initialiser is which: biases and norms by name, matrices by the node that multiplies with them.
#include "vision/vit/vit_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/io/onnx_init.h"

namespace longview {
namespace {

// The weights of four neighbours at distances 1 + t, t, 1 - t, 2 - t (Keys 1981 with a = -0.75, as PyTorch and ONNX
// have it).
std::array<double, 4> CubicWeights(double t) {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

// For each of `to` outputs along one axis, four inputs and their weights.
struct Tap {
  std::array<size_t, 4> index;
  std::array<double, 4> weight;
};

std::vector<Tap> CubicTaps(size_t from, size_t to) {
  std::vector<Tap> taps(to);
  for (size_t i = 0; i < to; ++i) {
    const double at = (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const double base = std::floor(at);
    taps[i].weight = CubicWeights(at - base);
    for (int k = 0; k < 4; ++k) {
      const double clamped = std::clamp(base + k - 1, 0.0, static_cast<double>(from - 1));
      taps[i].index[static_cast<size_t>(k)] = static_cast<size_t>(clamped);
    }
  }
  return taps;
}

// One matrix of a layer: the node that multiplies with it, and its bias by name.
struct MatrixName {
  std::string node;
  std::string bias;
};

// A matrix as plain numbers, its outputs multiplied by `scale` where there is one.
VitFloatMatrix FloatsOf(const VitMatrix& matrix, const std::vector<float>* scale = nullptr) {
  VitFloatMatrix floats;
  for (const Linear& block : matrix.blocks) {
    const std::vector<float> bias = block.bias();
    floats.bias.insert(floats.bias.end(), bias.begin(), bias.end());
    for (size_t row = 0; row < block.out(); ++row) {
      const size_t at = floats.weight.size();
      floats.weight.resize(at + block.in());
      block.CopyRow(row, floats.weight.data() + at);
    }
  }
  if (scale == nullptr) return floats;
  const size_t in = floats.weight.size() / scale->size();
  for (size_t i = 0; i < floats.weight.size(); ++i) floats.weight[i] *= (*scale)[i / in];
  for (size_t i = 0; i < floats.bias.size(); ++i) floats.bias[i] *= (*scale)[i];
  return floats;
}

class VitReader {
 public:
  VitReader(const OnnxFile& file, const VitConfig& config, WeightStore store)
      : file_(file), config_(config), store_(store) {}

  Result<std::unique_ptr<const VitWeights>> Read();

 private:
  Result<std::vector<float>> Vector(const std::string& name, size_t count) const {
    return file_.GetFloat(name, {count});
  }
  Status ReadNorm(const std::string& name, VitNorm* norm) const;
  // Matrices of [in, out_each] in the file, stacked to [n out_each, in].
  Result<VitMatrix> Matrices(const std::vector<MatrixName>& names, size_t out_each, size_t in, WeightStore store) const;
  Result<VitMatrix> MakeMatrix(const std::vector<float>& weight, size_t out, size_t in, const std::vector<float>& bias,
                               WeightStore store) const;
  Status ReadEmbeddings(VitWeights* weights) const;
  Status ReadPositions(VitWeights* weights) const;
  Status ReadLayer(size_t index, VitLayer* layer) const;

  const OnnxFile& file_;
  const VitConfig& config_;
  WeightStore store_;
};

Status VitReader::ReadNorm(const std::string& name, VitNorm* norm) const {
  LV_ASSIGN_OR_RETURN(norm->weight, Vector(name + ".weight", config_.width));
  LV_ASSIGN_OR_RETURN(norm->bias, Vector(name + ".bias", config_.width));
  return Status::Ok();
}

Result<VitMatrix> VitReader::MakeMatrix(const std::vector<float>& weight, size_t out, size_t in,
                                        const std::vector<float>& bias, WeightStore store) const {
  VitMatrix matrix;
  for (size_t first = 0; first < out; first += VitMatrix::kBlockOutputs) {
    const size_t count = std::min(VitMatrix::kBlockOutputs, out - first);
    const TensorView view{DType::kF32, {count, in}, weight.data() + first * in};
    const auto from = bias.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<float> part(from, from + static_cast<std::ptrdiff_t>(count));
    Result<Linear> linear = Linear::Make(view, std::move(part), store, /*copy=*/true);
    if (!linear.ok()) return linear.status().WithContext(file_.path().string());
    matrix.blocks.push_back(std::move(linear).value());
  }
  return matrix;
}

Result<VitMatrix> VitReader::Matrices(const std::vector<MatrixName>& names, size_t out_each, size_t in,
                                      WeightStore store) const {
  std::vector<float> weight(names.size() * out_each * in);
  std::vector<float> bias;
  float* rows = weight.data();
  for (const MatrixName& name : names) {
    LV_ASSIGN_OR_RETURN(const std::string matrix, file_.WeightOfNode(name.node));
    Result<std::vector<float>> stored = file_.GetFloat(matrix, {in, out_each});
    if (!stored.ok()) return stored.status().WithContext(name.node);
    for (size_t i = 0; i < in; ++i) {
      for (size_t o = 0; o < out_each; ++o) rows[o * in + i] = (*stored)[i * out_each + o];
    }
    rows += out_each * in;
    LV_ASSIGN_OR_RETURN(const std::vector<float> part, Vector(name.bias, out_each));
    bias.insert(bias.end(), part.begin(), part.end());
  }
  return MakeMatrix(weight, names.size() * out_each, in, bias, store);
}

Status VitReader::ReadEmbeddings(VitWeights* weights) const {
  const VitConfig& c = config_;
  const std::string projection = "backbone.embeddings.patch_embeddings.projection";
  LV_ASSIGN_OR_RETURN(const std::vector<float> kernel,
                      file_.GetFloat(projection + ".weight", {c.width, 3, c.patch, c.patch}));
  LV_ASSIGN_OR_RETURN(const std::vector<float> bias, Vector(projection + ".bias", c.width));
  LV_ASSIGN_OR_RETURN(weights->patch, MakeMatrix(kernel, c.width, 3 * c.patch * c.patch, bias, store_));
  LV_ASSIGN_OR_RETURN(weights->class_token, file_.GetFloat("backbone.embeddings.cls_token", {1, 1, c.width}));
  return ReadPositions(weights);
}

Status VitReader::ReadPositions(VitWeights* weights) const {
  const VitConfig& c = config_;
  // The class token's position is concatenated before the resized grid; the grid is reshaped before Resize.
  LV_ASSIGN_OR_RETURN(const std::string class_name, file_.WeightOfNode("/backbone/embeddings/Concat_6"));
  LV_ASSIGN_OR_RETURN(const std::vector<float> class_position, file_.GetFloat(class_name, {1, 1, c.width}));
  for (size_t i = 0; i < c.width; ++i) weights->class_token[i] += class_position[i];

  LV_ASSIGN_OR_RETURN(const std::string grid_name, file_.WeightOfNode("/backbone/embeddings/Reshape_1"));
  const auto found = file_.tensors().find(grid_name);
  const std::vector<uint64_t> shape = found == file_.tensors().end() ? std::vector<uint64_t>() : found->second.shape;
  const uint64_t count = shape.size() == 3 ? shape[1] : 0;
  const auto side = static_cast<size_t>(std::llround(std::sqrt(static_cast<double>(count))));
  if (count == 0 || count > (uint64_t{1} << 20) || side * side != count) {
    return Damaged(file_.path().string() + ": '" + grid_name + "', its grid of positions, is not square");
  }
  LV_ASSIGN_OR_RETURN(const std::vector<float> grid, file_.GetFloat(grid_name, {1, count, c.width}));
  weights->patch_positions = ResizePositions(grid, side, c.grid(), c.width);
  return Status::Ok();
}

Status VitReader::ReadLayer(size_t index, VitLayer* layer) const {
  const VitConfig& c = config_;
  const std::string node = "/backbone/encoder/layer." + std::to_string(index) + "/";
  const std::string name = "backbone.encoder.layer." + std::to_string(index) + ".";
  const auto attention = [&](const std::string& part) {
    return MatrixName{node + "attention/attention/" + part + "/MatMul", name + "attention.attention." + part + ".bias"};
  };
  // In eight bits the first block costs most: the cosine of a picture of noise falls from 0.9995 to 0.9982.
  const WeightStore store = index == 0 && store_ == WeightStore::kI8 ? WeightStore::kBF16 : store_;
  LV_RETURN_IF_ERROR(ReadNorm(name + "norm1", &layer->norm1));
  LV_RETURN_IF_ERROR(ReadNorm(name + "norm2", &layer->norm2));
  LV_ASSIGN_OR_RETURN(layer->qkv,
                      Matrices({attention("query"), attention("key"), attention("value")}, c.width, c.width, store));
  LV_ASSIGN_OR_RETURN(
      layer->proj, Matrices({{node + "attention/output/dense/MatMul", name + "attention.output.dense.bias"}}, c.width,
                            c.width, store));
  LV_ASSIGN_OR_RETURN(layer->scale1, Vector(name + "layer_scale1.lambda1", c.width));
  LV_ASSIGN_OR_RETURN(layer->fc1, Matrices({{node + "mlp/fc1/MatMul", name + "mlp.fc1.bias"}}, c.mlp, c.width, store));
  LV_ASSIGN_OR_RETURN(layer->fc2, Matrices({{node + "mlp/fc2/MatMul", name + "mlp.fc2.bias"}}, c.width, c.mlp, store));
  LV_ASSIGN_OR_RETURN(layer->scale2, Vector(name + "layer_scale2.lambda1", c.width));
  return Status::Ok();
}

Result<std::unique_ptr<const VitWeights>> VitReader::Read() {
  auto weights = std::make_unique<VitWeights>();
  LV_RETURN_IF_ERROR(ReadEmbeddings(weights.get()));
  for (size_t i = 0; i < config_.depth(); ++i) {
    LV_RETURN_IF_ERROR(ReadLayer(i, &weights->layers.emplace_back()));
  }
  if (config_.taps.empty()) {
    LV_RETURN_IF_ERROR(ReadNorm("backbone.layernorm", &weights->norm));
  } else {
    weights->norm.weight.assign(config_.width, 1.0f);
    weights->norm.bias.assign(config_.width, 0.0f);
  }
  return std::unique_ptr<const VitWeights>(std::move(weights));
}

}  // namespace

size_t VitMatrix::bytes() const {
  size_t total = 0;
  for (const Linear& block : blocks) total += block.bytes();
  return total;
}

VitFloats FloatsOf(const VitConfig& config, const VitWeights& weights) {
  VitFloats floats;
  VitFloatMatrix patch = FloatsOf(weights.patch);
  floats.patch = std::move(patch.weight);
  floats.start = weights.class_token;
  for (size_t i = 0; i < weights.patch_positions.size(); ++i) {
    floats.start.push_back(weights.patch_positions[i] + patch.bias[i % config.width]);
  }
  for (const VitLayer& layer : weights.layers) {
    floats.layers.push_back({layer.norm1, layer.norm2, FloatsOf(layer.qkv), FloatsOf(layer.proj, &layer.scale1),
                             FloatsOf(layer.fc1), FloatsOf(layer.fc2, &layer.scale2)});
  }
  floats.norm = weights.norm;
  return floats;
}

std::vector<float> ResizePositions(std::span<const float> grid, size_t from, size_t to, size_t width) {
  const std::vector<Tap> taps = CubicTaps(from, to);
  std::vector<float> out(to * to * width);
  for (size_t y = 0; y < to; ++y) {
    for (size_t x = 0; x < to; ++x) {
      for (size_t d = 0; d < width; ++d) {
        double sum = 0.0;
        for (size_t i = 0; i < 4; ++i) {
          double line = 0.0;
          for (size_t j = 0; j < 4; ++j) {
            line += taps[x].weight[j] * grid[(taps[y].index[i] * from + taps[x].index[j]) * width + d];
          }
          sum += taps[y].weight[i] * line;
        }
        out[(y * to + x) * width + d] = static_cast<float>(sum);
      }
    }
  }
  return out;
}

Result<std::unique_ptr<const VitWeights>> LoadVitWeights(const std::filesystem::path& path, const VitConfig& config,
                                                         WeightStore store) {
  LV_ASSIGN_OR_RETURN(const std::shared_ptr<const OnnxFile> file, OnnxFile::Open(path));
  return VitReader(*file, config, store).Read();
}

}  // namespace longview
