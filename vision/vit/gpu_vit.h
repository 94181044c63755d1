// GpuVit: the vision transformer's forward pass on a GPU, in bf16 with the residual stream in fp32.
#ifndef LONGVIEW_VISION_VIT_GPU_VIT_H_
#define LONGVIEW_VISION_VIT_GPU_VIT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/backend/gpu_net.h"
#include "core/backend/gpu_weights.h"
#include "core/base/status.h"
#include "vision/vit/vit_config.h"
#include "vision/vit/vit_floats.h"
#include "vision/vit/vit_picture.h"

namespace longview {

// One thread at a time.
class GpuVit {
 public:
  // Pictures that go through the device at once, unless Make is told otherwise; more go one such batch after another.
  static constexpr size_t kPictures = 64;

  // Copies the weights to the device, where they stay. kUnsupported for dimensions that the device's products do not
  // take (multiples of 8, heads of up to 128 numbers); kResource without memory.
  static Result<std::unique_ptr<GpuVit>> Make(std::shared_ptr<GpuNet> net, const VitConfig& config,
                                              const VitFloats& weights, size_t most_pictures = kPictures);
  ~GpuVit();

  // As VitEncoder::Encode; a stop is seen between batches. What is on the device is copied there.
  Status Encode(std::span<const VitPicture> pictures, VitTokens out, const std::stop_token& stop = {});

  // The forward pass of `pictures` (up to most_pictures) whose pixels lie on the device, `times` times without waiting
  // in between: the seconds that each takes. For measurements.
  Result<double> SecondsOf(size_t pictures, size_t times);

 private:
  struct Matrix {
    size_t weight = 0, bias = 0;  // places in weights_
    size_t in = 0, out = 0;
  };
  struct Layer {
    size_t norm1_weight = 0, norm1_bias = 0, norm2_weight = 0, norm2_bias = 0;
    Matrix qkv, proj, fc1, fc2;
  };

  GpuVit(std::shared_ptr<GpuNet> net, const VitConfig& config, size_t most_pictures);
  Status AddWeights(const VitFloats& weights);
  // Memory for so many pictures.
  Status Reserve(size_t pictures);
  // The launches of one batch, from pixels_ to tokens_.
  Status Forward(size_t pictures);
  Status Block(const Layer& layer, size_t pictures);
  Status Multiply(const Matrix& matrix, GpuGemm::Into into, const uint16_t* x, size_t rows, void* y);
  Status Norm(size_t weight, size_t bias, size_t rows, void* y, size_t y_stride, bool y_float);

  const std::shared_ptr<GpuNet> net_;
  const VitConfig config_;
  const size_t most_pictures_;
  const size_t patch_stride_;  // numbers of a patch, padded
  GpuWeights weights_;
  size_t patch_ = 0, start_ = 0, norm_weight_ = 0, norm_bias_ = 0;
  std::vector<Layer> layers_;

  size_t reserved_ = 0;  // pictures
  GpuBuffer pixels_, patches_, hidden_, normed_, qkv_, attended_, inner_, tokens_;
  GpuBuffer pixels_pinned_, tokens_pinned_;
};

}  // namespace longview

#endif  // LONGVIEW_VISION_VIT_GPU_VIT_H_
