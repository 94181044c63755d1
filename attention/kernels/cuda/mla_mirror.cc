// Packing of frames into pages, the cut of a call into parts and launches, streaming, and recordings.
#include "attention/kernels/cuda/mla_mirror.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "attention/kernels/cuda/mla_fp8.h"
#include "core/tensor/dtype.h"

namespace longview {
namespace {

using Memory = GpuStream::Memory;

constexpr float kLog2E = 1.44269504088896341f;
// Blocks that a processor runs side by side are no more than this: their results are more work to join.
constexpr uint32_t kMostBlocks = 4;
// A slot is large enough for a copy to run at full speed, and the launches of a call are few.
constexpr uint32_t kSlotPages = 64;
constexpr uint32_t kMostChunks = 64;
// Kept free beside the pages: partial results and shares of runs.
constexpr size_t kWorkBytes = size_t{768} << 20;

constexpr size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
// Time keys of any size are padded with zeros to what the kernels take.
constexpr size_t KeyWidth(size_t d_r) { return RoundUp(d_r, 32); }
constexpr uint32_t DivideUp(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

MlaStore StoreOf(CacheStore store) { return store == CacheStore::kI8 ? MlaStore::kI8 : MlaStore::kBF16; }
MlaStore StoreOf(const MlaMirrorOptions& options) { return options.e4m3 ? MlaStore::kE4M3 : StoreOf(options.store); }

// The store that takes as much of a block's memory.
CacheStore LaidOutAs(const MlaMirrorOptions& options) { return options.e4m3 ? CacheStore::kI8 : options.store; }

// A latent of `count` numbers in E4M3; what it gives back brings the largest to the largest that there is.
float NarrowToE4M3(const uint16_t* latent, size_t count, uint8_t* to) {
  float largest = 0.0f;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(BF16ToFloat(latent[i])));
  const float scale = largest / kE4M3Max;
  if (!(scale > 0.0f)) return 0.0f;  // the page is zeros already
  for (size_t i = 0; i < count; ++i) to[i] = FloatToE4M3(BF16ToFloat(latent[i]) / scale);
  return scale;
}

// The build of the sweep that serves `queries`: the wide one where they are many and it fits.
MlaForm FormOf(const MlaLimits& limits, MlaStore store, size_t d_c, size_t d_r, size_t queries, uint32_t stages) {
  MlaForm form{store, static_cast<uint32_t>(d_c), queries > 16};
  if (MlaSharedLayout(form, static_cast<uint32_t>(KeyWidth(d_r)), stages).bytes > limits.block_shared)
    form.wide = false;
  return form;
}

}  // namespace

// How one batch of queries is computed. Equal plans over the same buffers are the same launches.
struct MlaMirror::Plan {
  MlaForm form;
  uint32_t queries = 0, query_tiles = 0, tiles = 0, groups = 0;
  uint32_t chunks = 1, chunk_parts = 0, parts = 0;  // of each chunk but a shorter last one; of all
  float scale_log2e = 0.0f;
  bool sink = false, mass = false;

  bool operator==(const Plan&) const = default;

