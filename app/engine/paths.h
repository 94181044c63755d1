// Where Longview keeps and finds its things, by the XDG base directory specification and a few variables of our own.
#ifndef LONGVIEW_APP_ENGINE_PATHS_H_
#define LONGVIEW_APP_ENGINE_PATHS_H_

#include <filesystem>
#include <string_view>

namespace longview {

// $XDG_DATA_HOME/longview, else $HOME/.local/share/longview, else longview in the temporary folder. A relative
// XDG_DATA_HOME is ignored, as the specification says.
std::filesystem::path DataHome();

// `given` where it is not empty; else the variable; else the default. Made absolute, nothing is created.
std::filesystem::path LibraryFolder(const std::filesystem::path& given);  // LONGVIEW_LIBRARY, DataHome()/library
std::filesystem::path PartsFolder(const std::filesystem::path& given);    // LONGVIEW_MODELS, DataHome()/models
// What to do where a part is missing, for people at a command line; the window says it in its own words.
inline constexpr std::string_view kHowToGetParts =
    "run tools/quickstart, which brings it, or set LONGVIEW_MODELS to the folder that has it";
// Folder of config.json and bridge: LONGVIEW_ASSETS (the folder itself, or one that holds models/longview-s), else
// ../share/longview/models/longview-s beside the running program's folder, else assets/models/longview-s in the source
// tree that was built. The last is returned where none has a config.json, so that the message can name it.
std::filesystem::path AssetsFolder(const std::filesystem::path& given);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_PATHS_H_
