// Blocks of whole frames from the arena, conversion between storage types, and views.
#include "attention/mla/latent_cache.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "attention/mla/stored_number.h"
#include "core/base/arena.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

// What ExpectTokens announces is cut into blocks of about this many tokens, so that no single allocation is huge.
constexpr size_t kBlockTokens = 65536;
// Without an announcement a new block takes at most this share of what is held, so that what is left over stays small.
constexpr size_t kGrowthShare = 128;

// One allocation of whole frames.
struct Block {
  AlignedBuffer memory;
  size_t capacity = 0;  // tokens
  size_t used = 0;
  size_t keys_at = 0, scales_at = 0;  // bytes from the beginning
};

struct Frame {
  CachedFrame info;
  uint32_t block = 0;
  size_t first_token = 0;  // within the block
};

using internal::ReadNumber;

void WriteNumber(CacheStore store, float value, void* to, size_t index) {
  switch (store) {
    case CacheStore::kF32:
      static_cast<float*>(to)[index] = value;
      break;
    case CacheStore::kF16:
      static_cast<uint16_t*>(to)[index] = FloatToF16(value);
      break;
    case CacheStore::kBF16:
      static_cast<uint16_t*>(to)[index] = FloatToBF16(value);
      break;
    case CacheStore::kI8:
      break;
  }
}

// One row of `n` numbers from one type to another; equal types are copied.
void ConvertRow(CacheStore from_type, const void* from, size_t from_at, size_t n, CacheStore to_type, void* to,
                size_t to_at) {
  if (from_type == to_type) {
    const size_t size = CacheStoreNumberBytes(to_type);
    std::memcpy(static_cast<char*>(to) + to_at * size, static_cast<const char*>(from) + from_at * size, n * size);
    return;
  }
  for (size_t j = 0; j < n; ++j) WriteNumber(to_type, ReadNumber(from_type, from, from_at + j), to, to_at + j);
}

// Symmetric int8: the largest magnitude becomes 127. A row of zeros (or of what is not finite) has scale 0.
float QuantiseRow(CacheStore type, const void* from, size_t from_at, size_t n, int8_t* to) {
  float peak = 0.0f;
  for (size_t j = 0; j < n; ++j) peak = std::max(peak, std::abs(ReadNumber(type, from, from_at + j)));
  if (!(peak > 0.0f) || !std::isfinite(peak)) {
    std::fill_n(to, n, static_cast<int8_t>(0));
    return 0.0f;
  }
  const float scale = peak / 127.0f;
  for (size_t j = 0; j < n; ++j) {
    const float q = std::nearbyint(ReadNumber(type, from, from_at + j) / scale);
    to[j] = static_cast<int8_t>(std::clamp(q, -127.0f, 127.0f));  // a NaN among finite numbers becomes -127
  }
  return scale;
}

}  // namespace

Status CacheView::Append(const CacheView& other) {
  if (runs.empty() && sources == 0) {
    *this = other;
    return Status::Ok();
  }
  if (other.d_c != d_c || other.d_r != d_r || other.store != store) {
    return InvalidArgument("caches of different shapes cannot be attended to together: " + std::to_string(d_c) + " + " +
                           std::to_string(d_r) + " in " + std::string(CacheStoreName(store)) + " against " +
                           std::to_string(other.d_c) + " + " + std::to_string(other.d_r) + " in " +
                           std::string(CacheStoreName(other.store)));
  }
  runs.insert(runs.end(), other.runs.begin(), other.runs.end());
  for (ViewFrame frame : other.frames) {
    frame.source += sources;
    frames.push_back(frame);
  }
  sources += other.sources;
  tokens += other.tokens;
  return Status::Ok();
}

struct LatentCache::Impl {
  LatentCacheShape shape;
  Arena* arena = nullptr;
  std::vector<Block> blocks;
  std::vector<Frame> frames;
  size_t tokens = 0;
  size_t bytes = 0;
  size_t expected = 0;  // announced and not yet taken by a block

