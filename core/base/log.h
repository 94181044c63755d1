// Log: the only way in which a library of ours says something aside. Programs decide the level and where it goes.
#ifndef LONGVIEW_CORE_BASE_LOG_H_
#define LONGVIEW_CORE_BASE_LOG_H_

#include <functional>
#include <string_view>

namespace longview {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Where log lines go. Called by one thread at a time; must not log itself.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// Lines below `level` are dropped. At the start the level is what the environment's LONGVIEW_LOG says (debug, info,
// warning, error or off), kWarning where it is not set or not understood. Thread-safe.
void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();

// True where a line of that level would be kept: ask before building a costly message.
bool LogEnabled(LogLevel level);

// Sends lines to `sink` from now on; an empty one restores the default, which writes "longview: warning: ..." to
// stderr.
void SetLogSink(LogSink sink);

// Writes one line. Thread-safe; never throws.
void Log(LogLevel level, std::string_view message);
inline void LogDebug(std::string_view message) { Log(LogLevel::kDebug, message); }
inline void LogInfo(std::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogWarning(std::string_view message) { Log(LogLevel::kWarning, message); }
inline void LogError(std::string_view message) { Log(LogLevel::kError, message); }

}  // namespace longview

#endif  // LONGVIEW_CORE_BASE_LOG_H_
