// MlaMirror: a copy of a latent cache on a device, and attention over it.
//
// The frames' tokens are laid one behind the other in pages (mla_call.h). A cache that fits lies in the device's
// memory; a larger one stays in pinned host memory and goes through two buffers on the device, one being filled while
// the other is attended to.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_MIRROR_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_MIRROR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attention/kernels/cuda/mla_backend.h"
#include "attention/kernels/cuda/mla_call.h"
#include "attention/kernels/params.h"
#include "core/backend/gpu_stream.h"
#include "core/base/status.h"

namespace longview {

struct MlaMirrorOptions {
  CacheStore store = CacheStore::kBF16;  // of the runs: bf16 or int8
  bool e4m3 = false;                     // latents in bf16 become FP8 E4M3 with a factor a token: half the bytes
  size_t latent_stride = 128;            // numbers kept of a latent, the most that a call may use
  size_t d_r = 32;
  size_t memory_bytes = SIZE_MAX;  // of the device that the mirror may take at most; pages beyond it are streamed
  uint32_t stages = 2;             // tiles that a block has on their way or in use, 2 or 3
  size_t share_bytes = size_t{256} << 20;  // for the shares of runs; queries that need more go one batch after another
};

// A call whose queries and results lie in the device's memory.
struct MlaDeviceCall {
  const float* q_c = nullptr;   // [queries, d_c], absorbed
  const float* q_r = nullptr;   // [queries, MlaMirror::KeyStride(d_r)], turned; zeros from d_r on
  const float* sink = nullptr;  // [queries]
  size_t queries = 0, d_c = 0;
  float scale = 1.0f;
  float* out = nullptr;      // [queries, d_c]
  float mass_factor = 0.0f;  // not 0: the mean shares that runs took, times this, are added to the mirror's Mass
};

// One thread at a time; several mirrors may share a backend on that thread.
class MlaMirror {
 public:
  // Why attention with latents of `d_c` numbers over such a cache cannot run on a device with `limits`; ok where it
  // can.
  static Status Supports(const MlaLimits& limits, CacheStore store, size_t d_c, size_t d_r);

  // Copies the tokens of `runs`, which are not needed afterwards; their values must not lie apart, and where they have
  // scales the store must be int8 (kUnsupported). kResource where neither device nor pinned memory suffices.
  static Result<std::unique_ptr<MlaMirror>> Make(std::shared_ptr<MlaBackend> backend,
                                                 std::span<const CrossAttnRun> runs, const MlaMirrorOptions& options);
  ~MlaMirror();

  // CrossAttn over the mirrored runs: the call's own `runs` and `run_count` are not looked at, run_mass has a number
  // for each mirrored run. kUnsupported as Supports; kInvalidArgument where sizes do not fit the mirror.
  Status Attend(const CrossAttnParams& params);

  // Numbers from one time key to the next in a device's calls: d_r, rounded up.
  static size_t KeyStride(size_t d_r);
  // Attention as work for later, behind what `stream`, of the same device, was asked for, and before what it is asked
  // for next. Errors as Attend; kInvalidArgument for a mirror without tokens.
  Status AttendOn(GpuStream* stream, const MlaDeviceCall& call);
  // [runs]: what AttendOn has added since ResetMass, which comes before the first such call. Wait for their work first.
  Status ResetMass();
  Result<std::vector<float>> Mass();

  // Attend, and then what it asks of the device again, `times` times without waiting in between: the seconds that each
  // takes there. For measurements; the results are Attend's.
  Result<double> SecondsOf(const CrossAttnParams& params, size_t times);

  uint32_t tokens() const { return tokens_; }
  // Memory that the cache takes, on the device or, where it streams, mostly pinned on the host.
  size_t bytes() const { return pages_.bytes() + slots_.bytes(); }
  // Of the device, as they were when the mirror was made.
  const MlaLimits& limits() const { return limits_; }
  // Whether the pages stream from host memory.
  bool streams() const { return streams_; }
  // Calls that were replayed from a recording (a CUDA graph) rather than launched piece by piece.
  size_t replays() const { return replays_; }

 private:
  // What one sweep and its merge need, in the device's memory.
  struct Work;
  struct Plan;
  struct Places;

  MlaMirror(std::shared_ptr<MlaBackend> backend, const MlaMirrorOptions& options);
  Status Fill(std::span<const CrossAttnRun> runs);
  Status MakeSegments(uint32_t tile_tokens);
  Status MakePages();
  void PackPage(std::span<const CrossAttnRun> runs, size_t* run, uint32_t* token, std::byte* page) const;
  Status Check(const CrossAttnParams& params) const;
  Result<size_t> BatchOf(const CrossAttnParams& params);
  Status AttendBatch(const CrossAttnParams& params, size_t first, size_t count, float mass_share);
  Plan MakePlan(const CrossAttnParams& params, size_t count) const;
  Status Reserve(const Plan& plan);
  Status Launch(const Plan& plan);
  // The sweep and the sum of shares.
  Status LaunchAttention(const Plan& plan, const Places& at);
  Status LaunchStream(const Plan& plan, MlaCall call);

  const std::shared_ptr<MlaBackend> backend_;
  const MlaMirrorOptions options_;
  const MlaLimits limits_;
  uint32_t tokens_ = 0;
  uint32_t run_count_ = 0;
  uint32_t page_count_ = 0;
  size_t page_bytes_ = 0;
  bool streams_ = false;
  uint32_t slot_pages_ = 0;    // pages of a slot, where they stream
  GpuBuffer pages_;            // all of them, on the device or pinned
  GpuBuffer slots_;            // two of slot_pages_
  GpuBuffer tables_;           // pointers to the pages, or to those of slot 0 and then slot 1
  uint32_t segment_tile_ = 0;  // tokens of the tiles that the segments were made for; 0: none yet
  uint32_t segment_count_ = 0;
  std::vector<uint32_t> run_tokens_;
  GpuBuffer segments_, tile_segments_, run_segments_;
  std::unique_ptr<Work> work_;
  GpuBuffer mass_, mass_pinned_;  // [run_count], of AttendOn
  size_t replays_ = 0;
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_MIRROR_H_
