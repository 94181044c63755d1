// Private to VitEncoder: the weights of a vision transformer, bound from an ONNX export.
#ifndef LONGVIEW_VISION_VIT_VIT_WEIGHTS_H_
#define LONGVIEW_VISION_VIT_VIT_WEIGHTS_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/ops/linear.h"
#include "vision/vit/vit_config.h"
#include "vision/vit/vit_floats.h"

namespace longview {

// A linear layer cut into blocks of outputs. oneDNN's sums depend in their last bits on a product's shape, so the ViT
// only ever multiplies one picture's rows by one block: then neither the batch nor the number of threads shows in the
// result, and the blocks are the tasks that threads share out.
struct VitMatrix {
  static constexpr size_t kBlockOutputs = 192;
  std::vector<Linear> blocks;  // each kBlockOutputs outputs, the last what is left

  size_t bytes() const;
};

struct VitLayer {
  VitNorm norm1, norm2;
  VitMatrix qkv;                      // [3 width, width]: queries, keys, values side by side
  VitMatrix proj;                     // [width, width]
  std::vector<float> scale1, scale2;  // LayerScale, [width]
  VitMatrix fc1;                      // [mlp, width]
  VitMatrix fc2;                      // [width, mlp]
};

struct VitWeights {
  VitMatrix patch;                     // [width, 3 patch patch], a picture's patch as plane, row, column
  std::vector<float> class_token;      // [width], its position added
  std::vector<float> patch_positions;  // [grid grid, width]
  std::vector<VitLayer> layers;        // those that run
  VitNorm norm;                        // of the last layer; for taps, which have none of their own, 1 and 0
};

// Binds and checks everything; nothing of the file is needed afterwards.
Result<std::unique_ptr<const VitWeights>> LoadVitWeights(const std::filesystem::path& path, const VitConfig& config,
                                                         WeightStore store);

// The same as plain numbers, for a device.
VitFloats FloatsOf(const VitConfig& config, const VitWeights& weights);

// Resizes a square grid of position vectors [from from, width] to [to to, width] as the export's Resize node does:
// bicubic with a = -0.75, half-pixel centres, borders repeated, no smoothing (ONNX operator Resize, mode cubic).
std::vector<float> ResizePositions(std::span<const float> grid, size_t from, size_t to, size_t width);

}  // namespace longview

#endif  // LONGVIEW_VISION_VIT_VIT_WEIGHTS_H_
