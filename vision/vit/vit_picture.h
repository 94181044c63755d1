// VitPicture, VitTokens: where one picture's pixels lie that a vision transformer is to read, and where its tokens go.
#ifndef LONGVIEW_VISION_VIT_VIT_PICTURE_H_
#define LONGVIEW_VISION_VIT_VIT_PICTURE_H_

namespace longview {

struct VitPicture {
  const float* pixels = nullptr;  // [3, image, image]: normalised RGB planes
  bool on_device = false;         // in the memory of the GPU that the transformer runs on, complete; else the host's
};

struct VitTokens {
  float* numbers = nullptr;  // [pictures, tokens, out_width]
  bool on_device = false;    // in the memory of the GPU that the transformer runs on; else the host's
};

}  // namespace longview

#endif  // LONGVIEW_VISION_VIT_VIT_PICTURE_H_
