// MirrorShelf: mirrors of caches between questions, so that the next question about the same frames finds its cache,
// and what was recorded for it, on the device.
#ifndef LONGVIEW_ATTENTION_KERNELS_CUDA_MIRROR_SHELF_H_
#define LONGVIEW_ATTENTION_KERNELS_CUDA_MIRROR_SHELF_H_

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "attention/kernels/cuda/mla_backend.h"
#include "attention/kernels/cuda/mla_mirror.h"
#include "core/base/status.h"

namespace longview {

// Thread-safe; a mirror that it gave is one thread's at a time.
class MirrorShelf {
 public:
  // Opens a backend for a new mirror; null: there is no device.
  using Open = std::function<Result<std::shared_ptr<MlaBackend>>()>;
  using MakeMirror = std::function<Result<std::unique_ptr<MlaMirror>>(std::shared_ptr<MlaBackend>)>;

  // Mirrors kept at most, those used last; together they take no more than a quarter of the device's memory.
  static constexpr size_t kMirrors = 16;

  explicit MirrorShelf(Open open);

  // The mirror kept under `key`, unless somebody uses it, else a new one; null without a device. It comes back with the
  // last pointer to it. Equal keys must mean equal latents; one without a key is not kept. Failures are `open`'s and
  // `make`'s.
  Result<std::shared_ptr<MlaMirror>> Get(const std::string& key, const MakeMirror& make);

  // Mirrors kept now, those in use not counted.
  size_t size() const;

 private:
  struct Kept {
    std::string key;
    std::unique_ptr<MlaMirror> mirror;
  };
  // What outlives the shelf where a mirror does.
  struct Rows {
    mutable std::mutex mutex;
    std::list<Kept> kept;  // the one used last first
    void Put(Kept back);
  };

  const Open open_;
  const std::shared_ptr<Rows> rows_ = std::make_shared<Rows>();
};

}  // namespace longview

#endif  // LONGVIEW_ATTENTION_KERNELS_CUDA_MIRROR_SHELF_H_
