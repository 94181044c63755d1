// Indexer: makes sure that a video has an index: finds it, goes on with it, or builds it.
#ifndef LONGVIEW_APP_ENGINE_INDEXER_H_
#define LONGVIEW_APP_ENGINE_INDEXER_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "app/engine/engine_options.h"
#include "app/engine/events.h"
#include "app/engine/library.h"
#include "app/engine/model.h"
#include "app/engine/settings.h"
#include "app/engine/video_index.h"
#include "attention/bridge/frame_encoder.h"
#include "core/base/progress.h"
#include "core/base/thread_pool.h"
#include "vision/vit/vit_encoder.h"

namespace longview {

struct IndexRequest {
  std::filesystem::path video;
  SamplingSettings sampling;
  bool rebuild = false;
  bool memory_fallback = false;  // where the library cannot be written: go on in memory with a warning
  Unread unread = Unread::kRead;
  bool keep = true;  // false: what the library has is used, but nothing new is put there
};

struct IndexOutcome {
  IndexKey key;
  FileStamp stamp;  // of the video, before its fingerprint was taken
  std::shared_ptr<const VideoIndex> index;
  IndexReport report;
};

// Thread-safe. The pool is shared with the rest of the engine.
class Indexer {
 public:
  struct Parts {
    std::filesystem::path folder;  // of the index files
    Model* model = nullptr;
    std::function<Library*()> library;
    ThreadPool* pool = nullptr;
    std::function<void(const std::string&)> warn;
  };
  explicit Indexer(Parts parts) : parts_(std::move(parts)) {}

  // The key of a video's index; reads the video for its fingerprint. kNotFound and so on as Fingerprint.
  Result<IndexKey> KeyOf(const std::filesystem::path& video, const SamplingSettings& sampling, const JobContext& job);
  // What lies in the library under that key.
  Result<IndexInfo> Look(const IndexKey& key, const SamplingSettings& sampling);
  // The index as it lies in the library, finished or not. kNotFound, kDamaged.
  Result<std::shared_ptr<const VideoIndex>> Find(const std::filesystem::path& video, const SamplingSettings& sampling,
                                                 const JobContext& job);
  // See Engine::Index. progress: seconds of video.
  Result<IndexOutcome> Ensure(IndexRequest request, const JobContext& job);
  // The frame tokens [tokens, d_v] of every frame of an index, in order, made again from the video that it is of, for
  // mode states. kDamaged where the video does not give the index's frames any more. progress: seconds of video.
  Status EncodeStates(const std::filesystem::path& video, const SamplingSettings& sampling, const VideoIndex& index,
                      const JobContext& job, const std::function<Status(size_t frame, const float* states)>& sink);

 private:
  // The same choice written in one way: all numbers of a latent are 0. kInvalidArgument where the model has no such
  // size.
  Result<SamplingSettings> Normal(SamplingSettings sampling);
  Result<IndexOutcome> EnsureOnDisk(const IndexRequest& request, IndexOutcome outcome, const CacheFileHeader& header,
                                    const JobContext& job);
  Result<IndexOutcome> EnsureInMemory(const IndexRequest& request, IndexOutcome outcome, const CacheFileHeader& header,
                                      const JobContext& job);
  // Opens the writer, of a new file where `fresh`, waiting for another one. True: the index became complete, or is
  // usable, meanwhile.
  Result<bool> WaitForWriter(const IndexRequest& request, const std::filesystem::path& file,
                             const CacheFileHeader& header, bool fresh, const JobContext& job,
                             std::unique_ptr<CacheFileWriter>* writer);
  // Absent where `enough`, asked after each chunk, ended it before the end of the video.
  Result<std::optional<IndexTotals>> Read(const IndexRequest& request, const CacheFileHeader& header,
                                          std::optional<double> start_after, const JobContext& job,
                                          const std::function<Status(std::span<const CacheFileFrame>)>& append,
                                          const std::function<bool()>& enough);
  void Record(const IndexRequest& request, const IndexOutcome& outcome, double duration_s);

  Parts parts_;
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_INDEXER_H_
