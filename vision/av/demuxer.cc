// Demuxer: opening without trust, choosing the film stream, reading packets.
#include "vision/av/demuxer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "vision/picture_io.h"

namespace longview::av {
namespace {

constexpr int kIoBuffer = 128 * 1024;
constexpr int kMaxBadReads = 64;  // damaged stretches that a demuxer may report in a row before we take it for the end

// FFmpeg's last complaint on this thread: the reason behind an error code. Nothing is printed.
thread_local std::string last_complaint;

void TakeLog(void* context, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_ERROR) return;
  char line[512] = {};
  int prefix = 0;
  av_log_format_line2(context, level, format, arguments, line, sizeof(line), &prefix);
  last_complaint = line;
  while (!last_complaint.empty() && std::isspace(static_cast<unsigned char>(last_complaint.back()))) {
    last_complaint.pop_back();
  }
  // "[mov,mp4 @ 0x55d0] moov atom not found": the address says nothing to a person.
  const size_t end = last_complaint.find("] ");
  if (!last_complaint.empty() && last_complaint.front() == '[' && end != std::string::npos) {
    last_complaint.erase(0, end + 2);
  }
}

void TakeLogOnce() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(TakeLog); });
}

// Whether the file's first box says what kind of MP4 it is (ISO/IEC 14496-12, section 4.3): text and noise of that name
// do not.
bool BeginsAsMp4(FileSource* file) {
  std::array<uint8_t, 8> head{};
  const Result<size_t> got = file->ReadAt(0, head.data(), head.size());
  return got.ok() && *got == head.size() && std::memcmp(head.data() + 4, "ftyp", 4) == 0;
}

// Refuses every file or address that a file's content names.
int RefuseOpen(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) { return AVERROR(EPERM); }

bool NameHas(const char* names, std::initializer_list<std::string_view> wanted) {
  std::string_view rest(names == nullptr ? "" : names);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

// Formats that are lists of other files, or that take any text for a picture.
bool Refused(const AVInputFormat* input) {
  return (input->flags & AVFMT_NOFILE) != 0 ||
         NameHas(input->name, {"hls", "dash", "concat", "sdp", "rtsp", "imf", "ffmetadata", "tty", "vapoursynth",
                               "webm_dash_manifest", "mpl2", "xbin", "bin", "adf", "idf"});
}

// All that FFmpeg gets to see of the name: a guessable extension, no pattern characters.
std::string HarmlessName(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  std::string name = "input";
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash) || path.size() - dot > 8) return name;
  for (const char c : path.substr(dot + 1)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) return name;
  }
  return name + path.substr(dot);
}

}  // namespace

std::string TooLargeMessage(const std::string& path, int64_t width, int64_t height, int64_t max_pixels) {
  return path + ": its pictures are " + std::to_string(width) + "x" + std::to_string(height) +
         ", more than the limit of " + std::to_string(max_pixels / 1000000) + " megapixels";
}

Demuxer::Demuxer(std::unique_ptr<FileSource> file, std::stop_token stop)
    : file_(std::move(file)), stop_(std::move(stop)) {}

Demuxer::~Demuxer() = default;

Result<std::unique_ptr<Demuxer>> Demuxer::Open(const std::string& path, int64_t max_pixels, std::stop_token stop) {
  TakeLogOnce();
  LV_ASSIGN_OR_RETURN(auto file, FileSource::Open(path, stop));
  std::unique_ptr<Demuxer> demuxer(new Demuxer(std::move(file), std::move(stop)));
  LV_RETURN_IF_ERROR(demuxer->Init(max_pixels));
  return demuxer;
}

int Demuxer::ReadBytes(void* self, uint8_t* out, int size) {
  auto* demuxer = static_cast<Demuxer*>(self);
  Result<size_t> got = demuxer->file_->ReadAt(demuxer->position_, out, static_cast<size_t>(size));
  if (!got.ok()) {
    demuxer->io_status_ = got.status();
    return got.status().code() == StatusCode::kCancelled ? AVERROR_EXIT : AVERROR(EIO);
  }
  if (*got == 0) return AVERROR_EOF;
  demuxer->position_ += static_cast<int64_t>(*got);
  return static_cast<int>(*got);
}

int64_t Demuxer::SeekBytes(void* self, int64_t offset, int whence) {
  auto* demuxer = static_cast<Demuxer*>(self);
  switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
      return demuxer->file_->size();
    case SEEK_SET:
      break;
    case SEEK_CUR:
      offset += demuxer->position_;
      break;
    case SEEK_END:
      offset += demuxer->file_->size();
      break;
    default:
      return AVERROR(EINVAL);
  }
  if (offset < 0) return AVERROR(EINVAL);
  demuxer->position_ = offset;
  return offset;
}

