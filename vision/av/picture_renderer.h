// PictureRenderer: a decoded frame to the picture that a person would see. Private to vision/av.
//
// Deinterlaces flagged frames, hands each frame's own matrix and range to the scaler, makes pixels square, tone-maps PQ
// and HLG, composes transparency over white, turns and mirrors. Follows frames that change size or format.
#ifndef LONGVIEW_VISION_AV_PICTURE_RENDERER_H_
#define LONGVIEW_VISION_AV_PICTURE_RENDERER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/backend/picture_calls.h"
#include "core/base/status.h"
#include "vision/av/ffmpeg_ptr.h"
#include "vision/picture.h"

namespace longview::av {

// How a stored picture has to be turned: exchanged rows and columns first, then flipped.
struct Orientation {
  bool transpose = false;
  bool flip_x = false;
  bool flip_y = false;
};

// From a display matrix (null: upright); angles between are rounded to a quarter turn.
Orientation OrientationOf(const int32_t* matrix);
// Degrees clockwise (0, 90, 180, 270), to be applied to the stored picture before `mirrored` swaps left and right.
int RotationOf(const Orientation& orientation);
bool MirroredOf(const Orientation& orientation);

// Whether the frame's transfer function is PQ or HLG.
bool IsHdr(const AVFrame& frame);

// How the frame's own matrix and range lead to RGB.
GpuColours ColoursOf(const AVFrame& frame);

class PictureRenderer {
 public:
  // Both outlive the renderer; `path` is for messages.
  PictureRenderer(std::string path, AVFormatContext* format, AVStream* stream, int64_t max_pixels);
  // After the file was opened anew.
  void Rebind(AVFormatContext* format, AVStream* stream);

  // The shown size and turn of this frame.
  struct Geometry {
    int stored_width = 0;  // square pixels, not yet turned
    int stored_height = 0;
    Orientation orientation;
    int width = 0;  // as shown
    int height = 0;
  };
  // kResource where square pixels would pass the limit.
  Result<Geometry> GeometryOf(const AVFrame& frame) const;

  // What stands between the frame and the shown picture beyond colours and size, for people ("it is turned"); null:
  // nothing. kResource as GeometryOf.
  Result<const char*> Treatment(const AVFrame& frame) const;

  // Times and flags of the result are for the caller to fill. kUnsupported for pixel formats that swscale cannot read.
  Result<Picture> Render(const AVFrame& frame);
  // width x height, area-averaged from the stored picture, not turned, not tone-mapped.
  Result<Picture> Small(const AVFrame& frame, int width, int height);
  // Small looks at every so manieth row of a picture of `stored_height` alone.
  static int SmallStep(int stored_height, int height);

 private:
  // A scaler and what it was set up for.
  struct Scaler {
    ScalerPtr context;
    std::array<int, 9> setup = {};
  };
  // Rows of a converted picture, without padding.
  struct Rows {
    std::vector<uint8_t> bytes;
    size_t stride = 0;
    const uint8_t* Row(int y) const { return bytes.data() + static_cast<size_t>(y) * stride; }
  };
  // Converts `frame` to width x height of `format`.
  Result<Rows> Convert(Scaler& scaler, const AVFrame& frame, int width, int height, AVPixelFormat format, int flags);

  std::string path_;
  AVFormatContext* format_;
  AVStream* stream_;
  int64_t max_pixels_;
  Scaler scaler_;
  Scaler small_scaler_;
};

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_PICTURE_RENDERER_H_
