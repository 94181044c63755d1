// GpuVit: weights to the device, buffers, and the order of the launches.
#include "vision/vit/gpu_vit.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace longview {
namespace {

using Memory = GpuStream::Memory;

size_t PatchNumbers(const VitConfig& c) { return 3 * c.patch * c.patch; }

Status CheckShape(const VitConfig& c) {
  if (c.width % 8 != 0 || c.mlp % 8 != 0 || c.width / c.heads % 8 != 0 || c.width / c.heads > 128) {
    return Unsupported("the device takes dimensions in multiples of 8 and heads of up to 128 numbers, not " +
                       std::to_string(c.width) + " in " + std::to_string(c.heads) + " heads with " +
                       std::to_string(c.mlp));
  }
  return Status::Ok();
}

}  // namespace

GpuVit::GpuVit(std::shared_ptr<GpuNet> net, const VitConfig& config, size_t most_pictures)
    : net_(std::move(net)),
      config_(config),
      most_pictures_(most_pictures),
      patch_stride_((PatchNumbers(config) + 7) / 8 * 8) {}

GpuVit::~GpuVit() {
  // Nothing may still be writing to what is freed; where the device has failed there is nothing left to wait for.
  (void)net_->Finish();
}

Result<std::unique_ptr<GpuVit>> GpuVit::Make(std::shared_ptr<GpuNet> net, const VitConfig& config,
                                             const VitFloats& weights, size_t most_pictures) {
  LV_RETURN_IF_ERROR(CheckShape(config));
  std::unique_ptr<GpuVit> vit(new GpuVit(std::move(net), config, std::max<size_t>(most_pictures, 1)));
  LV_RETURN_IF_ERROR(vit->AddWeights(weights));
  return vit;
}

Status GpuVit::AddWeights(const VitFloats& weights) {
  const VitConfig& c = config_;
  // A product's bias has the type of what it makes.
  const auto add = [&](const VitFloatMatrix& matrix, size_t in, size_t out, bool narrow_bias) {
    Matrix added;
    added.in = in;
    added.out = out;
    added.weight = weights_.AddBF16(matrix.weight, in, in);
    added.bias = narrow_bias ? weights_.AddBF16(matrix.bias) : weights_.AddFloats(matrix.bias);
    return added;
  };
  patch_ = weights_.AddBF16(weights.patch, PatchNumbers(c), patch_stride_);
  start_ = weights_.AddFloats(weights.start);
  norm_weight_ = weights_.AddFloats(weights.norm.weight);
  norm_bias_ = weights_.AddFloats(weights.norm.bias);
  for (const VitFloatLayer& from : weights.layers) {
    Layer& layer = layers_.emplace_back();
    layer.norm1_weight = weights_.AddFloats(from.norm1.weight);
    layer.norm1_bias = weights_.AddFloats(from.norm1.bias);
    layer.norm2_weight = weights_.AddFloats(from.norm2.weight);
    layer.norm2_bias = weights_.AddFloats(from.norm2.bias);
    layer.qkv = add(from.qkv, c.width, 3 * c.width, true);
    layer.proj = add(from.proj, c.width, c.width, false);
    layer.fc1 = add(from.fc1, c.width, c.mlp, true);
    layer.fc2 = add(from.fc2, c.mlp, c.width, false);
  }
  return weights_.Upload(net_);
}

