// What the kernels of absorbed latent attention are called with: plain data, the shape beside each pointer. Nothing is
// checked inside them; mla_mirror.h is the border.
//
// The cache lies in pages of kMlaPageTokens tokens, whatever frames these belong to:
//   latents [kMlaPageTokens, latent_stride] bf16, int8 or E4M3 | time keys [kMlaPageTokens, d_r] bf16 | scales
//   [kMlaPageTokens] fp32 (not with bf16)
// The kernels go through it in tiles of 64 or 32 tokens, a whole number of which makes a page.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_CALL_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_CALL_H_

#include <cstddef>
#include <cstdint>

namespace longview {

inline constexpr uint32_t kMlaPageTokens = 1024;
// Parts whose results the last of them to finish joins into one; the last of these groups to finish joins the groups.
inline constexpr uint32_t kMlaGroupParts = 32;
inline constexpr uint32_t kMlaMaxParts = kMlaGroupParts * kMlaGroupParts;

// How latents lie in a page.
enum class MlaStore : uint8_t { kBF16, kI8, kE4M3 };

constexpr size_t MlaNumberBytes(MlaStore store) { return store == MlaStore::kBF16 ? 2 : 1; }
constexpr size_t MlaPageBytes(MlaStore store, size_t latent_stride, size_t d_r) {
  return kMlaPageTokens *
         (latent_stride * MlaNumberBytes(store) + d_r * 2 + (store == MlaStore::kBF16 ? 0 : sizeof(float)));
}

// Which build of the sweep runs: its block covers 16 * row_warps queries, row_warps * column_warps warps share the
// work.
struct MlaForm {
  MlaStore store = MlaStore::kBF16;
  uint32_t d_c = 128;  // 32, 64, 128, 512
  bool wide = false;   // many queries at once (reading a prompt) rather than one row's heads (decoding)

  bool operator==(const MlaForm&) const = default;
};
constexpr uint32_t MlaTileTokens(uint32_t d_c) { return d_c <= 128 ? 64 : 32; }
constexpr uint32_t MlaRowWarps(uint32_t d_c, bool wide) { return !wide ? 1 : (d_c <= 128 ? 4 : 2); }
constexpr uint32_t MlaColumnWarps(uint32_t d_c, bool wide) { return wide && d_c <= 128 ? 1 : 4; }
// Queries that a block covers.
constexpr uint32_t MlaRows(uint32_t d_c, bool wide) { return 16 * MlaRowWarps(d_c, wide); }

// The tokens [from, to) of a tile that belong to one run (a frame).
struct MlaSegment {
  uint32_t run = 0;
  uint16_t from = 0;
  uint16_t to = 0;
};

// Where a block's shared memory begins to hold what; bytes. Rows are padded by eight numbers, so that the eight rows of
// a matrix that one load takes lie in different banks.
struct MlaShared {
  uint32_t queries = 0;      // bf16 [rows, d_c + 8] and [rows, d_r + 8]
  uint32_t stages = 0;       // [stages]: latents, keys [tile, d_r + 8], scales [tile]
  uint32_t stage_bytes = 0;  // of one stage
  uint32_t stage_keys = 0;   // within a stage
  uint32_t stage_scales = 0;
  uint32_t widened = 0;        // int8, E4M3: the stage's latents as bf16 [tile, d_c + 8]
  uint32_t probabilities = 0;  // bf16 [rows, tile + 8]
  uint32_t exact = 0;          // fp32 [rows, tile + 1]: the same unscaled, for the shares of runs
  uint32_t row_max = 0;        // fp32 [column_warps + 1, rows]
  uint32_t flag = 0;           // one number that a thread tells the others
  uint32_t bytes = 0;
};

constexpr MlaShared MlaSharedLayout(const MlaForm& form, uint32_t d_r, uint32_t stages) {
  const uint32_t tile = MlaTileTokens(form.d_c), rows = MlaRows(form.d_c, form.wide);
  const bool widens = form.store != MlaStore::kBF16;
  MlaShared at;
  at.stages = rows * (form.d_c + 8 + d_r + 8) * 2;
  at.stage_keys = widens ? tile * form.d_c : tile * (form.d_c + 8) * 2;
  at.stage_scales = at.stage_keys + tile * (d_r + 8) * 2;
  at.stage_bytes = at.stage_scales + (widens ? tile * 4 : 0);
  at.widened = at.stages + stages * at.stage_bytes;
  at.probabilities = at.widened + (widens ? tile * (form.d_c + 8) * 2 : 0);
  at.exact = at.probabilities + rows * (tile + 8) * 2;
  at.row_max = at.exact + rows * (tile + 1) * 4;
  at.flag = at.row_max + (MlaColumnWarps(form.d_c, form.wide) + 1) * rows * 4;
  at.bytes = at.flag + 16;
  return at;
}

// One launch of the sweep over pages [first_page, ...) of the cache: a grid of (query tiles, parts).
struct MlaCall {
  const float* q_c = nullptr;   // [queries, d_c], absorbed
  const float* q_r = nullptr;   // [queries, d_r], turned
  const float* sink = nullptr;  // [queries] or null, as CrossAttnParams::sink
  float scale_log2e = 0.0f;     // the scores' scale times log2(e)
  uint32_t queries = 0;
  uint32_t d_r = 0;            // a multiple of 32 up to 128
  uint32_t latent_stride = 0;  // numbers from one latent to the next, a multiple of 16

