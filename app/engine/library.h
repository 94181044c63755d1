// Library: what Longview remembers between runs, one SQLite database beside the index files (design.md §6).
//
// The index files alone are the truth about indexes: each is checksummed and named by what it was made from. The
// database holds what people search and list, and a lost or damaged one costs captions and history, never a wrong
// answer.
#ifndef LONGVIEW_APP_ENGINE_LIBRARY_H_
#define LONGVIEW_APP_ENGINE_LIBRARY_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/events.h"
#include "app/engine/fingerprint.h"
#include "core/base/status.h"

namespace longview {

// What an index is of: equal keys mean the same frames and numbers.
struct IndexKey {
  std::string fingerprint;  // of the video's content
  std::string model;        // hash of the model's parts that an index depends on
  std::string settings;     // SamplingHash
  // "<fingerprint>-<model>-<settings>.lvidx"
  std::string FileName() const;
};

struct VideoRow {
  std::string fingerprint;
  std::filesystem::path path;  // absolute, where it was last seen
  FileStamp stamp;
  double duration_s = 0.0;
};

struct IndexRow {
  IndexKey key;
  std::string settings_text;
  IndexState state = IndexState::kPartial;
  uint64_t frames = 0;
  uint64_t tokens = 0;
  uint64_t bytes = 0;
  double until_s = 0.0;
};

struct CaptionRow {
  double start = 0.0;
  double end = 0.0;
  std::string text;
};

// The caption of the segment with this number and these times.
struct CaptionDraft {
  uint64_t segment = 0;
  double start = 0.0;
  double end = 0.0;
  std::string text;
};

struct CaptionHit {
  std::filesystem::path path;
  CaptionRow caption;
};

// Thread-safe; several processes may use one library at once (WAL, waits up to 10 s for a writer).
class Library {
 public:
  // Opens `folder`/library.db, making both where they are missing. A database that is not one is moved aside to
  // library.db.damaged-<n> and begun anew; `on_warning` says so. kIo: the folder cannot be made or written, the disk is
  // full; kUnsupported: made by a newer version.
  static Result<std::unique_ptr<Library>> Open(const std::filesystem::path& folder,
                                               const std::function<void(const std::string&)>& on_warning);
  // The same in memory, gone with the object: what an unwritable folder falls back to.
  static Result<std::unique_ptr<Library>> OpenInMemory();
  ~Library();

  // Inserts or updates; `used` is set to now.
  Status PutVideo(const VideoRow& video);
  Status PutIndex(const IndexRow& index);
  Status RemoveIndex(const IndexKey& key);
  Result<std::vector<LibraryEntry>> Entries();  // most recently used first

  // The captions of one video by one model, settings and way of captioning, replaced as a whole.
  Status PutCaptions(const IndexKey& key, std::string_view variant, const std::vector<CaptionRow>& captions);
  // Captions of single segments while a video is being captioned, for a run that is stopped half-way to go on from.
  // PutCaptions of the same key and variant, and ClearDrafts, throw them away.
  Status PutDraft(const IndexKey& key, std::string_view variant, const CaptionDraft& draft);
  Result<std::vector<CaptionDraft>> Drafts(const IndexKey& key, std::string_view variant);
  Status ClearDrafts(const IndexKey& key, std::string_view variant);
  // Captions that hold every word of `words`, best first; the words are data, never FTS5 syntax.
  Result<std::vector<CaptionHit>> FindCaptions(std::string_view words, int limit);
  // How fast a kind of work went on this machine: a sum of units and of seconds, older work counting less. Zeros where
  // nothing was noted.
  struct Rate {
    double units = 0.0;
    double seconds = 0.0;
  };
  Status AddRate(std::string_view work, const Rate& rate);
  Result<Rate> GetRate(std::string_view work);
  // Keeps a question with its answer.
  Status AddAnswer(std::string_view question, const Answer& answer, const std::vector<std::string>& fingerprints);

  // The SHA-256 of a file as remembered for exactly this stamp, and its remembering.
  Result<std::optional<std::string>> KnownSha256(const std::filesystem::path& path, const FileStamp& stamp);
  Status PutSha256(const std::filesystem::path& path, const FileStamp& stamp, std::string_view sha256);

 private:
  struct Impl;
  explicit Library(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_LIBRARY_H_
