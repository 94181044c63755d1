// VitEncoder: DINOv2's forward pass (pre-norm, LayerScale, exact GELU), a few pictures side by side.
#include "vision/vit/vit_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "core/backend/gpu_net.h"
#include "core/base/log.h"
#include "core/ops/elementwise.h"
#include "core/ops/sdpa.h"
#include "vision/vit/gpu_vit.h"
#include "vision/vit/vit_weights.h"

namespace longview {
namespace {

// Pictures to one matrix product: the products reach full speed, and scratch memory (about 5 MB a picture) stays in
// bounds.
constexpr size_t kGroup = 4;

// Above any real vision transformer; keeps products of dimensions far from overflow.
constexpr size_t kMaxDimension = 1 << 14;

Status CheckConfig(const VitConfig& c) {
  const auto sane = [](size_t value) { return value > 0 && value <= kMaxDimension; };
  if (!sane(c.layers) || !sane(c.width) || !sane(c.heads) || !sane(c.patch) || !sane(c.image) || !sane(c.mlp)) {
    return InvalidArgument("the ViT's dimensions must lie in 1.." + std::to_string(kMaxDimension));
  }
  if (c.width % c.heads != 0) return InvalidArgument("the ViT's heads must divide its width");
  if (c.image % c.patch != 0) return InvalidArgument("the ViT's picture must be a whole number of patches wide");
  if (c.grid() > 256) return InvalidArgument("the ViT's grid of patches is wider than 256");
  for (size_t i = 0; i < c.taps.size(); ++i) {
    if (c.taps[i] >= c.layers || (i > 0 && c.taps[i] <= c.taps[i - 1])) {
      return InvalidArgument("the ViT's taps must ascend and lie below its number of layers");
    }
  }
  if (!(c.norm_epsilon >= 0.0f)) return InvalidArgument("the ViT's norm epsilon must not be negative");
  return Status::Ok();
}

// body(first, last) over [0, rows), split over `pool`, which may be null.
template <typename Body>
void ForRows(size_t rows, ThreadPool* pool, const Body& body) {
  if (pool == nullptr) {
    body(size_t{0}, rows);
  } else {
    pool->ParallelFor(rows, [&](size_t first, size_t last, int) { body(first, last); });
  }
}

// The forward pass of one group of pictures, with its buffers ([rows, width of the thing], pictures one after another).
class GroupEncoder {
 public:
  GroupEncoder(const VitConfig& config, const VitWeights& weights, size_t max_pictures, ThreadPool* pool)
      : c_(config),
        weights_(weights),
        pool_(pool),
        patches_(c_.grid() * c_.grid() * 3 * c_.patch * c_.patch),
        hidden_(max_pictures * c_.tokens() * c_.width),
        normed_(hidden_.size()),
        qkv_(3 * hidden_.size()),
        attended_(hidden_.size()),
        inner_(max_pictures * c_.tokens() * c_.mlp),
        narrow_(std::max(hidden_.size(), inner_.size())) {}

  Status Encode(std::span<const VitPicture> group, float* out, const std::stop_token& stop) {
    const size_t pictures = group.size();
    Embed(group);
    float* tap = out;
    for (size_t i = 0; i < weights_.layers.size(); ++i) {
      if (stop.stop_requested()) return Cancelled();
      Attention(weights_.layers[i], pictures);
      FeedForward(weights_.layers[i], pictures);
      if (std::binary_search(c_.taps.begin(), c_.taps.end(), i)) {
        Norm(weights_.norm, pictures * c_.tokens(), tap, c_.out_width());
        tap += c_.width;
      }
    }
    if (c_.taps.empty()) Norm(weights_.norm, pictures * c_.tokens(), out, c_.width);
    return Status::Ok();
  }

 private:
  void Embed(std::span<const VitPicture> group);
  void Attention(const VitLayer& layer, size_t pictures);
  void FeedForward(const VitLayer& layer, size_t pictures);

