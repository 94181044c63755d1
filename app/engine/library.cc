// The library's tables and statements.
#include "app/engine/library.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "app/engine/sqlite.h"

namespace longview {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kVersion = 2;  // 2: caption_drafts, rates

// Paths are bytes, and SQLite's TEXT takes them as they are.
constexpr char kSchema[] = R"sql(
CREATE TABLE IF NOT EXISTS videos(
  fingerprint TEXT PRIMARY KEY, path TEXT NOT NULL, bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  duration_s REAL NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settings(hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS indexes(
  fingerprint TEXT NOT NULL, model TEXT NOT NULL, settings TEXT NOT NULL, state INTEGER NOT NULL,
  frames INTEGER NOT NULL, tokens INTEGER NOT NULL, bytes INTEGER NOT NULL, until_s REAL NOT NULL,
  used INTEGER NOT NULL, PRIMARY KEY(fingerprint, model, settings)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS captions(
  id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, model TEXT NOT NULL, settings TEXT NOT NULL,
  variant TEXT NOT NULL, start_s REAL NOT NULL, end_s REAL NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS captions_by_key ON captions(fingerprint, model, settings, variant, start_s);
CREATE VIRTUAL TABLE IF NOT EXISTS captions_fts USING fts5(text, content='captions', content_rowid='id',
  tokenize='porter unicode61');
CREATE TRIGGER IF NOT EXISTS captions_added AFTER INSERT ON captions BEGIN
  INSERT INTO captions_fts(rowid, text) VALUES (new.id, new.text); END;
CREATE TRIGGER IF NOT EXISTS captions_removed AFTER DELETE ON captions BEGIN
  INSERT INTO captions_fts(captions_fts, rowid, text) VALUES ('delete', old.id, old.text); END;
CREATE TABLE IF NOT EXISTS answers(
  id INTEGER PRIMARY KEY, asked INTEGER NOT NULL, question TEXT NOT NULL, answer TEXT NOT NULL,
  in_footage REAL NOT NULL, mode TEXT NOT NULL, store TEXT NOT NULL, latent INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS answer_videos(
  answer INTEGER NOT NULL REFERENCES answers(id), position INTEGER NOT NULL, fingerprint TEXT NOT NULL,
  PRIMARY KEY(answer, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answer_evidence(
  answer INTEGER NOT NULL REFERENCES answers(id), position INTEGER NOT NULL, video TEXT NOT NULL,
  start_s REAL NOT NULL, end_s REAL NOT NULL, weight REAL NOT NULL, PRIMARY KEY(answer, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS caption_drafts(
  fingerprint TEXT NOT NULL, model TEXT NOT NULL, settings TEXT NOT NULL, variant TEXT NOT NULL,
  segment INTEGER NOT NULL, start_s REAL NOT NULL, end_s REAL NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(fingerprint, model, settings, variant, segment)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rates(work TEXT PRIMARY KEY, units REAL NOT NULL, seconds REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hashes(
  path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;
)sql";

constexpr char kClearDrafts[] =
    "DELETE FROM caption_drafts WHERE fingerprint=? AND model=? AND settings=? AND variant=?";

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Makes `folder` and sees that files can be made in it, with the system's own reason where not.
Status MakeWritable(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return IoError(folder.string() + ": the library folder cannot be made: " + error.message());
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return IoError(folder.string() + ": the library is not a folder");
  }
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    return IoError(folder.string() + ": the library folder cannot be read and written: " + std::strerror(errno));
  }
  return Status::Ok();
}

Status MoveAside(const fs::path& file, std::string* moved_to) {
  for (int n = 1; n < 1000; ++n) {
    const fs::path target = file.string() + ".damaged-" + std::to_string(n);
    std::error_code error;
    if (fs::exists(target, error)) continue;
    fs::rename(file, target, error);
    if (error) return IoError(file.string() + ": is damaged and cannot be moved aside: " + error.message());
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(file.string() + suffix, error);
    *moved_to = target.string();
    return Status::Ok();
  }
  return IoError(file.string() + ": is damaged, and too many damaged ones lie beside it");
}

// WAL lets readers go on while another process writes. The change to it fails at once where another process makes it
// just now: SQLite's own waiting does not cover it.
Status UseWal(SqlDatabase* database) {
  constexpr int kTries = 200;
  constexpr std::chrono::milliseconds kPause(20);
  for (int tries = 1;; ++tries) {
    Status status = database->Script("PRAGMA journal_mode=WAL");
    if (status.code() != StatusCode::kResource || tries == kTries) return status;
    std::this_thread::sleep_for(kPause);
  }
}

Result<std::unique_ptr<SqlDatabase>> OpenDatabase(const std::string& path) {
  LV_ASSIGN_OR_RETURN(auto database, SqlDatabase::Open(path));
  LV_RETURN_IF_ERROR(UseWal(database.get()));
  // NORMAL loses at most the last commits at a power cut, and never the database.
  LV_RETURN_IF_ERROR(database->Script("PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON"));
  int64_t version = 0;
  LV_RETURN_IF_ERROR(database->Run("PRAGMA user_version", {}, [&](const SqlRow& row) { version = row.Int(0); }));
  if (version > kVersion) {
    return Unsupported(path + ": was made by a newer Longview (version " + std::to_string(version) + ")");
  }
  if (version < kVersion) {
    const auto make_tables = [&] {
      LV_RETURN_IF_ERROR(database->Script(kSchema));
      return database->Script(("PRAGMA user_version=" + std::to_string(kVersion)).c_str());
    };
    LV_RETURN_IF_ERROR(database->Transaction(make_tables));
  }
  return database;
}

// Words as an FTS5 query: each quoted, all wanted.
std::string QuotedWords(std::string_view words) {
  std::string query;
  std::string word;
  const auto flush = [&] {
    if (word.empty()) return;
    if (!query.empty()) query += ' ';
    query += '"' + word + '"';
    word.clear();
  };
  for (const char c : words) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      word.push_back(c);
    } else {
      flush();
    }
  }
  flush();
  return query;
}

}  // namespace

std::string IndexKey::FileName() const { return fingerprint + "-" + model + "-" + settings + ".lvidx"; }

struct Library::Impl {
  std::mutex mutex;  // one statement at a time; SQLite's own lock does not cover a whole transaction
  std::unique_ptr<SqlDatabase> db;
};

Library::Library(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Library::~Library() = default;

Result<std::unique_ptr<Library>> Library::Open(const fs::path& folder,
                                               const std::function<void(const std::string&)>& on_warning) {
  LV_RETURN_IF_ERROR(MakeWritable(folder));
  const fs::path file = folder / "library.db";
  auto database = OpenDatabase(file.string());
  if (!database.ok() && database.status().code() == StatusCode::kDamaged) {
    std::string moved_to;
    LV_RETURN_IF_ERROR(MoveAside(file, &moved_to));
    if (on_warning)
      on_warning("the library's database was damaged; it now lies in " + moved_to + ", a new one was begun");
    database = OpenDatabase(file.string());
  }
  if (!database.ok()) return database.status();
  auto impl = std::make_unique<Impl>();
  impl->db = std::move(database).value();
  return std::unique_ptr<Library>(new Library(std::move(impl)));
}

Result<std::unique_ptr<Library>> Library::OpenInMemory() {
  LV_ASSIGN_OR_RETURN(auto database, OpenDatabase(":memory:"));
  auto impl = std::make_unique<Impl>();
  impl->db = std::move(database);
  return std::unique_ptr<Library>(new Library(std::move(impl)));
}

Status Library::PutVideo(const VideoRow& video) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Run(
      // One that was not read to its end this time does not lose the length that is known.
      "INSERT OR REPLACE INTO videos VALUES(?,?,?,?,MAX(?,COALESCE((SELECT duration_s FROM videos WHERE "
      "fingerprint=?),0)),?)",
      {video.fingerprint, video.path.native(), video.stamp.bytes, video.stamp.mtime_ns, video.duration_s,
       video.fingerprint, Now()});
}

Status Library::PutIndex(const IndexRow& index) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Transaction([&] {
    LV_RETURN_IF_ERROR(
        impl_->db->Run("INSERT OR IGNORE INTO settings VALUES(?,?)", {index.key.settings, index.settings_text}));
    return impl_->db->Run("INSERT OR REPLACE INTO indexes VALUES(?,?,?,?,?,?,?,?,?)",
                          {index.key.fingerprint, index.key.model, index.key.settings, static_cast<int>(index.state),
                           index.frames, index.tokens, index.bytes, index.until_s, Now()});
  });
}

Status Library::RemoveIndex(const IndexKey& key) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Run("DELETE FROM indexes WHERE fingerprint=? AND model=? AND settings=?",
                        {key.fingerprint, key.model, key.settings});
}

Result<std::vector<LibraryEntry>> Library::Entries() {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<LibraryEntry> entries;
  LV_RETURN_IF_ERROR(impl_->db->Run(
      "SELECT i.fingerprint, IFNULL(v.path,''), IFNULL(v.duration_s,0), i.model, i.settings, IFNULL(s.text,''), "
      "i.state, i.frames, i.tokens, i.bytes, i.until_s, i.used FROM indexes i LEFT JOIN videos v USING(fingerprint) "
      "LEFT JOIN settings s ON s.hash=i.settings ORDER BY i.used DESC, i.fingerprint, i.settings",
      {}, [&](const SqlRow& row) {
        LibraryEntry entry;
        entry.fingerprint = row.Text(0);
        entry.last_path = row.Text(1);
        entry.duration_s = row.Double(2);
        entry.model = row.Text(3);
        entry.index.file = IndexKey{entry.fingerprint, entry.model, row.Text(4)}.FileName();
        entry.index.sampling = row.Text(5);
        entry.index.state = static_cast<IndexState>(std::clamp<int64_t>(row.Int(6), 0, 3));
        entry.index.frames = static_cast<uint64_t>(row.Int(7));
        entry.index.tokens = static_cast<uint64_t>(row.Int(8));
        entry.index.bytes = static_cast<uint64_t>(row.Int(9));
        entry.index.until_s = row.Double(10);
        entry.used_unix_s = row.Int(11);
        entries.push_back(std::move(entry));
      }));
  return entries;
}

Status Library::PutCaptions(const IndexKey& key, std::string_view variant, const std::vector<CaptionRow>& captions) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Transaction([&] {
    LV_RETURN_IF_ERROR(
        impl_->db->Run("DELETE FROM captions WHERE fingerprint=? AND model=? AND settings=? AND variant=?",
                       {key.fingerprint, key.model, key.settings, variant}));
    LV_RETURN_IF_ERROR(impl_->db->Run(kClearDrafts, {key.fingerprint, key.model, key.settings, variant}));
    for (const CaptionRow& caption : captions) {
      LV_RETURN_IF_ERROR(impl_->db->Run(
          "INSERT INTO captions(fingerprint, model, settings, variant, start_s, end_s, text) VALUES(?,?,?,?,?,?,?)",
          {key.fingerprint, key.model, key.settings, variant, caption.start, caption.end, caption.text}));
    }
    return Status::Ok();
  });
}

Status Library::PutDraft(const IndexKey& key, std::string_view variant, const CaptionDraft& draft) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Run(
      "INSERT OR REPLACE INTO caption_drafts VALUES(?,?,?,?,?,?,?,?)",
      {key.fingerprint, key.model, key.settings, variant, draft.segment, draft.start, draft.end, draft.text});
}

Result<std::vector<CaptionDraft>> Library::Drafts(const IndexKey& key, std::string_view variant) {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<CaptionDraft> drafts;
  LV_RETURN_IF_ERROR(impl_->db->Run(
      "SELECT segment, start_s, end_s, text FROM caption_drafts WHERE fingerprint=? AND model=? AND settings=? AND "
      "variant=? ORDER BY segment",
      {key.fingerprint, key.model, key.settings, variant}, [&](const SqlRow& row) {
        drafts.push_back({static_cast<uint64_t>(row.Int(0)), row.Double(1), row.Double(2), row.Text(3)});
      }));
  return drafts;
}

Status Library::ClearDrafts(const IndexKey& key, std::string_view variant) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Run(kClearDrafts, {key.fingerprint, key.model, key.settings, variant});
}

Status Library::AddRate(std::string_view work, const Rate& rate) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Run(
      "INSERT INTO rates VALUES(?,?,?) ON CONFLICT(work) DO UPDATE SET units = 0.9 * units + excluded.units, "
      "seconds = 0.9 * seconds + excluded.seconds",
      {work, rate.units, rate.seconds});
}

Result<Library::Rate> Library::GetRate(std::string_view work) {
  const std::scoped_lock lock(impl_->mutex);
  Rate rate;
  LV_RETURN_IF_ERROR(impl_->db->Run("SELECT units, seconds FROM rates WHERE work=?", {work}, [&](const SqlRow& row) {
    rate = {row.Double(0), row.Double(1)};
  }));
  return rate;
}

Result<std::vector<CaptionHit>> Library::FindCaptions(std::string_view words, int limit) {
  const std::string query = QuotedWords(words);
  std::vector<CaptionHit> hits;
  if (query.empty()) return hits;
  const std::scoped_lock lock(impl_->mutex);
  LV_RETURN_IF_ERROR(impl_->db->Run(
      "SELECT IFNULL(v.path,''), c.start_s, c.end_s, c.text FROM captions_fts JOIN captions c ON "
      "c.id=captions_fts.rowid "
      "LEFT JOIN videos v USING(fingerprint) WHERE captions_fts MATCH ? ORDER BY captions_fts.rank, c.id LIMIT ?",
      {query, limit}, [&](const SqlRow& row) {
        hits.push_back({row.Text(0), {row.Double(1), row.Double(2), row.Text(3)}});
      }));
  return hits;
}

Status Library::AddAnswer(std::string_view question, const Answer& answer,
                          const std::vector<std::string>& fingerprints) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Transaction([&] {
    int64_t id = 0;
    LV_RETURN_IF_ERROR(impl_->db->Run(
        "INSERT INTO answers(asked, question, answer, in_footage, mode, store, latent) VALUES(?,?,?,?,?,?,?) RETURNING "
        "id",
        {Now(), question, answer.text, answer.in_footage, answer.cache.mode, answer.cache.store, answer.cache.latent},
        [&](const SqlRow& row) { id = row.Int(0); }));
    for (size_t i = 0; i < fingerprints.size(); ++i) {
      LV_RETURN_IF_ERROR(impl_->db->Run("INSERT INTO answer_videos VALUES(?,?,?)", {id, uint64_t{i}, fingerprints[i]}));
    }
    for (size_t i = 0; i < answer.evidence.size(); ++i) {
      const Evidence& e = answer.evidence[i];
      LV_RETURN_IF_ERROR(impl_->db->Run("INSERT INTO answer_evidence VALUES(?,?,?,?,?,?)",
                                        {id, uint64_t{i}, e.video, e.start, e.end, e.weight}));
    }
    return Status::Ok();
  });
}

Result<std::optional<std::string>> Library::KnownSha256(const fs::path& path, const FileStamp& stamp) {
  const std::scoped_lock lock(impl_->mutex);
  std::optional<std::string> found;
  LV_RETURN_IF_ERROR(impl_->db->Run("SELECT sha256 FROM hashes WHERE path=? AND bytes=? AND mtime_ns=?",
                                    {path.native(), stamp.bytes, stamp.mtime_ns},
                                    [&](const SqlRow& row) { found = row.Text(0); }));
  return found;
}

Status Library::PutSha256(const fs::path& path, const FileStamp& stamp, std::string_view sha256) {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->db->Run("INSERT OR REPLACE INTO hashes VALUES(?,?,?,?)",
                        {path.native(), stamp.bytes, stamp.mtime_ns, sha256});
}

}  // namespace longview
