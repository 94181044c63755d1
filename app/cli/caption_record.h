// What `caption` wrote, so that the next run knows what is finished and never takes another's file for its own.
//
// Each output folder holds `.longview-captions.jsonl` (with --shard I/N `.longview-captions.I-of-N.jsonl`, so that
// machines do not write to one file): a line for each output, written before the output itself appears under its name.
// A line is an object with "name", "name_hash" (names may be no UTF-8), "settings", "input", "bytes" and "hash". Lines
// that are torn are passed over.
#ifndef LONGVIEW_APP_CLI_CAPTION_RECORD_H_
#define LONGVIEW_APP_CLI_CAPTION_RECORD_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview::cli {

// What is under an output's name before it is written.
enum class OutputState {
  kAbsent,    // nothing
  kFinished,  // made from this input with these settings, and whole
  kOutdated,  // made by Longview from another input or with other settings, or torn: to be made anew
  kEdited,    // made by Longview and changed since by somebody
  kForeign,   // not made by Longview
};

// The records of one folder. Thread-safe.
class CaptionRecord {
 public:
  // Reads all records of `folder`; new ones go to the file of this shard. Records that cannot be read count as absent,
  // and what they would have vouched for as foreign.
  CaptionRecord(const std::filesystem::path& folder, uint32_t shard_index, uint32_t shard_count);

  // `settings` and `input` stand for what an output is made with and from. Before a file is called somebody else's, the
  // records are read again: another run may be at work in the folder.
  OutputState Assess(const std::string& name, const std::string& settings, const std::string& input);

  // Records and writes `bytes` as `name`. kIo names the file; nothing is left under its name that was not there before.
  Status Write(const std::string& name, const std::string& settings, const std::string& input, std::string_view bytes);

 private:
  struct Entry {
    std::string settings;
    std::string input;
    uint64_t bytes = 0;
    std::string hash;
  };
  void ReadAll();
  void ReadFile(const std::filesystem::path& path);
  OutputState AssessLocked(const std::string& name, const std::string& settings, const std::string& input) const;

  const std::filesystem::path folder_;
  std::filesystem::path own_file_;
  std::mutex mutex_;
  std::map<std::string, std::vector<Entry>> entries_;  // by the hash of the name, in the order written
};

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_CAPTION_RECORD_H_