  // out = LayerNorm(hidden), `stride` floats a row.
  void Norm(const VitNorm& norm, size_t rows, float* out, size_t stride) {
    ForRows(rows, pool_, [&](size_t first, size_t last) {
      LayerNorm(hidden_.data() + first * c_.width, c_.width, norm.weight.data(), norm.bias.data(), c_.norm_epsilon,
                last - first, c_.width, out + first * stride, stride);
    });
  }
  // y = x W^T + b for every picture, `y_stride` floats a row; after each block of outputs, done(row, column, columns)
  // says that those columns of the picture whose first row is `row` are there.
  template <typename Done>
  void Multiply(const VitMatrix& matrix, const float* x, size_t pictures, float* y, size_t y_stride, const Done& done) {
    const size_t in = matrix.blocks.front().in();
    const bool narrow = matrix.blocks.front().TakesBf16();
    if (narrow) {
      ForRows(pictures * c_.tokens(), pool_, [&](size_t first, size_t last) {
        RoundToBf16(x + first * in, (last - first) * in, narrow_.data() + first * in);
      });
    }
    ForRows(pictures * matrix.blocks.size(), pool_, [&](size_t first, size_t last) {
      for (size_t task = first; task < last; ++task) {
        const size_t row = task / matrix.blocks.size() * c_.tokens();
        const size_t block = task % matrix.blocks.size();
        const size_t column = block * VitMatrix::kBlockOutputs;
        const Linear& linear = matrix.blocks[block];
        float* to = y + row * y_stride + column;
        if (narrow) {
          linear.ForwardBf16(narrow_.data() + row * in, in, c_.tokens(), to, y_stride, nullptr);
        } else {
          linear.Forward(x + row * in, in, c_.tokens(), to, y_stride, nullptr);
        }
        done(row, column, linear.out());
      }
    });
  }
  // hidden += scale * (x W^T + b).
  void AddToHidden(const VitMatrix& matrix, const float* x, size_t pictures, const std::vector<float>& scale) {
    Multiply(matrix, x, pictures, normed_.data(), c_.width, [&](size_t row, size_t column, size_t columns) {
      const size_t at = row * c_.width + column;
      AddScaledRows(normed_.data() + at, c_.width, scale.data() + column, c_.tokens(), columns, hidden_.data() + at,
                    c_.width);
    });
  }

