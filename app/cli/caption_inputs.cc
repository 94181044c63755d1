// A walk over folders that names what it cannot use instead of passing over it.
#include "app/cli/caption_inputs.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include "app/cli/caption_manifest.h"
#include "app/engine/export_captions.h"
#include "app/engine/media_names.h"
#include "app/engine/output_files.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxListBytes = uint64_t{1} << 30;

using Parts = std::vector<std::string>;

Parts PartsOf(std::string_view path) {
  Parts parts;
  for (const fs::path& part : fs::path(path)) {
    if (!part.empty() && part != ".") parts.push_back(part.native());
  }
  return parts;
}

bool HasWildcard(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

bool PartMatches(const std::string& pattern, const std::string& part, int flags) {
  return fnmatch(pattern.c_str(), part.c_str(), flags) == 0;
}

bool PartsMatch(const Parts& pattern, size_t p, const Parts& path, size_t at) {
  if (p == pattern.size()) return at == path.size();
  if (pattern[p] == "**") {
    for (size_t skip = at; skip <= path.size(); ++skip) {
      if (PartsMatch(pattern, p + 1, path, skip)) return true;
    }
    return false;
  }
  return at < path.size() && PartMatches(pattern[p], path[at], 0) && PartsMatch(pattern, p + 1, path, at + 1);
}

// What `caption` itself writes, which a wide --include would take for a film.
bool IsOwnOutput(const fs::path& name) {
  const std::string& text = name.native();
  if (HasMediaExtension(name)) return false;
  return text.starts_with(kManifestPrefix) ||
         std::any_of(CaptionFormats().begin(), CaptionFormats().end(),
                     [&text](CaptionFormat format) { return text.ends_with(CaptionSuffix(format)); });
}

class Collector {
 public:
  explicit Collector(const InputQuery& query) : query_(query), recursive_(query.recursive) {}

  void AddPath(const std::string& text, bool may_be_pattern) {
    const fs::path path = text;
    std::error_code error;
    if (fs::is_directory(path, error)) {
      const size_t before = Found();
      AddFolder(path, {});
      if (Found() == before) AddFault(path, {}, NothingHere());
    } else if (may_be_pattern && HasWildcard(text) && !fs::exists(fs::symlink_status(path, error))) {
      AddPattern(text);
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
  size_t Found() const { return found_.inputs.size() + found_.faults.size() + left_out_; }

  std::string NothingHere() const {
    if (!query_.include.empty()) return "nothing in this folder is included";
    return recursive_ ? "no video, picture or sound file in this folder or below"
                      : "no video, picture or sound file in this folder (-r looks below it)";
  }

  static bool AnyMatches(const std::vector<std::string>& patterns, const fs::path& path) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&path](const std::string& pattern) { return MatchesPattern(pattern, path.native()); });
  }

  void AddInput(const fs::path& path, const fs::path& mirror) {
    const fs::path below = mirror / path.filename();
    if (AnyMatches(query_.exclude, below) || (!query_.include.empty() && !AnyMatches(query_.include, below))) {
      ++left_out_;
      return;
    }
    std::error_code ignored;
    if (!seen_.insert(fs::absolute(path, ignored).lexically_normal().native()).second) {
      ++left_out_;
      return;
    }
    found_.inputs.push_back({path, mirror, (mirror / path.filename()).generic_string()});
  }

  void AddFault(const fs::path& path, const fs::path& mirror, const std::string& reason) {
    found_.faults.push_back(
        {path.string(), path.string() + ": " + reason, (mirror / path.filename()).generic_string()});
  }

  std::vector<fs::path> NamesIn(const fs::path& folder, const fs::path& mirror) {
    std::error_code error;
    std::vector<fs::path> names;
    fs::directory_iterator at(folder, error);
    for (const fs::directory_iterator end; !error && at != end; at.increment(error))
      names.push_back(at->path().filename());
    if (error) AddFault(folder, mirror, "cannot be read: " + error.message());
    std::sort(names.begin(), names.end());
    return names;
  }

  void AddFolder(const fs::path& folder, const fs::path& mirror) {
    for (const fs::path& name : NamesIn(folder, mirror)) {
      if (!name.native().starts_with('.')) AddEntry(folder / name, mirror);
    }
  }

  void AddPattern(const std::string& text) {
    const size_t before = Found();
    fs::path root = text.starts_with('/') ? "/" : "";
    Parts parts;
    for (std::string& part : PartsOf(text)) {
      if (part == "/") continue;
      if (parts.empty() && !HasWildcard(part)) {
        root /= part;
      } else {
        parts.push_back(std::move(part));
      }
    }
    if (parts.back() == "**") parts.emplace_back("*");
    std::error_code error;
    if (fs::is_directory(root.empty() ? fs::path(".") : root, error)) Match(root, {}, parts, 0);
    if (Found() == before) AddFault(text, {}, "no file matches this pattern");
  }

  // Takes what in `folder` matches the parts of a pattern from `at` on.
  void Match(const fs::path& folder, const fs::path& mirror, const Parts& parts, size_t at) {
    const bool any_depth = parts[at] == "**";
    if (any_depth) Match(folder, mirror, parts, at + 1);
    const bool last = at + 1 == parts.size();
    for (const fs::path& name : NamesIn(folder.empty() ? fs::path(".") : folder, mirror)) {
      const fs::path path = folder / name;
      std::error_code error;
      const fs::file_status status = fs::status(path, error);
      if (status.type() == fs::file_type::none) {
        // Whatever it is: a part of the archive that would be left out without a word.
        if (any_depth ? !name.native().starts_with('.') : PartMatches(parts[at], name.native(), FNM_PERIOD)) {
          AddFault(path, mirror, "cannot be looked at: " + error.message());
        }
        continue;
      }
      if (any_depth) {
        const bool walked = fs::is_directory(status) && !name.native().starts_with('.') &&
                            !fs::is_symlink(fs::symlink_status(path, error));
        if (walked && !AnyMatches(query_.exclude, mirror / name)) Match(path, mirror / name, parts, at);
        continue;
      }
      if (!PartMatches(parts[at], name.native(), FNM_PERIOD)) continue;
      if (fs::is_directory(status)) {
        if (AnyMatches(query_.exclude, mirror / name)) {
          ++left_out_;
        } else if (last) {
          AddFolder(path, mirror / name);
        } else {
          Match(path, mirror / name, parts, at + 1);
        }
      } else if (last && fs::is_regular_file(status) && (HasMediaExtension(name) || Contains(parts[at], '.'))) {
        AddInput(path, mirror);
      }
    }
  }

  static bool Contains(std::string_view text, char c) { return text.find(c) != std::string_view::npos; }

  void AddEntry(const fs::path& path, const fs::path& mirror) {
    std::error_code error;
    const bool link = fs::is_symlink(fs::symlink_status(path, error));
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::none) {
      // It may be a folder, whatever its name is.
      if (!AnyMatches(query_.exclude, mirror / path.filename())) {
        AddFault(path, mirror, "cannot be looked at: " + error.message());
      }
      return;
    }
    const bool media = query_.include.empty()
                           ? HasMediaExtension(path.filename())
                           : AnyMatches(query_.include, mirror / path.filename()) && !IsOwnOutput(path.filename());
    if (fs::is_directory(status)) {
      if (link) return;
      if (AnyMatches(query_.exclude, mirror / path.filename())) {
        ++left_out_;
        return;
      }
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

  const InputQuery& query_;
  const bool recursive_;
  CaptionInputs found_;
  std::set<std::string> seen_;
  size_t left_out_ = 0;  // excluded, or found again by another path: no reason to call a folder empty
};

// All that `fd` gives; `name` for messages.
Result<std::string> ReadStream(int fd, const std::string& name) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return IoError(name + ": cannot be read: " + std::generic_category().message(errno));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kMaxListBytes) return ResourceError(name + ": the list of files is longer than 1 GiB");
  }
}