  // Makes room for `need` tokens in the last block.
  Status Grow(size_t need) {
    size_t capacity = 0;
    if (expected >= need) {
      capacity = std::max(std::min(expected, kBlockTokens) / need * need, need);
      // What would be left for a last block too small for a frame of this size is taken along.
      if (expected - capacity < need) capacity = expected;
    } else {
      capacity = std::max(tokens / kGrowthShare / need * need, need);
    }
    Block block;
    block.capacity = capacity;
    const size_t latents = shape.d_c * CacheStoreNumberBytes(shape.store);
    const size_t keys = shape.d_r * CacheStoreKeyBytes(shape.store);
    // Rows are multiples of 8 bytes, so each part begins where its numbers may lie without a gap before it.
    block.keys_at = capacity * latents;
    block.scales_at = block.keys_at + capacity * keys;
    const size_t size = block.scales_at + (shape.store == CacheStore::kI8 ? capacity * sizeof(float) : 0);
    LV_ASSIGN_OR_RETURN(block.memory, arena->Allocate(size, "latents"));
    bytes += block.memory.bytes();
    expected -= std::min(expected, capacity);
    blocks.push_back(std::move(block));
    return Status::Ok();
  }

  CrossAttnRun Run(const Frame& frame) const {
    const Block& block = blocks[frame.block];
    const char* base = static_cast<const char*>(block.memory.data());
    CrossAttnRun run;
    run.latents = base + frame.first_token * shape.d_c * CacheStoreNumberBytes(shape.store);
    run.keys = base + block.keys_at + frame.first_token * shape.d_r * CacheStoreKeyBytes(shape.store);
    if (shape.store == CacheStore::kI8) {
      run.scales = reinterpret_cast<const float*>(base + block.scales_at) + frame.first_token;
    }
    run.tokens = frame.info.tokens;
    run.d_c = static_cast<uint16_t>(shape.d_c);
    run.latent_stride = static_cast<uint16_t>(shape.d_c);
    return run;
  }

  void AddTo(uint32_t index, CacheView* view) const {
    const Frame& frame = frames[index];
    view->runs.push_back(Run(frame));
    view->frames.push_back({0, index, frame.info.time_s, frame.info.end_s});
    view->tokens += frame.info.tokens;
  }

  CacheView EmptyView() const {
    CacheView view;
    view.d_c = shape.d_c;
    view.d_r = shape.d_r;
    view.store = shape.store;
    view.sources = 1;
    return view;
  }
};

LatentCache::LatentCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LatentCache::LatentCache(LatentCache&&) noexcept = default;
LatentCache& LatentCache::operator=(LatentCache&&) noexcept = default;
LatentCache::~LatentCache() = default;

Result<LatentCache> LatentCache::Make(const LatentCacheShape& shape, Arena* arena) {
  if (shape.d_c < 8 || shape.d_c > 1024 || shape.d_c % 8 != 0 || shape.d_r > 256 || shape.d_r % 8 != 0) {
    return InvalidArgument("a cache of latents of " + std::to_string(shape.d_c) + " and time keys of " +
                           std::to_string(shape.d_r) +
                           " numbers cannot be: multiples of 8 are needed, 8 to 1024 and 0 to 256");
  }
  auto impl = std::make_unique<Impl>();
  impl->shape = shape;
  impl->arena = arena;
  return LatentCache(std::move(impl));
}

const LatentCacheShape& LatentCache::shape() const { return impl_->shape; }
size_t LatentCache::frames() const { return impl_->frames.size(); }
size_t LatentCache::tokens() const { return impl_->tokens; }
const CachedFrame& LatentCache::frame(size_t index) const { return impl_->frames[index].info; }
void LatentCache::ExpectTokens(size_t tokens) { impl_->expected = tokens; }
size_t LatentCache::bytes() const { return impl_->bytes; }

