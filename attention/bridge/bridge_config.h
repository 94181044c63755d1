// The bridge's part of a model folder's config.json (assets/models/<name>/config.json).
#ifndef LONGVIEW_ATTENTION_BRIDGE_BRIDGE_CONFIG_H_
#define LONGVIEW_ATTENTION_BRIDGE_BRIDGE_CONFIG_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/mla/cache_mode.h"
#include "core/base/status.h"

namespace longview {

// Heads that place frames and words in one space; absent until they are trained.
struct RetrievalConfig {
  size_t layer = 12;  // the decoder layer whose input words are read from, beside that of layer 0
  size_t width = 64;  // numbers of a vector
  size_t hidden = 512;
  size_t pool = 4;          // parts a side of a picture; divides the bridge's patch_grid
  float sharpness = 10.0f;  // of the smooth maximum over a picture's parts

  // Vectors of a frame: the class token, the parts, and the mean of all.
  size_t parts() const { return pool * pool + 2; }
};

// A small text decoder that describes frames by itself; absent where the large one does.
struct CaptionConfig {
  size_t layers = 2;
  size_t width = 256;
  size_t heads = 4;  // divides width
  size_t mlp = 1024;
  size_t tokens = 0;    // of the large decoder's vocabulary that it uses
  size_t longest = 20;  // tokens of a caption
};

struct BridgeConfig {
  std::string file = "bridge.safetensors";  // in the config's own folder
  std::string sha256;                       // hex
  size_t pool = 8;                          // frame tokens: 1 + pool * pool; divides patch_grid
  size_t patch_grid = 16;                   // the ViT's patches along one side (image / patch)
  size_t vit_width = 384;                   // numbers of a ViT token: the ViT's width for each of its taps
  size_t d_v = 384;                         // width of a frame token
  size_t width = 576;                       // of the text decoder
  size_t encoder_layers = 2;
  size_t encoder_heads = 6;
  size_t encoder_mlp = 1536;
  size_t d_c = 128;
  size_t d_r = 32;
  std::vector<size_t> cuts = {32, 64, 128};  // usable latent sizes, ascending, the last is d_c
  std::vector<int> cross_layers;             // decoder layers before which a cross block stands, ascending
  size_t heads = 9;
  size_t d_k = 64;
  size_t mlp = 768;
  double min_wavelength_s = 2.0;
  double max_wavelength_s = 144000.0;
  std::optional<RetrievalConfig> retrieval;
  std::optional<CaptionConfig> caption;

  size_t vit_tokens() const { return 1 + patch_grid * patch_grid; }
  size_t tokens_per_frame() const { return 1 + pool * pool; }
  // For the byte formulas of cache_mode.h.
  CacheShape cache_shape() const;
};

// Reads "bridge", "retrieval", "caption" and the "vit"/"text" sizes that the bridge depends on; `where` names the
// source in messages. kDamaged names the key that is missing, of the wrong type or out of range.
Result<BridgeConfig> ParseBridgeConfig(std::string_view json_text, std::string_view where);
// The same from a file; kNotFound where it is missing.
Result<BridgeConfig> ReadBridgeConfig(const std::filesystem::path& config_json);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_BRIDGE_BRIDGE_CONFIG_H_
