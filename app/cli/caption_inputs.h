// Which files a `caption` run is about.
#ifndef LONGVIEW_APP_CLI_CAPTION_INPUTS_H_
#define LONGVIEW_APP_CLI_CAPTION_INPUTS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

// The inputs among `paths`, sorted by the bytes of their paths, each once. A path that is no folder is an input
// whatever it is. Of a folder: its files with a known extension and, where `recursive`, those of the folders below;
// names that begin with a dot are left out, links to files are followed, links to folders are not. Faults: a folder
// that cannot be read or holds nothing, a link that leads nowhere, a folder or a device with the extension of a video.
CaptionInputs CollectInputs(const std::vector<std::string>& paths, bool recursive);

// Whether `key` belongs to part `index` (1..count) of `count`; every key belongs to exactly one.
bool InShard(std::string_view key, uint32_t index, uint32_t count);

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_CAPTION_INPUTS_H_
