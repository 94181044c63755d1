// GpuDecoder: weights and buffers, conversations in the device's memory, and the order of the launches.
#include "attention/decoder/gpu_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace longview {
namespace {

using Memory = GpuStream::Memory;

// Rows read at once.
constexpr size_t kChunkRows = 256;
// Products are prepared for few numbers of rows: more than one are a multiple of this, and the last are whatever lies
// there.
constexpr size_t kRowStep = 16;
// Rows whose logits are on the device at once.
constexpr size_t kLogitRows = 16;
// Where tokens begin behind what stands before them: the chunk's place, the token chosen.
constexpr size_t kTokensAt = 64;
// Scores of a whole conversation lie in a block's shared memory.
constexpr size_t kMostContext = 10000;

static_assert(sizeof(GpuTextPlace) <= kTokensAt);

constexpr size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
size_t ProductRows(size_t rows) { return rows == 1 ? 1 : RoundUp(rows, kRowStep); }

Status CheckShape(const TextDecoderConfig& c) {
  if (c.head_dim % 8 == 0 && c.head_dim <= 128 && c.ffn % 8 == 0 && c.context <= kMostContext) return Status::Ok();
  return Unsupported("the device takes heads of up to 128 numbers in multiples of 8 and up to " +
                     std::to_string(kMostContext) + " tokens, not heads of " + std::to_string(c.head_dim) + ", " +
                     std::to_string(c.ffn) + " inner numbers and " + std::to_string(c.context) + " tokens");
}

}  // namespace

struct GpuDecoder::Device {
  std::shared_ptr<GpuNet> net;
  std::recursive_mutex mutex;  // memory goes back under it, also from within
};

// A conversation's keys and values, [capacity, token_numbers] in bf16.
class GpuDecoder::Rows : public KvRows {
 public:
  // With the device's mutex held.
  static Result<std::unique_ptr<Rows>> Make(std::shared_ptr<Device> device, size_t capacity, size_t token_bytes) {
    auto rows = std::make_unique<Rows>(std::move(device), capacity, token_bytes);
    LV_ASSIGN_OR_RETURN(rows->data_, GpuBuffer::Make(rows->device_->net, Memory::kDevice, capacity * token_bytes));
    return rows;
  }
  Rows(std::shared_ptr<Device> device, size_t capacity, size_t token_bytes)
      : device_(std::move(device)), capacity_(capacity), token_bytes_(token_bytes) {}
  ~Rows() override {
    const std::scoped_lock lock(device_->mutex);
    data_ = GpuBuffer();
  }

  std::unique_ptr<KvRows> Clone(size_t length) const override {
    const std::scoped_lock lock(device_->mutex);
    auto copy = Make(device_, std::max<size_t>(length, 1), token_bytes_);
    if (!copy.ok() || !(*copy)->Take(*this, length).ok()) return nullptr;
    return std::move(copy).value();
  }
  size_t bytes() const override { return data_.bytes(); }

  // The first `length` tokens of `from`, with the mutex held.
  Status Take(const Rows& from, size_t length) {
    LV_RETURN_IF_ERROR(device_->net->Copy(data(), from.data(), length * token_bytes_));
    return device_->net->Finish();
  }
  // Another piece of memory for the same tokens, with the mutex held.
  Status Grow(size_t length, size_t capacity) {
    LV_ASSIGN_OR_RETURN(GpuBuffer larger, GpuBuffer::Make(device_->net, Memory::kDevice, capacity * token_bytes_));
    LV_RETURN_IF_ERROR(device_->net->Copy(larger.As<std::byte>(), data(), length * token_bytes_));
    LV_RETURN_IF_ERROR(device_->net->Finish());
    std::swap(data_, larger);
    capacity_ = capacity;
    return Status::Ok();
  }
  size_t capacity() const { return capacity_; }
  std::byte* data() const { return data_.As<std::byte>(); }

 private:
  const std::shared_ptr<Device> device_;
  size_t capacity_;  // tokens
  const size_t token_bytes_;
  GpuBuffer data_;
};

GpuDecoder::GpuDecoder(std::shared_ptr<GpuNet> net, const TextDecoderConfig& config)
    : device_(std::make_shared<Device>()),
      net_(net.get()),
      config_(config),
      token_numbers_(config.layers * 2 * config.kv_heads * config.head_dim) {
  device_->net = std::move(net);
}

GpuDecoder::~GpuDecoder() {
  // Nothing may still be writing to what is freed; where the device has failed there is nothing left to wait for.
  (void)net_->Finish();
}

