// Status and Result<T>: the one way in which a recoverable failure crosses a library border.
//
// A Status is success or a code with a message that a person can act on: which file, what was wrong, what to do. Broken
// invariants inside the program are CHECKs (check.h), never Statuses.
#ifndef LONGVIEW_CORE_BASE_STATUS_H_
#define LONGVIEW_CORE_BASE_STATUS_H_

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace longview {

// Why something failed, as far as a caller decides by it.
enum class StatusCode {
  kOk,
  kInvalidArgument,  // the caller or user asked for something that cannot be
  kNotFound,         // a file, stream, tensor or model part is missing
  kDamaged,          // the bytes are not what they claim to be
  kUnsupported,      // sound, but not handled
  kOutOfRange,       // a time or position outside what is there
  kIo,               // the system refused: rights, disk full, a share that went away
  kResource,         // a limit on memory, size or time was met
  kCancelled,        // the user stopped it
  kInternal,         // ours to mend
};

// What happened exactly, where people meet it often: a program may say it in words, and a language, of its own.
enum class StatusReason {
  kOther,  // the message says it
  kNoSuchFile,
  kNoRight,     // to read or write it
  kDiskFull,    // or the share of it that this person has
  kEmptyFile,   // no byte in it
  kNoVideo,     // a sound media file with no video in it
  kNoDecoder,   // for the video in it
  kNotReadYet,  // nothing of the video is in its index
  kModelPart,   // one of the model's parts is missing or damaged
};

// Of an errno.
inline StatusReason ReasonOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusReason::kNoSuchFile;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusReason::kNoRight;
    case ENOSPC:
    case EDQUOT:
      return StatusReason::kDiskFull;
    default:
      return StatusReason::kOther;
  }
}

// A success, or a code and a message. Cheap to move; must be looked at.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  StatusReason reason() const { return reason_; }
  // The file that the failure is about; empty where it is about none or nobody said.
  const std::string& file() const { return file_; }

  // The same with a reason and the file that it is about.
  [[nodiscard]] Status About(std::string file, StatusReason reason = StatusReason::kOther) && {
    file_ = std::move(file);
    reason_ = reason;
    return std::move(*this);
  }
  // The same failure with "context: " before its message; a success stays one.
  [[nodiscard]] Status WithContext(std::string_view context) const {
    return ok() ? Status() : Status(code_, std::string(context) + ": " + message_).About(file_, reason_);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string file_;
  StatusReason reason_ = StatusReason::kOther;
};

// Makers, so that a return reads as a sentence.
inline Status InvalidArgument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
inline Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
inline Status Damaged(std::string m) { return {StatusCode::kDamaged, std::move(m)}; }
inline Status Unsupported(std::string m) { return {StatusCode::kUnsupported, std::move(m)}; }
inline Status OutOfRange(std::string m) { return {StatusCode::kOutOfRange, std::move(m)}; }
inline Status IoError(std::string m) { return {StatusCode::kIo, std::move(m)}; }
inline Status ResourceError(std::string m) { return {StatusCode::kResource, std::move(m)}; }
inline Status Cancelled(std::string m = "cancelled") { return {StatusCode::kCancelled, std::move(m)}; }
inline Status InternalError(std::string m) { return {StatusCode::kInternal, std::move(m)}; }

// A T or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor): `return value;`
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor): `return NotFound(...);`
    if (status_.ok()) status_ = InternalError("a Result was made from an Ok status without a value");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  // Only where ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace longview

#define LV_CONCAT_INNER_(a, b) a##b
#define LV_CONCAT_(a, b) LV_CONCAT_INNER_(a, b)

// Returns the Status of `expr` from the enclosing function where it is not Ok.
#define LV_RETURN_IF_ERROR(expr)                      \
  do {                                                \
    if (auto lv_status_ = (expr); !lv_status_.ok()) { \
      return lv_status_;                              \
    }                                                 \
  } while (false)

// `LV_ASSIGN_OR_RETURN(auto x, F());`: x is F's value, or the enclosing function returns F's Status.
#define LV_ASSIGN_OR_RETURN(lhs, expr) LV_ASSIGN_OR_RETURN_IMPL_(LV_CONCAT_(lv_result_, __LINE__), lhs, expr)
#define LV_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = (expr);                              \
  if (!result.ok()) return result.status();          \
  lhs = std::move(result).value()

#endif  // LONGVIEW_CORE_BASE_STATUS_H_