Status GpuVit::Reserve(size_t pictures) {
  if (pictures <= reserved_) return Status::Ok();
  reserved_ = 0;
  const VitConfig& c = config_;
  const size_t rows = pictures * c.tokens();
  const auto make = [&](GpuBuffer* buffer, Memory memory, size_t numbers, size_t number_bytes) -> Status {
    *buffer = GpuBuffer();  // the old one goes first
    LV_ASSIGN_OR_RETURN(*buffer, GpuBuffer::Make(net_, memory, numbers * number_bytes));
    return Status::Ok();
  };
  const size_t pixels = pictures * 3 * c.image * c.image, tokens = rows * c.out_width();
  LV_RETURN_IF_ERROR(make(&pixels_, Memory::kDevice, pixels, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&patches_, Memory::kDevice, rows * patch_stride_, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&hidden_, Memory::kDevice, rows * c.width, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&normed_, Memory::kDevice, rows * c.width, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&qkv_, Memory::kDevice, rows * 3 * c.width, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&attended_, Memory::kDevice, rows * c.width, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&inner_, Memory::kDevice, rows * c.mlp, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&tokens_, Memory::kDevice, tokens, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&pixels_pinned_, Memory::kPinned, pixels, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&tokens_pinned_, Memory::kPinned, tokens, sizeof(float)));
  reserved_ = pictures;
  return Status::Ok();
}

Status GpuVit::Multiply(const Matrix& matrix, GpuGemm::Into into, const uint16_t* x, size_t rows, void* y) {
  GpuGemm call;
  call.into = into;
  call.x = x;
  call.x_stride = call.in = matrix.in;
  call.w = weights_.At<uint16_t>(matrix.weight);
  call.bias = weights_.At<std::byte>(matrix.bias);
  call.y = y;
  call.y_stride = call.out = matrix.out;
  call.rows = rows;
  return net_->Gemm(call);
}

Status GpuVit::Norm(size_t weight, size_t bias, size_t rows, void* y, size_t y_stride, bool y_float) {
  GpuLayerNorm call;
  call.x = hidden_.As<float>();
  call.weight = weights_.At<float>(weight);
  call.bias = weights_.At<float>(bias);
  call.y = y;
  call.y_stride = static_cast<uint32_t>(y_stride);
  call.rows = static_cast<uint32_t>(rows);
  call.width = static_cast<uint32_t>(config_.width);
  call.epsilon = config_.norm_epsilon;
  call.y_float = y_float;
  return net_->LayerNorm(call);
}

Status GpuVit::Block(const Layer& layer, size_t pictures) {
  const VitConfig& c = config_;
  const size_t rows = pictures * c.tokens();
  auto* normed = normed_.As<uint16_t>();
  LV_RETURN_IF_ERROR(Norm(layer.norm1_weight, layer.norm1_bias, rows, normed, c.width, false));
  LV_RETURN_IF_ERROR(Multiply(layer.qkv, GpuGemm::Into::kBF16, normed, rows, qkv_.As<uint16_t>()));
  GpuSdpa attention;
  attention.q = qkv_.As<uint16_t>();
  attention.k = attention.q + c.width;
  attention.v = attention.k + c.width;
  attention.row_stride = 3 * c.width;
  attention.out = attended_.As<uint16_t>();
  attention.out_stride = c.width;
  attention.pictures = pictures;
  attention.rows = c.tokens();
  attention.heads = c.heads;
  attention.head_dim = c.width / c.heads;
  attention.scale = 1.0f / std::sqrt(static_cast<float>(attention.head_dim));
  LV_RETURN_IF_ERROR(net_->Sdpa(attention));
  LV_RETURN_IF_ERROR(Multiply(layer.proj, GpuGemm::Into::kAdd, attention.out, rows, hidden_.As<float>()));
  LV_RETURN_IF_ERROR(Norm(layer.norm2_weight, layer.norm2_bias, rows, normed, c.width, false));
  LV_RETURN_IF_ERROR(Multiply(layer.fc1, GpuGemm::Into::kGelu, normed, rows, inner_.As<uint16_t>()));
  return Multiply(layer.fc2, GpuGemm::Into::kAdd, inner_.As<uint16_t>(), rows, hidden_.As<float>());
}