Result<std::unique_ptr<GpuDecoder>> GpuDecoder::Make(std::shared_ptr<GpuNet> net, const TextDecoderConfig& config,
                                                     const TextSource& source) {
  LV_RETURN_IF_ERROR(CheckShape(config));
  std::unique_ptr<GpuDecoder> decoder(new GpuDecoder(std::move(net), config));
  LV_RETURN_IF_ERROR(decoder->AddWeights(source));
  LV_RETURN_IF_ERROR(decoder->MakeBuffers());
  LV_RETURN_IF_ERROR(decoder->TryOnce());
  return decoder;
}

Status GpuDecoder::AddWeights(const TextSource& source) {
  const auto add = [&](const TextMatrix& matrix) {
    Matrix added;
    added.in = matrix.in;
    added.out = RoundUp(matrix.out, 8);  // products are that wide; the rows behind the last are zeros
    added.place = weights_.AddRows(added.out, matrix.in, matrix.in, [&](size_t row, float* to) {
      row < matrix.out ? matrix.row(row, to) : static_cast<void>(std::fill_n(to, matrix.in, 0.0f));
    });
    return added;
  };
  for (const TextLayerSource& from : source.layers) {
    Layer& layer = layers_.emplace_back();
    layer.attention_norm = weights_.AddFloats(from.attention_norm);
    layer.ffn_norm = weights_.AddFloats(from.ffn_norm);
    layer.qkv = add(from.qkv);
    layer.attention_out = add(from.attention_out);
    layer.gate_up = add(from.gate_up);
    layer.ffn_down = add(from.ffn_down);
  }
  embedding_ = add(source.embedding);
  output_ = source.output.row ? add(source.output) : embedding_;
  output_norm_ = weights_.AddFloats(source.output_norm);
  const size_t angles = config_.context * config_.head_dim / 2;
  cos_ = weights_.AddFloats({source.rope->cos(0), angles});
  sin_ = weights_.AddFloats({source.rope->sin(0), angles});
  return weights_.Upload(device_->net);
}

Status GpuDecoder::MakeBuffers() {
  const TextDecoderConfig& c = config_;
  const auto make = [&](GpuBuffer* buffer, Memory memory, size_t bytes) -> Status {
    LV_ASSIGN_OR_RETURN(*buffer, GpuBuffer::Make(device_->net, memory, bytes));
    return Status::Ok();
  };
  const size_t place_bytes = kTokensAt + kChunkRows * sizeof(int32_t), row_floats = kChunkRows * sizeof(float);
  const size_t qkv_width = (c.heads + 2 * c.kv_heads) * c.head_dim;
  LV_RETURN_IF_ERROR(make(&place_, Memory::kDevice, place_bytes));
  LV_RETURN_IF_ERROR(make(&place_pinned_, Memory::kPinned, place_bytes));
  LV_RETURN_IF_ERROR(make(&hidden_, Memory::kDevice, row_floats * c.width));
  LV_RETURN_IF_ERROR(make(&hidden_pinned_, Memory::kPinned, row_floats * c.width));
  LV_RETURN_IF_ERROR(make(&normed_, Memory::kDevice, kChunkRows * c.width * 2));
  LV_RETURN_IF_ERROR(make(&qkv_, Memory::kDevice, row_floats * qkv_width));
  LV_RETURN_IF_ERROR(make(&attended_, Memory::kDevice, kChunkRows * c.width * 2));
  LV_RETURN_IF_ERROR(make(&gate_up_, Memory::kDevice, row_floats * 2 * c.ffn));
  LV_RETURN_IF_ERROR(make(&activated_, Memory::kDevice, kChunkRows * c.ffn * 2));
  const size_t choice_bytes = kTokensAt + c.context * sizeof(int32_t);
  LV_RETURN_IF_ERROR(make(&choice_, Memory::kDevice, choice_bytes));
  LV_RETURN_IF_ERROR(make(&choice_pinned_, Memory::kPinned, choice_bytes));
  LV_RETURN_IF_ERROR(make(&logits_, Memory::kDevice, kLogitRows * output_.out * sizeof(float)));
  return make(&logits_pinned_, Memory::kPinned, kLogitRows * output_.out * sizeof(float));
}

