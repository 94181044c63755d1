// What the engine tells the command line and the window: plain structs, no types of any library.
#ifndef LONGVIEW_APP_ENGINE_EVENTS_H_
#define LONGVIEW_APP_ENGINE_EVENTS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/caption_events.h"
#include "core/base/status.h"
#include "vision/picture.h"  // Picture: RGB, 8 bits, upright, square pixels, with its own time

namespace longview {

// A moment that an answer drew on. Times in seconds (design.md §4), end > start.
struct Evidence {
  std::string video;  // the path as given by the caller
  double start = 0.0;
  double end = 0.0;
  // 0..1. Of an answer: how surely this moment alone shows what was asked about, all evidence together as surely as the
  // best. Of frames looked at all at once: the share of attention. Of a search for a time: the moment's score.
  double weight = 0.0;
};

// The cache that a question was answered from; `bytes` were allocated, not computed.
struct CacheStats {
  std::string mode;
  std::string store;
  int latent = 0;
  uint64_t tokens = 0;
  uint64_t bytes = 0;
};

// Seconds, as `ask --json` defines them (design.md §4).
struct AskTimes {
  double index_s = 0.0;
  double first_token_s = 0.0;
  double total_s = 0.0;
};

// A video that a call did without (Unread::kLeaveOut).
struct LeftOut {
  enum class Cause { kUnread, kFailed, kGone };  // nothing was read of it yet; that failed; its file cannot be used
  std::string video;
  Status why;  // its message names the video
  Cause cause = Cause::kUnread;
};

struct Answer {
  std::string text;
  // 0..1: how likely the footage shows what the question asks about, by the probability that the answer does not begin
  // by denying it; 0 without a video.
  double in_footage = 0.0;
  std::vector<Evidence> evidence;  // at most 8, best first; empty where nothing stood out or no video was given
  std::vector<Evidence> looked;    // every frame that was attended to, by (video, time)
  CacheStats cache;
  AskTimes time;
  double read_until_s = 0.0;  // how far the least finished video had been read (its end where all are)
  std::vector<LeftOut> left_out;
  uint64_t prompt_tokens = 0;
  uint64_t answer_tokens = 0;
};

// An earlier question and its answer, which a later question may refer to.
struct AskTurn {
  std::string question;
  std::string answer;
};

// One frame of an index: the time span that it stands for and where shots begin.
struct KeptFrame {
  double start = 0.0;
  double end = 0.0;
  bool shot_start = false;
};

// The picture that the model saw at a time, small, as it lies in the index.
struct FramePicture {
  double start = 0.0;  // of the kept frame
  double end = 0.0;
  std::vector<uint8_t> jpeg;  // at most 160 pixels a side; empty where the index keeps none
};

// One result of a search, never longer than a shot.
struct Moment {
  std::string video;
  double start = 0.0;
  double end = 0.0;
  double score = 0.0;  // higher is better; -1..1 with retrieval heads, attention mass 0..1 without
};

struct SearchResult {
  std::vector<Moment> moments;  // best first
  bool trained_heads = false;   // false: ranked by attention mass
  double index_s = 0.0;         // indexing in this call
  std::vector<LeftOut> left_out;
};

enum class IndexState { kNone, kPartial, kComplete, kDamaged };

// What the library knows of one video's index.
struct IndexInfo {
  IndexState state = IndexState::kNone;
  std::filesystem::path file;  // empty where the index lives in memory only
  std::string sampling;        // SamplingText of the choice it was made with
  uint64_t frames = 0;
  uint64_t tokens = 0;
  uint64_t bytes = 0;    // of the file
  double until_s = 0.0;  // read so far
};

struct IndexReport {
  IndexInfo index;
  bool was_complete = false;  // nothing had to be done
  bool resumed = false;       // went on from what an earlier run left
  bool rebuilt = false;       // an index that was stale, cut or damaged was thrown away
  bool in_memory = false;     // the library cannot be written: nothing was kept
  double duration_s = 0.0;    // of the video; 0 for a still, or where it was not read to its end
  double seconds = 0.0;
};

// `info` (design.md §4): measured from the packets, not believed from the header. Stills: duration 0.
struct MediaInfo {
  std::string path;
  double duration_s = 0.0;
  double first_time_s = 0.0;
  int width = 0;  // as shown: rotated, square pixels
  int height = 0;
  int rotation = 0;  // degrees clockwise that the stored picture is turned: 0, 90, 180, 270
  double fps_avg = 0.0;
  bool vfr = false;
  std::string video_codec;
  std::string pix_fmt;
  bool hdr = false;
  bool audio = false;
  bool still = false;
  std::string timecode;               // of the first picture, as the file has it; empty where there is none
  std::vector<std::string> warnings;  // what is wrong with the file though it can be read
  std::optional<IndexInfo> index;     // for the default sampling; absent where there is none
};

enum class PartState { kOk, kMissing, kDamaged };

// One file of the model, for `models` and `doctor`.
struct PartStatus {
  std::string name;  // "config", "vit", "text", "bridge"
  std::filesystem::path path;
  uint64_t bytes = 0;
  std::string sha256;    // found; empty where missing
  std::string expected;  // from config.json; empty for the config itself
  PartState state = PartState::kMissing;
  std::string detail;  // one sentence with what to do where not kOk
};

// One line of `longview library`.
struct LibraryEntry {
  std::string fingerprint;
  std::string last_path;  // where the video was last seen
  double duration_s = 0.0;
  IndexInfo index;
  std::string model;  // hash of the model it belongs to
  int64_t used_unix_s = 0;
};

// Memory by what it is for, from the accounted arena, and the process as the system sees it.
struct MemoryReport {
  struct Item {
    std::string label;
    uint64_t bytes = 0;
  };
  std::vector<Item> items;
  uint64_t resident_bytes = 0;
  uint64_t peak_resident_bytes = 0;
};

// What a long call is busy with; `video` is empty where it is not about one.
enum class Stage { kLoadModel, kIndex, kLoadCache, kAnswer, kCaption };
struct StageEvent {
  Stage stage = Stage::kLoadModel;
  std::string video;
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_EVENTS_H_
