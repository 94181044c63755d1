// TextDecoder::Load: the GGUF file's metadata and tensors, each checked before use.
#include <cmath>
#include <string>
#include <utility>

#include "attention/decoder/decoder_layer.h"
#include "attention/decoder/gpu_decoder.h"
#include "attention/decoder/text_decoder.h"
#include "core/base/log.h"
#include "core/io/gguf.h"

namespace longview {
namespace {

// More than any model that this decoder could run in reasonable time; keeps products of dimensions far from overflow.
constexpr uint64_t kMaxLayers = 512;
constexpr uint64_t kMaxWidth = 1 << 16;
constexpr uint64_t kMaxVocabulary = 1 << 22;
constexpr uint64_t kMaxContext = 1 << 17;
constexpr uint64_t kMaxHeadDim = 512;

// The whole number at `key`, in [1, limit].
Result<size_t> Dimension(const GgufFile& file, std::string_view key, uint64_t limit) {
  LV_ASSIGN_OR_RETURN(const uint64_t value, file.Uint(key));
  if (value == 0 || value > limit) {
    return Damaged(file.path().string() + ": " + std::string(key) + " is " + std::to_string(value) + ", not in 1.." +
                   std::to_string(limit));
  }
  return static_cast<size_t>(value);
}

Result<TextDecoderConfig> ReadConfig(const GgufFile& file) {
  const std::string name = file.path().string();
  LV_ASSIGN_OR_RETURN(const std::string architecture, file.String("general.architecture"));
  if (architecture != "llama") {
    return Unsupported(name + ": a text decoder of architecture '" + architecture + "'; only 'llama' is understood");
  }
  TextDecoderConfig config;
  LV_ASSIGN_OR_RETURN(config.layers, Dimension(file, "llama.block_count", kMaxLayers));
  LV_ASSIGN_OR_RETURN(config.width, Dimension(file, "llama.embedding_length", kMaxWidth));
  LV_ASSIGN_OR_RETURN(config.heads, Dimension(file, "llama.attention.head_count", kMaxWidth));
  LV_ASSIGN_OR_RETURN(config.kv_heads, Dimension(file, "llama.attention.head_count_kv", kMaxWidth));
  LV_ASSIGN_OR_RETURN(config.ffn, Dimension(file, "llama.feed_forward_length", kMaxWidth));
  LV_ASSIGN_OR_RETURN(config.vocabulary, Dimension(file, "llama.vocab_size", kMaxVocabulary));
  LV_ASSIGN_OR_RETURN(config.context, Dimension(file, "llama.context_length", kMaxContext));
  LV_ASSIGN_OR_RETURN(const double epsilon, file.Double("llama.attention.layer_norm_rms_epsilon"));
  LV_ASSIGN_OR_RETURN(config.rope_base, file.Double("llama.rope.freq_base"));
  config.rms_epsilon = static_cast<float>(epsilon);
  if (config.width % config.heads != 0 || config.heads % config.kv_heads != 0) {
    return Damaged(name + ": " + std::to_string(config.heads) + " heads and " + std::to_string(config.kv_heads) +
                   " key-value heads do not divide a width of " + std::to_string(config.width));
  }
  config.head_dim = config.width / config.heads;
  if (config.head_dim % 2 != 0 || config.head_dim > kMaxHeadDim) {
    return Unsupported(name + ": heads of width " + std::to_string(config.head_dim));
  }
  if (!(epsilon >= 0.0 && epsilon < 1.0) || !(config.rope_base > 1.0) || !std::isfinite(config.rope_base)) {
    return Damaged(name + ": its norm epsilon or rope base is out of range");
  }
  // What would change the arithmetic and is not done here.
  for (const char* key : {"llama.rope.dimension_count", "llama.attention.key_length", "llama.attention.value_length"}) {
    if (!file.Has(key)) continue;
    LV_ASSIGN_OR_RETURN(const uint64_t value, file.Uint(key));
    if (value != config.head_dim) {
      return Unsupported(name + ": " + key + " is " + std::to_string(value) + ", not the head width " +
                         std::to_string(config.head_dim));
    }
  }
  if (file.Has("llama.rope.scaling.type")) {
    LV_ASSIGN_OR_RETURN(const std::string type, file.String("llama.rope.scaling.type"));
    if (type != "none") return Unsupported(name + ": RoPE scaling of type '" + type + "'");
  }
  return config;
}

// Tensors of one file by name and shape, counting them: one that nobody asks for would be part of the arithmetic.
class TensorReader {
 public:
  explicit TensorReader(const GgufFile& file) : file_(file) {}
  Result<TensorView> Get(const std::string& name, size_t out, size_t in) {
    ++read_;
    return file_.Get(name, {out, in});
  }
  Result<std::vector<float>> Vector(const std::string& name, size_t count) {
    ++read_;
    return file_.GetFloat(name, {count});
  }
  Status CheckAllRead() const {
    if (file_.tensors().size() == read_) return Status::Ok();
    return Unsupported(file_.path().string() + ": holds " + std::to_string(file_.tensors().size()) +
                       " tensors where a llama decoder of its size has " + std::to_string(read_));
  }

