// What stands behind Engine: the lazily made parts that its calls share. For the engine's own sources only.
#ifndef LONGVIEW_APP_ENGINE_ENGINE_IMPL_H_
#define LONGVIEW_APP_ENGINE_ENGINE_IMPL_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/captioner.h"
#include "app/engine/engine.h"
#include "app/engine/indexer.h"
#include "app/engine/library.h"
#include "app/engine/model.h"
#include "app/engine/paths.h"
#include "app/engine/session.h"
#include "attention/kernels/cuda/mirror_shelf.h"
#include "core/backend/device.h"
#include "core/base/arena.h"
#include "core/base/thread_pool.h"

namespace longview {

// What a draft of a caption depends on: all that the caption does.
std::string DraftVariant(const ModelConfig& config, const std::string& variant);

struct Engine::Impl {
  Impl(const EngineOptions& given, WeightStore store, ComputeDevice chosen)
      : options(given),
        device(std::move(chosen)),
        library_folder(LibraryFolder(given.library)),
        folders{AssetsFolder(given.assets), PartsFolder(given.models)},
        pool(given.threads),
        mirrors(device.cuda ? std::make_shared<MirrorShelf>([this] { return OpenMlaBackend(device); }) : nullptr),
        model(
            folders, store, [this] { return library(); }, device),
        indexer({library_folder, &model, [this] { return library(); }, &pool,
                 [this](const std::string& text) { Warn(text); }}) {}

  void Warn(const std::string& text);

  // The library, or one in memory where the folder cannot be used (with one warning); null only without memory.
  Library* library();

  // What a session is made of, but for its source of frame tokens.
  Result<Session::Parts> Parts(const JobContext& job);

  // A session over these videos, the last one again where nothing changed. One without rows is made at each call: it
  // costs little, and the last one with rows is worth keeping.
  Result<std::shared_ptr<const Session>> Load(std::vector<SessionVideo> videos, const std::vector<std::string>& keys,
                                              const SamplingSettings& sampling, const CacheOptions& cache,
                                              SessionRows rows, const JobContext& job);

  // What a question's index is looked for under: where it needs fewer numbers of a latent than the model has, an index
  // that keeps only so many serves as well as a whole one, if it is there and the whole one is not.
  Result<SamplingSettings> SamplingOf(const std::filesystem::path& video, SamplingSettings sampling,
                                      const CacheOptions& cache, const JobContext& job);

  struct Loaded {
    std::shared_ptr<const Session> session;
    std::vector<IndexKey> keys;
    std::vector<LeftOut> left_out;
    double index_s = 0.0;
    std::chrono::steady_clock::time_point ready;  // when the indexes stood
  };
  // Indexes what needs it and loads the caches.
  Result<Loaded> Prepare(const std::vector<std::filesystem::path>& videos, const SamplingSettings& sampling,
                         const CacheOptions& cache, Unread unread, SessionRows rows, const JobContext& job,
                         const std::function<void(const StageEvent&)>& on_stage);

  // What a run that was stopped half-way captioned, and the keeping of what this one does. Without a library nothing is
  // known and nothing kept.
  CaptionDrafts LoadDrafts(const IndexKey& key, const ModelConfig& config, const std::string& variant,
                           const std::vector<CaptionSegment>& segments, bool resume);

  const EngineOptions options;
  const ComputeDevice device;
  const std::filesystem::path library_folder;
  const ModelFolders folders;
  ThreadPool pool;
  Arena arena;  // of the latent caches
  // Caches on the device, between questions; null where the processor attends to them.
  const std::shared_ptr<MirrorShelf> mirrors;

  std::mutex library_mutex;
  bool library_opened = false;
  std::unique_ptr<Library> library_db;
  Status library_status;  // why the folder's own database is not in use

  Model model;
  Indexer indexer;

  std::mutex session_mutex;
  std::string session_name;
  std::shared_ptr<const Session> session;
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_ENGINE_IMPL_H_
