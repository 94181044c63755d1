// Conversations kept between runs, as one JSON file: pure functions from turns to bytes and back, and the file itself.
#ifndef LONGVIEW_UI_CONVERSATION_STORE_H_
#define LONGVIEW_UI_CONVERSATION_STORE_H_

#include <QByteArray>
#include <QString>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "ui/conversation.h"

namespace longview::ui {

// The latest kKeptTurns turns; of the frames that each looked at the kKeptFrames with most weight.
inline constexpr int kKeptTurns = 50;
inline constexpr int kKeptFrames = 256;
QByteArray turnsToJson(const std::vector<Turn>& turns);
// What was still being answered comes back as stopped. Empty where the bytes are no conversation.
std::vector<Turn> turnsFromJson(const QByteArray& bytes);

// The file that a window keeps its turns in. Written from several threads; what is older never replaces what is newer.
class TurnFile {
 public:
  explicit TurnFile(QString file) : file_(std::move(file)) {}
  // Writes the file whole or not at all, and makes its folder; does nothing where a higher `number` was written. kIo
  // names the file.
  Status save(quint64 number, const QByteArray& json);

 private:
  QString file_;
  std::mutex mutex_;
  quint64 written_ = 0;
};
// Empty where there is no such file.
std::vector<Turn> loadTurns(const QString& file);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_CONVERSATION_STORE_H_
