// PictureRenderer: one pass through swscale, and what swscale does not do: fields, HDR, alpha, turning.
#include "vision/av/picture_renderer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "vision/av/deinterlace.h"
#include "vision/av/demuxer.h"
#include "vision/av/frame_fields.h"
#include "vision/av/tone_map.h"

namespace longview::av {
namespace {

constexpr size_t kSlack = 128;
constexpr int kBackground = 255;  // white: what transparency is composed over
constexpr int kMaxSide = 65535;   // a shown side beyond this comes from a nonsense aspect ratio

// EXIF orientation 1..8.
Orientation OrientationOfExif(int value) {
  switch (value) {
    case 2:
      return {false, true, false};
    case 3:
      return {false, true, true};
    case 4:
      return {false, false, true};
    case 5:
      return {true, false, false};
    case 6:
      return {true, true, false};
    case 7:
      return {true, true, true};
    case 8:
      return {true, false, true};
    default:
      return {};
  }
}

Orientation FrameOrientation(const AVFrame& frame, const AVStream& stream) {
  const AVFrameSideData* side = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
  if (side != nullptr && side->size >= 9 * sizeof(int32_t)) {
    return OrientationOf(reinterpret_cast<const int32_t*>(side->data));
  }
  if (const int32_t* matrix = StreamMatrix(stream)) return OrientationOf(matrix);
  const AVDictionaryEntry* exif = av_dict_get(frame.metadata, "Orientation", nullptr, 0);
  return exif == nullptr ? Orientation{} : OrientationOfExif(std::atoi(exif->value));
}

// The deprecated full-range twins of the YUV formats: the range goes to the scaler by itself.
AVPixelFormat WithoutRange(int format) {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ411P:
      return AV_PIX_FMT_YUV411P;
    case AV_PIX_FMT_YUVJ422P:
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      return AV_PIX_FMT_YUV440P;
    default:
      return static_cast<AVPixelFormat>(format);
  }
}

// 1 for full range. Where nothing is said YUV is limited and grey is full, as FFmpeg's own tools have it.
int FullRange(const AVFrame& frame) {
  if (WithoutRange(frame.format) != frame.format) return 1;
  if (frame.color_range != AVCOL_RANGE_UNSPECIFIED) return frame.color_range == AVCOL_RANGE_JPEG ? 1 : 0;
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return format != nullptr && format->nb_components > 0 && format->nb_components <= 2 ? 1 : 0;
}

// swscale's number for the frame's matrix. Where nothing is said, the size tells: HD is BT.709.
int Matrix(const AVFrame& frame) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
      return SWS_CS_ITU709;
    case AVCOL_SPC_FCC:
      return SWS_CS_FCC;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return SWS_CS_ITU601;
    case AVCOL_SPC_SMPTE240M:
      return SWS_CS_SMPTE240M;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return SWS_CS_BT2020;
    default:
      break;
  }
  if (IsHdr(frame)) return SWS_CS_BT2020;
  const bool hd = frame.width >= 1280 || frame.height >= 720;
  // A picture file is JPEG's BT.601 whatever its size.
  const bool jpeg = WithoutRange(frame.format) != frame.format;
  return hd && !jpeg ? SWS_CS_ITU709 : SWS_CS_ITU601;
}

// A copy of `frame` with its first field alone.
FramePtr Deinterlaced(const AVFrame& frame) {
  FramePtr copy(av_frame_clone(&frame));
  if (copy == nullptr || av_frame_make_writable(copy.get()) < 0) return nullptr;
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(format);
  constexpr uint64_t kNot = AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL |
                            AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_FLOAT;
  if (desc == nullptr || (desc->flags & kNot) != 0 || desc->comp[0].depth > 16) return nullptr;
  const int bytes = desc->comp[0].depth > 8 ? 2 : 1;
  const bool shifted = desc->comp[0].shift > 0;
  const int max_value = bytes == 1 ? 255 : shifted ? 65535 : (1 << desc->comp[0].depth) - 1;
  for (int plane = 0; plane < av_pix_fmt_count_planes(format); ++plane) {
    const bool chroma = plane == 1 || plane == 2;
    const int rows = chroma ? AV_CEIL_RSHIFT(frame.height, desc->log2_chroma_h) : frame.height;
    const int samples = av_image_get_linesize(format, frame.width, plane) / bytes;
    KeepField(copy->data[plane], copy->linesize[plane], samples, rows, bytes, max_value, TopFieldFirst(frame));
  }
  return copy;
}

// One row of RGBA over the background.
void Compose(const uint8_t* rgba, uint8_t* rgb, int width) {
  for (int x = 0; x < width; ++x) {
    const int alpha = rgba[4 * x + 3];
    for (int c = 0; c < 3; ++c) {
      rgb[3 * x + c] = static_cast<uint8_t>((rgba[4 * x + c] * alpha + kBackground * (255 - alpha) + 127) / 255);
    }
  }
}

