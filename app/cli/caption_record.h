// What `caption` wrote, so that the next run knows what is finished and never takes another's file for its own.
//
// Each output folder holds `.longview-captions.jsonl` (with --shard I/N `.longview-captions.I-of-N.jsonl`, so that
// machines do not write to one file): a line for each output, written before the output itself appears under its name.
// A line is an object with "name", "name_hash" (names may be no UTF-8), "settings", "input", "source", "source_hash",
// "bytes" and "hash". Lines that are torn are passed over.
#ifndef LONGVIEW_APP_CLI_CAPTION_RECORD_H_
#define LONGVIEW_APP_CLI_CAPTION_RECORD_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/output_files.h"
#include "core/base/status.h"

namespace longview::cli {

// What is under an output's name before it is written.
enum class OutputState {
  kAbsent,    // nothing
  kFinished,  // made from this input with these settings, and whole
  kOutdated,  // made by Longview from other content or with other settings: to be made anew
  kEdited,    // made by Longview and changed since by somebody
  kTorn,      // the same, but it may have been cut off: only what is to be written can tell
  kForeign,   // not made by Longview
  kOthers,    // made by Longview from another file, which is still there
};

// What an output is made with and from.
struct OutputOrigin {
  std::string settings;
  std::string input;   // stands for the content
  std::string source;  // the file: its name where it is in the same folder, else its whole path
};

// The records of one folder. Thread-safe.
class CaptionRecord {
 public:
  // Reads all records of `folder`; new ones go to the file of this shard. Records that cannot be read count as absent,
  // and what they would have vouched for as foreign.
  CaptionRecord(const std::filesystem::path& folder, uint32_t shard_index, uint32_t shard_count);

  // Before a file is called somebody else's, the records are read again: another run may be at work in the folder.
  OutputState Assess(const std::string& name, const OutputOrigin& origin);

  // Whose the output name is: the file's from which it was last made, as long as that is there.
  NameOwner OwnerOf(const std::string& name, const std::string& source);

  // Records and writes `bytes` as `name`. Without `overwrite` nothing is replaced that came to be there or was changed
  // since it was assessed, unless it is the beginning of `bytes`; false where it was changed and is kept. kIo names the
  // file; nothing is left under its name that was not there before.
  Result<bool> Write(const std::string& name, const OutputOrigin& origin, std::string_view bytes, bool overwrite);

 private:
  struct Entry {
    std::string settings;
    std::string input;
    std::string source;  // with what is no UTF-8 replaced
    std::string source_hash;
    uint64_t bytes = 0;
    std::string hash;
  };
  void ReadAll();
  void ReadFile(const std::filesystem::path& path);
  OutputState AssessAgain(const std::string& name, const OutputOrigin& origin);
  OutputState AssessLocked(const std::string& name, const OutputOrigin& origin) const;
  bool IsOthers(const Entry& entry, const std::string& source) const;

  const std::filesystem::path folder_;
  std::filesystem::path own_file_;
  std::mutex mutex_;
  std::map<std::string, std::vector<Entry>> entries_;  // by the hash of the name, in the order written
};

// Why an output in that state is not written: `path` and what to do.
Status InTheWay(const std::string& path, OutputState state);

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_CAPTION_RECORD_H_
