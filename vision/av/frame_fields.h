// The fields of an AVFrame and an AVStream that changed their names between FFmpeg 5.1 and 6.1. Private to vision/av.
#ifndef LONGVIEW_VISION_AV_FRAME_FIELDS_H_
#define LONGVIEW_VISION_AV_FRAME_FIELDS_H_

#include <cstdint>

#include "vision/av/ffmpeg_ptr.h"

namespace longview::av {

inline bool IsKey(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return (frame.flags & AV_FRAME_FLAG_KEY) != 0;
#else
  return frame.key_frame != 0;
#endif
}

inline bool IsInterlaced(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return (frame.flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
  return frame.interlaced_frame != 0;
#endif
}

inline bool TopFieldFirst(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return (frame.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
#else
  return frame.top_field_first != 0;
#endif
}

// In ticks of the stream; 0: not said.
inline int64_t DurationOf(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  return frame.duration;
#else
  return frame.pkt_duration;
#endif
}

// Where the packet of a picture stood in the file; -1: not known. Newer versions carry it through the decoder in
// `opaque`.
inline void PreparePosition(AVCodecContext* codec) {
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
  codec->flags |= AV_CODEC_FLAG_COPY_OPAQUE;
#else
  (void)codec;
#endif
}
inline void NotePosition(AVPacket* packet) {
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
  packet->opaque = reinterpret_cast<void*>(static_cast<intptr_t>(packet->pos + 1));
#else
  (void)packet;
#endif
}
inline int64_t PositionOf(const AVFrame& frame) {
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(frame.opaque)) - 1;
#else
  return frame.pkt_pos;
#endif
}

// The 3 x 3 display matrix stored with the stream, or null.
inline const int32_t* StreamMatrix(const AVStream& stream) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVPacketSideData* data = av_packet_side_data_get(
      stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return data != nullptr && data->size >= 9 * sizeof(int32_t) ? reinterpret_cast<const int32_t*>(data->data) : nullptr;
#else
  size_t size = 0;
  const uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  return data != nullptr && size >= 9 * sizeof(int32_t) ? reinterpret_cast<const int32_t*>(data) : nullptr;
#endif
}

}  // namespace longview::av

#endif  // LONGVIEW_VISION_AV_FRAME_FIELDS_H_
