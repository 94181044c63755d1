// GpuFrameEncoder: a bridge's frame encoder on a GPU, in bf16 with the residual stream in fp32. Beneath FrameEncoder.
#ifndef LONGVIEW_ATTENTION_BRIDGE_GPU_FRAME_ENCODER_H_
#define LONGVIEW_ATTENTION_BRIDGE_GPU_FRAME_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attention/bridge/bridge_config.h"
#include "core/backend/gpu_net.h"
#include "core/backend/gpu_weights.h"
#include "core/base/status.h"

namespace longview {

// One picture's tokens, as the ViT gives them.
struct FrameInput {
  const float* vit = nullptr;  // [1 + patch_grid^2, vit_width]
  bool on_device = false;      // in the memory of the GPU that the encoder runs on, complete; else the host's
  double time_s = 0.0;         // in its video
};

// A frame encoder's weights as plain numbers, as a device takes them.
struct FrameEncoderFloats {
  struct Matrix {
    std::vector<float> weight, bias;  // [out, in]; [out] or empty
  };
  struct Norm {
    std::vector<float> weight, bias;  // [width]
  };
  struct Layer {
    Norm norm1, norm2;
    Matrix qkv, proj, fc1, fc2;
  };
  Norm in_norm, out_norm;
  Matrix in;
  std::vector<float> position;  // [tokens, d_v]
  std::vector<Layer> layers;
  Matrix down, time_key;           // of the compressor
  std::vector<float> latent_norm;  // [d_c]
  Matrix frame_fc1, frame_fc2;     // of the retrieval head; empty where the bridge has none
  std::vector<float> frame_place;  // [parts, hidden]
};

// What the device makes of frames. Time keys are still to be turned by the frames' times, whose angles take double, and
// retrieval vectors to be brought to length 1.
struct GpuFrames {
  std::vector<float> latents;    // [frames, tokens, d_c], rounded to bf16
  std::vector<float> keys;       // [frames, tokens, d_r]
  std::vector<float> retrieval;  // [frames, parts, retrieval width], or empty
};

// One thread at a time.
class GpuFrameEncoder {
 public:
  // Frames that go through the device at once, unless Make is told otherwise; more go one such batch after another.
  static constexpr size_t kFrames = 64;

  // Copies the weights to the device, where they stay. kUnsupported for dimensions that the device's products do not
  // take (multiples of 8, heads of up to 128 numbers); kResource without memory.
  static Result<std::unique_ptr<GpuFrameEncoder>> Make(std::shared_ptr<GpuNet> net, const BridgeConfig& config,
                                                       const FrameEncoderFloats& weights, size_t most_frames = kFrames);
  ~GpuFrameEncoder();

  // Memory of the device for `numbers` floats, which others may fill.
  Result<GpuBuffer> Room(size_t numbers);

  // Errors are the device's own.
  Result<GpuFrames> Encode(std::span<const FrameInput> frames);

 private:
  struct Matrix {
    size_t weight = 0, bias = SIZE_MAX;  // places in weights_; no bias: SIZE_MAX
    size_t in = 0, out = 0;
  };
  struct Norm {
    size_t weight = 0, bias = 0;
  };
  struct Layer {
    Norm norm1, norm2;
    Matrix qkv, proj, fc1, fc2;
  };

  GpuFrameEncoder(std::shared_ptr<GpuNet> net, const BridgeConfig& config, size_t most_frames);
  Status AddWeights(const FrameEncoderFloats& weights);
  // Memory for so many frames.
  Status Reserve(size_t frames);
  // The launches of one batch, from vit_ to latents_, keys_ and vectors_.
  Status Forward(size_t frames);
  Status Block(const Layer& layer, size_t frames);
  Status Compress(size_t rows);
  Status MakeVectors(size_t frames);
  Status Multiply(const Matrix& matrix, GpuGemm::Into into, const uint16_t* x, size_t rows, void* y);
  // normed_ = LayerNorm(x), `rows` of `width`.
  Status Normalise(const Norm& norm, const float* x, size_t rows, size_t width);
  // `frames` copies of [rows, width] floats, one behind the other.
  Status Repeat(size_t place, size_t numbers, size_t frames, float* to);
  // Appends what a batch made to `result`.
  Status Fetch(size_t frames, GpuFrames* result);

  const std::shared_ptr<GpuNet> net_;
  const BridgeConfig config_;
  const size_t most_frames_;
  GpuWeights weights_;
  Norm in_norm_, out_norm_;
  Matrix in_, down_, time_key_, frame_fc1_, frame_fc2_;
  size_t position_ = 0, latent_norm_ = 0, frame_place_ = 0;
  std::vector<Layer> layers_;

  size_t reserved_ = 0;  // frames
  GpuBuffer vit_, pooled_, normed_, hidden_, qkv_, attended_, inner_;
  GpuBuffer raw_, latents_, keys_;
  GpuBuffer parts_, part_hidden_, part_inner_, vectors_;
  GpuBuffer vit_pinned_, latents_pinned_, keys_pinned_, vectors_pinned_;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_GPU_FRAME_ENCODER_H_
