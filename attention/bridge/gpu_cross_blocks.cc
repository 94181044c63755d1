// GpuCrossBlocks: weights and tokens to the device, and the launches of a block.
#include "attention/bridge/gpu_cross_blocks.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace longview {
namespace {

using Memory = GpuStream::Memory;

constexpr float kNormEpsilon = 1e-5f;  // as the processor's cross blocks

Status CheckShape(const BridgeConfig& c) {
  const auto fits = [](size_t n) { return n > 0 && n % 8 == 0; };
  if (fits(c.width) && fits(c.mlp) && fits(c.heads * c.d_c) && fits(c.heads * c.d_r) && c.d_r % 2 == 0 &&
      c.d_c <= 256 && c.d_r / 2 <= GpuLatentAttention::kMostPairs) {
    return Status::Ok();
  }
  return Unsupported("the device takes cross blocks in multiples of 8, latents of up to 256 numbers and time keys of " +
                     std::to_string(2 * GpuLatentAttention::kMostPairs) + ", not " + std::to_string(c.width) + " and " +
                     std::to_string(c.mlp) + " with " + std::to_string(c.heads) + " heads of " + std::to_string(c.d_c) +
                     " + " + std::to_string(c.d_r));
}

float ScoreScale(const BridgeConfig& c) { return 1.0f / std::sqrt(static_cast<float>(c.d_k + c.d_r)); }

}  // namespace

GpuCrossBlocks::GpuCrossBlocks(std::shared_ptr<GpuNet> net, const BridgeConfig& config)
    : net_(std::move(net)), config_(config) {}

GpuCrossBlocks::~GpuCrossBlocks() {
  // Nothing may still be copied to what is freed; where the device has failed there is nothing left to wait for.
  (void)net_->Finish();
}

Result<std::unique_ptr<GpuCrossBlocks>> GpuCrossBlocks::Make(std::shared_ptr<GpuNet> net, const BridgeConfig& config,
                                                             std::span<const CrossBlockFloats> blocks) {
  LV_RETURN_IF_ERROR(CheckShape(config));
  std::unique_ptr<GpuCrossBlocks> made(new GpuCrossBlocks(std::move(net), config));
  LV_RETURN_IF_ERROR(made->Upload(blocks));
  return made;
}

Status GpuCrossBlocks::Upload(std::span<const CrossBlockFloats> blocks) {
  const BridgeConfig& c = config_;
  for (const CrossBlockFloats& from : blocks) {
    Block& block = blocks_.emplace_back();
    block.norm = weights_.AddFloats(from.norm);
    block.mlp_norm = weights_.AddFloats(from.mlp_norm);
    block.q = weights_.AddBF16(from.q);
    block.out = weights_.AddBF16(from.out);
    block.up = weights_.AddBF16(from.up);
    block.up_bias = weights_.AddBF16(from.up_bias);
    block.down = weights_.AddBF16(from.down);
    // Each query of a call has its own.
    std::vector<float> sinks;
    for (size_t row = 0; row < kMostRows; ++row) sinks.insert(sinks.end(), from.sink.begin(), from.sink.end());
    block.sink = weights_.AddFloats(sinks);
  }
  const auto make = [&](GpuBuffer* buffer, size_t numbers, size_t number_bytes) -> Status {
    LV_ASSIGN_OR_RETURN(*buffer, GpuBuffer::Make(net_, Memory::kDevice, kMostRows * numbers * number_bytes));
    return Status::Ok();
  };
  LV_RETURN_IF_ERROR(make(&normed_, c.width, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&queries_, c.heads * (c.d_c + c.d_r), sizeof(float)));
  LV_RETURN_IF_ERROR(make(&attended_, c.heads * c.d_c, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&inner_, c.mlp, sizeof(uint16_t)));
  LV_RETURN_IF_ERROR(make(&content_, c.heads * c.d_c, sizeof(float)));
  LV_RETURN_IF_ERROR(make(&time_, c.heads * MlaMirror::KeyStride(c.d_r), sizeof(float)));
  LV_RETURN_IF_ERROR(make(&sums_, c.heads * c.d_c, sizeof(float)));
  return weights_.Upload(net_);  // and waits for the zeros of the others
}

Result<GpuLatents> GpuCrossBlocks::Copy(std::span<const float> latents, std::span<const float> keys) const {
  GpuLatents copy;
  copy.tokens = latents.size() / config_.d_c;
  if (copy.tokens == 0 || copy.tokens > kMostTokens || latents.size() != copy.tokens * config_.d_c ||
      keys.size() != copy.tokens * config_.d_r) {
    return InvalidArgument("cross blocks on the device attend to 1 to " + std::to_string(kMostTokens) +
                           " tokens, not to " + std::to_string(latents.size()) + " and " + std::to_string(keys.size()) +
                           " numbers");
  }
  const std::scoped_lock lock(mutex_);
  LV_ASSIGN_OR_RETURN(const GpuBuffer staging,
                      GpuBuffer::Make(net_, Memory::kPinned, latents.size_bytes() + keys.size_bytes()));
  LV_ASSIGN_OR_RETURN(copy.latents, GpuBuffer::Make(net_, Memory::kDevice, latents.size_bytes()));
  LV_ASSIGN_OR_RETURN(copy.keys, GpuBuffer::Make(net_, Memory::kDevice, keys.size_bytes()));
  auto* pinned = staging.As<float>();
  std::copy(latents.begin(), latents.end(), pinned);
  std::copy(keys.begin(), keys.end(), pinned + latents.size());
  LV_RETURN_IF_ERROR(net_->Upload(copy.latents.As<float>(), pinned, latents.size_bytes()));
  LV_RETURN_IF_ERROR(net_->Upload(copy.keys.As<float>(), pinned + latents.size(), keys.size_bytes()));
  LV_RETURN_IF_ERROR(net_->Finish());
  return copy;
}