  size_t rows() const { return static_cast<size_t>(query_tiles) * MlaRows(form.d_c, form.wide); }
};

// Where the queries of a launch lie, and its results, in the device's memory.
struct MlaMirror::Places {
  const float *q_c = nullptr, *q_r = nullptr, *sink = nullptr;
  float *out = nullptr, *lse = nullptr, *run_mass = nullptr;
  float mass_factor = 1.0f;
  bool adds_mass = false;
};

struct MlaMirror::Work {
  GpuBuffer input, input_pinned;    // q_c, q_r, sink
  GpuBuffer result, result_pinned;  // out, lse, shares of runs
  GpuBuffer merged;                 // highest scores and weights
  GpuBuffer partial;                // parts and groups: sums, highest scores, sums of powers
  GpuBuffer counters;
  GpuBuffer shares;  // of segments: sums and highest scores
  std::optional<Plan> recorded;
  std::unique_ptr<GpuRecording> recording;
};

MlaMirror::MlaMirror(std::shared_ptr<MlaBackend> backend, const MlaMirrorOptions& options)
    : backend_(std::move(backend)),
      options_(options),
      limits_(backend_->Limits()),
      page_bytes_(MlaPageBytes(StoreOf(options), options.latent_stride, KeyWidth(options.d_r))),
      work_(std::make_unique<Work>()) {}

MlaMirror::~MlaMirror() {
  // Nothing may still be writing to what is freed; where the device has failed there is nothing left to wait for.
  (void)backend_->Finish();
}

Status MlaMirror::Supports(const MlaLimits& limits, CacheStore store, size_t d_c, size_t d_r) {
  if (store != CacheStore::kBF16 && store != CacheStore::kI8) {
    return Unsupported("the device keeps latents in bf16 or int8, not in " + std::string(CacheStoreName(store)));
  }
  if (d_c != 32 && d_c != 64 && d_c != 128 && d_c != 512) {
    return Unsupported("the device has no kernel for latents of " + std::to_string(d_c) +
                       " numbers; it has them for 32, 64, 128 and 512");
  }
  if (d_r > 128) {
    return Unsupported("the device has no kernel for time keys of " + std::to_string(d_r) +
                       " numbers; it has them for up to 128");
  }
  const uint32_t needed =
      MlaSharedLayout({StoreOf(store), static_cast<uint32_t>(d_c), false}, static_cast<uint32_t>(KeyWidth(d_r)), 2)
          .bytes;
  if (needed > limits.block_shared) {
    return Unsupported("latents of " + std::to_string(d_c) + " + " + std::to_string(d_r) + " numbers need " +
                       std::to_string(needed) + " bytes of shared memory a block, " + limits.name + " has " +
                       std::to_string(limits.block_shared));
  }
  return Status::Ok();
}

Result<std::unique_ptr<MlaMirror>> MlaMirror::Make(std::shared_ptr<MlaBackend> backend,
                                                   std::span<const CrossAttnRun> runs,
                                                   const MlaMirrorOptions& options) {
  if (options.latent_stride == 0 || options.latent_stride > 1024 || options.latent_stride % 32 != 0 ||
      options.stages < 2 || options.stages > 3) {
    return InvalidArgument("mirror: " + std::to_string(options.latent_stride) + " numbers a latent with " +
                           std::to_string(options.stages) + " stages cannot be");
  }
  if (options.e4m3 && options.store != CacheStore::kBF16) {
    return InvalidArgument("mirror: E4M3 is made of latents in bf16, not in " +
                           std::string(CacheStoreName(options.store)));
  }
  std::unique_ptr<MlaMirror> mirror(new MlaMirror(std::move(backend), options));
  LV_RETURN_IF_ERROR(Supports(mirror->limits_, LaidOutAs(options), 32, options.d_r));
  uint64_t tokens = 0;
  for (const CrossAttnRun& run : runs) {
    if (run.values != nullptr || (run.scales != nullptr) != (options.store == CacheStore::kI8)) {
      return Unsupported("the device holds latents that are keys and values at once, with a factor in int8 only");
    }
    if (run.d_c > options.latent_stride) return InvalidArgument("mirror: a frame keeps more numbers than the mirror");
    tokens += run.tokens;
    mirror->run_tokens_.push_back(run.tokens);
  }
  // Tokens count up to the end of the last tile in 32 bits.
  if (tokens > std::numeric_limits<uint32_t>::max() - kMlaPageTokens) {
    return ResourceError("a device holds at most 4.2 billion tokens of a cache");
  }
  mirror->tokens_ = static_cast<uint32_t>(tokens);
  mirror->run_count_ = static_cast<uint32_t>(runs.size());
  mirror->page_count_ = DivideUp(mirror->tokens_, kMlaPageTokens);
  LV_RETURN_IF_ERROR(mirror->MakePages());
  LV_RETURN_IF_ERROR(mirror->Fill(runs));
  return mirror;
}

// Memory for the pages, and the tables that point to them.
Status MlaMirror::MakePages() {
  const size_t bytes = page_count_ * page_bytes_;
  const size_t allowed =
      std::min(options_.memory_bytes, limits_.free_bytes > kWorkBytes ? limits_.free_bytes - kWorkBytes : 0);
  streams_ = bytes > allowed;
  LV_ASSIGN_OR_RETURN(pages_, GpuBuffer::Make(backend_, streams_ ? Memory::kPinned : Memory::kDevice, bytes));
  std::vector<const unsigned char*> table;
  if (streams_) {
    slot_pages_ = std::min(page_count_, std::max(kSlotPages, DivideUp(page_count_, kMostChunks)));
    if (options_.memory_bytes != SIZE_MAX) {
      slot_pages_ = static_cast<uint32_t>(std::clamp<size_t>(options_.memory_bytes / (2 * page_bytes_),
                                                             DivideUp(page_count_, kMlaMaxParts), slot_pages_));
    }
    const size_t slot_bytes = slot_pages_ * page_bytes_;
    LV_ASSIGN_OR_RETURN(slots_, GpuBuffer::Make(backend_, Memory::kDevice, 2 * slot_bytes));
    for (uint32_t i = 0; i < 2 * slot_pages_; ++i) table.push_back(slots_.As<unsigned char>(i * page_bytes_));
  } else {
    for (uint32_t i = 0; i < page_count_; ++i) table.push_back(pages_.As<unsigned char>(i * page_bytes_));
  }
  const size_t table_bytes = table.size() * sizeof(table[0]);
  LV_ASSIGN_OR_RETURN(const GpuBuffer staging, GpuBuffer::Make(backend_, Memory::kPinned, table_bytes));
  LV_ASSIGN_OR_RETURN(tables_, GpuBuffer::Make(backend_, Memory::kDevice, table_bytes));
  if (table_bytes == 0) return Status::Ok();
  std::memcpy(staging.As<std::byte>(), table.data(), table_bytes);
  LV_RETURN_IF_ERROR(backend_->Upload(tables_.As<std::byte>(), staging.As<std::byte>(), table_bytes));
  return backend_->Finish();
}

// The next page's tokens from run *run, token *token on; both move on. What the page has no tokens for is zero.
void MlaMirror::PackPage(std::span<const CrossAttnRun> runs, size_t* run, uint32_t* token, std::byte* page) const {
  std::memset(page, 0, page_bytes_);
  const size_t number = CacheStoreNumberBytes(options_.store);
  const size_t row_bytes = options_.latent_stride * MlaNumberBytes(StoreOf(options_));
  const size_t key_bytes = options_.d_r * 2, key_stride = KeyWidth(options_.d_r) * 2;
  std::byte* keys = page + kMlaPageTokens * row_bytes;
  std::byte* scales = keys + kMlaPageTokens * key_stride;
  for (size_t at = 0; at < kMlaPageTokens && *run < runs.size();) {
    const CrossAttnRun& from = runs[*run];
    const size_t take = std::min<size_t>(kMlaPageTokens - at, from.tokens - *token);
    const auto* latents = static_cast<const std::byte*>(from.latents);
    const auto* from_keys = static_cast<const std::byte*>(from.keys);
    for (size_t i = 0; i < take; ++i) {
      const std::byte* latent = latents + (*token + i) * from.latent_stride * number;
      std::byte* to = page + (at + i) * row_bytes;
      if (options_.e4m3) {
        const float scale =
            NarrowToE4M3(reinterpret_cast<const uint16_t*>(latent), from.d_c, reinterpret_cast<uint8_t*>(to));
        std::memcpy(scales + (at + i) * sizeof(float), &scale, sizeof(float));
      } else {
        std::memcpy(to, latent, from.d_c * number);
      }
      if (key_bytes > 0) {
        std::memcpy(keys + (at + i) * key_stride, from_keys + (*token + i) * key_bytes, key_bytes);
      }
    }
    if (take > 0 && from.scales != nullptr) {
      std::memcpy(scales + at * sizeof(float), from.scales + *token, take * sizeof(float));
    }
    at += take;
    *token += static_cast<uint32_t>(take);
    if (*token == from.tokens) {
      ++*run;
      *token = 0;
    }
  }
}

// Packs page by page: into its place in pinned memory, or into one of two pinned pages while the other is copied.
Status MlaMirror::Fill(std::span<const CrossAttnRun> runs) {
  size_t run = 0;
  uint32_t token = 0;
  if (streams_) {
    for (uint32_t i = 0; i < page_count_; ++i) PackPage(runs, &run, &token, pages_.As<std::byte>(i * page_bytes_));
    return Status::Ok();
  }
  LV_ASSIGN_OR_RETURN(const GpuBuffer staging, GpuBuffer::Make(backend_, Memory::kPinned, 2 * page_bytes_));
  for (uint32_t i = 0; i < page_count_; ++i) {
    if (i % 2 == 0) LV_RETURN_IF_ERROR(backend_->Finish());
    std::byte* page = staging.As<std::byte>(i % 2 * page_bytes_);
    PackPage(runs, &run, &token, page);
    LV_RETURN_IF_ERROR(backend_->Upload(pages_.As<std::byte>(i * page_bytes_), page, page_bytes_));
  }
  return backend_->Finish();
}

// Which tokens of which tile belong to which run.
Status MlaMirror::MakeSegments(uint32_t tile_tokens) {
  std::vector<MlaSegment> segments;
  std::vector<uint32_t> tile_first, run_first;
  uint32_t token = 0;
  for (uint32_t run = 0; run < run_count_; ++run) {
    run_first.push_back(static_cast<uint32_t>(segments.size()));
    for (uint32_t left = run_tokens_[run]; left > 0;) {
      const uint32_t from = token % tile_tokens, take = std::min(left, tile_tokens - from);
      if (from == 0) tile_first.push_back(static_cast<uint32_t>(segments.size()));
      segments.push_back({run, static_cast<uint16_t>(from), static_cast<uint16_t>(from + take)});
      token += take;
      left -= take;
    }
  }
  tile_first.push_back(static_cast<uint32_t>(segments.size()));
  run_first.push_back(static_cast<uint32_t>(segments.size()));
  const auto put = [&](const void* from, size_t bytes, GpuBuffer* to) -> Status {
    LV_ASSIGN_OR_RETURN(const GpuBuffer staging, GpuBuffer::Make(backend_, Memory::kPinned, bytes));
    LV_ASSIGN_OR_RETURN(*to, GpuBuffer::Make(backend_, Memory::kDevice, bytes));
    std::memcpy(staging.As<std::byte>(), from, bytes);
    LV_RETURN_IF_ERROR(backend_->Upload(to->As<std::byte>(), staging.As<std::byte>(), bytes));
    return backend_->Finish();
  };
  if (segments.empty()) segments.emplace_back();
  LV_RETURN_IF_ERROR(put(segments.data(), segments.size() * sizeof(MlaSegment), &segments_));
  LV_RETURN_IF_ERROR(put(tile_first.data(), tile_first.size() * sizeof(uint32_t), &tile_segments_));
  LV_RETURN_IF_ERROR(put(run_first.data(), run_first.size() * sizeof(uint32_t), &run_segments_));
  segment_count_ = run_first.back();
  segment_tile_ = tile_tokens;
  work_->recorded.reset();
  return Status::Ok();
}

Status MlaMirror::Check(const CrossAttnParams& params) const {
  LV_RETURN_IF_ERROR(Supports(limits_, options_.e4m3 ? LaidOutAs(options_) : params.store, params.d_c, params.d_r));
  if (params.store != options_.store || params.d_r != options_.d_r || params.d_c > options_.latent_stride) {
    return InvalidArgument("the mirrored cache holds " + std::to_string(options_.latent_stride) + " + " +
                           std::to_string(options_.d_r) + " numbers a token in " +
                           std::string(CacheStoreName(options_.store)) + ", not " + std::to_string(params.d_c) + " + " +
                           std::to_string(params.d_r) + " in " + std::string(CacheStoreName(params.store)));
  }
  return Status::Ok();
}

// Queries that go together; makes what their shares of runs need.
Result<size_t> MlaMirror::BatchOf(const CrossAttnParams& params) {
  if (params.run_mass == nullptr) return params.queries;
  const uint32_t tile_tokens = MlaTileTokens(static_cast<uint32_t>(params.d_c));
  if (segment_tile_ != tile_tokens) LV_RETURN_IF_ERROR(MakeSegments(tile_tokens));
  return std::max<size_t>(64, options_.share_bytes / (2 * sizeof(float) * segment_count_) / 64 * 64);
}

Status MlaMirror::Attend(const CrossAttnParams& params) {
  LV_RETURN_IF_ERROR(Check(params));
  if (params.run_mass != nullptr) std::fill_n(params.run_mass, run_count_, 0.0f);
  if (params.queries == 0) return Status::Ok();
  if (tokens_ == 0) {
    std::fill_n(params.out, params.queries * params.d_c, 0.0f);
    std::fill_n(params.lse, params.queries, -std::numeric_limits<float>::infinity());
    return Status::Ok();
  }
  LV_ASSIGN_OR_RETURN(const size_t batch, BatchOf(params));
  for (size_t first = 0; first < params.queries; first += batch) {
    const size_t count = std::min(batch, params.queries - first);
    const auto share = static_cast<float>(static_cast<double>(count) / static_cast<double>(params.queries));
    LV_RETURN_IF_ERROR(AttendBatch(params, first, count, share));
  }
  return Status::Ok();
}

size_t MlaMirror::KeyStride(size_t d_r) { return KeyWidth(d_r); }

Status MlaMirror::AttendOn(GpuStream* stream, const MlaDeviceCall& call) {
  CrossAttnParams params;
  params.queries = call.queries;
  params.d_c = call.d_c;
  params.d_r = options_.d_r;
  params.scale = call.scale;
  params.store = options_.store;
  params.sink = call.sink;
  if (call.mass_factor != 0.0f) params.run_mass = mass_.As<float>();
  LV_RETURN_IF_ERROR(Check(params));
  if (tokens_ == 0) return InvalidArgument("mirror: there is nothing to attend to");
  if (call.mass_factor != 0.0f && params.run_mass == nullptr) return InvalidArgument("mirror: shares were never reset");
  LV_ASSIGN_OR_RETURN(const size_t batch, BatchOf(params));
  LV_ASSIGN_OR_RETURN(const void* const asked, stream->Mark());
  LV_RETURN_IF_ERROR(backend_->Await(asked));
  for (size_t first = 0; first < call.queries; first += batch) {
    const size_t count = std::min(batch, call.queries - first);
    const Plan plan = MakePlan(params, count);
    LV_RETURN_IF_ERROR(Reserve(plan));
    Places at;
    at.q_c = call.q_c + first * call.d_c;
    at.q_r = call.q_r + first * KeyWidth(options_.d_r);
    at.sink = call.sink == nullptr ? nullptr : call.sink + first;
    at.out = call.out + first * call.d_c;
    at.lse = work_->result.As<float>();  // nobody asks for it
    at.run_mass = params.run_mass;
    at.mass_factor = call.mass_factor * static_cast<float>(count) / static_cast<float>(call.queries);
    at.adds_mass = true;
    LV_RETURN_IF_ERROR(LaunchAttention(plan, at));
  }
  LV_ASSIGN_OR_RETURN(const void* const attended, backend_->Mark());
  return stream->Await(attended);
}

Status MlaMirror::ResetMass() {
  const size_t bytes = run_count_ * sizeof(float);
  if (mass_.bytes() < bytes) {
    LV_ASSIGN_OR_RETURN(mass_, GpuBuffer::Make(backend_, Memory::kDevice, bytes));
    LV_ASSIGN_OR_RETURN(mass_pinned_, GpuBuffer::Make(backend_, Memory::kPinned, bytes));
  }
  std::fill_n(mass_pinned_.As<float>(), run_count_, 0.0f);
  LV_RETURN_IF_ERROR(backend_->Upload(mass_.As<float>(), mass_pinned_.As<float>(), bytes));
  return backend_->Finish();
}

Result<std::vector<float>> MlaMirror::Mass() {
  LV_RETURN_IF_ERROR(backend_->Download(mass_pinned_.As<float>(), mass_.As<float>(), run_count_ * sizeof(float)));
  LV_RETURN_IF_ERROR(backend_->Finish());
  return std::vector<float>(mass_pinned_.As<float>(), mass_pinned_.As<float>() + run_count_);
}

Result<double> MlaMirror::SecondsOf(const CrossAttnParams& params, size_t times) {
  LV_RETURN_IF_ERROR(Attend(params));
  if (tokens_ == 0 || params.queries == 0) return InvalidArgument("mirror: nothing to measure");
  const Plan plan = MakePlan(params, params.queries);
  LV_RETURN_IF_ERROR(Reserve(plan));
  const auto started = std::chrono::steady_clock::now();
  for (size_t i = 0; i < times; ++i) {
    const bool recorded = work_->recorded && *work_->recorded == plan;
    LV_RETURN_IF_ERROR(recorded ? backend_->Replay(*work_->recording) : Launch(plan));
  }
  LV_RETURN_IF_ERROR(backend_->Finish());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  return taken.count() / static_cast<double>(times);
}

MlaMirror::Plan MlaMirror::MakePlan(const CrossAttnParams& params, size_t count) const {
  Plan plan;
  plan.form = FormOf(limits_, StoreOf(options_), params.d_c, params.d_r, count, options_.stages);
  plan.queries = static_cast<uint32_t>(count);
  plan.query_tiles = DivideUp(plan.queries, MlaRows(plan.form.d_c, plan.form.wide));
  plan.tiles = DivideUp(tokens_, MlaTileTokens(plan.form.d_c));
  plan.chunks = streams_ ? DivideUp(page_count_, slot_pages_) : 1;
  const uint32_t bytes = MlaSharedLayout(plan.form, static_cast<uint32_t>(KeyWidth(params.d_r)), options_.stages).bytes;
  const uint32_t blocks = limits_.processors * std::clamp(limits_.processor_shared / bytes, 1u, kMostBlocks);
  const uint32_t chunk_tiles = streams_ ? slot_pages_ * (kMlaPageTokens / MlaTileTokens(plan.form.d_c)) : plan.tiles;
  // A part of one tile has nothing to fetch ahead.
  const uint32_t most = std::min(DivideUp(chunk_tiles, 2), kMlaMaxParts / plan.chunks);
  plan.chunk_parts = std::clamp(blocks / plan.query_tiles, 1u, most);
  const uint32_t last_tiles = plan.tiles - (plan.chunks - 1) * chunk_tiles;
  plan.parts = (plan.chunks - 1) * plan.chunk_parts + std::min(plan.chunk_parts, last_tiles);
  plan.groups = DivideUp(plan.parts, kMlaGroupParts);
  plan.scale_log2e = params.scale * kLog2E;
  plan.sink = params.sink != nullptr;
  plan.mass = params.run_mass != nullptr;
  return plan;
}

// Memory for the plan's launches. Nothing that was recorded outlives a change of it.
Status MlaMirror::Reserve(const Plan& plan) {
  const size_t queries = plan.queries, d_c = plan.form.d_c;
  const auto grow = [&](Memory memory, size_t numbers, GpuBuffer* buffer) -> Status {
    if (buffer->bytes() >= numbers * sizeof(float)) return Status::Ok();
    work_->recorded.reset();
    LV_RETURN_IF_ERROR(backend_->Finish());
    *buffer = GpuBuffer();
    LV_ASSIGN_OR_RETURN(*buffer, GpuBuffer::Make(backend_, memory, numbers * sizeof(float)));
    return Status::Ok();
  };
  const size_t input = queries * (d_c + KeyWidth(options_.d_r) + 1), result = queries * (d_c + 1) + run_count_;
  LV_RETURN_IF_ERROR(grow(Memory::kDevice, input, &work_->input));
  LV_RETURN_IF_ERROR(grow(Memory::kPinned, input, &work_->input_pinned));
  LV_RETURN_IF_ERROR(grow(Memory::kDevice, result, &work_->result));
  LV_RETURN_IF_ERROR(grow(Memory::kPinned, result, &work_->result_pinned));
  LV_RETURN_IF_ERROR(grow(Memory::kDevice, 2 * queries, &work_->merged));
  LV_RETURN_IF_ERROR(grow(Memory::kDevice, plan.rows() * (plan.parts + plan.groups) * (d_c + 2), &work_->partial));
  LV_RETURN_IF_ERROR(grow(Memory::kDevice, size_t{plan.query_tiles} * (plan.groups + 1), &work_->counters));
  return grow(Memory::kDevice, plan.mass ? 2 * queries * segment_count_ : 0, &work_->shares);
}

// Uploads the queries, launches and downloads: everything that a recording holds.
Status MlaMirror::Launch(const Plan& plan) {
  const size_t queries = plan.queries, d_c = plan.form.d_c;
  Places at;
  at.q_c = work_->input.As<float>();
  at.q_r = at.q_c + queries * d_c;
  at.sink = plan.sink ? at.q_r + queries * KeyWidth(options_.d_r) : nullptr;
  at.out = work_->result.As<float>();
  at.lse = at.out + queries * d_c;
  at.run_mass = at.lse + queries;
  const size_t input = queries * (d_c + KeyWidth(options_.d_r) + (plan.sink ? 1 : 0)) * sizeof(float);
  LV_RETURN_IF_ERROR(backend_->Upload(work_->input.As<std::byte>(), work_->input_pinned.As<std::byte>(), input));
  LV_RETURN_IF_ERROR(LaunchAttention(plan, at));
  const size_t result = (queries * (d_c + 1) + (plan.mass ? run_count_ : 0)) * sizeof(float);
  return backend_->Download(work_->result_pinned.As<std::byte>(), work_->result.As<std::byte>(), result);
}

Status MlaMirror::LaunchAttention(const Plan& plan, const Places& at) {
  const size_t queries = plan.queries, d_c = plan.form.d_c, rows = plan.rows();
  MlaCall call;
  call.q_c = at.q_c;
  call.q_r = at.q_r;
  call.sink = at.sink;
  call.scale_log2e = plan.scale_log2e;
  call.queries = plan.queries;
  call.d_r = static_cast<uint32_t>(KeyWidth(options_.d_r));
  call.latent_stride = static_cast<uint32_t>(options_.latent_stride);
  call.pages = tables_.As<const unsigned char*>();
  call.tokens = tokens_;
  call.tiles = plan.tiles;
  call.parts = call.parts_total = plan.parts;
  call.stages = options_.stages;
  // Sums first: they lie on multiples of 16 bytes.
  call.part_out = work_->partial.As<float>();
  call.group_out = call.part_out + rows * plan.parts * d_c;
  call.part_max = call.group_out + rows * plan.groups * d_c;
  call.part_sum = call.part_max + rows * plan.parts;
  call.group_max = call.part_sum + rows * plan.parts;
  call.group_sum = call.group_max + rows * plan.groups;
  call.group_done = work_->counters.As<uint32_t>();
  call.tile_done = call.group_done + size_t{plan.query_tiles} * plan.groups;
  call.out = at.out;
  call.lse = at.lse;
  call.merged_max = work_->merged.As<float>();
  call.merged_weight = call.merged_max + queries;
  if (plan.mass) {
    call.segments = segments_.As<const MlaSegment>();
    call.tile_segments = tile_segments_.As<const uint32_t>();
    call.segment_sum = work_->shares.As<float>();
    call.segment_max = call.segment_sum + queries * segment_count_;
  }
  LV_RETURN_IF_ERROR(streams_ ? LaunchStream(plan, call) : backend_->Sweep(plan.form, call, plan.query_tiles));
  if (!plan.mass) return Status::Ok();
  MlaMassCall mass;
  mass.run_segments = run_segments_.As<const uint32_t>();
  mass.segment_sum = call.segment_sum;
  mass.segment_max = call.segment_max;
  mass.merged_max = call.merged_max;
  mass.merged_weight = call.merged_weight;
  mass.queries = plan.queries;
  mass.run_count = run_count_;
  mass.run_mass = at.run_mass;
  mass.factor = at.mass_factor;
  mass.adds = at.adds_mass;
  return backend_->Mass(mass);
}

// A launch for each chunk of pages; the next chunk is copied meanwhile.
Status MlaMirror::LaunchStream(const Plan& plan, MlaCall call) {
  const uint32_t page_tiles = kMlaPageTokens / MlaTileTokens(plan.form.d_c);
  const auto fetch = [&](uint32_t chunk) {
    const uint32_t first = chunk * slot_pages_, count = std::min(slot_pages_, page_count_ - first);
    const auto slot = static_cast<int>(chunk % 2);
    return backend_->UploadSlot(slot, slots_.As<std::byte>(slot * size_t{slot_pages_} * page_bytes_),
                                pages_.As<std::byte>(first * page_bytes_), count * page_bytes_);
  };
  LV_RETURN_IF_ERROR(fetch(0));
  for (uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
    if (chunk + 1 < plan.chunks) LV_RETURN_IF_ERROR(fetch(chunk + 1));
    const auto slot = static_cast<int>(chunk % 2);
    LV_RETURN_IF_ERROR(backend_->TakeSlot(slot));
    call.pages = tables_.As<const unsigned char*>() + slot * size_t{slot_pages_};
    call.first_page = chunk * slot_pages_;
    call.first_tile = call.first_page * page_tiles;
    call.tiles = std::min(slot_pages_ * page_tiles, plan.tiles - call.first_tile);
    call.first_part = chunk * plan.chunk_parts;
    call.parts = std::min(plan.chunk_parts, call.tiles);
    LV_RETURN_IF_ERROR(backend_->Sweep(plan.form, call, plan.query_tiles));
    LV_RETURN_IF_ERROR(backend_->ReleaseSlot(slot));
  }
  return Status::Ok();
}

Status MlaMirror::AttendBatch(const CrossAttnParams& params, size_t first, size_t count, float mass_share) {
  const Plan plan = MakePlan(params, count);
  LV_RETURN_IF_ERROR(Reserve(plan));
  auto* input = work_->input_pinned.As<float>();
  std::copy_n(params.q_c + first * params.d_c, count * params.d_c, input);
  input += count * params.d_c;
  const size_t key_width = KeyWidth(params.d_r);
  std::fill_n(input, count * key_width, 0.0f);
  for (size_t i = 0; i < count; ++i) {
    std::copy_n(params.q_r + (first + i) * params.d_r, params.d_r, input + i * key_width);
  }
  if (plan.sink) std::copy_n(params.sink + first, count, input + count * key_width);
  if (work_->recorded && *work_->recorded == plan) {
    LV_RETURN_IF_ERROR(backend_->Replay(*work_->recording));
    ++replays_;
  } else if (!streams_ && !plan.form.wide) {
    // Decoding asks for the same launches once a layer and token.
    LV_ASSIGN_OR_RETURN(work_->recording, backend_->Record([&] { return Launch(plan); }));
    work_->recorded = plan;
    LV_RETURN_IF_ERROR(backend_->Replay(*work_->recording));
  } else {
    LV_RETURN_IF_ERROR(Launch(plan));
  }
  LV_RETURN_IF_ERROR(backend_->Finish());
  const auto* result = work_->result_pinned.As<const float>();
  std::copy_n(result, count * params.d_c, params.out + first * params.d_c);
  result += count * params.d_c;
  std::copy_n(result, count, params.lse + first);
  if (!plan.mass) return Status::Ok();
  for (uint32_t run = 0; run < run_count_; ++run) params.run_mass[run] += mass_share * result[count + run];
  return Status::Ok();
}

}  // namespace longview
