// Reading of the bridge's part of config.json: every size within bounds, and the sizes consistent with each other.
#include "attention/bridge/bridge_config.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/io/json.h"

namespace longview {
namespace {

// Far above any model that this could be, far below what would overflow a product of two.
constexpr uint64_t kMaxSize = 1u << 16;
// Of a frame's retrieval vectors: as the index file (attention/mla/cache_file.h).
constexpr size_t kMaxFrameNumbers = 4096;

Status OutOfBounds(const Json& json, std::string_view key, const std::string& what) {
  return Damaged(json.place() + "." + std::string(key) + ": " + what);
}

Result<size_t> Size(const Json& json, std::string_view key, uint64_t low, uint64_t high) {
  LV_ASSIGN_OR_RETURN(const uint64_t value, json.GetUint(key));
  if (value < low || value > high) {
    return OutOfBounds(json, key,
                       std::to_string(value) + " is outside " + std::to_string(low) + " to " + std::to_string(high));
  }
  return static_cast<size_t>(value);
}

// A file of the config's own folder: never a path that leads elsewhere.
Result<std::string> FileName(const Json& json, std::string_view key) {
  LV_ASSIGN_OR_RETURN(const std::string name, json.GetString(key));
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return OutOfBounds(json, key, "a plain file name is needed");
  }
  return name;
}

Status ReadSizes(const Json& json, BridgeConfig* config) {
  LV_ASSIGN_OR_RETURN(config->file, FileName(json, "file"));
  LV_ASSIGN_OR_RETURN(config->sha256, json.GetString("sha256"));
  LV_ASSIGN_OR_RETURN(config->pool, Size(json, "pool", 1, 256));
  LV_ASSIGN_OR_RETURN(config->d_v, Size(json, "d_v", 1, kMaxSize));
  LV_ASSIGN_OR_RETURN(config->encoder_layers, Size(json, "encoder_layers", 0, 64));
  LV_ASSIGN_OR_RETURN(config->encoder_heads, Size(json, "encoder_heads", 1, 1024));
  LV_ASSIGN_OR_RETURN(config->encoder_mlp, Size(json, "encoder_mlp", 1, kMaxSize));
  LV_ASSIGN_OR_RETURN(config->d_c, Size(json, "d_c", 8, 1024));
  LV_ASSIGN_OR_RETURN(config->d_r, Size(json, "d_r", 8, 256));
  LV_ASSIGN_OR_RETURN(config->heads, Size(json, "heads", 1, 1024));
  LV_ASSIGN_OR_RETURN(config->d_k, Size(json, "d_k", 1, 4096));
  LV_ASSIGN_OR_RETURN(config->mlp, Size(json, "mlp", 1, kMaxSize));
  // The text decoder's width: where it is not written here, the bridge's own tensors say it.
  config->width = 0;
  if (json.Has("width")) {
    LV_ASSIGN_OR_RETURN(config->width, Size(json, "width", 1, kMaxSize));
  }
  if (config->d_c % 8 != 0) return OutOfBounds(json, "d_c", "a multiple of 8 is needed");
  if (config->d_r % 8 != 0) return OutOfBounds(json, "d_r", "a multiple of 8 is needed");
  if (config->d_v % config->encoder_heads != 0) {
    return OutOfBounds(json, "encoder_heads",
                       "d_v " + std::to_string(config->d_v) + " cannot be split into as many heads");
  }
  return Status::Ok();
}

Status ReadCuts(const Json& json, BridgeConfig* config) {
  LV_ASSIGN_OR_RETURN(const std::vector<uint64_t> cuts, json.GetUints("cuts"));
  config->cuts.clear();
  for (const uint64_t cut : cuts) {
    const bool ascending = config->cuts.empty() || cut > config->cuts.back();
    if (cut < 8 || cut > config->d_c || cut % 8 != 0 || !ascending) {
      return OutOfBounds(json, "cuts", "ascending multiples of 8 up to d_c are needed");
    }
    config->cuts.push_back(cut);
  }
  if (config->cuts.empty() || config->cuts.back() != config->d_c) {
    return OutOfBounds(json, "cuts", "the last must be d_c, " + std::to_string(config->d_c));
  }
  LV_ASSIGN_OR_RETURN(const std::vector<int64_t> layers, json.GetInts("cross_layers"));
  config->cross_layers.clear();
  for (const int64_t layer : layers) {
    const int64_t after = config->cross_layers.empty() ? -1 : config->cross_layers.back();
    if (layer <= after || layer > 4096) return OutOfBounds(json, "cross_layers", "ascending layer numbers are needed");
    config->cross_layers.push_back(static_cast<int>(layer));
  }
  if (config->cross_layers.empty()) return OutOfBounds(json, "cross_layers", "at least one layer is needed");
  return Status::Ok();
}

Status ReadWavelengths(const Json& json, BridgeConfig* config) {
  LV_ASSIGN_OR_RETURN(config->min_wavelength_s, json.GetDouble("min_wavelength_s"));
  LV_ASSIGN_OR_RETURN(config->max_wavelength_s, json.GetDouble("max_wavelength_s"));
  if (!std::isfinite(config->max_wavelength_s) || !(config->min_wavelength_s > 0.0) ||
      !(config->max_wavelength_s > config->min_wavelength_s)) {
    return OutOfBounds(json, "max_wavelength_s", "wavelengths must be positive and ascending");
  }
  return Status::Ok();
}

Status ReadVit(const Json& root, BridgeConfig* config) {
  LV_ASSIGN_OR_RETURN(const Json vit, root.Get("vit"));
  LV_ASSIGN_OR_RETURN(const size_t width, Size(vit, "width", 1, kMaxSize));
  LV_ASSIGN_OR_RETURN(const size_t image, Size(vit, "image", 1, 16384));
  LV_ASSIGN_OR_RETURN(const size_t patch, Size(vit, "patch", 1, 1024));
  LV_ASSIGN_OR_RETURN(const size_t layers, Size(vit, "layers", 1, 256));
  std::vector<uint64_t> taps;
  if (vit.Has("taps")) {
    LV_ASSIGN_OR_RETURN(taps, vit.GetUints("taps"));
  }
  for (size_t i = 0; i < taps.size(); ++i) {
    if (taps[i] >= layers || (i > 0 && taps[i] <= taps[i - 1])) {
      return OutOfBounds(vit, "taps", "ascending layer numbers below " + std::to_string(layers) + " are needed");
    }
  }
  config->vit_width = width * std::max<size_t>(1, taps.size());
  config->patch_grid = image / patch;
  if (config->patch_grid == 0 || config->patch_grid > 256 || image % patch != 0 ||
      config->patch_grid % config->pool != 0) {
    return OutOfBounds(vit, "image", "its patches cannot be pooled to " + std::to_string(config->pool) + " a side");
  }
  return Status::Ok();
}

Status ReadRetrieval(const Json& root, BridgeConfig* config) {
  if (!root.Has("retrieval")) return Status::Ok();
  LV_ASSIGN_OR_RETURN(const Json json, root.Get("retrieval"));
  if (json.is_null()) return Status::Ok();
  RetrievalConfig retrieval;
  LV_ASSIGN_OR_RETURN(retrieval.layer, Size(json, "layer", 0, 4096));
  LV_ASSIGN_OR_RETURN(retrieval.width, Size(json, "width", 1, 4096));
  LV_ASSIGN_OR_RETURN(retrieval.hidden, Size(json, "hidden", 1, kMaxSize));
  LV_ASSIGN_OR_RETURN(retrieval.pool, Size(json, "pool", 1, 64));
  LV_ASSIGN_OR_RETURN(const size_t sharpness, Size(json, "sharpness", 1, 80));
  retrieval.sharpness = static_cast<float>(sharpness);
  if (config->patch_grid % retrieval.pool != 0) {
    return OutOfBounds(json, "pool", "does not divide the " + std::to_string(config->patch_grid) + " patches a side");
  }
  if (retrieval.parts() * retrieval.width > kMaxFrameNumbers) {
    return OutOfBounds(json, "width", "more than " + std::to_string(kMaxFrameNumbers) + " numbers a frame");
  }
  config->retrieval = retrieval;
  return Status::Ok();
}

Status ReadCaption(const Json& root, BridgeConfig* config) {
  if (!root.Has("caption")) return Status::Ok();
  LV_ASSIGN_OR_RETURN(const Json json, root.Get("caption"));
  if (json.is_null()) return Status::Ok();
  CaptionConfig caption;
  LV_ASSIGN_OR_RETURN(caption.layers, Size(json, "layers", 1, 64));
  LV_ASSIGN_OR_RETURN(caption.width, Size(json, "width", 1, 4096));
  LV_ASSIGN_OR_RETURN(caption.heads, Size(json, "heads", 1, 1024));
  LV_ASSIGN_OR_RETURN(caption.mlp, Size(json, "mlp", 1, kMaxSize));
  LV_ASSIGN_OR_RETURN(caption.tokens, Size(json, "tokens", 1, 1u << 20));
  LV_ASSIGN_OR_RETURN(caption.longest, Size(json, "longest", 1, 1024));
  if (caption.width % caption.heads != 0) {
    return OutOfBounds(json, "heads", "width " + std::to_string(caption.width) + " cannot be split into as many heads");
  }
  config->caption = caption;
  return Status::Ok();
}

Result<BridgeConfig> FromJson(const Json& root) {
  LV_ASSIGN_OR_RETURN(const std::string format, root.GetString("format"));
  if (format != "longview-model") return OutOfBounds(root, "format", "\"" + format + "\" is not a Longview model");
  LV_ASSIGN_OR_RETURN(const uint64_t version, root.GetUint("version"));
  if (version != 1) {
    return Unsupported(root.place() + ": a model of version " + std::to_string(version) +
                       "; this Longview reads version 1");
  }
  BridgeConfig config;
  LV_ASSIGN_OR_RETURN(const Json bridge, root.Get("bridge"));
  LV_RETURN_IF_ERROR(ReadSizes(bridge, &config));
  LV_RETURN_IF_ERROR(ReadCuts(bridge, &config));
  LV_RETURN_IF_ERROR(ReadWavelengths(bridge, &config));
  LV_RETURN_IF_ERROR(ReadVit(root, &config));
  LV_RETURN_IF_ERROR(ReadRetrieval(root, &config));
  LV_RETURN_IF_ERROR(ReadCaption(root, &config));
  return config;
}

}  // namespace

CacheShape BridgeConfig::cache_shape() const {
  CacheShape shape;
  shape.layers = cross_layers.size();
  shape.heads = heads;
  shape.groups = heads % 3 == 0 ? heads / 3 : 1;
  shape.d_k = d_k;
  shape.d_c = d_c;
  shape.d_r = d_r;
  shape.d_v = d_v;
  return shape;
}

Result<BridgeConfig> ParseBridgeConfig(std::string_view json_text, std::string_view where) {
  LV_ASSIGN_OR_RETURN(const Json root, Json::Parse(json_text, where));
  return FromJson(root);
}

Result<BridgeConfig> ReadBridgeConfig(const std::filesystem::path& config_json) {
  LV_ASSIGN_OR_RETURN(const Json root, Json::ParseFile(config_json.string()));
  return FromJson(root);
}

}  // namespace longview