int Demuxer::Interrupted(void* self) { return static_cast<Demuxer*>(self)->stop_.stop_requested() ? 1 : 0; }

Status Demuxer::Fail(const std::string& what, int code) const {
  if (stop_.stop_requested()) return Cancelled();
  if (!io_status_.ok()) return io_status_;
  std::string reason = last_complaint.empty() ? AvError(code) : last_complaint;
  return Damaged(file_->path() + ": " + what + " (" + reason + ")").About(file_->path());
}

Status Demuxer::Probe(int64_t max_pixels, const AVInputFormat** input) {
  const std::string& path = file_->path();
  if (file_->size() == 0) return Damaged(path + ": the file is empty").About(path, StatusReason::kEmptyFile);
  std::vector<uint8_t> head(size_t{64} * 1024);
  LV_ASSIGN_OR_RETURN(const size_t got, file_->ReadAt(0, head.data(), head.size()));
  head.resize(got);
  const StillHeader still = ReadStillHeader(head);
  if (still.animated_webp) {
    return Unsupported(path + ": animated WebP is not supported; convert it to MP4 or GIF first");
  }
  if (still.width > 0 && still.height > 0 && still.width > max_pixels / still.height) {
    return ResourceError(TooLargeMessage(path, still.width, still.height, max_pixels));
  }
  const std::string name = HarmlessName(path);
  int score = av_probe_input_buffer2(io_.get(), input, name.c_str(), nullptr, 0, 0);
  if (score >= 0 && *input != nullptr && NameHas((*input)->name, {"image2"})) {
    // Told by the extension alone, which outbids what a photograph's first bytes say, and opened by pattern. Ask the
    // bytes.
    *input = nullptr;
    score = av_probe_input_buffer2(io_.get(), input, "input", nullptr, 0, 0);
  }
  if (score < 0 || *input == nullptr) return Fail("not a video or picture file that can be read", score);
  if (Refused(*input)) {
    return Unsupported(path + ": is no video itself but a " + (*input)->name +
                       " file; give the video files themselves");
  }
  return Status::Ok();
}

Status Demuxer::Init(int64_t max_pixels) {
  last_complaint.clear();
  auto* buffer = static_cast<uint8_t*>(av_malloc(kIoBuffer));
  if (buffer == nullptr) return ResourceError(file_->path() + ": out of memory");
  io_.reset(avio_alloc_context(buffer, kIoBuffer, 0, this, ReadBytes, nullptr, SeekBytes));
  if (io_ == nullptr) {
    av_free(buffer);
    return ResourceError(file_->path() + ": out of memory");
  }
  const AVInputFormat* input = nullptr;
  LV_RETURN_IF_ERROR(Probe(max_pixels, &input));

  AVFormatContext* format = avformat_alloc_context();
  if (format == nullptr) return ResourceError(file_->path() + ": out of memory");
  format->pb = io_.get();
  format->interrupt_callback = {Interrupted, this};
  format->io_open = RefuseOpen;
  format->flags |= AVFMT_FLAG_CUSTOM_IO;
  const std::string name = HarmlessName(file_->path());
  const int opened = avformat_open_input(&format, name.c_str(), input, nullptr);  // frees `format` on failure
  if (opened < 0) {
    // MP4 and its kin list their pictures in one place, which stands at the end until whoever wrote the file was done.
    const bool unfinished = last_complaint.find("moov atom not found") != std::string::npos && BeginsAsMp4(file_.get());
    return Fail(unfinished ? "cut off, or never finished by what recorded it: the list of its pictures is missing"
                           : "not a video, or damaged at its start",
                opened);
  }
  format_.reset(format);
  LV_RETURN_IF_ERROR(CheckSizes(max_pixels));

  // The decoders that look for missing parameters obey the limit too.
  const unsigned count = format_->nb_streams;
  std::vector<AVDictionary*> options(count, nullptr);
  for (AVDictionary*& option : options) av_dict_set_int(&option, "max_pixels", max_pixels, 0);
  const int found = avformat_find_stream_info(format_.get(), count > 0 ? options.data() : nullptr);
  for (AVDictionary*& option : options) av_dict_free(&option);
  if (found < 0) return Fail("its streams cannot be read", found);
  LV_RETURN_IF_ERROR(CheckSizes(max_pixels));
  return PickStream();
}

Status Demuxer::CheckSizes(int64_t max_pixels) const {
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    const AVStream* s = format_->streams[i];
    const AVCodecParameters* p = s->codecpar;
    if (p->codec_type != AVMEDIA_TYPE_VIDEO || (s->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) continue;
    if (p->width > 0 && p->height > 0 && p->width > max_pixels / p->height) {
      return ResourceError(TooLargeMessage(file_->path(), p->width, p->height, max_pixels));
    }
  }
  return Status::Ok();
}

