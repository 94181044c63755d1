// Binding of the bridge's tensors by name, every shape held against the config.
#include "attention/bridge/bridge_weights.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/io/weights.h"

namespace longview {
namespace {

// Takes tensors of one file; the names that it is asked for begin with a prefix.
class Reader {
 public:
  Reader(const WeightFile& file, WeightStore store) : file_(file), store_(store) {}

  Status Floats(const std::string& name, const std::vector<uint64_t>& shape, std::vector<float>* to) const {
    LV_ASSIGN_OR_RETURN(*to, file_.GetFloat(name, shape));
    return Status::Ok();
  }

  Status Matrix(const std::string& name, size_t out, size_t in, bool bias, Linear* to) const {
    LV_ASSIGN_OR_RETURN(const TensorView weight, file_.Get(name + ".weight", {out, in}));
    std::vector<float> offset;
    if (bias) LV_RETURN_IF_ERROR(Floats(name + ".bias", {out}, &offset));
    LV_ASSIGN_OR_RETURN(*to, Linear::Make(weight, std::move(offset), store_));
    return Status::Ok();
  }

  Status Norm(const std::string& name, size_t width, std::vector<float>* weight, std::vector<float>* bias) const {
    LV_RETURN_IF_ERROR(Floats(name + ".weight", {width}, weight));
    return Floats(name + ".bias", {width}, bias);
  }

  const WeightFile& file() const { return file_; }
  WeightStore store() const { return store_; }

 private:
  const WeightFile& file_;
  WeightStore store_;
};

Status ReadEncoder(const Reader& reader, const BridgeConfig& c, BridgeWeights* to) {
  LV_RETURN_IF_ERROR(reader.Norm("encoder.in_norm", c.vit_width, &to->in_norm_weight, &to->in_norm_bias));
  LV_RETURN_IF_ERROR(reader.Matrix("encoder.in", c.d_v, c.vit_width, true, &to->in));
  LV_RETURN_IF_ERROR(reader.Floats("encoder.position", {c.tokens_per_frame(), c.d_v}, &to->position));
  LV_RETURN_IF_ERROR(reader.Norm("encoder.out_norm", c.d_v, &to->out_norm_weight, &to->out_norm_bias));
  for (size_t i = 0; i < c.encoder_layers; ++i) {
    const std::string at = "encoder.layers." + std::to_string(i) + ".";
    EncoderLayerWeights layer;
    LV_RETURN_IF_ERROR(reader.Norm(at + "norm1", c.d_v, &layer.norm1_weight, &layer.norm1_bias));
    LV_RETURN_IF_ERROR(reader.Norm(at + "norm2", c.d_v, &layer.norm2_weight, &layer.norm2_bias));
    LV_RETURN_IF_ERROR(reader.Matrix(at + "qkv", 3 * c.d_v, c.d_v, true, &layer.qkv));
    LV_RETURN_IF_ERROR(reader.Matrix(at + "proj", c.d_v, c.d_v, true, &layer.proj));
    LV_RETURN_IF_ERROR(reader.Matrix(at + "fc1", c.encoder_mlp, c.d_v, true, &layer.fc1));
    LV_RETURN_IF_ERROR(reader.Matrix(at + "fc2", c.d_v, c.encoder_mlp, true, &layer.fc2));
    to->encoder.push_back(std::move(layer));
  }
  return Status::Ok();
}

Status ReadCompressor(const Reader& reader, const BridgeConfig& c, BridgeWeights* to) {
  LV_ASSIGN_OR_RETURN(const TensorView down, reader.file().Get("compress.down.weight", {c.d_c, c.d_v}));
  LV_ASSIGN_OR_RETURN(const TensorView time_key, reader.file().Get("compress.time_key.weight", {c.d_r, c.d_v}));
  std::vector<float> norm;
  LV_RETURN_IF_ERROR(reader.Floats("compress.norm.weight", {c.d_c}, &norm));
  LV_ASSIGN_OR_RETURN(to->rope, TimeRope::Make(c.d_r, c.min_wavelength_s, c.max_wavelength_s));
  LV_ASSIGN_OR_RETURN(to->compressor, Compressor::Make(down, std::move(norm), time_key, to->rope, reader.store()));
  return Status::Ok();
}

Status ReadCross(const Reader& reader, const BridgeConfig& c, size_t n, BridgeWeights* to) {
  const std::string at = "cross." + std::to_string(n) + ".";
  CrossLayerWeights layer;
  layer.layer = c.cross_layers[n];
  LV_RETURN_IF_ERROR(reader.Floats(at + "norm.weight", {c.width}, &layer.norm_weight));
  LV_RETURN_IF_ERROR(reader.Floats(at + "mlp_norm.weight", {c.width}, &layer.mlp_norm));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "q", c.heads * c.d_k, c.width, false, &layer.q));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "q_time", c.heads * c.d_r, c.width, false, &layer.q_time));
  LV_RETURN_IF_ERROR(reader.Floats(at + "uk.weight", {c.heads * c.d_k, c.d_c}, &layer.uk));
  LV_RETURN_IF_ERROR(reader.Floats(at + "uv.weight", {c.heads * c.d_k, c.d_c}, &layer.uv));
  LV_RETURN_IF_ERROR(reader.Floats(at + "sink", {c.heads}, &layer.sink));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "o", c.width, c.heads * c.d_k, false, &layer.o));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "up", c.mlp, c.width, true, &layer.up));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "down", c.width, c.mlp, false, &layer.down));
  to->cross.push_back(std::move(layer));
  return Status::Ok();
}

