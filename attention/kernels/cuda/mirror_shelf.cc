// MirrorShelf: mirrors come back through the deleter of the pointers that were given.
#include "attention/kernels/cuda/mirror_shelf.h"

#include <algorithm>
#include <utility>

namespace longview {

MirrorShelf::MirrorShelf(Open open) : open_(std::move(open)) {}

Result<std::shared_ptr<MlaMirror>> MirrorShelf::Get(const std::string& key, const MakeMirror& make) {
  std::unique_ptr<MlaMirror> mirror;
  if (!key.empty()) {
    const std::scoped_lock lock(rows_->mutex);
    const auto found =
        std::find_if(rows_->kept.begin(), rows_->kept.end(), [&](const Kept& k) { return k.key == key; });
    if (found != rows_->kept.end()) {
      mirror = std::move(found->mirror);
      rows_->kept.erase(found);
    }
  }
  if (mirror == nullptr) {
    LV_ASSIGN_OR_RETURN(auto backend, open_());
    if (backend == nullptr) return std::shared_ptr<MlaMirror>();
    LV_ASSIGN_OR_RETURN(mirror, make(std::move(backend)));
  }
  return std::shared_ptr<MlaMirror>(mirror.release(), [rows = std::weak_ptr<Rows>(rows_), key](MlaMirror* back) {
    std::unique_ptr<MlaMirror> owned(back);
    if (const auto here = rows.lock(); here != nullptr && !key.empty()) here->Put({key, std::move(owned)});
  });
}

void MirrorShelf::Rows::Put(Kept back) {
  std::list<Kept> dropped;  // outside the lock: freeing device memory takes a while
  const std::scoped_lock lock(mutex);
  const size_t most = back.mirror->limits().free_bytes / 4;
  kept.push_front(std::move(back));
  size_t count = 0, bytes = 0;
  for (auto at = kept.begin(); at != kept.end();) {
    const auto next = std::next(at);
    const size_t own = at->mirror->bytes();
    if (count == kMirrors || own > most - bytes) {
      dropped.splice(dropped.end(), kept, at);
    } else {
      ++count;
      bytes += own;
    }
    at = next;
  }
}

size_t MirrorShelf::size() const {
  const std::scoped_lock lock(rows_->mutex);
  return rows_->kept.size();
}

}  // namespace longview
