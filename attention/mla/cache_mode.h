// Cache modes, their storage types and what a token costs in each: the one source for the kernels, the UI and the
// tests.
#ifndef LONGVIEW_ATTENTION_MLA_CACHE_MODE_H_
#define LONGVIEW_ATTENTION_MLA_CACHE_MODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview {

// What is kept of a frame token (docs: design §2).
enum class CacheMode {
  kMha,        // every layer's keys and values of every head
  kGqa,        // the same for `groups` groups of heads
  kMqa,        // the same for one group
  kMlaLayers,  // a latent per layer
  kMla,        // one latent, shared by every layer: the default
  kStates,     // the frame token itself, every projection absorbed
};

// How the numbers are kept. kI8: vectors in int8 with one fp32 scale each, time keys in bf16.
enum class CacheStore : uint8_t { kF32, kF16, kBF16, kI8 };

// "mha", "gqa", "mqa", "mla_layers", "mla", "states" and back; kInvalidArgument lists what there is.
std::string_view CacheModeName(CacheMode mode);
Result<CacheMode> ParseCacheMode(std::string_view name);
// "fp32", "fp16", "bf16", "int8" and back.
std::string_view CacheStoreName(CacheStore store);
Result<CacheStore> ParseCacheStore(std::string_view name);

// Bytes of one number of a stored vector (kI8: 1, without its share of the scale).
size_t CacheStoreNumberBytes(CacheStore store);
// How time keys are kept beside vectors of this type: kI8 leaves them in bf16.
constexpr CacheStore TimeKeyStore(CacheStore store) { return store == CacheStore::kI8 ? CacheStore::kBF16 : store; }
// Bytes of one number of a time key.
size_t CacheStoreKeyBytes(CacheStore store);
// Bytes of one stored vector of `size` numbers, its scale included.
size_t CacheStoreVectorBytes(CacheStore store, size_t size);

// The shape of a model's cross-attention, as far as its cache depends on it.
struct CacheShape {
  size_t layers = 8;  // cross-attention layers
  size_t heads = 9;
  size_t groups = 3;  // key-value groups of kGqa; divides heads
  size_t d_k = 64;    // numbers a head
  size_t d_c = 128;   // numbers a latent
  size_t d_r = 32;    // numbers a time key
  size_t d_v = 384;   // numbers a frame token
  // kMlaLayers: the cut of each layer (longview-s); empty: d_c in each.
  std::vector<size_t> layer_cuts;
  // kMlaLayers: whether each layer has a time key of its own (imported checkpoints) or all share one (longview-s).
  bool time_key_per_layer = false;
};

// Numbers kept per frame token, scales not counted: the table of design §2.
size_t CacheElementsPerToken(CacheMode mode, const CacheShape& shape);

// Bytes kept per frame token. int8 adds one fp32 scale for each stored vector: a latent; a layer's key or value of one
// group; the frame token, whose norm factor is folded into its scale. The other stores keep the norm factor in fp32:
// its error would not average out as those of a row's numbers do.
size_t CacheBytesPerToken(CacheMode mode, CacheStore store, const CacheShape& shape);

// The presets of `--latent`: long 32, balanced 64, quality 128. Absent for another name.
std::optional<size_t> LatentPreset(std::string_view name);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_MLA_CACHE_MODE_H_
