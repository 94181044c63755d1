// What a file is by its name alone.
#ifndef LONGVIEW_APP_ENGINE_MEDIA_NAMES_H_
#define LONGVIEW_APP_ENGINE_MEDIA_NAMES_H_

#include <filesystem>

namespace longview {

enum class MediaName { kNone, kVideo, kPicture, kSound };

// By the ending, in any case of letters.
MediaName MediaNameOf(const std::filesystem::path& path);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_MEDIA_NAMES_H_
