// MlaBackend on an emulated device. Shared memory begins as NaN, and a slot is spoilt as soon as a copy into it may
// begin: what a device might do at the worst moment happens here every time.
#ifndef LONGVIEW_TESTS_ATTENTION_EMULATED_MLA_H_
#define LONGVIEW_TESTS_ATTENTION_EMULATED_MLA_H_

#include <cstring>
#include <functional>
#include <map>
#include <new>

#include "attention/kernels/cuda/mla_backend.h"
#include "attention/kernels/cuda/mla_block.h"
#include "tests/support/emulated_stream.h"

namespace longview::test {

class EmulatedMla : public EmulatedStream<MlaBackend> {
 public:
  explicit EmulatedMla(const MlaLimits& limits) : EmulatedStream(limits.free_bytes), limits_(limits) {}

  // What a test may look at.
  size_t sweeps = 0;       // launches
  size_t blocks = 0;       // of all sweeps
  size_t wide_sweeps = 0;  // launches of the wide build

  MlaLimits Limits() const override { return limits_; }

  Status UploadSlot(int slot, void* device, const void* pinned, size_t bytes) override {
    return Later([this, slot, device, pinned, bytes] {
      std::memset(device, 0xFF, bytes);  // the copy may have begun
      slot_copies_[slot] = [device, pinned, bytes] { std::memcpy(device, pinned, bytes); };
    });
  }
  Status TakeSlot(int slot) override {
    return Later([this, slot] { slot_copies_[slot](); });
  }
  Status ReleaseSlot(int) override { return Status::Ok(); }

  Status Sweep(const MlaForm& form, const MlaCall& call, uint32_t query_tiles) override {
    return Later([this, form, call, query_tiles] {
      ++sweeps;
      blocks += static_cast<size_t>(query_tiles) * call.parts;
      wide_sweeps += form.wide ? 1 : 0;
      // Backwards: which block is the last to finish is nobody's promise.
      for (uint32_t part = call.parts; part-- > 0;) {
        for (uint32_t tile = 0; tile < query_tiles; ++tile) RunBlock(form, call, tile, part);
      }
    });
  }
  Status Mass(const MlaMassCall& call) override {
    return Later([call] {
      for (uint32_t x = 0; x * simt_emulated::kMlaMassWarps < call.run_count; ++x) {
        simt_emulated::Block block;
        block.x = x;
        simt_emulated::MlaMass(block, call);
      }
    });
  }

 private:
  void RunBlock(const MlaForm& form, const MlaCall& call, uint32_t x, uint32_t y) {
    const uint32_t bytes = MlaSharedLayout(form, call.d_r, call.stages).bytes;
    auto* shared = static_cast<unsigned char*>(::operator new(bytes, std::align_val_t(128)));
    std::memset(shared, 0xFF, bytes);
    simt_emulated::Block block;
    block.x = x;
    block.y = y;
    block.shared = shared;
    switch (form.store) {
      case MlaStore::kBF16:
        RunStore<MlaStore::kBF16>(form, call, block);
        break;
      case MlaStore::kI8:
        RunStore<MlaStore::kI8>(form, call, block);
        break;
      case MlaStore::kE4M3:
        RunStore<MlaStore::kE4M3>(form, call, block);
        break;
    }
    ::operator delete(shared, std::align_val_t(128));
  }
  template <MlaStore kStore>
  static void RunStore(const MlaForm& form, const MlaCall& call, simt_emulated::Block& block) {
    switch (form.d_c) {
      case 32:
        return RunWidth<kStore, 32>(form, call, block);
      case 64:
        return RunWidth<kStore, 64>(form, call, block);
      case 128:
        return RunWidth<kStore, 128>(form, call, block);
      default:
        return RunWidth<kStore, 512>(form, call, block);
    }
  }
  template <MlaStore kStore, uint32_t kDc>
  static void RunWidth(const MlaForm& form, const MlaCall& call, simt_emulated::Block& block) {
    form.wide ? simt_emulated::MlaSweepBlock<kStore, kDc, true>(block, call)
              : simt_emulated::MlaSweepBlock<kStore, kDc, false>(block, call);
  }

  const MlaLimits limits_;
  std::map<int, std::function<void()>> slot_copies_;
};

}  // namespace longview::test

#endif  // LONGVIEW_TESTS_ATTENTION_EMULATED_MLA_H_