// A file, a pipe (--files-from <(find ...)), or standard input for "-".
Result<std::string> ReadList(const std::string& file) {
  if (file == "-") return ReadStream(STDIN_FILENO, "standard input");
  std::error_code error;
  if (!fs::is_fifo(file, error) && !fs::is_character_file(file, error)) return ReadWholeFile(file, kMaxListBytes);
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return IoError(file + ": cannot be read: " + std::generic_category().message(errno));
  Result<std::string> text = ReadStream(fd, file);
  close(fd);
  return text;
}

// What stands in a file that is anything but a list: names with control characters that no file has.
bool IsNoPath(const std::string& path) {
  const bool odd = std::any_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
  });
  std::error_code error;
  return odd && !fs::exists(fs::symlink_status(path, error));
}

}  // namespace

bool HasMediaExtension(const fs::path& name) { return MediaNameOf(name) != MediaName::kNone; }

bool MatchesPattern(std::string_view pattern, std::string_view path) {
  const Parts wanted = PartsOf(pattern);
  const Parts parts = PartsOf(path);
  if (wanted.empty() || parts.empty()) return false;
  if (wanted.size() == 1 && wanted[0] != "**") return PartMatches(wanted[0], parts.back(), 0);
  return PartsMatch(wanted, 0, parts, 0);
}

Result<std::vector<std::string>> ReadPathList(const std::string& file) {
  LV_ASSIGN_OR_RETURN(std::string text, ReadList(file));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const char separator = text.find('\0') == std::string::npos ? '\n' : '\0';
  std::vector<std::string> paths, odd;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find(separator, from), text.size());
    std::string path = text.substr(from, end - from);
    if (separator == '\n' && path.ends_with('\r')) path.pop_back();
    if (IsNoPath(path)) odd.push_back(path);
    if (!path.empty()) paths.push_back(std::move(path));
    from = end + 1;
  }
  // One such name is a fault of its own; a film has little else.
  if (odd.size() * 2 > paths.size()) {
    return InvalidArgument(file + ": is no list of paths: one of them would be '" +
                           PrintableText(odd.front().substr(0, 60)) + "'");
  }
  return paths;
}

CaptionInputs CollectInputs(const InputQuery& query) {
  Collector collector(query);
  for (const std::string& path : query.paths) collector.AddPath(path, true);
  for (const std::string& path : query.listed) collector.AddPath(path, false);
  return collector.Take();
}

bool InShard(std::string_view key, uint32_t index, uint32_t count) {
  const std::string digits = HashText(key);
  uint64_t hash = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  return hash % count == index - 1;
}

}  // namespace longview::cli