// One token through everything, launched piece by piece: the library prepares its kernels before they are recorded.
Status GpuDecoder::TryOnce() {
  const std::scoped_lock lock(device_->mutex);
  LV_ASSIGN_OR_RETURN(const auto rows, Rows::Make(device_, 1, token_numbers_ * 2));
  new (place_pinned_.As<GpuTextPlace>()) GpuTextPlace{reinterpret_cast<uint16_t*>(rows->data()), 0};
  LV_RETURN_IF_ERROR(net_->Upload(place_.As<std::byte>(), place_pinned_.As<std::byte>(), sizeof(GpuTextPlace)));
  LV_RETURN_IF_ERROR(LaunchLayers(0, layers_.size(), 1, 1));
  std::vector<float> logits;
  return AppendLogits(0, 1, &logits);
}

Status GpuDecoder::Reserve(KvCache* cache, size_t length) {
  const size_t capacity = std::min(RoundUp(length + length / 2, 256), config_.context);
  if (cache->rows_ == nullptr) {
    LV_ASSIGN_OR_RETURN(cache->rows_, Rows::Make(device_, capacity, token_numbers_ * 2));
    return Status::Ok();
  }
  auto* rows = static_cast<Rows*>(cache->rows_.get());
  return length <= rows->capacity() ? Status::Ok() : rows->Grow(cache->length_, capacity);
}

Result<ForwardResult> GpuDecoder::Run(const ForwardCall& call, size_t end_layer, KvCache* cache) {
  const std::scoped_lock lock(device_->mutex);
  const size_t before = cache->length_, count = call.tokens.size();
  LV_RETURN_IF_ERROR(Reserve(cache, before + count));
  Reading reading{call, end_layer, cache, {}};
  for (size_t first = 0; first < count; first += kChunkRows) {
    const size_t rows = std::min(kChunkRows, count - first);
    Status status = ReadChunk(&reading, first, rows);
    if (status.ok() && end_layer == config_.layers && call.logits != ForwardCall::Logits::kNone) {
      const bool last = first + rows == count;
      if (call.logits == ForwardCall::Logits::kAll) {
        status = AppendLogits(0, rows, &reading.result.logits);
      } else if (last && call.sampler != nullptr) {
        status = SampleRow(call, rows - 1, &reading.result.token);
      } else if (last) {
        const size_t each = rows / call.branches;
        for (size_t b = 1; b <= call.branches && status.ok(); ++b) {
          status = AppendLogits(b * each - 1, 1, &reading.result.logits);
        }
      }
    }
    // The next chunk writes to pinned memory that this one reads.
    if (status.ok()) status = net_->Finish();
    if (!status.ok()) {
      (void)net_->Finish();  // what was begun reads memory that the next call writes
      cache->Truncate(before);
      return status;
    }
  }
  return std::move(reading.result);
}

Status GpuDecoder::ReadChunk(Reading* reading, size_t first, size_t rows) {
  const ForwardCall& call = reading->call;
  const size_t position = reading->cache->length_, width = config_.width;
  const bool goes_on = !call.entering.empty();
  auto* kv = reinterpret_cast<uint16_t*>(static_cast<Rows*>(reading->cache->rows_.get())->data());
  new (place_pinned_.As<GpuTextPlace>()) GpuTextPlace{kv, static_cast<uint32_t>(position)};
  std::memcpy(place_pinned_.As<std::byte>(kTokensAt), call.tokens.data() + first, rows * sizeof(int32_t));
  LV_RETURN_IF_ERROR(
      net_->Upload(place_.As<std::byte>(), place_pinned_.As<std::byte>(), kTokensAt + rows * sizeof(int32_t)));
  if (goes_on) {
    std::copy_n(call.entering.data() + first * width, rows * width, hidden_pinned_.As<float>());
    LV_RETURN_IF_ERROR(net_->Upload(hidden_.As<float>(), hidden_pinned_.As<float>(), rows * width * sizeof(float)));
    LV_RETURN_IF_ERROR(net_->Finish());  // the hook may use the same pinned memory
  } else {
    LV_RETURN_IF_ERROR(net_->Embed({weights_.At<uint16_t>(embedding_.place), place_.As<int32_t>(kTokensAt),
                                    hidden_.As<float>(), static_cast<uint32_t>(rows), static_cast<uint32_t>(width)}));
  }
  const size_t hook_row = call.hook_from > position ? std::min(call.hook_from - position, rows) : 0;
  const auto stops_at = [&](size_t layer) {
    return call.capture_layer == static_cast<int>(layer) ||
           (call.hook != nullptr && hook_row < rows && call.hook->ActsBefore(static_cast<int>(layer)));
  };
  for (size_t layer = goes_on ? call.from_layer : 0; layer < reading->end_layer;) {
    if (call.stop.stop_requested()) return Cancelled();
    if (stops_at(layer)) LV_RETURN_IF_ERROR(Visit(reading, layer, hook_row, rows));
    size_t next = layer + 1;
    while (next < reading->end_layer && !stops_at(next)) ++next;
    LV_RETURN_IF_ERROR(RunLayers(layer, next, rows, call.branches));
    layer = next;
  }
  if (call.capture_layer == static_cast<int>(reading->end_layer)) {
    LV_RETURN_IF_ERROR(Visit(reading, reading->end_layer, rows, rows));
  }
  if (call.branches == 1) reading->cache->length_ += rows;
  return Status::Ok();
}