size_t LatentCache::predicted_bytes() const {
  CacheShape shape;
  shape.d_c = impl_->shape.d_c;
  shape.d_r = impl_->shape.d_r;
  return impl_->tokens * CacheBytesPerToken(CacheMode::kMla, impl_->shape.store, shape);
}

Status LatentCache::Append(const FrameRows& rows) {
  Impl& cache = *impl_;
  const LatentCacheShape& shape = cache.shape;
  if (!std::isfinite(rows.time_s) || !std::isfinite(rows.end_s) || rows.end_s < rows.time_s ||
      (!cache.frames.empty() && rows.time_s < cache.frames.back().info.time_s)) {
    return InvalidArgument("a frame from " + std::to_string(rows.time_s) + " to " + std::to_string(rows.end_s) +
                           " s cannot follow the cache's last frame");
  }
  if (rows.type == CacheStore::kI8 || rows.tokens == 0 || rows.tokens > (1u << 24) || rows.latents == nullptr ||
      rows.latent_stride < shape.d_c || (rows.keys == nullptr && shape.d_r > 0)) {
    return InvalidArgument("a frame's rows do not fit the cache: " + std::to_string(rows.tokens) +
                           " tokens, latents of stride " + std::to_string(rows.latent_stride) + " for d_c " +
                           std::to_string(shape.d_c));
  }
  if (cache.blocks.empty() || cache.blocks.back().capacity - cache.blocks.back().used < rows.tokens) {
    LV_RETURN_IF_ERROR(cache.Grow(rows.tokens));
  }
  Block& block = cache.blocks.back();
  char* base = static_cast<char*>(block.memory.data());
  for (size_t t = 0; t < rows.tokens; ++t) {
    const size_t to = block.used + t;
    if (shape.store == CacheStore::kI8) {
      reinterpret_cast<float*>(base + block.scales_at)[to] = QuantiseRow(
          rows.type, rows.latents, t * rows.latent_stride, shape.d_c, reinterpret_cast<int8_t*>(base) + to * shape.d_c);
    } else {
      ConvertRow(rows.type, rows.latents, t * rows.latent_stride, shape.d_c, shape.store, base, to * shape.d_c);
    }
    const CacheStore key_store = shape.store == CacheStore::kI8 ? CacheStore::kBF16 : shape.store;
    ConvertRow(rows.type, rows.keys, t * shape.d_r, shape.d_r, key_store, base + block.keys_at, to * shape.d_r);
  }
  Frame frame;
  frame.info = {rows.time_s, rows.end_s, static_cast<uint32_t>(rows.tokens)};
  frame.block = static_cast<uint32_t>(cache.blocks.size() - 1);
  frame.first_token = block.used;
  cache.frames.push_back(frame);
  block.used += rows.tokens;
  cache.tokens += rows.tokens;
  return Status::Ok();
}

CacheView LatentCache::View() const {
  CacheView view = impl_->EmptyView();
  view.runs.reserve(impl_->frames.size());
  view.frames.reserve(impl_->frames.size());
  for (uint32_t i = 0; i < impl_->frames.size(); ++i) impl_->AddTo(i, &view);
  return view;
}

CacheView LatentCache::ViewBetween(double from_s, double to_s) const {
  CacheView view = impl_->EmptyView();
  for (uint32_t i = 0; i < impl_->frames.size(); ++i) {
    const CachedFrame& info = impl_->frames[i].info;
    // A frame without a length (a still) is shown at its time.
    const bool shown = info.time_s <= to_s && (info.end_s > from_s || info.time_s >= from_s);
    if (shown) impl_->AddTo(i, &view);
  }
  return view;
}

Result<CacheView> LatentCache::ViewOf(std::span<const uint32_t> frames) const {
  CacheView view = impl_->EmptyView();
  for (const uint32_t frame : frames) {
    if (frame >= impl_->frames.size()) {
      return OutOfRange("frame " + std::to_string(frame) + " of a cache of " + std::to_string(impl_->frames.size()));
    }
    impl_->AddTo(frame, &view);
  }
  return view;
}

}  // namespace longview