 private:
  const GgufFile& file_;
  size_t read_ = 0;
};

Result<Linear> MakeLinear(TensorReader* reader, const std::string& name, size_t out, size_t in, WeightStore store) {
  LV_ASSIGN_OR_RETURN(const TensorView view, reader->Get(name, out, in));
  Result<Linear> linear = Linear::Make(view, {}, store, /*copy=*/true);
  if (!linear.ok()) return linear.status().WithContext(name);
  return linear;
}

Status ReadDecoderLayer(TensorReader* reader, const TextDecoderConfig& c, size_t index, WeightStore store,
                        DecoderLayer* layer) {
  const std::string block = "blk." + std::to_string(index) + ".";
  const size_t kv_width = c.kv_heads * c.head_dim;
  LV_ASSIGN_OR_RETURN(layer->attention_norm, reader->Vector(block + "attn_norm.weight", c.width));
  LV_ASSIGN_OR_RETURN(layer->ffn_norm, reader->Vector(block + "ffn_norm.weight", c.width));
  LV_ASSIGN_OR_RETURN(const TensorView q, reader->Get(block + "attn_q.weight", c.width, c.width));
  LV_ASSIGN_OR_RETURN(const TensorView k, reader->Get(block + "attn_k.weight", kv_width, c.width));
  LV_ASSIGN_OR_RETURN(const TensorView v, reader->Get(block + "attn_v.weight", kv_width, c.width));
  LV_ASSIGN_OR_RETURN(const TensorView gate, reader->Get(block + "ffn_gate.weight", c.ffn, c.width));
  LV_ASSIGN_OR_RETURN(const TensorView up, reader->Get(block + "ffn_up.weight", c.ffn, c.width));
  const StackPart qkv[] = {{q, c.heads}, {k, c.kv_heads}, {v, 0}};
  const StackPart gate_up[] = {{gate, 0}, {up, 0}};
  LV_ASSIGN_OR_RETURN(layer->qkv, StackedLinear::Make(qkv, store));
  LV_ASSIGN_OR_RETURN(layer->gate_up, StackedLinear::Make(gate_up, store));
  LV_ASSIGN_OR_RETURN(layer->attention_out, MakeLinear(reader, block + "attn_output.weight", c.width, c.width, store));
  LV_ASSIGN_OR_RETURN(layer->ffn_down, MakeLinear(reader, block + "ffn_down.weight", c.width, c.ffn, store));
  return Status::Ok();
}

}  // namespace

Result<std::shared_ptr<const TextDecoder>> TextDecoder::Load(const std::filesystem::path& path, WeightStore store,
                                                             std::shared_ptr<GpuNet> device) {
  auto decoder = std::shared_ptr<TextDecoder>(new TextDecoder());
  LV_RETURN_IF_ERROR(decoder->LoadWeights(path, store));
  if (device == nullptr) return std::shared_ptr<const TextDecoder>(std::move(decoder));
  const std::string name = device->Name();
  auto gpu = GpuDecoder::Make(std::move(device), decoder->config_, decoder->Source());
  if (gpu.ok()) {
    LogDebug("the text decoder runs on " + name);
    decoder->gpu_ = std::move(gpu).value();
  } else {
    LogInfo("the text decoder stays with the processor: " + gpu.status().message());
  }
  return std::shared_ptr<const TextDecoder>(std::move(decoder));
}

TextSource TextDecoder::Source() const {
  TextSource source;
  const auto rows_of = [](const auto& matrix, size_t in) {
    return TextMatrix{matrix.out(), in, [&matrix](size_t row, float* to) { matrix.CopyRow(row, to); }};
  };
  for (const DecoderLayer& layer : layers_) {
    source.layers.push_back({layer.attention_norm, layer.ffn_norm, rows_of(layer.qkv, config_.width),
                             rows_of(layer.attention_out, config_.width), rows_of(layer.gate_up, config_.width),
                             rows_of(layer.ffn_down, config_.ffn)});
  }
  source.embedding = rows_of(embedding_, config_.width);
  if (!tied_) source.output = rows_of(output_, config_.width);
  source.output_norm = output_norm_;
  source.rope = &rope_;
  return source;
}

Status TextDecoder::LoadWeights(const std::filesystem::path& path, WeightStore store) {
  LV_ASSIGN_OR_RETURN(const std::shared_ptr<const GgufFile> file, GgufFile::Open(path));
  LV_ASSIGN_OR_RETURN(config_, ReadConfig(*file));
  TensorReader reader(*file);
  layers_.resize(config_.layers);
  for (size_t i = 0; i < config_.layers; ++i) {
    LV_RETURN_IF_ERROR(ReadDecoderLayer(&reader, config_, i, store, &layers_[i]));
  }
  LV_ASSIGN_OR_RETURN(embedding_, MakeLinear(&reader, "token_embd.weight", config_.vocabulary, config_.width, store));
  output_ = embedding_;
  if (file->tensors().find("output.weight") != file->tensors().end()) {
    LV_ASSIGN_OR_RETURN(output_, MakeLinear(&reader, "output.weight", config_.vocabulary, config_.width, store));
    tied_ = false;
  }
  LV_ASSIGN_OR_RETURN(output_norm_, reader.Vector("output_norm.weight", config_.width));
  rope_ = RopeTable(config_.head_dim, config_.rope_base, config_.context);
  return reader.CheckAllRead();
}

}  // namespace longview
