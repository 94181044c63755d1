// GpuFrameEncoder: weights to the device, buffers, and the order of the launches.
#include "attention/bridge/gpu_frame_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "core/tensor/dtype.h"

namespace longview {
namespace {

using Memory = GpuStream::Memory;

// As the processor's frame encoder and compressor.
constexpr float kNormEpsilon = 1e-6f;

Status CheckShape(const BridgeConfig& c) {
  const auto fits = [](size_t n) { return n > 0 && n % 8 == 0; };
  bool good = fits(c.vit_width) && fits(c.d_v) && fits(c.encoder_mlp) && fits(c.d_c) && fits(c.d_r) &&
              c.encoder_heads > 0 && fits(c.d_v / c.encoder_heads) && c.d_v / c.encoder_heads <= 128;
  if (c.retrieval) good = good && fits(c.retrieval->hidden) && fits(c.retrieval->width);
  if (good) return Status::Ok();
  return Unsupported(
      "the device takes a bridge's dimensions in multiples of 8 and heads of up to 128 numbers, not frame tokens of " +
      std::to_string(c.d_v) + " in " + std::to_string(c.encoder_heads) + " heads with " +
      std::to_string(c.encoder_mlp) + ", latents of " + std::to_string(c.d_c) + " + " + std::to_string(c.d_r));
}

}  // namespace

GpuFrameEncoder::GpuFrameEncoder(std::shared_ptr<GpuNet> net, const BridgeConfig& config, size_t most_frames)
    : net_(std::move(net)), config_(config), most_frames_(most_frames) {}

GpuFrameEncoder::~GpuFrameEncoder() {
  // Nothing may still be writing to what is freed; where the device has failed there is nothing left to wait for.
  (void)net_->Finish();
}

Result<std::unique_ptr<GpuFrameEncoder>> GpuFrameEncoder::Make(std::shared_ptr<GpuNet> net, const BridgeConfig& config,
                                                               const FrameEncoderFloats& weights, size_t most_frames) {
  LV_RETURN_IF_ERROR(CheckShape(config));
  std::unique_ptr<GpuFrameEncoder> made(new GpuFrameEncoder(std::move(net), config, std::max<size_t>(most_frames, 1)));
  LV_RETURN_IF_ERROR(made->AddWeights(weights));
  return made;
}

Status GpuFrameEncoder::AddWeights(const FrameEncoderFloats& weights) {
  const BridgeConfig& c = config_;
  // A product's bias has the type of what it makes.
  const auto add = [&](const FrameEncoderFloats::Matrix& matrix, size_t in, size_t out, bool narrow_bias) {
    Matrix added;
    added.in = in;
    added.out = out;
    added.weight = weights_.AddBF16(matrix.weight, in, in);
    if (!matrix.bias.empty()) {
      added.bias = narrow_bias ? weights_.AddBF16(matrix.bias) : weights_.AddFloats(matrix.bias);
    }
    return added;
  };
  const auto add_norm = [&](const FrameEncoderFloats::Norm& norm) {
    return Norm{weights_.AddFloats(norm.weight), weights_.AddFloats(norm.bias)};
  };
  in_norm_ = add_norm(weights.in_norm);
  out_norm_ = add_norm(weights.out_norm);
  in_ = add(weights.in, c.vit_width, c.d_v, false);
  position_ = weights_.AddFloats(weights.position);
  for (const FrameEncoderFloats::Layer& from : weights.layers) {
    Layer& layer = layers_.emplace_back();
    layer.norm1 = add_norm(from.norm1);
    layer.norm2 = add_norm(from.norm2);
    layer.qkv = add(from.qkv, c.d_v, 3 * c.d_v, true);
    layer.proj = add(from.proj, c.d_v, c.d_v, false);
    layer.fc1 = add(from.fc1, c.d_v, c.encoder_mlp, true);
    layer.fc2 = add(from.fc2, c.encoder_mlp, c.d_v, false);
  }
  down_ = add(weights.down, c.d_v, c.d_c, false);
  time_key_ = add(weights.time_key, c.d_v, c.d_r, false);
  latent_norm_ = weights_.AddFloats(weights.latent_norm);
  if (c.retrieval) {
    frame_fc1_ = add(weights.frame_fc1, c.vit_width, c.retrieval->hidden, false);
    frame_fc2_ = add(weights.frame_fc2, c.retrieval->hidden, c.retrieval->width, false);
    frame_place_ = weights_.AddFloats(weights.frame_place);
  }
  return weights_.Upload(net_);
}

Status GpuFrameEncoder::Reserve(size_t frames) {
  if (frames <= reserved_) return Status::Ok();
  reserved_ = 0;
  const BridgeConfig& c = config_;
  const size_t rows = frames * c.tokens_per_frame();
  const auto make = [&](GpuBuffer* buffer, Memory memory, size_t numbers, size_t number_bytes) -> Status {
    *buffer = GpuBuffer();  // the old one goes first
    LV_ASSIGN_OR_RETURN(*buffer, GpuBuffer::Make(net_, memory, numbers * number_bytes));
    return Status::Ok();
  };
  const size_t vit = frames * c.vit_tokens() * c.vit_width;
  LV_RETURN_IF_ERROR(make(&vit_, Memory::kDevice, vit, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&vit_pinned_, Memory::kPinned, vit, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&pooled_, Memory::kDevice, rows * c.vit_width, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&normed_, Memory::kDevice, rows * std::max(c.vit_width, c.d_v), sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&hidden_, Memory::kDevice, rows * c.d_v, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&qkv_, Memory::kDevice, rows * 3 * c.d_v, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&attended_, Memory::kDevice, rows * c.d_v, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&inner_, Memory::kDevice, rows * c.encoder_mlp, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&raw_, Memory::kDevice, rows * c.d_c, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&latents_, Memory::kDevice, rows * c.d_c, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&latents_pinned_, Memory::kPinned, rows * c.d_c, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&keys_, Memory::kDevice, rows * c.d_r, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&keys_pinned_, Memory::kPinned, rows * c.d_r, sizeof(float)));
  if (c.retrieval) {
    const size_t parts = frames * c.retrieval->parts();
    LV_RETURN_IF_ERROR(make(&parts_, Memory::kDevice, parts * c.vit_width, sizeof(uint16_t)));
    LV_RETURN_IF_ERROR(make(&part_hidden_, Memory::kDevice, parts * c.retrieval->hidden, sizeof(float)));
    LV_RETURN_IF_ERROR(make(&part_inner_, Memory::kDevice, parts * c.retrieval->hidden, sizeof(uint16_t)));
    LV_RETURN_IF_ERROR(make(&vectors_, Memory::kDevice, parts * c.retrieval->width, sizeof(float)));
    LV_RETURN_IF_ERROR(make(&vectors_pinned_, Memory::kPinned, parts * c.retrieval->width, sizeof(float)));
  }
  reserved_ = frames;
  return Status::Ok();
}

Result<GpuBuffer> GpuFrameEncoder::Room(size_t numbers) {
  LV_ASSIGN_OR_RETURN(GpuBuffer room, GpuBuffer::Make(net_, Memory::kDevice, numbers * sizeof(float)));
  LV_RETURN_IF_ERROR(net_->Finish());  // it is zeroed before somebody else's stream writes to it
  return room;
}

Status GpuFrameEncoder::Multiply(const Matrix& matrix, GpuGemm::Into into, const uint16_t* x, size_t rows, void* y) {
  GpuGemm call;
  call.into = into;
  call.x = x;
  call.x_stride = call.in = matrix.in;
  call.w = weights_.At<uint16_t>(matrix.weight);
  call.bias = matrix.bias == SIZE_MAX ? nullptr : weights_.At<std::byte>(matrix.bias);
  call.y = y;
  call.y_stride = call.out = matrix.out;
  call.rows = rows;
  return net_->Gemm(call);
}

Status GpuFrameEncoder::Normalise(const Norm& norm, const float* x, size_t rows, size_t width) {
  GpuLayerNorm call;
  call.x = x;
  call.weight = weights_.At<float>(norm.weight);
  call.bias = weights_.At<float>(norm.bias);
  call.y = normed_.As<uint16_t>();
  call.y_stride = call.width = static_cast<uint32_t>(width);
  call.rows = static_cast<uint32_t>(rows);
  call.epsilon = kNormEpsilon;
  return net_->LayerNorm(call);
}

Status GpuFrameEncoder::Repeat(size_t place, size_t numbers, size_t frames, float* to) {
  for (size_t i = 0; i < frames; ++i) {
    LV_RETURN_IF_ERROR(net_->Copy(to + i * numbers, weights_.At<float>(place), numbers * sizeof(float)));
  }
  return Status::Ok();
}

Status GpuFrameEncoder::Block(const Layer& layer, size_t frames) {
  const BridgeConfig& c = config_;
  const size_t rows = frames * c.tokens_per_frame();
  auto* normed = normed_.As<uint16_t>();
  auto* hidden = hidden_.As<float>();
  LV_RETURN_IF_ERROR(Normalise(layer.norm1, hidden, rows, c.d_v));
  LV_RETURN_IF_ERROR(Multiply(layer.qkv, GpuGemm::Into::kBF16, normed, rows, qkv_.As<uint16_t>()));
  GpuSdpa attention;
  attention.q = qkv_.As<uint16_t>();
  attention.k = attention.q + c.d_v;
  attention.v = attention.k + c.d_v;
  attention.row_stride = 3 * c.d_v;
  attention.out = attended_.As<uint16_t>();
  attention.out_stride = c.d_v;
  attention.pictures = frames;
  attention.rows = c.tokens_per_frame();
  attention.heads = c.encoder_heads;
  attention.head_dim = c.d_v / c.encoder_heads;
  attention.scale = 1.0f / std::sqrt(static_cast<float>(attention.head_dim));
  LV_RETURN_IF_ERROR(net_->Sdpa(attention));
  LV_RETURN_IF_ERROR(Multiply(layer.proj, GpuGemm::Into::kAdd, attention.out, rows, hidden));
  LV_RETURN_IF_ERROR(Normalise(layer.norm2, hidden, rows, c.d_v));
  LV_RETURN_IF_ERROR(Multiply(layer.fc1, GpuGemm::Into::kGelu, normed, rows, inner_.As<uint16_t>()));
  return Multiply(layer.fc2, GpuGemm::Into::kAdd, inner_.As<uint16_t>(), rows, hidden);
}

// From the frame tokens in normed_ to latents_ and keys_.
Status GpuFrameEncoder::Compress(size_t rows) {
  const auto* x = normed_.As<const uint16_t>();
  LV_RETURN_IF_ERROR(Multiply(down_, GpuGemm::Into::kF32, x, rows, raw_.As<float>()));
  LV_RETURN_IF_ERROR(net_->RmsNorm({raw_.As<float>(), weights_.At<float>(latent_norm_), latents_.As<uint16_t>(),
                                    static_cast<uint32_t>(rows), static_cast<uint32_t>(config_.d_c), kNormEpsilon}));
  return Multiply(time_key_, GpuGemm::Into::kF32, x, rows, keys_.As<float>());
}

Status GpuFrameEncoder::MakeVectors(size_t frames) {
  const RetrievalConfig& r = *config_.retrieval;
  const size_t rows = frames * r.parts();
  GpuPool pool;
  pool.tokens = vit_.As<float>();
  pool.out = parts_.As<uint16_t>();
  pool.pictures = static_cast<uint32_t>(frames);
  pool.grid = static_cast<uint32_t>(config_.patch_grid);
  pool.pool = static_cast<uint32_t>(r.pool);
  pool.width = static_cast<uint32_t>(config_.vit_width);
  pool.whole = true;
  LV_RETURN_IF_ERROR(net_->Pool(pool));
  LV_RETURN_IF_ERROR(Repeat(frame_place_, r.parts() * r.hidden, frames, part_hidden_.As<float>()));
  LV_RETURN_IF_ERROR(Multiply(frame_fc1_, GpuGemm::Into::kAdd, parts_.As<uint16_t>(), rows, part_hidden_.As<float>()));
  LV_RETURN_IF_ERROR(
      net_->Gelu({part_hidden_.As<float>(), part_inner_.As<uint16_t>(), static_cast<uint32_t>(rows * r.hidden)}));
  return Multiply(frame_fc2_, GpuGemm::Into::kF32, part_inner_.As<uint16_t>(), rows, vectors_.As<float>());
}

Status GpuFrameEncoder::Forward(size_t frames) {
  const BridgeConfig& c = config_;
  const size_t tokens = c.tokens_per_frame(), rows = frames * tokens;
  GpuPool pool;
  pool.tokens = vit_.As<float>();
  pool.out = pooled_.As<float>();
  pool.pictures = static_cast<uint32_t>(frames);
  pool.grid = static_cast<uint32_t>(c.patch_grid);
  pool.pool = static_cast<uint32_t>(c.pool);
  pool.width = static_cast<uint32_t>(c.vit_width);
  pool.out_float = true;
  LV_RETURN_IF_ERROR(net_->Pool(pool));
  LV_RETURN_IF_ERROR(Normalise(in_norm_, pooled_.As<float>(), rows, c.vit_width));
  LV_RETURN_IF_ERROR(Repeat(position_, tokens * c.d_v, frames, hidden_.As<float>()));
  LV_RETURN_IF_ERROR(Multiply(in_, GpuGemm::Into::kAdd, normed_.As<uint16_t>(), rows, hidden_.As<float>()));
  for (const Layer& layer : layers_) LV_RETURN_IF_ERROR(Block(layer, frames));
  LV_RETURN_IF_ERROR(Normalise(out_norm_, hidden_.As<float>(), rows, c.d_v));
  LV_RETURN_IF_ERROR(Compress(rows));
  return c.retrieval ? MakeVectors(frames) : Status::Ok();
}

Status GpuFrameEncoder::Fetch(size_t frames, GpuFrames* result) {
  const BridgeConfig& c = config_;
  const size_t rows = frames * c.tokens_per_frame(), latents = rows * c.d_c, keys = rows * c.d_r;
  const size_t vectors = c.retrieval ? frames * c.retrieval->parts() * c.retrieval->width : 0;
  LV_RETURN_IF_ERROR(
      net_->Download(latents_pinned_.As<uint16_t>(), latents_.As<uint16_t>(), latents * sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(net_->Download(keys_pinned_.As<float>(), keys_.As<float>(), keys * sizeof(float)));
  if (vectors > 0) {
    LV_RETURN_IF_ERROR(net_->Download(vectors_pinned_.As<float>(), vectors_.As<float>(), vectors * sizeof(float)));
  }
  LV_RETURN_IF_ERROR(net_->Finish());
  const auto* narrow = latents_pinned_.As<const uint16_t>();
  std::transform(narrow, narrow + latents, std::back_inserter(result->latents), BF16ToFloat);
  const auto append = [](const GpuBuffer& from, size_t numbers, std::vector<float>* to) {
    to->insert(to->end(), from.As<const float>(), from.As<const float>() + numbers);
  };
  append(keys_pinned_, keys, &result->keys);
  append(vectors_pinned_, vectors, &result->retrieval);
  return Status::Ok();
}

Result<GpuFrames> GpuFrameEncoder::Encode(std::span<const FrameInput> all) {
  const size_t bytes = config_.vit_tokens() * config_.vit_width * sizeof(float);
  GpuFrames result;
  for (size_t first = 0; first < all.size(); first += most_frames_) {
    const size_t frames = std::min(most_frames_, all.size() - first);
    // The libraries prepare a kernel for each size: few sizes are met, and the frames beyond `frames` are whatever lies
    // there.
    const size_t padded = std::min(most_frames_, std::bit_ceil(frames));
    LV_RETURN_IF_ERROR(Reserve(padded));
    for (size_t i = 0; i < frames; ++i) {
      const FrameInput& from = all[first + i];
      auto* to = vit_.As<std::byte>(i * bytes);
      if (from.on_device) {
        LV_RETURN_IF_ERROR(net_->Copy(to, from.vit, bytes));
      } else {
        std::memcpy(vit_pinned_.As<std::byte>(i * bytes), from.vit, bytes);
        LV_RETURN_IF_ERROR(net_->Upload(to, vit_pinned_.As<std::byte>(i * bytes), bytes));
      }
    }
    LV_RETURN_IF_ERROR(Forward(padded));
    LV_RETURN_IF_ERROR(Fetch(frames, &result));
  }
  return result;
}

}  // namespace longview