  const VitConfig& c_;
  const VitWeights& weights_;
  ThreadPool* pool_;
  std::vector<float> patches_;  // one picture's patches as rows
  std::vector<float> hidden_;
  std::vector<float> normed_;
  std::vector<float> qkv_;
  std::vector<float> attended_;
  std::vector<float> inner_;
  std::vector<uint16_t> narrow_;  // what is multiplied, where that is done in bf16
};

void GroupEncoder::Embed(std::span<const VitPicture> group) {
  const size_t grid = c_.grid();
  const size_t patch_size = 3 * c_.patch * c_.patch;
  for (size_t picture = 0; picture < group.size(); ++picture) {
    const float* planes = group[picture].pixels;
    float* rows = hidden_.data() + picture * c_.tokens() * c_.width;
    ForRows(grid, pool_, [&](size_t first, size_t last) {
      for (size_t line = first * c_.patch; line < last * c_.patch; ++line) {
        for (size_t plane = 0; plane < 3; ++plane) {
          const float* source = planes + (plane * c_.image + line) * c_.image;
          float* target =
              patches_.data() + line / c_.patch * grid * patch_size + (plane * c_.patch + line % c_.patch) * c_.patch;
          for (size_t x = 0; x < grid; ++x) {
            std::memcpy(target + x * patch_size, source + x * c_.patch, c_.patch * sizeof(float));
          }
        }
      }
    });
    std::copy(weights_.class_token.begin(), weights_.class_token.end(), rows);
    ForRows(weights_.patch.blocks.size(), pool_, [&](size_t first, size_t last) {
      for (size_t block = first; block < last; ++block) {
        weights_.patch.blocks[block].Forward(patches_.data(), patch_size, grid * grid,
                                             rows + c_.width + block * VitMatrix::kBlockOutputs, c_.width, nullptr);
      }
    });
    Add(weights_.patch_positions.data(), weights_.patch_positions.size(), rows + c_.width);
  }
}

void GroupEncoder::Attention(const VitLayer& layer, size_t pictures) {
  const size_t head_dim = c_.width / c_.heads;
  Norm(layer.norm1, pictures * c_.tokens(), normed_.data(), c_.width);
  Multiply(layer.qkv, normed_.data(), pictures, qkv_.data(), 3 * c_.width, [](size_t, size_t, size_t) {});
  // Every head of every picture is a task, so that many threads find work in one picture, too.
  ForRows(pictures * c_.heads, pool_, [&](size_t first, size_t last) {
    for (size_t task = first; task < last; ++task) {
      const size_t row = task / c_.heads * c_.tokens();
      const size_t column = task % c_.heads * head_dim;
      SdpaParams params;
      params.q = qkv_.data() + row * 3 * c_.width + column;
      params.k = params.q + c_.width;
      params.v = params.k + c_.width;
      params.q_stride = params.k_stride = params.v_stride = 3 * c_.width;
      params.out = attended_.data() + row * c_.width + column;
      params.out_stride = c_.width;
      params.q_head_stride = params.k_head_stride = params.v_head_stride = params.out_head_stride = head_dim;
      params.q_rows = params.kv_rows = c_.tokens();
      params.heads = params.kv_heads = 1;
      params.head_dim = head_dim;
      params.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
      params.narrow = layer.qkv.blocks.front().TakesBf16();
      Sdpa(params, nullptr);
    }
  });
  AddToHidden(layer.proj, attended_.data(), pictures, layer.scale1);
}

void GroupEncoder::FeedForward(const VitLayer& layer, size_t pictures) {
  Norm(layer.norm2, pictures * c_.tokens(), normed_.data(), c_.width);
  Multiply(layer.fc1, normed_.data(), pictures, inner_.data(), c_.mlp, [&](size_t row, size_t column, size_t columns) {
    for (size_t i = row; i < row + c_.tokens(); ++i) {
      float* part = inner_.data() + i * c_.mlp + column;
      Gelu(part, columns, part);
    }
  });
  AddToHidden(layer.fc2, inner_.data(), pictures, layer.scale2);
}

}  // namespace

VitEncoder::VitEncoder() = default;
VitEncoder::~VitEncoder() = default;

Result<std::shared_ptr<const VitEncoder>> VitEncoder::Load(const std::filesystem::path& path, const VitConfig& config,
                                                           WeightStore store, std::shared_ptr<GpuNet> device) {
  LV_RETURN_IF_ERROR(CheckConfig(config));
  if (device != nullptr) store = WeightStore::kBF16;
  auto encoder = std::shared_ptr<VitEncoder>(new VitEncoder());
  encoder->config_ = config;
  LV_ASSIGN_OR_RETURN(encoder->weights_, LoadVitWeights(path, config, store));
  if (device == nullptr) return std::shared_ptr<const VitEncoder>(std::move(encoder));
  const std::string name = device->Name();
  auto gpu = GpuVit::Make(std::move(device), config, FloatsOf(config, *encoder->weights_));
  if (gpu.ok()) {
    LogDebug("the ViT runs on " + name);
    encoder->gpu_ = std::move(gpu).value();
  } else {
    LogInfo("the ViT stays with the processor: " + gpu.status().message());
  }
  return std::shared_ptr<const VitEncoder>(std::move(encoder));
}

size_t VitEncoder::weight_bytes() const {
  size_t total = weights_->patch.bytes();
  for (const VitLayer& layer : weights_->layers) {
    total += layer.qkv.bytes() + layer.proj.bytes() + layer.fc1.bytes() + layer.fc2.bytes();
  }
  return total;
}

bool VitEncoder::on_device() const {
  const std::scoped_lock lock(gpu_mutex_);
  return gpu_ != nullptr;
}

Status VitEncoder::Encode(const float* chw, size_t batch, float* out, ThreadPool* pool,
                          const std::stop_token& stop) const {
  std::vector<VitPicture> pictures(batch);
  for (size_t i = 0; i < batch; ++i) pictures[i].pixels = chw + i * 3 * config_.image * config_.image;
  return Encode(pictures, VitTokens{out}, pool, stop);
}

Status VitEncoder::Encode(std::span<const VitPicture> pictures, VitTokens out, ThreadPool* pool,
                          const std::stop_token& stop) const {
  if (pictures.empty()) return Status::Ok();
  {
    const std::scoped_lock lock(gpu_mutex_);
    if (gpu_ != nullptr) {
      const Status status = gpu_->Encode(pictures, out, stop);
      if (status.ok() || status.code() == StatusCode::kCancelled) return status;
      LogWarning("the ViT goes on on the processor: " + status.message());
      gpu_ = nullptr;
    }
  }
  if (out.on_device || std::any_of(pictures.begin(), pictures.end(), [](const VitPicture& p) { return p.on_device; })) {
    return Unsupported("the processor reaches neither pictures nor tokens in a GPU's memory");
  }
  GroupEncoder group(config_, *weights_, std::min(pictures.size(), kGroup), pool);
  for (size_t first = 0; first < pictures.size(); first += kGroup) {
    LV_RETURN_IF_ERROR(group.Encode(pictures.subspan(first, std::min(kGroup, pictures.size() - first)),
                                    out.numbers + first * config_.tokens() * config_.out_width(), stop));
  }
  return Status::Ok();
}

}  // namespace longview
