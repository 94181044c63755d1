// SQLite's codes as Statuses.
#include "app/engine/sqlite.h"

namespace longview {

std::string SqlRow::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(text),
                     static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

int SqlValue::Bind(sqlite3_stmt* statement, int index) const {
  switch (kind_) {
    case Kind::kInt:
      return sqlite3_bind_int64(statement, index, int_);
    case Kind::kDouble:
      return sqlite3_bind_double(statement, index, double_);
    case Kind::kText:
      return sqlite3_bind_text64(statement, index, text_.data(), text_.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  return SQLITE_MISUSE;
}

Result<std::unique_ptr<SqlDatabase>> SqlDatabase::Open(const std::string& path) {
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  if (db == nullptr) return ResourceError(path + ": out of memory");
  std::unique_ptr<SqlDatabase> database(new SqlDatabase(db, path));
  if (code != SQLITE_OK) return database->Failure(code);
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, 10'000);
  return database;
}

Status SqlDatabase::Failure(int code) const {
  const std::string message = path_ + ": " + sqlite3_errmsg(db_);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return Damaged(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ResourceError(path_ + ": another program holds it; try again");
    case SQLITE_FULL:
      return IoError(path_ + ": the disk is full").About(path_, StatusReason::kDiskFull);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_IOERR:
      return IoError(message);
    default:
      return InternalError(message);
  }
}

Status SqlDatabase::Script(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status::Ok() : Failure(code);
}

Status SqlDatabase::Run(const char* sql, const std::vector<SqlValue>& values,
                        const std::function<void(const SqlRow&)>& on_row) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(db_, sql, -1, &raw, nullptr);
  if (code != SQLITE_OK) return Failure(code);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  for (size_t i = 0; i < values.size(); ++i) {
    code = values[i].Bind(raw, static_cast<int>(i) + 1);
    if (code != SQLITE_OK) return Failure(code);
  }
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    if (on_row) on_row(SqlRow(raw));
  }
  return code == SQLITE_DONE ? Status::Ok() : Failure(code);
}

Status SqlDatabase::Transaction(const std::function<Status()>& body) {
  LV_RETURN_IF_ERROR(Script("BEGIN IMMEDIATE"));
  Status status = body();
  if (status.ok()) status = Script("COMMIT");
  if (!status.ok()) {
    // The first failure is the one to tell; a rollback fails only where SQLite has already rolled back.
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  return status;
}

}  // namespace longview
