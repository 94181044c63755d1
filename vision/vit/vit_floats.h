// VitFloats: the weights of a vision transformer as plain numbers, as a device takes them.
#ifndef LONGVIEW_VISION_VIT_VIT_FLOATS_H_
#define LONGVIEW_VISION_VIT_VIT_FLOATS_H_

#include <vector>

namespace longview {

struct VitNorm {
  std::vector<float> weight, bias;  // [width]
};

struct VitFloatMatrix {
  std::vector<float> weight;  // [out, in]
  std::vector<float> bias;    // [out]
};

// proj and fc2 have the block's LayerScale multiplied in: what they give is added to the residual stream as it is.
struct VitFloatLayer {
  VitNorm norm1, norm2;
  VitFloatMatrix qkv, proj, fc1, fc2;
};

struct VitFloats {
  std::vector<float> patch;  // [width, 3 patch patch]
  std::vector<float> start;  // [tokens, width]: the class token with its position, then positions with the patch's bias
  std::vector<VitFloatLayer> layers;  // those that run
  VitNorm norm;                       // of the last layer or of the taps
};

}  // namespace longview

#endif  // LONGVIEW_VISION_VIT_VIT_FLOATS_H_
