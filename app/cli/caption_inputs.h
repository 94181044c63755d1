// Which files a `caption` run is about.
#ifndef LONGVIEW_APP_CLI_CAPTION_INPUTS_H_
#define LONGVIEW_APP_CLI_CAPTION_INPUTS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview::cli {

struct CaptionInput {
  std::filesystem::path path;    // as given, or the folder given with the path below it
  std::filesystem::path mirror;  // its folder below the folder given; empty for a file that was given itself
  std::string shard_key;         // its path below the folder given, or its name: the same on every machine
};

// A path that cannot be an input, and why, as one line that begins with the path.
struct CaptionFault {
  std::string path;
  std::string message;
  std::string shard_key;
};

struct CaptionInputs {
  std::vector<CaptionInput> inputs;
  std::vector<CaptionFault> faults;
};

// Whether a name's extension, in either case, is that of a video, a picture or a sound file.
bool HasMediaExtension(const std::filesystem::path& name);

// What a person asked for.
struct InputQuery {
  std::vector<std::string> paths;   // files, folders, or patterns of them
  std::vector<std::string> listed;  // files and folders, never patterns
  bool recursive = false;
  std::vector<std::string> include;  // patterns
  std::vector<std::string> exclude;
};

// Whether `path`, relative and with '/' between its parts, matches a pattern: one without '/' is held against the last
// part, one with '/' against the whole. A part of a pattern is what fnmatch(3) takes, and "**" is any number of parts.
bool MatchesPattern(std::string_view pattern, std::string_view path);

// The paths in a file or a pipe, or on standard input for "-": parted by NUL bytes where there is one, else one a line
// (a carriage return before the line's end is no part of it); empty ones and a byte order mark are left out. kNotFound,
// kIo; kInvalidArgument where most of them are no path's.
Result<std::vector<std::string>> ReadPathList(const std::string& file);

// The inputs that `query` names, sorted by the bytes of their paths, each once. A path that is no folder is an input
// whatever it is; one that holds * ? [ and does not exist is a pattern, matched below its parts without these (names
// that begin with a dot only by a pattern that does), and a match without a known extension counts where the pattern's
// last part has a dot. `include` and `exclude` are held against the path below the folder given, or the name; a folder
// that is excluded is not looked into, and `include` also takes extensions that are not known, but for what `caption`
// writes itself. Of a folder: its files with a known extension and, where `recursive`, those of the folders below;
// names that begin with a dot are left out, links to files are followed, links to folders are not. Faults: a folder
// that cannot be read or holds nothing, a pattern without a match, what cannot be looked at, a link that leads nowhere,
// a folder or a device with the extension of a video.
CaptionInputs CollectInputs(const InputQuery& query);

// Whether `key` belongs to part `index` (1..count) of `count`; every key belongs to exactly one.
bool InShard(std::string_view key, uint32_t index, uint32_t count);

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_CAPTION_INPUTS_H_