Status GpuDecoder::Visit(Reading* reading, size_t layer, size_t hook_row, size_t rows) {
  const ForwardCall& call = reading->call;
  const size_t width = config_.width;
  const bool captures = call.capture_layer == static_cast<int>(layer), hooks = call.hook != nullptr && hook_row < rows;
  const bool stays = hooks && call.hook->OnDevice();
  if (captures || !stays) {
    const size_t first = captures ? 0 : hook_row;
    float* states = hidden_pinned_.As<float>() + first * width;
    LV_RETURN_IF_ERROR(
        net_->Download(states, hidden_.As<float>() + first * width, (rows - first) * width * sizeof(float)));
    LV_RETURN_IF_ERROR(net_->Finish());
    if (captures) {
      reading->result.captured.insert(reading->result.captured.end(), states, states + (rows - first) * width);
    }
  }
  if (!hooks) return Status::Ok();
  if (stays) {
    return call.hook->BeforeLayerOn(net_, static_cast<int>(layer), hidden_.As<float>() + hook_row * width,
                                    rows - hook_row, width);
  }
  float* hooked = hidden_pinned_.As<float>() + hook_row * width;
  LV_RETURN_IF_ERROR(call.hook->BeforeLayer(static_cast<int>(layer), hooked, rows - hook_row, width));
  return net_->Upload(hidden_.As<float>() + hook_row * width, hooked, (rows - hook_row) * width * sizeof(float));
}

Status GpuDecoder::RunLayers(size_t first, size_t last, size_t rows, size_t branches) {
  if (rows > 1) return LaunchLayers(first, last, rows, branches);
  std::unique_ptr<GpuRecording>& recording = recordings_[{first, last}];
  if (recording == nullptr) {
    LV_ASSIGN_OR_RETURN(recording, net_->Record([&] { return LaunchLayers(first, last, 1, 1); }));
  } else {
    ++replays_;
  }
  return net_->Replay(*recording);
}

Status GpuDecoder::LaunchLayers(size_t first, size_t last, size_t rows, size_t branches) {
  for (size_t i = first; i < last; ++i) LV_RETURN_IF_ERROR(LaunchLayer(layers_[i], i, rows, branches));
  return Status::Ok();
}

Status GpuDecoder::LaunchLayer(const Layer& layer, size_t index, size_t rows, size_t branches) {
  const TextDecoderConfig& c = config_;
  const auto count = static_cast<uint32_t>(rows);
  LV_RETURN_IF_ERROR(Norm(layer.attention_norm, 0, rows));
  LV_RETURN_IF_ERROR(Multiply(layer.qkv, GpuGemm::Into::kF32, normed_.As<uint16_t>(), rows, qkv_.As<float>()));
  GpuTextAttention attention;
  attention.place = place_.As<GpuTextPlace>();
  attention.cos = weights_.At<float>(cos_);
  attention.sin = weights_.At<float>(sin_);
  attention.rows = static_cast<uint32_t>(rows / branches);
  attention.heads = static_cast<uint32_t>(c.heads);
  attention.kv_heads = static_cast<uint32_t>(c.kv_heads);
  attention.head_dim = static_cast<uint32_t>(c.head_dim);
  attention.context = static_cast<uint32_t>(c.context);
  attention.token_stride = static_cast<uint32_t>(token_numbers_);
  attention.layer_offset = static_cast<uint32_t>(index * 2 * c.kv_heads * c.head_dim);
  attention.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  // Branches use the places behind the conversation one after the other.
  for (size_t row = 0; row < rows; row += attention.rows) {
    attention.qkv = qkv_.As<float>() + row * layer.qkv.out;
    attention.out = attended_.As<uint16_t>() + row * layer.attention_out.in;
    LV_RETURN_IF_ERROR(net_->TextRope(attention));
    LV_RETURN_IF_ERROR(net_->TextAttention(attention));
  }
  LV_RETURN_IF_ERROR(
      Multiply(layer.attention_out, GpuGemm::Into::kAdd, attended_.As<uint16_t>(), rows, hidden_.As<float>()));
  LV_RETURN_IF_ERROR(Norm(layer.ffn_norm, 0, rows));
  LV_RETURN_IF_ERROR(Multiply(layer.gate_up, GpuGemm::Into::kF32, normed_.As<uint16_t>(), rows, gate_up_.As<float>()));
  auto* activated = activated_.As<uint16_t>();
  LV_RETURN_IF_ERROR(net_->SiluMul({gate_up_.As<float>(), activated, count, static_cast<uint32_t>(c.ffn)}));
  return Multiply(layer.ffn_down, GpuGemm::Into::kAdd, activated, rows, hidden_.As<float>());
}