Status GpuCrossBlocks::Multiply(GpuNet* net, size_t weight, GpuGemm call) const {
  call.w = weights_.At<uint16_t>(weight);
  call.x_stride = call.in;
  call.y_stride = call.out;
  return net->Gemm(call);
}

Status GpuCrossBlocks::Normalise(GpuNet* net, size_t weight, const float* h, size_t rows) const {
  return net->RmsNorm({h, weights_.At<float>(weight), normed_.As<uint16_t>(), static_cast<uint32_t>(rows),
                       static_cast<uint32_t>(config_.width), kNormEpsilon});
}

Status GpuCrossBlocks::AttendToFew(GpuNet* net, size_t sink, const GpuLatents& latents, const CrossQuestion& question,
                                   size_t rows) const {
  const BridgeConfig& c = config_;
  GpuLatentAttention attention;
  attention.q = queries_.As<float>();
  attention.latents = latents.latents.As<float>();
  attention.keys = latents.keys.As<float>();
  attention.sink = weights_.At<float>(sink);
  attention.out = attended_.As<uint16_t>();
  attention.rows = static_cast<uint32_t>(rows);
  attention.heads = static_cast<uint32_t>(c.heads);
  attention.tokens = static_cast<uint32_t>(latents.tokens);
  attention.d_c = static_cast<uint32_t>(c.d_c);
  attention.cut = static_cast<uint32_t>(question.cut);
  attention.d_r = static_cast<uint32_t>(c.d_r);
  attention.scale = ScoreScale(c);
  std::copy(question.cos.begin(), question.cos.end(), attention.cos);
  std::copy(question.sin.begin(), question.sin.end(), attention.sin);
  return net->LatentAttention(attention);
}

Status GpuCrossBlocks::AttendToMany(GpuNet* net, size_t sink, const CrossTokens& tokens, const CrossQuestion& question,
                                    size_t rows) const {
  const BridgeConfig& c = config_;
  GpuPartQueries part;
  part.q = queries_.As<float>();
  part.content = content_.As<float>();
  part.time = time_.As<float>();
  part.rows = static_cast<uint32_t>(rows);
  part.heads = static_cast<uint32_t>(c.heads);
  part.d_c = static_cast<uint32_t>(c.d_c);
  part.cut = static_cast<uint32_t>(question.cut);
  part.d_r = static_cast<uint32_t>(c.d_r);
  part.time_stride = static_cast<uint32_t>(MlaMirror::KeyStride(c.d_r));
  std::copy(question.cos.begin(), question.cos.end(), part.cos);
  std::copy(question.sin.begin(), question.sin.end(), part.sin);
  LV_RETURN_IF_ERROR(net->PartQueries(part));
  MlaDeviceCall call;
  call.q_c = part.content;
  call.q_r = part.time;
  call.sink = weights_.At<float>(sink);
  call.queries = rows * c.heads;
  call.d_c = question.cut;
  call.scale = ScoreScale(c);
  call.out = sums_.As<float>();
  call.mass_factor = tokens.mass_factor;
  LV_RETURN_IF_ERROR(tokens.many->AttendOn(net, call));
  return net->Narrow({call.out, attended_.As<uint16_t>(), static_cast<uint32_t>(call.queries), part.cut, part.d_c});
}

Status GpuCrossBlocks::Add(GpuNet* net, size_t block, const CrossTokens& tokens, const CrossQuestion& question,
                           float* h, size_t rows) const {
  if (rows > kMostRows) return InvalidArgument("a device's cross blocks take " + std::to_string(kMostRows) + " rows");
  const BridgeConfig& c = config_;
  const Block& b = blocks_[block];
  const auto* normed = normed_.As<uint16_t>();
  GpuGemm call;
  call.rows = rows;
  LV_RETURN_IF_ERROR(Normalise(net, b.norm, h, rows));
  call.into = GpuGemm::Into::kF32;
  call.x = normed;
  call.y = queries_.As<float>();
  call.in = c.width;
  call.out = c.heads * (c.d_c + c.d_r);
  LV_RETURN_IF_ERROR(Multiply(net, b.q, call));
  LV_RETURN_IF_ERROR(tokens.many != nullptr ? AttendToMany(net, b.sink, tokens, question, rows)
                                            : AttendToFew(net, b.sink, *tokens.few, question, rows));
  call.into = GpuGemm::Into::kAdd;
  call.x = attended_.As<uint16_t>();
  call.y = h;
  call.in = c.heads * c.d_c;
  call.out = c.width;
  LV_RETURN_IF_ERROR(Multiply(net, b.out, call));
  LV_RETURN_IF_ERROR(Normalise(net, b.mlp_norm, h, rows));
  call.into = GpuGemm::Into::kGelu;
  call.x = normed;
  call.bias = weights_.At<uint16_t>(b.up_bias);
  call.y = inner_.As<uint16_t>();
  call.in = c.width;
  call.out = c.mlp;
  LV_RETURN_IF_ERROR(Multiply(net, b.up, call));
  call.into = GpuGemm::Into::kAdd;
  call.x = inner_.As<uint16_t>();
  call.bias = nullptr;
  call.y = h;
  call.in = c.mlp;
  call.out = c.width;
  return Multiply(net, b.down, call);
}

}  // namespace longview