Status GpuVit::Forward(size_t pictures) {
  const VitConfig& c = config_;
  const size_t rows = pictures * c.tokens();
  GpuPatchRows cut;
  cut.chw = pixels_.As<float>();
  cut.start = weights_.At<float>(start_);
  cut.patches = patches_.As<uint16_t>();
  cut.hidden = hidden_.As<float>();
  cut.pictures = static_cast<uint32_t>(pictures);
  cut.image = static_cast<uint32_t>(c.image);
  cut.patch = static_cast<uint32_t>(c.patch);
  cut.width = static_cast<uint32_t>(c.width);
  cut.patch_stride = static_cast<uint32_t>(patch_stride_);
  LV_RETURN_IF_ERROR(net_->PatchRows(cut));
  GpuGemm embed;
  embed.into = GpuGemm::Into::kAdd;
  embed.x = cut.patches;
  embed.x_stride = embed.in = patch_stride_;
  embed.w = weights_.At<uint16_t>(patch_);
  embed.y = cut.hidden;
  embed.y_stride = embed.out = c.width;
  embed.rows = rows;
  LV_RETURN_IF_ERROR(net_->Gemm(embed));
  size_t column = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    LV_RETURN_IF_ERROR(Block(layers_[i], pictures));
    if (!std::binary_search(c.taps.begin(), c.taps.end(), i)) continue;
    LV_RETURN_IF_ERROR(Norm(norm_weight_, norm_bias_, rows, tokens_.As<float>() + column, c.out_width(), true));
    column += c.width;
  }
  if (!c.taps.empty()) return Status::Ok();
  return Norm(norm_weight_, norm_bias_, rows, tokens_.As<float>(), c.width, true);
}

Status GpuVit::Encode(std::span<const VitPicture> all, VitTokens out, const std::stop_token& stop) {
  const size_t numbers = 3 * config_.image * config_.image, tokens = config_.tokens() * config_.out_width();
  for (size_t first = 0; first < all.size(); first += most_pictures_) {
    if (stop.stop_requested()) return Cancelled();
    const size_t pictures = std::min(most_pictures_, all.size() - first);
    // The libraries prepare a kernel for each size: few sizes are met, and the pictures beyond `pictures` are whatever
    // lies there.
    const size_t padded = std::min(most_pictures_, std::bit_ceil(pictures));
    LV_RETURN_IF_ERROR(Reserve(padded));
    const size_t bytes = numbers * sizeof(float);
    for (size_t i = 0; i < pictures; ++i) {
      const VitPicture& from = all[first + i];
      float* to = pixels_.As<float>(i * bytes);
      if (from.on_device) {
        LV_RETURN_IF_ERROR(net_->Copy(to, from.pixels, bytes));
      } else {
        std::memcpy(pixels_pinned_.As<float>(i * bytes), from.pixels, bytes);
        LV_RETURN_IF_ERROR(net_->Upload(to, pixels_pinned_.As<float>(i * bytes), bytes));
      }
    }
    LV_RETURN_IF_ERROR(Forward(padded));
    float* to = out.numbers + first * tokens;
    const size_t token_bytes = pictures * tokens * sizeof(float);
    if (out.on_device) {
      LV_RETURN_IF_ERROR(net_->Copy(to, tokens_.As<float>(), token_bytes));
      LV_RETURN_IF_ERROR(net_->Finish());
      continue;
    }
    LV_RETURN_IF_ERROR(net_->Download(tokens_pinned_.As<float>(), tokens_.As<float>(), token_bytes));
    LV_RETURN_IF_ERROR(net_->Finish());
    std::memcpy(to, tokens_pinned_.As<float>(), token_bytes);
  }
  return Status::Ok();
}

Result<double> GpuVit::SecondsOf(size_t pictures, size_t times) {
  if (pictures == 0 || pictures > most_pictures_ || times == 0) {
    return InvalidArgument("1 to " + std::to_string(most_pictures_) + " pictures can be measured");
  }
  LV_RETURN_IF_ERROR(Reserve(pictures));
  LV_RETURN_IF_ERROR(Forward(pictures));  // the libraries prepare their kernels
  LV_RETURN_IF_ERROR(net_->Finish());
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < times; ++i) LV_RETURN_IF_ERROR(Forward(pictures));
  LV_RETURN_IF_ERROR(net_->Finish());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(times);
}

}  // namespace longview
