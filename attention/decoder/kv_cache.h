// KvCache: the keys and values of one conversation's tokens in a text decoder.
#ifndef LONGVIEW_ATTENTION_DECODER_KV_CACHE_H_
#define LONGVIEW_ATTENTION_DECODER_KV_CACHE_H_

#include <cstddef>
#include <memory>
#include <vector>

namespace longview {

// The keys and values of a conversation whose decoder runs on a device.
class KvRows {
 public:
  virtual ~KvRows() = default;
  // A copy of the first `length` tokens; null where the device has no memory for it.
  virtual std::unique_ptr<KvRows> Clone(size_t length) const = 0;
  // Bytes allocated.
  virtual size_t bytes() const = 0;
};

// Starts empty and takes the shape of the decoder that first writes to it. Grows as tokens come. Not thread-safe.
class KvCache {
 public:
  KvCache() = default;
  KvCache(KvCache&&) = default;
  KvCache& operator=(KvCache&&) = default;
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // A copy of the first min(length, length()) tokens: the price is theirs, so it has a name. Where a device has no
  // memory for them, reading on from the copy is kResource.
  KvCache Clone(size_t length = static_cast<size_t>(-1)) const;

  // Tokens held.
  size_t length() const { return length_; }
  // Forgets all but the first `length` tokens; nothing where fewer are held.
  void Truncate(size_t length);
  // Bytes allocated.
  size_t bytes() const;

 private:
  friend class GpuDecoder;
  friend class TextDecoder;
  // Room for `length` tokens in every layer.
  void Reserve(size_t length);

  size_t layers_ = 0;
  size_t kv_width_ = 0;  // numbers a token in one layer's keys, and in its values
  size_t length_ = 0;
  size_t capacity_ = 0;
  std::vector<std::vector<float>> keys_;    // [layers][capacity, kv_width], RoPE applied
  std::vector<std::vector<float>> values_;  // [layers][capacity, kv_width]
  std::unique_ptr<KvRows> rows_;            // instead of both, where the decoder runs on a device
  bool lost_ = false;                       // a copy for which there was no memory
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_DECODER_KV_CACHE_H_
