// VitConfig: the dimensions of a vision transformer.
#ifndef LONGVIEW_VISION_VIT_VIT_CONFIG_H_
#define LONGVIEW_VISION_VIT_VIT_CONFIG_H_

#include <cstddef>

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

  // Patches along one side of the picture.
  size_t grid() const { return image / patch; }
  // Vectors out per picture: the class token, then the grid row by row.
  size_t tokens() const { return 1 + grid() * grid(); }
};

}  // namespace longview

#endif  // LONGVIEW_VISION_VIT_VIT_CONFIG_H_