Status ReadHead(const Reader& reader, const std::string& at, size_t in, size_t hidden, size_t out,
                std::optional<RetrievalHeadWeights>* to) {
  RetrievalHeadWeights head;
  LV_RETURN_IF_ERROR(reader.Matrix(at + ".fc1", hidden, in, true, &head.fc1));
  LV_RETURN_IF_ERROR(reader.Matrix(at + ".fc2", out, hidden, true, &head.fc2));
  *to = std::move(head);
  return Status::Ok();
}

Status ReadCaptionLayer(const Reader& reader, const std::string& at, const CaptionConfig& h, size_t d_c,
                        CaptionHeadWeights* to) {
  CaptionLayerWeights layer;
  LV_RETURN_IF_ERROR(reader.Norm(at + "norm1", h.width, &layer.norm1_weight, &layer.norm1_bias));
  LV_RETURN_IF_ERROR(reader.Norm(at + "norm2", h.width, &layer.norm2_weight, &layer.norm2_bias));
  LV_RETURN_IF_ERROR(reader.Norm(at + "norm3", h.width, &layer.norm3_weight, &layer.norm3_bias));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "qkv", 3 * h.width, h.width, true, &layer.qkv));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "o", h.width, h.width, true, &layer.o));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "cross_q", h.width, h.width, true, &layer.cross_q));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "cross_k", h.width, d_c, false, &layer.cross_k));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "cross_v", h.width, d_c, false, &layer.cross_v));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "cross_o", h.width, h.width, true, &layer.cross_o));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "up", h.mlp, h.width, true, &layer.up));
  LV_RETURN_IF_ERROR(reader.Matrix(at + "down", h.width, h.mlp, true, &layer.down));
  to->layers.push_back(std::move(layer));
  return Status::Ok();
}

Status ReadCaptionHead(const Reader& reader, const BridgeConfig& c, BridgeWeights* to) {
  const CaptionConfig& h = *c.caption;
  CaptionHeadWeights head;
  std::vector<float> tokens;
  LV_RETURN_IF_ERROR(reader.Floats("caption.tokens", {h.tokens}, &tokens));
  for (const float token : tokens) {
    // What a float holds exactly; the text decoder's own vocabulary is the session's to check.
    if (!(token >= 0.0f && token < 16777216.0f) || token != std::floor(token)) {
      return Damaged(reader.file().path().string() + ": caption.tokens holds what is no token");
    }
    head.tokens.push_back(static_cast<int32_t>(token));
    head.number_of[head.tokens.back()] = static_cast<uint32_t>(head.tokens.size());
  }
  LV_RETURN_IF_ERROR(reader.Matrix("caption.embed", 1 + h.tokens, h.width, true, &head.embed));
  LV_RETURN_IF_ERROR(reader.Floats("caption.position", {h.longest, h.width}, &head.position));
  LV_RETURN_IF_ERROR(reader.Norm("caption.norm", h.width, &head.norm_weight, &head.norm_bias));
  for (size_t i = 0; i < h.layers; ++i) {
    LV_RETURN_IF_ERROR(ReadCaptionLayer(reader, "caption.layers." + std::to_string(i) + ".", h, c.d_c, &head));
  }
  to->caption_head = std::move(head);
  return Status::Ok();
}

// A number that stands alone: [] or [1].
Status ReadScalar(const Reader& reader, const std::string& name, float* to) {
  std::vector<float> value;
  if (!reader.Floats(name, {}, &value).ok()) LV_RETURN_IF_ERROR(reader.Floats(name, {1}, &value));
  *to = value[0];
  return Status::Ok();
}

