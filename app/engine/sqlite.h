// A thin, exception-free face over SQLite for library.cc alone.
#ifndef LONGVIEW_APP_ENGINE_SQLITE_H_
#define LONGVIEW_APP_ENGINE_SQLITE_H_

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace longview {

// One row of a result; columns from 0. Values of another type are converted as SQLite does.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  double Double(int column) const { return sqlite3_column_double(statement_, column); }
  std::string Text(int column) const;

 private:
  sqlite3_stmt* statement_;
};

// A value bound to a '?'.
class SqlValue {
 public:
  SqlValue(int64_t value) : kind_(Kind::kInt), int_(value) {}  // NOLINT(google-explicit-constructor)
  SqlValue(uint64_t value) : kind_(Kind::kInt), int_(static_cast<int64_t>(value)) {}  // NOLINT
  SqlValue(int value) : kind_(Kind::kInt), int_(value) {}                             // NOLINT
  SqlValue(double value) : kind_(Kind::kDouble), double_(value) {}                    // NOLINT
  SqlValue(std::string_view value) : kind_(Kind::kText), text_(value) {}              // NOLINT
  SqlValue(const std::string& value) : kind_(Kind::kText), text_(value) {}            // NOLINT
  SqlValue(const char* value) : kind_(Kind::kText), text_(value) {}                   // NOLINT
  int Bind(sqlite3_stmt* statement, int index) const;

 private:
  enum class Kind { kInt, kDouble, kText };
  Kind kind_;
  int64_t int_ = 0;
  double double_ = 0.0;
  std::string text_;
};

class SqlDatabase {
 public:
  // Opens or makes `path` (":memory:" for none). Failures as Failure() says them.
  static Result<std::unique_ptr<SqlDatabase>> Open(const std::string& path);
  ~SqlDatabase() { sqlite3_close(db_); }
  SqlDatabase(const SqlDatabase&) = delete;
  SqlDatabase& operator=(const SqlDatabase&) = delete;

  // Runs statements without results, parted by ';'.
  Status Script(const char* sql);
  // Runs one statement with its values; each row goes to `on_row`.
  Status Run(const char* sql, const std::vector<SqlValue>& values = {},
             const std::function<void(const SqlRow&)>& on_row = {});
  // Runs `body` in one transaction, rolled back where it fails.
  Status Transaction(const std::function<Status()>& body);

 private:
  SqlDatabase(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  // kDamaged: no database or a broken one; kResource: in use for too long; kIo: rights, full disk and the rest.
  Status Failure(int code) const;
  sqlite3* db_;
  std::string path_;
};

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_SQLITE_H_