Status Demuxer::PickStream() {
  int best = -1;
  std::array<int64_t, 3> best_rank = {};
  std::string undecodable;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    AVStream* s = format_->streams[i];
    s->discard = AVDISCARD_ALL;
    const AVCodecParameters* p = s->codecpar;
    if (p->codec_type == AVMEDIA_TYPE_AUDIO) {
      audio_ = true;
      if (s->start_time != AV_NOPTS_VALUE) {
        const double start = static_cast<double>(s->start_time) * av_q2d(s->time_base);
        audio_start_s_ = std::min(start, audio_start_s_.value_or(start));
      }
    }
    if (p->codec_type != AVMEDIA_TYPE_VIDEO) continue;
    if ((s->disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS)) != 0) continue;
    if (avcodec_find_decoder(p->codec_id) == nullptr) {
      undecodable = avcodec_get_name(p->codec_id);
      continue;
    }
    const std::array<int64_t, 3> rank = {(s->disposition & AV_DISPOSITION_DEFAULT) != 0,
                                         static_cast<int64_t>(p->width) * p->height, p->bit_rate};
    if (best < 0 || rank > best_rank) {
      best = static_cast<int>(i);
      best_rank = rank;
    }
  }
  if (best < 0 && !undecodable.empty()) {
    return Unsupported(file_->path() + ": there is no decoder here for its video (" + undecodable + ")")
        .About(file_->path(), StatusReason::kNoDecoder);
  }
  if (best < 0) {
    return NotFound(file_->path() + ": no video in this file").About(file_->path(), StatusReason::kNoVideo);
  }
  stream_ = static_cast<unsigned>(best);
  stream()->discard = AVDISCARD_DEFAULT;
  const std::string_view name(format_->iformat->name);
  still_ = name.size() > 5 && name.substr(name.size() - 5) == "_pipe";
  return Status::Ok();
}

std::string Demuxer::timecode() const {
  constexpr size_t kLongest = 32;
  const auto of = [](const AVDictionary* metadata) {
    const AVDictionaryEntry* entry = av_dict_get(metadata, "timecode", nullptr, 0);
    return std::string(entry == nullptr ? "" : entry->value).substr(0, kLongest);
  };
  std::string found = of(stream()->metadata);
  for (unsigned i = 0; found.empty() && i < format_->nb_streams; ++i) found = of(format_->streams[i]->metadata);
  return found.empty() ? of(format_->metadata) : found;
}

bool Demuxer::maybe_still() const {
  const AVDictionaryEntry* brand = av_dict_get(format_->metadata, "major_brand", nullptr, 0);
  return NameHas(format_->iformat->name, {"gif", "apng"}) ||
         (brand != nullptr && NameHas(brand->value, {"avif", "mif1", "heic"}));
}

bool Demuxer::needs_scan() const {
  return (format_->iformat->flags & (AVFMT_TS_DISCONT | AVFMT_NOTIMESTAMPS)) != 0 ||
         NameHas(format_->iformat->name, {"avi", "h264", "hevc", "mpegvideo", "m4v", "gif", "apng"});
}

bool Demuxer::stores_pts() const {
  return (format_->iformat->flags & AVFMT_NOTIMESTAMPS) == 0 &&
         !NameHas(format_->iformat->name, {"avi", "h264", "hevc", "mpegvideo", "m4v"});
}

bool Demuxer::seeks_by_byte() const { return NameHas(format_->iformat->name, {"mpegts", "mpeg"}); }

bool Demuxer::seeks_by_dts() const { return NameHas(format_->iformat->name, {"mov", "mp4", "avi"}); }

Result<bool> Demuxer::Read(AVPacket* packet) {
  for (int bad = 0; bad < kMaxBadReads;) {
    const int code = av_read_frame(format_.get(), packet);
    if (code >= 0) {
      if (packet->stream_index == static_cast<int>(stream_)) return true;
      av_packet_unref(packet);
      continue;
    }
    if (stop_.stop_requested()) return Cancelled();
    if (!io_status_.ok()) return io_status_;
    if (code == AVERROR_EOF) return false;
    ++bad;
  }
  return false;
}

bool Demuxer::SeekTo(int64_t timestamp) {
  return av_seek_frame(format_.get(), static_cast<int>(stream_), timestamp, AVSEEK_FLAG_BACKWARD) >= 0;
}

bool Demuxer::SeekToByte(int64_t position) {
  return av_seek_frame(format_.get(), static_cast<int>(stream_), position, AVSEEK_FLAG_BYTE) >= 0;
}

}  // namespace longview::av
