// What a person may choose about reading a video and keeping its cache: plain structs, their text forms, and the hash
// that tells one choice from another in the library.
#ifndef LONGVIEW_APP_ENGINE_SETTINGS_H_
#define LONGVIEW_APP_ENGINE_SETTINGS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace longview {

// How much of a video stream is decoded: every picture; no loop filter and no unreferenced pictures; keyframes only.
enum class Decoding { kExact, kFast, kKeyframe };
// "exact", "fast", "keyframe".
std::string_view DecodingName(Decoding decoding);
// kInvalidArgument lists the choices.
Result<Decoding> ParseDecoding(std::string_view text);

// What a question attends to: the best frames by a first look, or every token.
enum class Scope { kFocus, kAll };
std::string_view ScopeName(Scope scope);  // "focus", "all"
Result<Scope> ParseScope(std::string_view text);

// A span of time in seconds, from `start` to `end`, both counted.
struct TimeSpan {
  double start = 0.0;
  double end = std::numeric_limits<double>::infinity();
};

// Which pictures of a video are kept. A different choice has its own index.
struct SamplingSettings {
  double fps = 1.0;           // samples a second, > 0 and <= 1000
  bool scene_changes = true;  // also the first picture after each change of shot
  uint64_t max_frames = 0;    // kept frames at most, spread over the video by lowering fps; 0: no limit
  Decoding decoding = Decoding::kExact;
  int latent = 0;  // numbers of a latent that the index keeps, one of the model's cuts; 0: all
};

// CacheOptions::latent: each frame keeps as many numbers as it needs.
inline constexpr int kLatentAuto = -1;

// How the cache is held in memory while answering; made from the index.
struct CacheOptions {
  std::string mode = "mla";    // mla, mla_layers, mha, gqa, mqa, states
  std::string store = "bf16";  // bf16, fp16, fp32, int8
  int latent = 128;            // numbers of a latent used: 32, 64, 128, or kLatentAuto (mla only)
  int groups = 0;              // key-value groups of gqa; 0: the model's
};

// "long", "balanced", "quality", "auto", "32", "64", "128" as CacheOptions::latent. kInvalidArgument lists them.
Result<int> ParseLatent(std::string_view text);
// "auto" or the number.
std::string LatentName(int latent);

// kInvalidArgument names the option, its value and what is allowed.
Status CheckSampling(const SamplingSettings& options);
Status CheckCache(const CacheOptions& options);

// One canonical line ("decode=exact fps=1 max_frames=0 scenes=1"), equal for equal choices; stored in the library.
std::string SamplingText(const SamplingSettings& options);
// 16 hex digits of the XXH3-64 of SamplingText.
std::string SamplingHash(const SamplingSettings& options);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_SETTINGS_H_
