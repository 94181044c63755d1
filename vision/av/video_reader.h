// VideoReader: the pictures of one video or still, with the container's own times, in order or at a given time.
//
// Times are seconds from the start of the file's earliest stream, picture or sound. The picture at T is the last one
// with time <= T. Pictures are upright, with square pixels (width x sample aspect ratio, rounded; height kept), 8-bit
// RGB: range and matrix are each frame's own, PQ and HLG are tone-mapped, transparency is composed over white,
// interlaced frames are deinterlaced from their first field. What cannot be decoded is left out and reported
// (Damage()), never shown.
//
// A reader belongs to one thread at a time. Stopping is by the stop token given at Open, from any thread.
#ifndef LONGVIEW_VISION_AV_VIDEO_READER_H_
#define LONGVIEW_VISION_AV_VIDEO_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "vision/device_picture.h"
#include "vision/picture.h"
#include "vision/preprocess.h"

namespace longview {

class GpuNet;

namespace av {
class HardwareDecoding;
}

// Which pictures are decoded.
enum class DecodeMode {
  kExact,     // every picture, exactly as coded
  kFast,      // no loop filter, no unreferenced pictures
  kKeyframe,  // keyframes only
};

struct ReaderOptions {
  DecodeMode decode = DecodeMode::kExact;
  int threads = 2;  // decoder threads; one is used above 16 megapixels, where each holds frames
  int64_t max_pixels = int64_t{8192} * 8192;  // a larger stored picture is refused before anything is allocated for it
  // A film that lasts longer, or goes on after this many pictures, is refused: a few bytes can claim any length.
  double max_duration_s = 1000.0 * 3600.0;
  int64_t max_pictures = 500'000'000;
  int target_width = 0;   // > 0: pictures are delivered stretched to this size (bicubic from the
  int target_height = 0;  //      whole shown picture, as preprocess.h does it)
  // Files up to this size are read to the end when opened, so that nothing rests on their headers. Larger ones only
  // where the header is silent, contradicted by both ends of the file, or the format's clock may jump.
  int64_t read_all_below = int64_t{256} << 20;
  // Set: a GPU decodes, for this reader alone. Whatever it cannot do, and whatever looks wrong in the film, then ends
  // the reading: read again without it, the processor knows more ways out and tells what is damaged.
  std::shared_ptr<av::HardwareDecoding> hardware;
};

// What `info` tells of a file. Header fields are checked against the packets.
struct VideoInfo {
  std::string path;
  double duration_s = 0.0;    // from the first picture to the end of the last; 0 for a still
  double first_time_s = 0.0;  // of the first picture
  int width = 0;              // as shown
  int height = 0;
  int rotation = 0;         // degrees clockwise that the stored picture is turned: 0, 90, 180, 270
  bool mirrored = false;    // left and right swapped after that
  double fps_avg = 0.0;     // pictures by duration; 0 for a still
  bool vfr = false;         // the steps between pictures differ
  std::string video_codec;  // FFmpeg's short name, e.g. "h264"
  std::string pix_fmt;      // FFmpeg's name, e.g. "yuv420p10le"
  bool hdr = false;         // PQ or HLG
  bool audio = false;       // there is a sound stream
  bool still = false;       // one picture that is no film (PNG, JPEG, ...)
  std::string timecode;     // of the first picture, as the file has it (01:00:00;00); empty where there is none
  bool estimated = false;   // a large file whose header agreed with both its ends: vfr and fps_avg are from those
};

// A stretch of the film that could not be decoded.
struct DamagedSpan {
  double start_s = 0.0;
  double end_s = 0.0;
};

// "1.00 s to 2.00 s, 9.00 s to 9.50 s".
std::string SpansText(std::span<const DamagedSpan> spans);

// What went wrong so far without ending the reading.
struct DamageReport {
  std::vector<DamagedSpan> spans;  // rising, merged
  std::string message;             // one line for a person that begins with the path; empty where all is well
  bool shortened = false;          // the file ended before its size at Open (a share that drops, a file being cut)
};

// Lets tests prove that seeking was cheap, and shows up in --json times.
struct ReaderCounters {
  int64_t seeks = 0;
  int64_t rewinds = 0;   // of the seeks, those to the very start
  int64_t packets = 0;   // video packets given to the decoder
  int64_t pictures = 0;  // decoded
  int64_t rendered = 0;  // converted to RGB
};

// A decoded picture that has not been converted: its place only.
struct FrameMark {
  double time_s = 0.0;
  std::optional<double> duration_s;
  bool key = false;
};

class VideoReader {
 public:
  virtual ~VideoReader() = default;

  // Opens `path`, picks its film stream (attached covers are none; the default flag first, then the largest), checks
  // the header against the packets, reading to the end where it is missing or wrong, and decodes the first picture.
  // Errors: kNotFound (no such file, or no video in it: "no video in this file"), kInvalidArgument (a folder, a pipe),
  // kDamaged (not a video, or nothing in it decodes), kUnsupported (no decoder; animated WebP; playlists), kResource
  // (over max_pixels, max_duration_s or max_pictures; names what and the limit), kIo, kCancelled. Each message begins
  // with the path.
  static Result<std::unique_ptr<VideoReader>> Open(const std::string& path, const ReaderOptions& options,
                                                   std::stop_token stop);

  virtual const VideoInfo& Info() const = 0;

  // The next picture in order of time, or nullopt after the last. kCancelled on stop; kIo where the system fails.
  // What was read before an error stays valid.
  virtual Result<std::optional<Picture>> Next() = 0;

  // Next() in two steps, for callers that use few of the pictures: Advance() only decodes, Render() converts the
  // picture that Advance() returned last, and Small() gives a tiny version of it (RGB, not turned, not tone-mapped: to
  // compare neighbours with, not to show). Both fail with kInternal where there is none.
  virtual Result<std::optional<FrameMark>> Advance() = 0;
  virtual Result<Picture> Render() = 0;
  virtual Result<Picture> Small(int width, int height) = 0;
  // The picture that Advance() returned last for the ViT, in the memory of the GPU that decoded it; thumbnail as
  // Thumbnail's where `thumbnail` > 0. Nothing where the processor decodes, or where it must treat the picture first
  // (one that is turned, interlaced, HDR, of oblong pixels; the log says so once): Render() it. kInternal where there
  // is none.
  virtual Result<std::optional<DevicePicture>> RenderOnDevice(const PreprocessSpec& spec, int thumbnail) = 0;

  // Goes to time t: the next Next() or Advance() gives the picture at t (see the top), or the first picture where t
  // lies before it. kOutOfRange after the end of the last picture.
  virtual Status Seek(double time_s) = 0;

  // The picture at t. kOutOfRange before the first picture or from the end of the last on (a still: any t >= 0 is fine
  // only at 0..1 s); kDamaged where the film could not be decoded at t. The same pixels as by reading through.
  virtual Result<Picture> PictureAt(double time_s) = 0;

  virtual DamageReport Damage() const = 0;
  virtual ReaderCounters Counters() const = 0;
};

// A GPU's video decoder, working in `net`'s stream, which is its own from then on. kUnsupported where the build, FFmpeg
// or the device has none; otherwise why it cannot be used.
Result<std::shared_ptr<av::HardwareDecoding>> OpenHardwareDecoding(std::shared_ptr<GpuNet> net);

}  // namespace longview

#endif  // LONGVIEW_VISION_AV_VIDEO_READER_H_
