// KvCache: growth, copies and cuts.
#include "attention/decoder/kv_cache.h"

#include <algorithm>

namespace longview {

KvCache KvCache::Clone(size_t length) const {
  KvCache copy;
  copy.layers_ = layers_;
  copy.kv_width_ = kv_width_;
  copy.length_ = std::min(length, length_);
  copy.lost_ = lost_;
  if (rows_ != nullptr) {
    copy.rows_ = rows_->Clone(copy.length_);
    copy.lost_ = copy.rows_ == nullptr;
    return copy;
  }
  if (lost_) return copy;
  copy.capacity_ = copy.length_;
  const size_t count = copy.length_ * kv_width_;
  for (size_t i = 0; i < layers_; ++i) {
    copy.keys_.emplace_back(keys_[i].begin(), keys_[i].begin() + static_cast<std::ptrdiff_t>(count));
    copy.values_.emplace_back(values_[i].begin(), values_[i].begin() + static_cast<std::ptrdiff_t>(count));
  }
  return copy;
}

void KvCache::Truncate(size_t length) { length_ = std::min(length_, length); }

size_t KvCache::bytes() const {
  size_t total = rows_ == nullptr ? 0 : rows_->bytes();
  for (const auto& rows : keys_) total += rows.capacity() * sizeof(float);
  for (const auto& rows : values_) total += rows.capacity() * sizeof(float);
  return total;
}

void KvCache::Reserve(size_t length) {
  keys_.resize(layers_);
  values_.resize(layers_);
  if (length <= capacity_) return;
  // By half more, so that an answer's tokens cost one copy each on average and a long prompt does not waste its double.
  capacity_ = std::max<size_t>({length, capacity_ + capacity_ / 2, 128});
  for (auto& rows : keys_) rows.resize(capacity_ * kv_width_);
  for (auto& rows : values_) rows.resize(capacity_ * kv_width_);
}

}  // namespace longview