// The text decoder's width, where the config does not say it.
Result<size_t> WidthOf(const WeightFile& file) {
  const auto found = file.tensors().find("cross.0.norm.weight");
  if (found == file.tensors().end()) return NotFound(file.path().string() + ": no tensor cross.0.norm.weight");
  if (found->second.shape.size() != 1 || found->second.shape[0] == 0 || found->second.shape[0] > 65536) {
    return Damaged(file.path().string() + ": cross.0.norm.weight is " + found->second.ShapeText() +
                   ", not as long as a hidden state");
  }
  return static_cast<size_t>(found->second.shape[0]);
}

}  // namespace

size_t BridgeWeights::bytes() const {
  size_t floats =
      in_norm_weight.size() + in_norm_bias.size() + position.size() + out_norm_weight.size() + out_norm_bias.size();
  size_t total = in.bytes() + compressor.bytes();
  for (const EncoderLayerWeights& layer : encoder) {
    floats += layer.norm1_weight.size() + layer.norm1_bias.size() + layer.norm2_weight.size() + layer.norm2_bias.size();
    total += layer.qkv.bytes() + layer.proj.bytes() + layer.fc1.bytes() + layer.fc2.bytes();
  }
  for (const CrossLayerWeights& layer : cross) {
    floats += layer.norm_weight.size() + layer.mlp_norm.size() + layer.uk.size() + layer.uv.size() + layer.sink.size();
    total += layer.q.bytes() + layer.q_time.bytes() + layer.o.bytes() + layer.up.bytes() + layer.down.bytes();
  }
  floats += frame_place.size();
  for (const auto* head : {&frame_head, &text_head}) {
    if (head->has_value()) total += (*head)->fc1.bytes() + (*head)->fc2.bytes();
  }
  if (caption_head) {
    const CaptionHeadWeights& head = *caption_head;
    floats += head.position.size() + head.norm_weight.size() + head.norm_bias.size() + head.tokens.size();
    total += head.embed.bytes();
    for (const CaptionLayerWeights& layer : head.layers) {
      floats += 6 * layer.norm1_weight.size();
      total += layer.qkv.bytes() + layer.o.bytes() + layer.cross_q.bytes() + layer.cross_o.bytes() +
               layer.cross_k.bytes() + layer.cross_v.bytes() + layer.up.bytes() + layer.down.bytes();
    }
  }
  return total + floats * sizeof(float);
}

Result<std::shared_ptr<const BridgeWeights>> LoadBridge(const BridgeConfig& config, const WeightFile& file,
                                                        WeightStore store) {
  auto weights = std::make_shared<BridgeWeights>();
  weights->config = config;
  if (config.width == 0) {
    LV_ASSIGN_OR_RETURN(weights->config.width, WidthOf(file));
  }
  const BridgeConfig& c = weights->config;
  const Reader reader(file, store);
  LV_RETURN_IF_ERROR(ReadEncoder(reader, c, weights.get()));
  LV_RETURN_IF_ERROR(ReadCompressor(reader, c, weights.get()));
  for (size_t n = 0; n < c.cross_layers.size(); ++n) LV_RETURN_IF_ERROR(ReadCross(reader, c, n, weights.get()));
  if (c.retrieval) {
    const RetrievalConfig& r = *c.retrieval;
    LV_RETURN_IF_ERROR(ReadHead(reader, "retrieval.frame", c.vit_width, r.hidden, r.width, &weights->frame_head));
    LV_RETURN_IF_ERROR(ReadHead(reader, "retrieval.text", 2 * c.width, r.hidden, r.width + 1, &weights->text_head));
    LV_RETURN_IF_ERROR(reader.Floats("retrieval.frame.place", {r.parts(), r.hidden}, &weights->frame_place));
    LV_RETURN_IF_ERROR(ReadScalar(reader, "retrieval.scale", &weights->retrieval_scale));
  }
  if (c.caption) LV_RETURN_IF_ERROR(ReadCaptionHead(reader, c, weights.get()));
  return std::shared_ptr<const BridgeWeights>(std::move(weights));
}

Result<std::shared_ptr<const BridgeWeights>> LoadBridge(const std::filesystem::path& folder, WeightStore store) {
  LV_ASSIGN_OR_RETURN(const BridgeConfig config, ReadBridgeConfig(folder / "config.json"));
  LV_ASSIGN_OR_RETURN(const std::shared_ptr<const WeightFile> file, WeightFile::Open(folder / config.file));
  return LoadBridge(config, *file, store);
}

}  // namespace longview
