// Names for what Longview writes, settled before any work, and writing that never leaves half a file under a final
// name.
#ifndef LONGVIEW_APP_ENGINE_OUTPUT_FILES_H_
#define LONGVIEW_APP_ENGINE_OUTPUT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview {

// Longest name that the usual file systems take, in bytes.
inline constexpr size_t kMaxNameBytes = 255;

// Where the outputs of one input go: `folder / (base + suffix)`.
struct OutputBase {
  std::filesystem::path folder;
  std::string base;  // bytes of the system, usually the input's stem
};

// Whose a name is already, by what was written before.
enum class NameOwner { kNobody, kThis, kOther };

// One base per input (each given once), no two alike within a folder. `folders[i]` is where the outputs of `inputs[i]`
// go. A base is the stem of the input's name; inputs that would share one keep their extension (`a.mp4`, `a.mkv`);
// where that is shared too (files of one name from several folders into one) 8 hex digits of the hash of the input's
// path follow. An input keeps the base that is its own already, and takes none that is another's: `owner(i, base)` says
// which is (empty: all are nobody's). It depends on the set of inputs, not on their order. The input's bytes are kept:
// nothing is escaped or replaced.
std::vector<OutputBase> PlanOutputBases(const std::vector<std::filesystem::path>& inputs,
                                        const std::vector<std::filesystem::path>& folders,
                                        const std::function<NameOwner(size_t, const std::string&)>& owner = {});

// base + suffix, at most `max_bytes` long: a longer base is cut at a character boundary, and '~' with 8 hex digits of
// the hash of the whole base keeps it apart from others that begin alike. `suffix` must be shorter than max_bytes - 9.
std::string OutputName(std::string_view base, std::string_view suffix, size_t max_bytes = kMaxNameBytes);

// Makes `folder` and those above it where missing, and proves by a byte written to a temporary file, then removed, that
// files can be written there. kIo names the folder and the system's reason.
Status PrepareOutputFolder(const std::filesystem::path& folder);

// Writes `bytes` beside `path` under a temporary name unique to this process, flushes it to the disk, renames it over
// `path` and flushes the folder. A link is followed, and permissions stay as they were. On any failure the temporary
// file is removed, `path` is as it was, and kIo names it; so where `path` is there and is no regular file.
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes);

// The same, but false, with nothing changed, where something is there under that name by the time it is renamed.
Result<bool> WriteNewFileAtomically(const std::filesystem::path& path, std::string_view bytes);

// Appends whole `line` + '\n' in one write and flushes it. A file that does not end in '\n' (a run that was killed)
// gets one first, so that lines never run together. kIo also where `path` is a link or no regular file.
Status AppendLine(const std::filesystem::path& path, std::string_view line);

// The whole file, at most `max_bytes`. kNotFound where it is missing, kResource where it is larger, else kIo.
Result<std::string> ReadWholeFile(const std::filesystem::path& path, uint64_t max_bytes);

// Removes temporary files of WriteFileAtomically in `folder` that have not been touched for an hour: what killed runs
// left.
void RemoveStaleTemporaries(const std::filesystem::path& folder);

// XXH3-64 of `bytes` as 16 hex digits.
std::string HashText(std::string_view bytes);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_OUTPUT_FILES_H_