// Turns `stored` into the shown picture.
Picture Turn(Picture stored, const Orientation& o) {
  if (!o.transpose && !o.flip_x && !o.flip_y) return stored;
  Picture shown;
  shown.width = o.transpose ? stored.height : stored.width;
  shown.height = o.transpose ? stored.width : stored.height;
  shown.rgb.resize(stored.rgb.size());
  for (int y = 0; y < stored.height; ++y) {
    const uint8_t* in = stored.Row(y);
    for (int x = 0; x < stored.width; ++x) {
      int to_x = o.transpose ? y : x;
      int to_y = o.transpose ? x : y;
      if (o.flip_x) to_x = shown.width - 1 - to_x;
      if (o.flip_y) to_y = shown.height - 1 - to_y;
      std::memcpy(shown.Row(to_y) + 3 * static_cast<size_t>(to_x), in + 3 * static_cast<size_t>(x), 3);
    }
  }
  return shown;
}

}  // namespace

Orientation OrientationOf(const int32_t* m) {
  if (m == nullptr) return {};
  // x' = m0 x + m3 y, y' = m1 x + m4 y.
  const auto size = [](int32_t v) { return std::abs(static_cast<int64_t>(v)); };
  if (size(m[1]) + size(m[3]) > size(m[0]) + size(m[4])) return {true, m[3] < 0, m[1] < 0};
  return {false, m[0] < 0, m[4] < 0};
}

bool MirroredOf(const Orientation& o) { return o.flip_x ^ o.flip_y ^ o.transpose; }

int RotationOf(const Orientation& o) {
  // Left and right are swapped last, so a mirrored picture's own x flip counts the other way round.
  const bool flip_x = o.flip_x != MirroredOf(o);
  if (!o.transpose) return flip_x ? 180 : 0;
  return flip_x ? 90 : 270;
}

bool IsHdr(const AVFrame& frame) {
  return frame.color_trc == AVCOL_TRC_SMPTE2084 || frame.color_trc == AVCOL_TRC_ARIB_STD_B67;
}

GpuColours ColoursOf(const AVFrame& frame) {
  // swscale's own: Cr to red, Cb to blue, Cb and Cr to green (to be subtracted), in 1/65536, for limited range.
  const int* matrix = sws_getCoefficients(Matrix(frame));
  const bool full = FullRange(frame) != 0;
  const auto factor = [&](int i) { return static_cast<float>(matrix[i]) / 65536.0f * (full ? 224.0f / 255.0f : 1.0f); };
  GpuColours colours;
  colours.black = full ? 0.0f : 16.0f;
  colours.gain = full ? 1.0f : 255.0f / 219.0f;
  colours.red_v = factor(0);
  colours.blue_u = factor(1);
  colours.green_u = -factor(2);
  colours.green_v = -factor(3);
  return colours;
}

PictureRenderer::PictureRenderer(std::string path, AVFormatContext* format, AVStream* stream, int64_t max_pixels)
    : path_(std::move(path)), format_(format), stream_(stream), max_pixels_(max_pixels) {}

void PictureRenderer::Rebind(AVFormatContext* format, AVStream* stream) {
  format_ = format;
  stream_ = stream;
}

Result<PictureRenderer::Geometry> PictureRenderer::GeometryOf(const AVFrame& frame) const {
  AVRational sar = av_guess_sample_aspect_ratio(format_, stream_, const_cast<AVFrame*>(&frame));
  if (sar.num <= 0 || sar.den <= 0) sar = {1, 1};
  const double width = std::max(1.0, std::round(static_cast<double>(frame.width) * sar.num / sar.den));
  if (width > kMaxSide || width * frame.height > static_cast<double>(max_pixels_)) {
    return ResourceError(TooLargeMessage(path_, static_cast<int64_t>(width), frame.height, max_pixels_));
  }
  Geometry g;
  g.stored_width = static_cast<int>(width);
  g.stored_height = frame.height;
  g.orientation = FrameOrientation(frame, *stream_);
  g.width = g.orientation.transpose ? g.stored_height : g.stored_width;
  g.height = g.orientation.transpose ? g.stored_width : g.stored_height;
  return g;
}

Result<const char*> PictureRenderer::Treatment(const AVFrame& frame) const {
  LV_ASSIGN_OR_RETURN(const Geometry g, GeometryOf(frame));
  const char* treatment = nullptr;
  if (g.orientation.transpose || g.orientation.flip_x || g.orientation.flip_y) treatment = "it is turned";
  if (g.stored_width != frame.width) treatment = "its pixels are not square";
  if (IsInterlaced(frame)) treatment = "it is interlaced";
  if (IsHdr(frame)) treatment = "it is HDR";
  return treatment;
}

