// MlaBackend: the few services of a device that MlaMirror stands on. CUDA implements them (cuda_mla.cu), and the tests
// do with the emulated kernels. Copies into slots run ahead of the stream's other work.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_BACKEND_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "attention/kernels/cuda/mla_call.h"
#include "core/backend/device.h"
#include "core/backend/gpu_stream.h"
#include "core/base/status.h"

namespace longview {

struct MlaLimits {
  std::string name;               // of the device, for people
  size_t free_bytes = 0;          // device memory that may still be taken
  uint32_t processors = 1;        // that run blocks side by side
  uint32_t block_shared = 0;      // bytes of shared memory that a block may have
  uint32_t processor_shared = 0;  // bytes that a processor's blocks share
};

// One thread at a time. A recording may hold no slots.
class MlaBackend : public GpuStream {
 public:
  virtual MlaLimits Limits() const = 0;

  // A copy into slot 0 or 1, beside the launches: it begins when the last launch before the slot's last ReleaseSlot has
  // ended. Launches after TakeSlot wait for it.
  virtual Status UploadSlot(int slot, void* device, const void* pinned, size_t bytes) = 0;
  virtual Status TakeSlot(int slot) = 0;
  virtual Status ReleaseSlot(int slot) = 0;

  // A grid of query_tiles x call.parts blocks of the build `form`; of run_count / 8 blocks.
  virtual Status Sweep(const MlaForm& form, const MlaCall& call, uint32_t query_tiles) = 0;
  virtual Status Mass(const MlaMassCall& call) = 0;
};

// A backend of its own for whoever asks; null for the processor, whose kernels need none. Errors as OpenCudaMla.
Result<std::shared_ptr<MlaBackend>> OpenMlaBackend(const ComputeDevice& device);

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MLA_BACKEND_H_
