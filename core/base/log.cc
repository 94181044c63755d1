// Log over spdlog: one logger of our own with one sink, so that nothing else in the process is touched.
#include "core/base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace longview {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

LogLevel FromSpdlog(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LogLevel::kDebug;
  if (level == spdlog::level::info) return LogLevel::kInfo;
  if (level == spdlog::level::warn) return LogLevel::kWarning;
  if (level == spdlog::level::off) return LogLevel::kOff;
  return LogLevel::kError;
}

LogLevel LevelFromEnvironment() {
  const char* text = std::getenv("LONGVIEW_LOG");
  const std::string name = text == nullptr ? "" : text;
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "error") return LogLevel::kError;
  if (name == "off") return LogLevel::kOff;
  return LogLevel::kWarning;
}

// Hands lines to a LogSink, or to stderr where there is none.
class SwitchSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void Set(LogSink target) {
    std::lock_guard<std::mutex> lock(mutex_);
    target_ = std::move(target);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (target_) {
      target_(FromSpdlog(message.level), text);
    } else {
      stderr_.log(message);
    }
  }
  void flush_() override { stderr_.flush(); }
  void set_pattern_(const std::string& pattern) override { stderr_.set_pattern(pattern); }
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    stderr_.set_formatter(std::move(formatter));
  }

 private:
  LogSink target_;
  spdlog::sinks::stderr_sink_st stderr_;
};

struct State {
  std::shared_ptr<SwitchSink> sink = std::make_shared<SwitchSink>();
  spdlog::logger logger{"longview", sink};
  State() {
    logger.set_pattern("%n: %l: %v");
    logger.set_level(ToSpdlog(LevelFromEnvironment()));
    logger.flush_on(spdlog::level::debug);
  }
};

// Never destroyed: threads may still log while the process ends.
State& GetState() {
  static State* state = new State();
  return *state;
}

}  // namespace

void SetLogLevel(LogLevel level) { GetState().logger.set_level(ToSpdlog(level)); }

LogLevel GetLogLevel() { return FromSpdlog(GetState().logger.level()); }

bool LogEnabled(LogLevel level) { return level != LogLevel::kOff && GetState().logger.should_log(ToSpdlog(level)); }

void SetLogSink(LogSink sink) { GetState().sink->Set(std::move(sink)); }

void Log(LogLevel level, std::string_view message) {
  if (level == LogLevel::kOff) return;
  GetState().logger.log(ToSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace longview
