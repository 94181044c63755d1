// The search for folders.
#include "app/engine/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

namespace longview {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// As the system's list of users has it, for a program that was started without HOME.
fs::path HomeOfUser() {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return entry.pw_dir == nullptr ? fs::path() : fs::path(entry.pw_dir);
}

fs::path Absolute(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal();
}

bool HasConfig(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "config.json", error);
}

}  // namespace

fs::path DataHome() {
  const fs::path xdg = Variable("XDG_DATA_HOME");
  if (xdg.is_absolute()) return xdg / "longview";
  const fs::path home = Variable("HOME");
  if (home.is_absolute()) return home / ".local" / "share" / "longview";
  if (const fs::path listed = HomeOfUser(); listed.is_absolute()) return listed / ".local" / "share" / "longview";
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  return (error ? fs::path("/") : temporary) / ("longview-" + std::to_string(getuid()));
}

fs::path LibraryFolder(const fs::path& given) {
  if (!given.empty()) return Absolute(given);
  const std::string variable = Variable("LONGVIEW_LIBRARY");
  return variable.empty() ? DataHome() / "library" : Absolute(variable);
}

fs::path PartsFolder(const fs::path& given) {
  if (!given.empty()) return Absolute(given);
  const std::string variable = Variable("LONGVIEW_MODELS");
  return variable.empty() ? DataHome() / "models" : Absolute(variable);
}

fs::path AssetsFolder(const fs::path& given) {
  const std::string chosen = given.empty() ? Variable("LONGVIEW_ASSETS") : given.string();
  if (!chosen.empty()) {
    const fs::path folder = Absolute(chosen);
    const fs::path inside = folder / "models" / "longview-s";
    return !HasConfig(folder) && HasConfig(inside) ? inside : folder;
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path().parent_path() / "share" / "longview" / "models" / "longview-s";
    if (HasConfig(installed)) return installed;
  }
  return fs::path(LONGVIEW_SOURCE_DIR) / "assets" / "models" / "longview-s";
}

}  // namespace longview
