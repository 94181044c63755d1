// VitConfig: the dimensions of a vision transformer.
#ifndef LONGVIEW_VISION_VIT_VIT_CONFIG_H_
#define LONGVIEW_VISION_VIT_VIT_CONFIG_H_

#include <cstddef>
#include <vector>

namespace longview {

// The defaults are DINOv2 ViT-S/14 at 224 px (Oquab et al. 2023).
struct VitConfig {
  size_t layers = 12;
  size_t width = 384;
  size_t heads = 6;  // divides width
  size_t patch = 14;
  size_t image = 224;  // a multiple of patch
  size_t mlp = 1536;
  float norm_epsilon = 1e-6f;
  // Blocks whose outputs are what the encoder gives, counted from 0, ascending; none: the last block's, after the last
  // LayerNorm. A backbone tuned for another task keeps in its middle what its end has unlearned.
  std::vector<size_t> taps;

  // Patches along one side of the picture.
  size_t grid() const { return image / patch; }
  // Vectors out per picture: the class token, then the grid row by row.
  size_t tokens() const { return 1 + grid() * grid(); }
  // Numbers of each of them: the taps' side by side.
  size_t out_width() const { return taps.empty() ? width : taps.size() * width; }
  // Blocks that run: none above the last tap.
  size_t depth() const { return taps.empty() ? layers : taps.back() + 1; }
};

}  // namespace longview

#endif  // LONGVIEW_VISION_VIT_VIT_CONFIG_H_
