// The text forms, checks and hash of the settings.
#include "app/engine/settings.h"

#include <xxhash.h>

#include <array>
#include <charconv>
#include <cstdio>

#include "attention/mla/cache_mode.h"

namespace longview {
namespace {

// The shortest text that reads back as the same double, independent of the locale.
std::string NumberText(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

}  // namespace

std::string_view DecodingName(Decoding decoding) {
  switch (decoding) {
    case Decoding::kExact:
      return "exact";
    case Decoding::kFast:
      return "fast";
    case Decoding::kKeyframe:
      return "keyframe";
  }
  return "exact";
}

Result<Decoding> ParseDecoding(std::string_view text) {
  for (const Decoding decoding : {Decoding::kExact, Decoding::kFast, Decoding::kKeyframe}) {
    if (DecodingName(decoding) == text) return decoding;
  }
  return InvalidArgument("decode '" + std::string(text) + "' is none of exact, fast, keyframe");
}

std::string_view ScopeName(Scope scope) { return scope == Scope::kFocus ? "focus" : "all"; }

Result<Scope> ParseScope(std::string_view text) {
  for (const Scope scope : {Scope::kFocus, Scope::kAll}) {
    if (ScopeName(scope) == text) return scope;
  }
  return InvalidArgument("scope '" + std::string(text) + "' is none of focus, all");
}

Status CheckSampling(const SamplingSettings& options) {
  if (!(options.fps > 0.0) || options.fps > 1000.0) {
    return InvalidArgument("fps " + NumberText(options.fps) + " is not above 0 and at most 1000");
  }
  if (options.latent < 0 || options.latent > 1024) {
    return InvalidArgument("an index cannot keep " + std::to_string(options.latent) + " numbers of a latent");
  }
  return Status::Ok();
}

Result<int> ParseLatent(std::string_view text) {
  if (text == "auto") return kLatentAuto;
  if (const auto preset = LatentPreset(text)) return static_cast<int>(*preset);
  for (const int latent : {32, 64, 128}) {
    if (text == std::to_string(latent)) return latent;
  }
  return InvalidArgument("latent '" + std::string(text) + "' is none of 32, 64, 128, auto, long, balanced, quality");
}

std::string LatentName(int latent) { return latent == kLatentAuto ? "auto" : std::to_string(latent); }

Status CheckCache(const CacheOptions& options) {
  LV_ASSIGN_OR_RETURN(const CacheMode mode, ParseCacheMode(options.mode));
  LV_RETURN_IF_ERROR(ParseCacheStore(options.store).status());
  LV_RETURN_IF_ERROR(ParseLatent(LatentName(options.latent)).status());
  if (options.latent == kLatentAuto && mode != CacheMode::kMla) {
    return InvalidArgument("latent auto goes with cache mode mla, not with " + options.mode);
  }
  if (options.groups < 0 || options.groups > 1024) {
    return InvalidArgument("groups " + std::to_string(options.groups) + " is not in 0..1024");
  }
  return Status::Ok();
}

std::string SamplingText(const SamplingSettings& options) {
  return "decode=" + std::string(DecodingName(options.decoding)) + " fps=" + NumberText(options.fps) +
         " max_frames=" + std::to_string(options.max_frames) + " scenes=" + (options.scene_changes ? "1" : "0") +
         // Left out where all are kept, so that indexes made before there was a choice keep their names.
         (options.latent == 0 ? "" : " latent=" + std::to_string(options.latent));
}

std::string SamplingHash(const SamplingSettings& options) {
  const std::string text = SamplingText(options);
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return hex.data();
}

}  // namespace longview
