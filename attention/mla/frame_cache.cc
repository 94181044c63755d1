// Blocks of whole frames from the arena, conversion between storage types, and views.
#include "attention/mla/frame_cache.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "attention/mla/stored_number.h"
#include "core/base/arena.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

// What ExpectBytes announces is cut into blocks of about this size, so that no single allocation is huge.
constexpr size_t kBlockBytes = size_t{16} << 20;
// Without an announcement a new block takes at most this share of what is held, so that what is left over stays small.
constexpr size_t kGrowthShare = 128;
constexpr size_t kMaxVectors = 4096;

// One allocation of whole frames.
struct Block {
  AlignedBuffer memory;
  size_t used = 0;  // bytes
};

struct Frame {
  CachedFrame info;
  uint32_t numbers = 0;
  const std::byte* data = nullptr;
};

bool HasScales(const FrameCacheShape& shape) { return shape.store == CacheStore::kI8 || shape.factors; }

// Numbers of a token's vectors where the first keeps `numbers` of its own.
size_t NumbersOf(const FrameCacheShape& shape, size_t numbers) {
  return std::accumulate(shape.vectors.begin(), shape.vectors.end(), numbers) - shape.vectors[0];
}

// Where the parts of a frame lie, in bytes from its beginning. Rows are multiples of 8 bytes and scales are the last,
// so that numbers lie where they may without a gap.
struct FrameLayout {
  size_t keys_at = 0, scales_at = 0, bytes = 0;
  // `numbers`: of all vectors of a token.
  FrameLayout(const FrameCacheShape& shape, size_t tokens, size_t numbers)
      : keys_at(tokens * numbers * CacheStoreNumberBytes(shape.store)),
        scales_at(keys_at + tokens * shape.d_r * CacheStoreKeyBytes(shape.store)),
        bytes(scales_at + (HasScales(shape) ? tokens * shape.vectors.size() * sizeof(float) : 0)) {}
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

size_t FrameCacheShape::FrameBytes(size_t tokens, size_t numbers) const {
  return FrameLayout(*this, tokens, NumbersOf(*this, numbers == 0 ? vectors[0] : numbers)).bytes;
}

Status CacheView::Append(const CacheView& other) {
  if (frames.empty() && sources == 0) {
    *this = other;
    return Status::Ok();
  }
  if (other.shape != shape) {
    const auto text = [](const FrameCacheShape& s) {
      return std::to_string(s.vectors.size()) + " vectors of " + std::to_string(s.vectors[0]) +
             " numbers and keys of " + std::to_string(s.d_r) + " in " + std::string(CacheStoreName(s.store));
    };
    return InvalidArgument("caches of different shapes cannot be attended to together: " + text(shape) + " against " +
                           text(other.shape));
  }
  for (ViewFrame frame : other.frames) {
    frame.source += sources;
    frames.push_back(frame);
  }
  owned.insert(owned.end(), other.owned.begin(), other.owned.end());
  sources += other.sources;
  tokens += other.tokens;
  return Status::Ok();
}

std::vector<CrossAttnRun> CacheView::Runs(size_t keys, size_t values) const {
  const auto width_before = [&](size_t v) {
    return std::accumulate(shape.vectors.begin(), shape.vectors.begin() + static_cast<ptrdiff_t>(v), size_t{0});
  };
  const size_t keys_before = width_before(keys), values_before = width_before(values);
  const size_t others = NumbersOf(shape, 0);  // of the vectors but the first
  const size_t number_bytes = CacheStoreNumberBytes(shape.store);
  std::vector<CrossAttnRun> runs;
  runs.reserve(frames.size());
  for (const ViewFrame& frame : frames) {
    const FrameLayout layout(shape, frame.tokens, others + frame.numbers);
    const auto rows = [&](size_t before) { return frame.data + frame.tokens * before * number_bytes; };
    const auto scales = [&](size_t v) {
      if (!HasScales(shape)) return static_cast<const float*>(nullptr);
      return reinterpret_cast<const float*>(frame.data + layout.scales_at) + v * frame.tokens;
    };
    CrossAttnRun run;
    run.latents = rows(keys_before);
    run.keys = frame.data + layout.keys_at;
    run.scales = scales(keys);
    run.tokens = frame.tokens;
    run.d_c = static_cast<uint16_t>(keys == 0 ? frame.numbers : shape.vectors[keys]);
    run.latent_stride = run.d_c;
    if (values != keys) {
      run.values = rows(values_before);
      run.value_scales = scales(values);
    }
    runs.push_back(run);
  }
  return runs;
}

struct FrameCache::Impl {
  FrameCacheShape shape;
  Arena* arena = nullptr;
  std::vector<Block> blocks;
  std::vector<Frame> frames;
  size_t tokens = 0;
  size_t bytes = 0;
  size_t expected = 0;  // announced and not yet taken by a block