Status GpuDecoder::Multiply(const Matrix& matrix, GpuGemm::Into into, const uint16_t* x, size_t rows, void* y) {
  GpuGemm call;
  call.into = into;
  call.x = x;
  call.x_stride = call.in = matrix.in;
  call.w = weights_.At<uint16_t>(matrix.place);
  call.y = y;
  call.y_stride = call.out = matrix.out;
  call.rows = ProductRows(rows);
  return net_->Gemm(call);
}

// normed = RmsNorm(hidden) of `rows` rows, hidden's from row `first` on.
Status GpuDecoder::Norm(size_t weight, size_t first, size_t rows) {
  return net_->RmsNorm({hidden_.As<float>() + first * config_.width, weights_.At<float>(weight), normed_.As<uint16_t>(),
                        static_cast<uint32_t>(rows), static_cast<uint32_t>(config_.width), config_.rms_epsilon});
}

Status GpuDecoder::SampleRow(const ForwardCall& call, size_t row, int32_t* token) {
  const SamplerOptions& options = call.sampler->options();
  LV_RETURN_IF_ERROR(Norm(output_norm_, row, 1));
  LV_RETURN_IF_ERROR(Multiply(output_, GpuGemm::Into::kF32, normed_.As<uint16_t>(), 1, logits_.As<float>()));
  GpuSample sample;
  sample.logits = logits_.As<float>();
  sample.count = static_cast<uint32_t>(config_.vocabulary);
  sample.seen = choice_.As<int32_t>(kTokensAt);
  sample.token = choice_.As<int32_t>();
  sample.penalty = options.repetition_penalty;
  sample.temperature = options.temperature;
  sample.top_p = options.top_p;
  if (options.temperature > 0.0f) sample.draw = call.sampler->Draw();
  if (options.repetition_penalty > 1.0f) {
    // An answer is no longer than a conversation.
    const auto seen = call.seen.last(std::min(call.seen.size(), config_.context));
    std::copy(seen.begin(), seen.end(), choice_pinned_.As<int32_t>(kTokensAt));
    LV_RETURN_IF_ERROR(
        net_->Upload(choice_.As<int32_t>(kTokensAt), choice_pinned_.As<int32_t>(kTokensAt), seen.size_bytes()));
    sample.seen_count = static_cast<uint32_t>(seen.size());
  }
  LV_RETURN_IF_ERROR(net_->Sample(sample));
  LV_RETURN_IF_ERROR(net_->Download(choice_pinned_.As<int32_t>(), choice_.As<int32_t>(), sizeof(int32_t)));
  LV_RETURN_IF_ERROR(net_->Finish());
  *token = *choice_pinned_.As<int32_t>();
  return Status::Ok();
}

Status GpuDecoder::AppendLogits(size_t first, size_t rows, std::vector<float>* logits) {
  for (const size_t end = first + rows; first < end; first += kLogitRows) {
    const size_t count = std::min(kLogitRows, end - first);
    LV_RETURN_IF_ERROR(Norm(output_norm_, first, count));
    LV_RETURN_IF_ERROR(Multiply(output_, GpuGemm::Into::kF32, normed_.As<uint16_t>(), count, logits_.As<float>()));
    LV_RETURN_IF_ERROR(
        net_->Download(logits_pinned_.As<float>(), logits_.As<float>(), count * output_.out * sizeof(float)));
    LV_RETURN_IF_ERROR(net_->Finish());
    for (size_t i = 0; i < count; ++i) {
      const float* row = logits_pinned_.As<float>() + i * output_.out;
      logits->insert(logits->end(), row, row + config_.vocabulary);
    }
  }
  return Status::Ok();
}

}  // namespace longview
