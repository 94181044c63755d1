// What a caller of Engine may choose, call by call.
#ifndef LONGVIEW_APP_ENGINE_ENGINE_OPTIONS_H_
#define LONGVIEW_APP_ENGINE_ENGINE_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/events.h"
#include "app/engine/settings.h"

namespace longview {

struct EngineOptions {
  // Where indexes and library.db live. Empty: $LONGVIEW_LIBRARY, else $XDG_DATA_HOME/longview/library, else
  // ~/.local/share/longview/library. Made on first use.
  std::filesystem::path library;
  // Folder of config.json and the bridge. Empty: $LONGVIEW_ASSETS, else the installed share folder, else the source
  // tree that a build-tree binary came from.
  std::filesystem::path assets;
  // Folder of the parts that config.json names. Empty: $LONGVIEW_MODELS, else $XDG_DATA_HOME/longview/models, else
  // ~/.local/share/longview/models.
  std::filesystem::path models;
  int threads = 0;                 // 0: the machine's cores
  std::string device = "auto";     // auto, cpu, cuda[:N]: as ChooseDevice
  std::string weights = "stored";  // how weights are held: stored (quantised stay so), bf16, fp32
  // Called for what the user should know though the work goes on (library not writable, index rebuilt). May be empty.
  // From the thread that works.
  std::function<void(const std::string&)> on_warning;
};

// What is done about a video that is not read to its end.
enum class Unread {
  kRead,     // it is read first
  kBegin,    // what is there of it is used; where nothing is, its first pictures are read
  kLeaveOut  // what is there of it is used; where nothing is, or its file cannot be used, it is left out and named
};

struct IndexOptions {
  SamplingSettings sampling;
  bool rebuild = false;  // throw away what is there
  // Not 0: an index that is there and keeps at least so many numbers of a latent (kLatentAuto: all) is as good as one
  // that keeps all.
  int latent_needed = 0;
};

struct AskOptions {
  SamplingSettings sampling;
  CacheOptions cache;
  Scope scope = Scope::kFocus;
  int focus_frames = 8;        // frames attended to under focus, 1..4096
  std::optional<TimeSpan> at;  // only frames in this span are attended to, and t_q is its middle
  int max_tokens = 96;         // of the answer
  Unread unread = Unread::kRead;
  std::vector<AskTurn> history;  // earlier questions and answers, oldest first, read before the question
  // Where total_s starts; absent: this call. The command line passes ProcessStart().
  std::optional<std::chrono::steady_clock::time_point> started;
};

struct AskCallbacks {
  std::function<void(std::string_view)> on_text;    // pieces of the answer, whole UTF-8 characters, in order
  std::function<void(const StageEvent&)> on_stage;  // each may be empty
};

struct SearchOptions {
  SamplingSettings sampling;
  CacheOptions cache;
  int limit = 10;              // moments returned, >= 1
  std::optional<TimeSpan> at;  // only frames in this span
  Unread unread = Unread::kRead;
};

struct CaptionOptions {
  SamplingSettings sampling;
  double every_s = 0.0;           // > 0: one segment every so many seconds; 0: one a shot
  int max_tokens = 40;            // of one caption
  std::string prompt;             // empty: the model's own
  bool all_frames = false;        // attend to every frame of a segment rather than to its middle one
  double max_segment_s = 60.0;    // a longer shot is cut into equal parts no longer than this; 0: never
  bool resume = true;             // take over what a run that was stopped half-way captioned
  Unread unread = Unread::kRead;  // captions of a part of a video are not kept in the library
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_ENGINE_OPTIONS_H_
