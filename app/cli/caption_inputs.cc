// A walk over folders that names what it cannot use instead of passing over it.
#include "app/cli/caption_inputs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include "app/engine/output_files.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 68> kExtensions = {
    // videos
    "3g2", "3gp", "amv", "asf", "avi", "divx", "dv", "f4v", "flv", "h264", "h265", "hevc", "ivf", "m1v", "m2t", "m2ts",
    "m2v", "m4v", "mj2", "mjpeg", "mjpg", "mkv", "mov", "mp4", "mpe", "mpeg", "mpg", "mpv", "mts", "mxf", "nut", "ogm",
    "ogv", "qt", "rm", "rmvb", "ts", "vob", "webm", "wmv", "wtv", "y4m",
    // pictures
    "avif", "bmp", "gif", "heic", "heif", "jpeg", "jpg", "jxl", "png", "ppm", "tif", "tiff", "webp",
    // sound: named as having no picture rather than passed over
    "aac", "aif", "aiff", "flac", "m4a", "m4b", "mka", "mp2", "mp3", "oga", "ogg", "opus", "wav"};

class Collector {
 public:
  explicit Collector(bool recursive) : recursive_(recursive) {}

  void AddPath(const std::string& text) {
    const fs::path path = text;
    std::error_code error;
    if (fs::is_directory(path, error)) {
      const size_t before = found_.inputs.size() + found_.faults.size() + repeated_;
      AddFolder(path, {});
      if (found_.inputs.size() + found_.faults.size() + repeated_ == before) {
        AddFault(path, {},
                 recursive_ ? "no video, picture or sound file in this folder or below"
                            : "no video, picture or sound file in this folder (-r looks below it)");
      }
    } else {
      AddInput(path, {});
    }
  }

  CaptionInputs Take() {
    std::sort(found_.inputs.begin(), found_.inputs.end(),
              [](const CaptionInput& a, const CaptionInput& b) { return a.path.native() < b.path.native(); });
    return std::move(found_);
  }

 private:
  void AddInput(const fs::path& path, const fs::path& mirror) {
    std::error_code ignored;
    if (!seen_.insert(fs::absolute(path, ignored).lexically_normal().native()).second) {
      ++repeated_;
      return;
    }
    found_.inputs.push_back({path, mirror, (mirror / path.filename()).generic_string()});
  }

  void AddFault(const fs::path& path, const fs::path& mirror, const std::string& reason) {
    found_.faults.push_back(
        {path.string(), path.string() + ": " + reason, (mirror / path.filename()).generic_string()});
  }

  void AddFolder(const fs::path& folder, const fs::path& mirror) {
    std::error_code error;
    std::vector<fs::path> names;
    fs::directory_iterator at(folder, error);
    for (const fs::directory_iterator end; !error && at != end; at.increment(error))
      names.push_back(at->path().filename());
    if (error) AddFault(folder, mirror, "cannot be read: " + error.message());
    std::sort(names.begin(), names.end());
    for (const fs::path& name : names) {
      if (!name.native().starts_with('.')) AddEntry(folder / name, mirror);
    }
  }

  void AddEntry(const fs::path& path, const fs::path& mirror) {
    std::error_code error;
    const bool link = fs::is_symlink(fs::symlink_status(path, error));
    const fs::file_status status = fs::status(path, error);
    const bool media = HasMediaExtension(path.filename());
    if (fs::is_directory(status)) {
      if (link) return;
      if (recursive_) {
        AddFolder(path, mirror / path.filename());
      } else if (media) {
        AddFault(path, mirror, "is a folder, not a video (-r looks below it)");
      }
      return;
    }
    if (!media) return;
    if (fs::is_regular_file(status)) {
      AddInput(path, mirror);
    } else if (link && !fs::exists(status)) {
      AddFault(path, mirror, "the link leads nowhere");
    } else {
      AddFault(path, mirror, "is no regular file");
    }
  }

  const bool recursive_;
  CaptionInputs found_;
  std::set<std::string> seen_;
  size_t repeated_ = 0;  // found again by another path: no reason to call a folder empty
};

}  // namespace

bool HasMediaExtension(const fs::path& name) {
  std::string extension = name.extension().string();
  if (extension.size() < 2) return false;
  extension.erase(0, 1);
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

CaptionInputs CollectInputs(const std::vector<std::string>& paths, bool recursive) {
  Collector collector(recursive);
  for (const std::string& path : paths) collector.AddPath(path);
  return collector.Take();
}

bool InShard(std::string_view key, uint32_t index, uint32_t count) {
  const std::string digits = HashText(key);
  uint64_t hash = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  return hash % count == index - 1;
}

}  // namespace longview::cli