  const unsigned char* const* pages = nullptr;  // those of this launch
  uint32_t first_page = 0;                      // the number of pages[0] in the whole cache
  uint32_t tokens = 0;                          // in the whole cache, > 0
  uint32_t first_tile = 0;                      // of this launch
  uint32_t tiles = 0;                           // of this launch, >= parts
  uint32_t first_part = 0;                      // of this launch
  uint32_t parts = 0;                           // of this launch
  uint32_t parts_total = 0;                     // of all launches that make up the call; <= kMlaMaxParts
  uint32_t stages = 2;                          // tiles on their way or in use: 2 or 3

  // Partial results. An entry is one query tile's [rows, d_c] sums, [rows] highest scores and [rows] sums of powers.
  float* part_out = nullptr;  // [query tiles, parts_total, rows, d_c]
  float* part_max = nullptr;  // [query tiles, parts_total, rows]
  float* part_sum = nullptr;
  float* group_out = nullptr;  // [query tiles, groups, rows, d_c]
  float* group_max = nullptr;  // [query tiles, groups, rows]
  float* group_sum = nullptr;
  uint32_t* group_done = nullptr;  // [query tiles, groups], zero before and after a call
  uint32_t* tile_done = nullptr;   // [query tiles], the same

  // The shares of runs, or null.
  const MlaSegment* segments = nullptr;     // of the whole cache, in order of tokens
  const uint32_t* tile_segments = nullptr;  // [tiles of the whole cache + 1]: a tile's first segment
  float* segment_sum = nullptr;             // [segments, queries]: sum of 2^(score - segment_max)
  float* segment_max = nullptr;             // [segments, queries]

  float* out = nullptr;            // [queries, d_c]
  float* lse = nullptr;            // [queries]
  float* merged_max = nullptr;     // [queries]: highest score
  float* merged_weight = nullptr;  // [queries]: what 2^(score - merged_max) is multiplied by to be a mean share
};

// One launch that adds up the shares of runs, after the sweep: a grid of run_count blocks.
struct MlaMassCall {
  const uint32_t* run_segments = nullptr;  // [run_count + 1]: a run's first segment
  const float* segment_sum = nullptr;      // as MlaCall
  const float* segment_max = nullptr;
  const float* merged_max = nullptr;
  const float* merged_weight = nullptr;
  uint32_t queries = 0;
  uint32_t run_count = 0;
  float* run_mass = nullptr;  // [run_count]
  float factor = 1.0f;        // that the shares are multiplied by
  bool adds = false;          // to what is there
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_CALL_H_