  // Makes room for `need` bytes in a new last block.
  Status Grow(size_t need) {
    size_t capacity = 0;
    if (expected >= need) {
      capacity = std::max(std::min(expected, kBlockBytes) / need * need, need);
      // What would be left for a last block too small for a frame of this size is taken along.
      if (expected - capacity < need) capacity = expected;
    } else {
      capacity = std::max(bytes / kGrowthShare / need * need, need);
    }
    Block block;
    LV_ASSIGN_OR_RETURN(block.memory, arena->Allocate(capacity, "frame cache"));
    bytes += capacity;
    expected -= std::min(expected, capacity);
    blocks.push_back(std::move(block));
    return Status::Ok();
  }

  void Write(const FrameRows& rows, size_t numbers, std::byte* to) const {
    const FrameLayout layout(shape, rows.tokens, NumbersOf(shape, numbers));
    const size_t number_bytes = CacheStoreNumberBytes(shape.store);
    const CacheStore key_store = TimeKeyStore(shape.store);
    float* scales = reinterpret_cast<float*>(to + layout.scales_at);
    std::byte* vector = to;
    size_t column = 0;
    for (size_t v = 0; v < shape.vectors.size(); ++v) {
      const size_t width = v == 0 ? numbers : shape.vectors[v];
      for (size_t t = 0; t < rows.tokens; ++t) {
        const size_t from = t * rows.stride + column;
        float scale = 1.0f;
        if (shape.store == CacheStore::kI8) {
          scale = QuantiseRow(rows.type, rows.vectors, from, width, reinterpret_cast<int8_t*>(vector) + t * width);
        } else {
          ConvertRow(rows.type, rows.vectors, from, width, shape.store, vector, t * width);
        }
        if (shape.factors) scale *= rows.factors[t];
        if (HasScales(shape)) scales[v * rows.tokens + t] = scale;
      }
      vector += rows.tokens * width * number_bytes;
      column += shape.vectors[v];
    }
    if (shape.d_r > 0) {
      ConvertRow(rows.type, rows.keys, 0, rows.tokens * shape.d_r, key_store, to + layout.keys_at, 0);
    }
  }

  void AddTo(uint32_t index, CacheView* view) const {
    const Frame& frame = frames[index];
    view->frames.push_back(
        {0, index, frame.info.time_s, frame.info.end_s, frame.data, frame.info.tokens, frame.numbers});
    view->tokens += frame.info.tokens;
  }

