// Endings of names.
#include "app/engine/media_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace longview {
namespace {

constexpr std::array<std::string_view, 42> kVideos = {
    "3g2", "3gp",  "amv", "asf", "avi", "divx",  "dv",   "f4v",  "flv", "h264", "h265", "hevc", "ivf", "m1v",
    "m2t", "m2ts", "m2v", "m4v", "mj2", "mjpeg", "mjpg", "mkv",  "mov", "mp4",  "mpe",  "mpeg", "mpg", "mpv",
    "mts", "mxf",  "nut", "ogm", "ogv", "qt",    "rm",   "rmvb", "ts",  "vob",  "webm", "wmv",  "wtv", "y4m"};
constexpr std::array<std::string_view, 13> kPictures = {"avif", "bmp", "gif", "heic", "heif", "jpeg", "jpg",
                                                        "jxl",  "png", "ppm", "tif",  "tiff", "webp"};
constexpr std::array<std::string_view, 13> kSounds = {"aac", "aif", "aiff", "flac", "m4a",  "m4b", "mka",
                                                      "mp2", "mp3", "oga",  "ogg",  "opus", "wav"};

}  // namespace

MediaName MediaNameOf(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  if (ending.empty()) return MediaName::kNone;
  ending.erase(0, 1);
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto among = [&ending](const auto& names) {
    return std::find(names.begin(), names.end(), ending) != names.end();
  };
  if (among(kVideos)) return MediaName::kVideo;
  if (among(kPictures)) return MediaName::kPicture;
  return among(kSounds) ? MediaName::kSound : MediaName::kNone;
}

}  // namespace longview