Result<PictureRenderer::Rows> PictureRenderer::Convert(Scaler& scaler, const AVFrame& frame, int width, int height,
                                                       AVPixelFormat format, int flags) {
  const AVPixelFormat from = WithoutRange(frame.format);
  const std::array<int, 9> setup = {frame.width, frame.height, from,          width,           height,
                                    format,      flags,        Matrix(frame), FullRange(frame)};
  if (scaler.context == nullptr || scaler.setup != setup) {
    const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(from);
    if (desc == nullptr || sws_isSupportedInput(from) == 0) {
      return Unsupported(path_ + ": pixel format " + (desc == nullptr ? "unknown" : desc->name) + " is not supported");
    }
    scaler.context.reset(
        sws_getContext(frame.width, frame.height, from, width, height, format, flags, nullptr, nullptr, nullptr));
    if (scaler.context == nullptr) {
      return Unsupported(path_ + ": pictures of " + std::to_string(frame.width) + "x" + std::to_string(frame.height) +
                         " cannot be converted to " + std::to_string(width) + "x" + std::to_string(height));
    }
    const int* matrix = sws_getCoefficients(Matrix(frame));
    sws_setColorspaceDetails(scaler.context.get(), matrix, FullRange(frame), sws_getCoefficients(SWS_CS_DEFAULT), 1, 0,
                             1 << 16, 1 << 16);
    scaler.setup = setup;
  }
  const auto pixel = static_cast<size_t>(av_get_padded_bits_per_pixel(av_pix_fmt_desc_get(format)) / 8);
  // Rows are written in order, so what a vector store spills over the end of one is overwritten by the next; the last
  // one spills into the slack.
  Rows rows;
  rows.stride = static_cast<size_t>(width) * pixel;
  rows.bytes.resize(rows.stride * static_cast<size_t>(height) + kSlack);
  uint8_t* planes[4] = {rows.bytes.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {static_cast<int>(rows.stride), 0, 0, 0};
  const int done = sws_scale(scaler.context.get(), frame.data, frame.linesize, 0, frame.height, planes, strides);
  if (done < 0) return Damaged(path_ + ": a picture could not be converted (" + AvError(done) + ")");
  rows.bytes.resize(rows.stride * static_cast<size_t>(height));
  return rows;
}

Result<Picture> PictureRenderer::Render(const AVFrame& original) {
  LV_ASSIGN_OR_RETURN(const Geometry g, GeometryOf(original));
  FramePtr field = IsInterlaced(original) ? Deinterlaced(original) : nullptr;
  const AVFrame& frame = field != nullptr ? *field : original;
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const bool alpha = desc != nullptr && (desc->flags & AV_PIX_FMT_FLAG_ALPHA) != 0;
  const bool hdr = IsHdr(frame);
  const AVPixelFormat format = hdr ? AV_PIX_FMT_RGB48LE : alpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24;
  constexpr int kFlags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
  LV_ASSIGN_OR_RETURN(Rows rows, Convert(scaler_, frame, g.stored_width, g.stored_height, format, kFlags));
  Picture stored;
  stored.width = g.stored_width;
  stored.height = g.stored_height;
  if (!hdr && !alpha) {
    stored.rgb = std::move(rows.bytes);
    return Turn(std::move(stored), g.orientation);
  }
  stored.rgb.resize(static_cast<size_t>(g.stored_width) * static_cast<size_t>(g.stored_height) * 3);
  const HdrTransfer transfer = frame.color_trc == AVCOL_TRC_SMPTE2084 ? HdrTransfer::kPq : HdrTransfer::kHlg;
  for (int y = 0; y < stored.height; ++y) {
    if (hdr) {
      ToneMapRow(reinterpret_cast<const uint16_t*>(rows.Row(y)), stored.Row(y), static_cast<size_t>(stored.width),
                 transfer);
    } else {
      Compose(rows.Row(y), stored.Row(y), stored.width);
    }
  }
  return Turn(std::move(stored), g.orientation);
}

int PictureRenderer::SmallStep(int stored_height, int height) {
  // Of a large picture some rows are enough: every second, fourth, ... one, never fewer than two for each row made.
  int step = 1;
  while (stored_height / (2 * step) >= 2 * height) step *= 2;
  return step;
}

Result<Picture> PictureRenderer::Small(const AVFrame& original, int width, int height) {
  const int step = SmallStep(original.height, height);
  AVFrame frame = original;  // a view: nothing of it is freed or kept
  frame.height = original.height / step;
  for (int& linesize : frame.linesize) linesize *= step;
  LV_ASSIGN_OR_RETURN(Rows rows, Convert(small_scaler_, frame, width, height, AV_PIX_FMT_RGB24, SWS_AREA));
  Picture small;
  small.width = width;
  small.height = height;
  small.rgb = std::move(rows.bytes);
  return small;
}

}  // namespace longview::av
