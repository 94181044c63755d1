// One number of a cache as it is stored, read as float: the cache's own conversions and the reference kernel share it.
#ifndef LONGVIEW_ATTENTION_MLA_STORED_NUMBER_H_
#define LONGVIEW_ATTENTION_MLA_STORED_NUMBER_H_

#include <cstddef>
#include <cstdint>

#include "attention/mla/cache_mode.h"
#include "core/tensor/dtype.h"

namespace longview::internal {

// Number `index` of an array stored as `store`; int8 without its token's scale, which the caller multiplies in.
inline float ReadNumber(CacheStore store, const void* from, size_t index) {
  switch (store) {
    case CacheStore::kF32:
      return static_cast<const float*>(from)[index];
    case CacheStore::kF16:
      return F16ToFloat(static_cast<const uint16_t*>(from)[index]);
    case CacheStore::kBF16:
      return BF16ToFloat(static_cast<const uint16_t*>(from)[index]);
    case CacheStore::kI8:
      return static_cast<float>(static_cast<const int8_t*>(from)[index]);
  }
  return 0.0f;
}

}  // namespace longview::internal

#endif  // LONGVIEW_ATTENTION_MLA_STORED_NUMBER_H_