  CacheView EmptyView() const {
    CacheView view;
    view.shape = shape;
    view.sources = 1;
    return view;
  }
};

FrameCache::FrameCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FrameCache::FrameCache(FrameCache&&) noexcept = default;
FrameCache& FrameCache::operator=(FrameCache&&) noexcept = default;
FrameCache::~FrameCache() = default;

Result<FrameCache> FrameCache::Make(const FrameCacheShape& shape, Arena* arena) {
  const bool widths = std::all_of(shape.vectors.begin(), shape.vectors.end(),
                                  [](size_t width) { return width >= 8 && width <= 1024 && width % 8 == 0; });
  if (!widths || shape.vectors.empty() || shape.vectors.size() > kMaxVectors || shape.d_r > 256 || shape.d_r % 8 != 0) {
    return InvalidArgument("a cache of " + std::to_string(shape.vectors.size()) + " vectors of " +
                           std::to_string(shape.vectors.empty() ? 0 : shape.vectors[0]) + " and time keys of " +
                           std::to_string(shape.d_r) +
                           " numbers cannot be: multiples of 8 are needed, 8 to 1024 and 0 to 256");
  }
  auto impl = std::make_unique<Impl>();
  impl->shape = shape;
  impl->arena = arena;
  return FrameCache(std::move(impl));
}

const FrameCacheShape& FrameCache::shape() const { return impl_->shape; }
size_t FrameCache::frames() const { return impl_->frames.size(); }
size_t FrameCache::tokens() const { return impl_->tokens; }
const CachedFrame& FrameCache::frame(size_t index) const { return impl_->frames[index].info; }
void FrameCache::ExpectBytes(size_t bytes) { impl_->expected = bytes; }
size_t FrameCache::bytes() const { return impl_->bytes; }

Status FrameCache::Append(const FrameRows& rows) {
  Impl& cache = *impl_;
  const FrameCacheShape& shape = cache.shape;
  if (!std::isfinite(rows.time_s) || !std::isfinite(rows.end_s) || rows.end_s < rows.time_s ||
      (!cache.frames.empty() && rows.time_s < cache.frames.back().info.time_s)) {
    return InvalidArgument("a frame from " + std::to_string(rows.time_s) + " to " + std::to_string(rows.end_s) +
                           " s cannot follow the cache's last frame");
  }
  const size_t numbers = rows.numbers == 0 ? shape.vectors[0] : rows.numbers;
  const bool cut_fits =
      numbers == shape.vectors[0] || (shape.vectors.size() == 1 && numbers < shape.vectors[0] && numbers % 8 == 0);
  if (rows.type == CacheStore::kI8 || rows.tokens == 0 || rows.tokens > (1u << 24) || rows.vectors == nullptr ||
      !cut_fits || rows.stride < NumbersOf(shape, numbers) || (rows.keys == nullptr && shape.d_r > 0) ||
      (rows.factors == nullptr && shape.factors)) {
    return InvalidArgument("a frame's rows do not fit the cache: " + std::to_string(rows.tokens) +
                           " tokens, rows of stride " + std::to_string(rows.stride) + " for " +
                           std::to_string(NumbersOf(shape, numbers)) + " numbers");
  }
  const size_t need = shape.FrameBytes(rows.tokens, numbers);
  if (cache.blocks.empty() || cache.blocks.back().memory.bytes() - cache.blocks.back().used < need) {
    LV_RETURN_IF_ERROR(cache.Grow(need));
  }
  Block& block = cache.blocks.back();
  std::byte* to = static_cast<std::byte*>(block.memory.data()) + block.used;
  cache.Write(rows, numbers, to);
  cache.frames.push_back(
      {{rows.time_s, rows.end_s, static_cast<uint32_t>(rows.tokens)}, static_cast<uint32_t>(numbers), to});
  block.used += need;
  cache.tokens += rows.tokens;
  return Status::Ok();
}

CacheView FrameCache::View() const {
  CacheView view = impl_->EmptyView();
  view.frames.reserve(impl_->frames.size());
  for (uint32_t i = 0; i < impl_->frames.size(); ++i) impl_->AddTo(i, &view);
  return view;
}

CacheView FrameCache::ViewBetween(double from_s, double to_s) const {
  CacheView view = impl_->EmptyView();
  for (uint32_t i = 0; i < impl_->frames.size(); ++i) {
    const CachedFrame& info = impl_->frames[i].info;
    // A frame without a length (a still) is shown at its time.
    const bool shown = info.time_s <= to_s && (info.end_s > from_s || info.time_s >= from_s);
    if (shown) impl_->AddTo(i, &view);
  }
  return view;
}

Result<CacheView> FrameCache::ViewOf(std::span<const uint32_t> frames) const {
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
