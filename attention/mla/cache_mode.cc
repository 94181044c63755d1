// Names of the cache modes and storage types, and what a token costs in each.
#include "attention/mla/cache_mode.h"

#include <array>
#include <string>
#include <utility>

namespace longview {
namespace {

constexpr std::array<std::pair<CacheMode, std::string_view>, 6> kModes = {{{CacheMode::kMha, "mha"},
                                                                           {CacheMode::kGqa, "gqa"},
                                                                           {CacheMode::kMqa, "mqa"},
                                                                           {CacheMode::kMlaLayers, "mla_layers"},
                                                                           {CacheMode::kMla, "mla"},
                                                                           {CacheMode::kStates, "states"}}};
constexpr std::array<std::pair<CacheStore, std::string_view>, 4> kStores = {
    {{CacheStore::kF32, "fp32"}, {CacheStore::kF16, "fp16"}, {CacheStore::kBF16, "bf16"}, {CacheStore::kI8, "int8"}}};

template <class Table>
auto NameOf(const Table& table, decltype(table[0].first) value) {
  for (const auto& [entry, name] : table) {
    if (entry == value) return name;
  }
  return std::string_view("?");
}

template <class E, class Table>
Result<E> Parse(const Table& table, std::string_view name, std::string_view what) {
  std::string list;
  for (const auto& [entry, text] : table) {
    if (text == name) return entry;
    list += (list.empty() ? "" : ", ") + std::string(text);
  }
  return InvalidArgument("there is no " + std::string(what) + " \"" + std::string(name) + "\": it is one of " + list);
}

// The sizes of the vectors that are kept of a token, apart from its time key: each `count` times `size`.
struct Vectors {
  size_t count = 0;
  size_t size = 0;
};
std::vector<Vectors> VectorsOf(CacheMode mode, const CacheShape& shape) {
  switch (mode) {
    case CacheMode::kMha:
      return {{2 * shape.layers * shape.heads, shape.d_k}};
    case CacheMode::kGqa:
      return {{2 * shape.layers * shape.groups, shape.d_k}};
    case CacheMode::kMqa:
      return {{2 * shape.layers, shape.d_k}};
    case CacheMode::kMlaLayers: {
      if (shape.layer_cuts.empty()) return {{shape.layers, shape.d_c}};
      std::vector<Vectors> list;
      for (const size_t cut : shape.layer_cuts) list.push_back({1, cut});
      return list;
    }
    case CacheMode::kMla:
      return {{1, shape.d_c}};
    case CacheMode::kStates:
      return {{1, shape.d_v}};
  }
  return {};
}

size_t TimeKeys(CacheMode mode, const CacheShape& shape) {
  return mode == CacheMode::kMlaLayers && shape.time_key_per_layer ? shape.layers : 1;
}

}  // namespace

std::string_view CacheModeName(CacheMode mode) { return NameOf(kModes, mode); }
Result<CacheMode> ParseCacheMode(std::string_view name) { return Parse<CacheMode>(kModes, name, "cache mode"); }
std::string_view CacheStoreName(CacheStore store) { return NameOf(kStores, store); }
Result<CacheStore> ParseCacheStore(std::string_view name) { return Parse<CacheStore>(kStores, name, "storage type"); }

size_t CacheStoreNumberBytes(CacheStore store) {
  switch (store) {
    case CacheStore::kF32:
      return 4;
    case CacheStore::kF16:
    case CacheStore::kBF16:
      return 2;
    case CacheStore::kI8:
      return 1;
  }
  return 0;
}

size_t CacheStoreKeyBytes(CacheStore store) { return CacheStoreNumberBytes(TimeKeyStore(store)); }

size_t CacheStoreVectorBytes(CacheStore store, size_t size) {
  return size * CacheStoreNumberBytes(store) + (store == CacheStore::kI8 ? sizeof(float) : 0);
}

size_t CacheElementsPerToken(CacheMode mode, const CacheShape& shape) {
  size_t elements = TimeKeys(mode, shape) * shape.d_r + (mode == CacheMode::kStates ? 1 : 0);
  for (const Vectors& v : VectorsOf(mode, shape)) elements += v.count * v.size;
  return elements;
}

size_t CacheBytesPerToken(CacheMode mode, CacheStore store, const CacheShape& shape) {
  size_t bytes = TimeKeys(mode, shape) * shape.d_r * CacheStoreKeyBytes(store);
  for (const Vectors& v : VectorsOf(mode, shape)) bytes += v.count * CacheStoreVectorBytes(store, v.size);
  // The norm factor of a frame token; int8 has it in the scale.
  if (mode == CacheMode::kStates && store != CacheStore::kI8) bytes += sizeof(float);
  return bytes;
}

std::optional<size_t> LatentPreset(std::string_view name) {
  if (name == "long") return 32;
  if (name == "balanced") return 64;
  if (name == "quality") return 128;
  return std::nullopt;
}

}  // namespace longview
